"""Traps: moves that look best at low depth and are refuted deeper; who falls for them.

A turn holds a trap if the option that is worth most at the shallow depth loses at least
`LEAST_POINTS` of the game at full depth. The agents' values mix all depths, so they fall for traps
too, the weaker the oftener: what players of equal strength do is there to compare with.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from milepost.choice.spreads import Floats
from milepost.intrinsic.review.turn_costs import TurnCosts

SHALLOW = 4
"""The shallow depth; half the full one, where that is less."""
LEAST_POINTS = 0.1
"""What the option must lose at full depth, in points of the game: about a pawn near equality."""


def find_traps(costs: TurnCosts, *, shallow: int = SHALLOW, least: float = LEAST_POINTS) \
        -> pl.DataFrame:  # fmt: skip
    """Find turns that hold a trap.

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
    rows = []
    for row, (start, end) in enumerate(zip(spreads.offsets[:-1], spreads.offsets[1:], strict=True)):
        here = looks[start:end]
        if np.isnan(here).all():
            continue
        # Of options that look alike the better one is looked at first: no trap by a tie.
        option = int(np.nanargmax(here))
        lost = float(costs.points_lost[start + option])
        if lost >= least and here[option] > here[0]:
            p = float(costs.probabilities[start + option])
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
