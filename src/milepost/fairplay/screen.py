"""Screening: every player of an event by one number, and the event as a whole.

The *index* is 50 + 5 z with z the one standard score of a performance: among honest players its
mean is 50 and its standard deviation 5. It is a thermometer, not a diagnosis: in an event of fifty
honest players one of them has 62 or more. So the event is shown as a whole, beside what honest
players would give, and nobody is ranked by it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl
from scipy.special import betaincinv, ndtr, ndtri, pdtrc

from milepost.choice.spreads import Floats
from milepost.fairplay.performances import Performance

LEAST_TURNS: Final = 60
"""With fewer turns there is no index."""
LEAST_SHARE: Final = 0.95
"""An index needs so much of a player's turns to be evaluated."""
LEVELS: Final = (60, 65, 70)
"""The numbers of players with these indices and more are told, expected and found."""
NOTICED_SHARE, NOTICED_FALSE_ALARMS = 0.2, 0.01
"""The power that stands beside an index: this share of turns, at this rate of false alarms."""


@dataclass(frozen=True)
class Index:
    """One performance, screened."""

    index: float
    """50 + 5 z."""
    z: float
    """The one standard score."""
    p: float
    """The larger of the two that follow."""
    p_model: float
    """By the normal law."""
    p_reference: float | None
    """Among the honest performances that were measured; None = there are none."""
    ln_e: float
    """Logarithm of the evidence ratio."""
    ln_e_worst: float
    """Logarithm of the worst-case ratio."""
    noticed: float
    """How often help with one turn in five would be noticed, at one false alarm in a hundred."""


def screen(performance: Performance) -> Index:
    """Screen one performance."""
    scored, known = performance.scored, performance.board.honest.reference
    reference = known.share_above("combined", scored.combined) if len(known) else None
    evidence = performance.evidence
    return Index(
        index=50 + 5 * scored.combined,
        z=scored.combined,
        p=max(scored.p, reference or 0.0),
        p_model=scored.p,
        p_reference=reference,
        ln_e=evidence.ln_e,
        ln_e_worst=evidence.ln_e_worst,
        noticed=scored.power(NOTICED_SHARE, NOTICED_FALSE_ALARMS),
    )


@dataclass(frozen=True, eq=False)
class EventAsAWhole:
    """The indices of an event together."""

    players: int
    """Players with an index."""
    mean_index: float
    """Their mean."""
    mean_low: float
    """What the mean of honest players lies above, with 95 %: whole events differ."""
    mean_high: float
    """What it lies below."""
    quantiles: pl.DataFrame
    """One row a player, rising: expected z of honest players, z found, and the 95 % band of that
    place (`low`, `high`)."""
    counts: pl.DataFrame
    """Indices over 60, 65 and 70: expected, found, and the chance of as many or more."""
    largest_p: float
    """Chance that the largest of so many honest players is as high as the one found."""
    discoveries: int
    """Performances that stay when false discoveries are held to one in twenty (e-BH)."""


def event_as_a_whole(performances: Sequence[Performance]) -> EventAsAWhole | None:
    """Return what the indices of an event say together; None = there are none.

    Players of an event share what lifts or lowers it, so the mean of honest indices varies more
    than those of strangers.
    """
    if not performances:
        return None
    z = np.array([each.scored.combined for each in performances])
    count = len(z)
    # How z moves with the event, in its standard deviations.
    pulls = np.array([_event_pull(each) for each in performances])
    variance = float((1 - np.minimum(pulls**2, 1.0)).sum() + pulls.sum() ** 2) / count**2
    half = 5 * float(ndtri(0.975)) * np.sqrt(variance)
    rows = []
    for level in LEVELS:
        expected = count * float(ndtr((50 - level) / 5))
        found = int((50 + 5 * z >= level).sum())
        chance = float(pdtrc(found - 1, expected)) if found else 1.0
        rows.append({"index": level, "expected": expected, "found": found, "chance": chance})
    best = max(z)
    return EventAsAWhole(
        players=count,
        mean_index=float(50 + 5 * z.mean()),
        mean_low=50 - half,
        mean_high=50 + half,
        quantiles=quantile_band(z),
        counts=pl.DataFrame(rows),
        largest_p=float(-np.expm1(count * np.log1p(-ndtr(-best)))),
        discoveries=e_discoveries(np.exp([min(each.evidence.ln_e, 600) for each in performances])),
    )


def quantile_band(z: Floats) -> pl.DataFrame:
    """Return sorted z beside those expected of honest players, with the 95 % band of each place."""
    count = len(z)
    place = np.arange(1, count + 1)
    return pl.DataFrame(
        {
            "expected": ndtri((place - 0.5) / count),
            "found": np.sort(z),
            "low": ndtri(betaincinv(place, count + 1 - place, 0.025)),
            "high": ndtri(betaincinv(place, count + 1 - place, 0.975)),
        }
    )


def _event_pull(performance: Performance) -> float:
    board = performance.board
    slope = board.scores.slope[performance.rows].sum(axis=0)
    return float(board.honest.event_sd * (performance.scored.weights @ slope))


def e_discoveries(e_values: Floats, level: float = 0.05) -> int:
    """Return how many hypotheses e-BH rejects (Wang & Ramdas 2022): valid under any dependence.

    The largest k such that the k-th largest e-value is at least n / (k level).
    """
    order = np.sort(np.asarray(e_values))[::-1]
    count = len(order)
    enough = order >= count / (np.arange(1, count + 1) * level)
    return int(np.flatnonzero(enough)[-1]) + 1 if enough.any() else 0


def no_index(turns: int, wanted: int, plan: str = "") -> str:
    """Return why a performance gets no index; empty = it gets one.

    Parameters
    ----------
    turns
        Evaluated turns that count.
    wanted
        Turns that the store does not hold yet.
    plan
        The search plan of those that it holds: any other would not complete them.
    """
    if wanted > (1 - LEAST_SHARE) * (turns + wanted):
        return (
            f"{wanted:,} of {turns + wanted:,} turns are not analysed yet: complete them with "
            f"milepost analyse EVENT.pgn --store STORE{f' --plan {plan}' if plan else ''}"
        )
    if turns < LEAST_TURNS:
        return f"fewer than {LEAST_TURNS} turns, so no index"
    return ""


def screening_row(performance: Performance, index: Index) -> dict[str, Any]:
    """Return a performance's figures, as a row of `milepost.tables.CHECKS`."""
    scored = performance.scored
    names = ("match", "error", "likelihood")
    raw: Mapping[str, float] = {
        f"z_{name}_raw": float(value) for name, value in zip(names, scored.raw, strict=True)
    }
    adjusted = {
        f"z_{name}": float(value) for name, value in zip(names, scored.adjusted, strict=True)
    }
    return {
        "index": index.index,
        "p": index.p,
        "p_model": index.p_model,
        "p_reference": index.p_reference,
        "e_value": float(np.exp(min(index.ln_e, 600.0))),
        "ln_e": index.ln_e,
        "e_worst": float(np.exp(min(index.ln_e_worst, 600.0))),
        "z": index.z,
        **raw,
        **adjusted,
        "noticed": index.noticed,
    }
