"""Traps: moves that look best at low depth and are refuted deeper; who falls for them.

A turn holds a trap if the option that is worth most at the shallow depth loses at least
`LEAST_POINTS` of the game at full depth. The agents' values mix all depths, so they fall for traps
too, the weaker the oftener: what players of equal strength do is there to compare with.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy.special import expit, logit

from milepost.choice.spreads import Floats
from milepost.errors import InputError
from milepost.intrinsic.review.turn_costs import TurnCosts

SHALLOW = 4
"""The shallow depth; half the full one, where that is less."""
LEAST_POINTS = 0.1
"""What the option must lose at full depth, in points of the game: about a pawn near equality."""


@dataclass(frozen=True)
class TrapCorrection:
    """What makes of the agents' chance to fall for a trap how often people fall.

    ln(p' / (1 - p')) = intercept + slope ln(p / (1 - p)) + elo_slope (Elo - 2000) / 400: agents
    weigh all depths alike in every position, people look deeper where something hangs, and strong
    players more so.
    """

    intercept: float = 0.0
    """0 with slope 1 = as the agents have it."""
    slope: float = 1.0
    """Under 1 = chances lie nearer together than the agents say."""
    elo_slope: float = 0.0
    """Under 0 = the stronger fall less often than agents of their Elo do."""
    intercept_se: float = 0.0
    """Its standard error, clustered by game."""
    slope_se: float = 0.0
    """Its standard error, clustered by game."""
    elo_slope_se: float = 0.0
    """Its standard error, clustered by game."""
    traps: int = 0
    """Traps it rests on."""
    source: str = ""
    """The games they were in."""

    def apply(self, chance: npt.ArrayLike, elo: npt.ArrayLike) -> Floats:
        """Return how often people of an Elo fall, for chances of agents of that Elo."""
        answer: Floats = expit(
            _design(chance, elo) @ np.array([self.intercept, self.slope, self.elo_slope])
        )
        return answer


def _design(chance: npt.ArrayLike, elo: npt.ArrayLike) -> Floats:
    said = np.clip(np.asarray(chance, dtype=np.float64), 1e-9, 1 - 1e-9)
    above = (np.broadcast_to(np.asarray(elo, dtype=np.float64), said.shape) - 2000) / 400
    return np.column_stack([np.ones(len(said)), logit(said), above])


def fit_traps(
    chance: npt.ArrayLike,
    elo: npt.ArrayLike,
    fell: npt.ArrayLike,
    games: npt.ArrayLike,
    *,
    source: str = "",
) -> TrapCorrection:
    """Fit the correction to who fell, by logistic regression with errors clustered by game.

    Raises
    ------
    InputError
        If it does not settle, as where all fell or nobody did.
    """
    design = _design(chance, elo)
    happened = np.asarray(fell, dtype=np.float64)
    if not 0 < happened.sum() < len(happened):
        raise InputError("all fell for their traps or nobody did: there is nothing to learn from")
    answer = np.array([0.0, 1.0, 0.0])
    for _ in range(100):
        p = expit(design @ answer)
        inverse = np.linalg.inv(design.T @ ((p * (1 - p))[:, None] * design))
        step = inverse @ (design.T @ (happened - p))
        answer = answer + step
        if np.abs(step).max() < 1e-10:
            break
    else:
        raise InputError(f"the correction of traps does not settle: the last step was {step}")
    _, game = np.unique(np.asarray(games), return_inverse=True)
    gaps = design * (happened - p)[:, None]
    sums = np.column_stack([np.bincount(game, weights=column) for column in gaps.T])
    errors = np.sqrt(np.diag(inverse @ (sums.T @ sums) @ inverse))
    intercept, slope, elo_slope = answer.tolist()
    intercept_se, slope_se, elo_slope_se = errors.tolist()
    return TrapCorrection(
        intercept, slope, elo_slope, intercept_se, slope_se, elo_slope_se, len(happened), source
    )


def find_traps(
    costs: TurnCosts,
    *,
    correction: TrapCorrection | None = None,
    shallow: int = SHALLOW,
    least: float = LEAST_POINTS,
) -> pl.DataFrame:
    """Find turns that hold a trap; chances are the agents' own without a correction.

    Returns
    -------
    polars.DataFrame
        One row a trap: `row` (the turn), `option` (the move that looks best), `trap_chance` (how
        often equals fall for it), `fell`, `trap_points` (what it loses), `shallow` (the depth).
    """
    spreads = costs.spreads
    schema = {"row": pl.Int64, "option": pl.Int64, "trap_chance": pl.Float64, "fell": pl.Boolean,
              "trap_points": pl.Float64, "shallow": pl.Int64}  # fmt: skip
    if spreads.depth_values is None or len(spreads.depths) < 2:
        return pl.DataFrame(schema=schema)
    depth = min(shallow, max(spreads.depths) // 2)
    looks: Floats = spreads.depth_values[:, spreads.depths.index(depth)]
    chance = costs.probabilities
    if correction is not None:
        levels = np.repeat(costs.table["agent_elo"].to_numpy(), spreads.counts)
        chance = correction.apply(chance, levels)
    rows = []
    for row, (start, end) in enumerate(zip(spreads.offsets[:-1], spreads.offsets[1:], strict=True)):
        here = looks[start:end]
        if np.isnan(here).all():
            continue
        # Of options that look alike the better one is looked at first: no trap by a tie.
        option = int(np.nanargmax(here))
        lost = float(costs.points_lost[start + option])
        if lost >= least and here[option] > here[0]:
            p = float(chance[start + option])
            rows.append((row, option, p, bool(spreads.chosen[row] == option), lost, depth))
    return pl.DataFrame(rows, schema=schema, orient="row")


def sum_up_traps(traps: pl.DataFrame) -> dict[str, float | int | None]:
    """Return how many traps there were, how many were fallen for, and beside that the equals.

    `p` is two-sided: how often equals fall for as few or as many, by the exact law of a sum of
    unequal chances (half of the outcome itself counted).
    """
    count = len(traps)
    if not count:
        return {"traps": 0, "fell": 0, "expected": None, "sd": None, "p": None}
    chance = traps["trap_chance"].to_numpy()
    fell = int(traps["fell"].sum())
    law = np.ones(1)
    for each in chance:
        law = np.convolve(law, [1 - each, each])
    below, above = float(law[:fell].sum()), float(law[fell + 1 :].sum())
    p = min(1.0, 2 * (min(below, above) + law[fell] / 2))
    sd = float(np.sqrt((chance * (1 - chance)).sum()))
    return {"traps": count, "fell": fell, "expected": float(chance.sum()), "sd": sd, "p": p}
