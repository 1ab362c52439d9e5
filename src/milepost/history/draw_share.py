"""What the share of draws alone says about results: the least that a history must beat."""

from __future__ import annotations

import math
import warnings
from typing import Any

from milepost.errors import InputError
from milepost.history.records import SkippedResultsWarning, read_records


def naive_log_evidence(draw_share: float) -> float:
    """Return the log evidence a game, in nats, of knowing the share of draws and nothing else.

    p ln p + (1 - p) ln((1 - p) / 2): less the entropy of a result when a share p of games is drawn
    and either side is as likely to win the others.

    >>> round(naive_log_evidence(0.303), 4)
    -1.0965
    """
    if not 0.0 <= draw_share <= 1.0:
        raise InputError(f"expected a share of draws from 0 to 1, got {draw_share!r}")
    decided = 1.0 - draw_share
    drawn_part = draw_share * math.log(draw_share) if draw_share else 0.0
    return drawn_part + (decided * math.log(0.5 * decided) if decided else 0.0)


def draw_share(results: Any, *, period: str | float = "year") -> float:
    """Return the share of draws, by weight, among the results that a fit would use."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkippedResultsWarning)
        return read_records(results, period=period).draw_share
