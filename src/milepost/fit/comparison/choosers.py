"""Who chooses better: what fitted agents would lose on the same decisions.

Two fits differ in s and in c, and each chooser met other decisions. So every agent is asked about
all decisions together: the loss it would make there on average, with the error that its parameters
bring (delta method). That is one number a chooser, in the unit of the scaled differences.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import polars as pl
from scipy.stats import norm

from milepost.choice.evaluation.evaluate import evaluate, prepare
from milepost.choice.spreads import Spreads
from milepost.errors import InputError
from milepost.fit.result import FitResult

SAME_DECISIONS = 4_000
"""So many decisions, evenly taken from all choosers, stand for all."""
_LEVEL = 0.95
_NEVER = 1e-12
"""No estimate is quite certain."""


def thinned(spreads: Spreads, most: int) -> Spreads:
    """Return at most so many decisions, evenly taken."""
    if len(spreads) <= most:
        return spreads
    return spreads.take(np.linspace(0, len(spreads) - 1, most).astype(np.int64))


def losses(results: Sequence[FitResult], decisions: Sequence[Spreads]) -> pl.DataFrame:
    """Return what each fitted agent would lose on average on all of some decisions.

    Parameters
    ----------
    results
        The fits, all on one scale of differences.
    decisions
        The decisions, in one part or several.

    Returns
    -------
    polars.DataFrame
        `loss`, `se`, `low`, `high` (95 %), one row a fit.

    Raises
    ------
    InputError
        If the differences of two fits are scaled in different ways: a constant that was fitted to
        each makes their losses incomparable.
    """
    if len({result.model.scale for result in results}) > 1:
        raise InputError("each fit has a scale of its own: their losses cannot be compared")
    total = sum(float(part.weights.sum()) for part in decisions)
    rows = []
    for result in results:
        loss, slope = 0.0, np.zeros(len(result.theta))
        for part in decisions:
            said = evaluate(result.model, prepare(part, result.model), result.theta)
            loss += float(part.weights @ said.error) / total
            slope += part.weights @ said.d_error / total
        free = slope[result.free]
        variance = float(free @ result.working_covariance @ free)
        se = math.sqrt(variance) if variance >= 0 else math.nan
        reach = float(norm.isf((1 - _LEVEL) / 2)) * se
        rows.append({"loss": loss, "se": se, "low": max(loss - reach, 0.0), "high": loss + reach})
    return pl.DataFrame(rows, schema=dict.fromkeys(("loss", "se", "low", "high"), pl.Float64))


def chance_of_less(loss: float, se: float, other: float, other_se: float) -> float:
    """Return the probability that the first loss is truly the smaller one.

    The two fits rest on different decisions, so their errors are independent and, with a flat
    prior, the difference is normal.

    >>> round(chance_of_less(1.0, 0.3, 1.5, 0.4), 3)
    0.841
    """
    both = math.hypot(se, other_se)
    if not both > 0:
        return float(loss < other)
    return float(np.clip(norm.cdf((other - loss) / both), _NEVER, 1 - _NEVER))
