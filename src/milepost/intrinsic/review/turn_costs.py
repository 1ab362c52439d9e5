"""What every turn cost beside what players of equal strength lose there.

The agents of a rating say how often each option is chosen; so they say what such players lose on
average in just this position, how often they find the better move, and how hard it was to choose. A
turn's cost is what was lost less that expectation: a move that everybody misses costs little, one
that hardly anybody misses costs all of it.

Losses are counted in points of the game: the expected score at a worth of v pawns is
1 / (1 + exp(-k v)), so that a pawn weighs less the more the game is decided.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from milepost.analysis.spreads.build import LIMIT_PAWNS
from milepost.choice.evaluation.evaluate import evaluate, prepare
from milepost.choice.spreads import Floats, Ints, Spreads
from milepost.errors import InputError
from milepost.intrinsic.calibration.calibration import Calibration

POINTS_A_PAWN = 0.62
"""k: by how much the logarithm of the odds of a game rises with each pawn, for values of Stockfish
15.1 to depth 10: 0.623 ± 0.025 by `measure_points_a_pawn` on 13,254 random turns of 2011 to 2014,
players of equal Elo (0.616 ± 0.060 on 200 whole games of 1976 to 2009). Shallower values say less:
0.445 ± 0.017 to depth 6. Lichess takes 0.368 for its own evaluations."""
GREATEST_PAWNS = 15.0
"""Beyond this a value is as good as won or lost; mates are worth so much."""


@dataclass(frozen=True, eq=False)
class TurnCosts:
    """Turns beside what agents of given ratings do there."""

    table: pl.DataFrame
    """One row a turn: `agent_elo`, `value`, `loss`, `expected_loss` in pawns; `points_lost`,
    `points_expected` (with `points_sd`), `cost` in points; `chance` of the played move,
    `best_chance`, `better_chance`, `entropy` in nats, `options`, `decided`."""
    spreads: Spreads
    """The turns."""
    probabilities: Floats
    """Probability of every option at the turn's level."""
    points_lost: Floats
    """What every option loses, in points."""


def expected_score(pawns: npt.ArrayLike, points_a_pawn: float = POINTS_A_PAWN) -> Floats:
    """Return the score that is expected at a worth in pawns: 1 / (1 + exp(-k v))."""
    inside = np.clip(np.asarray(pawns, dtype=np.float64), -GREATEST_PAWNS, GREATEST_PAWNS)
    answer: Floats = 0.5 * (1.0 + np.tanh(points_a_pawn * inside / 2))
    return answer


def turn_costs(
    decisions: pl.DataFrame,
    calibration: Calibration,
    level: npt.ArrayLike,
    *,
    points_a_pawn: float = POINTS_A_PAWN,
) -> TurnCosts:
    """Compare turns with what agents of given ratings do there.

    Parameters
    ----------
    decisions
        The turns; see `milepost.tables.DECISIONS`.
    calibration
        The agents.
    level
        The rating of the agents, for all turns or for each; it must be known.
    points_a_pawn
        k of the expected score.

    Raises
    ------
    InputError
        If a level is not known.
    """
    spreads = Spreads.from_table(decisions)
    if len(spreads) != len(decisions):
        raise InputError("a played move is not among the evaluated ones: costs need all moves")
    at = np.broadcast_to(np.asarray(level, dtype=np.float64), (len(spreads),))
    if not np.isfinite(at).all():
        raise InputError("a turn's level is not known: costs are beside players of some rating")
    path = calibration.map.path
    prepared = prepare(spreads, path.model)
    said = evaluate(path.model, prepared, path.theta(at), probabilities=True)
    starts = spreads.offsets[:-1]
    made = starts + spreads.chosen
    score = expected_score(spreads.values, points_a_pawn)
    lost = np.repeat(score[starts], spreads.counts) - score
    worth = np.clip(spreads.values, -GREATEST_PAWNS, GREATEST_PAWNS)
    loss = np.repeat(worth[starts], spreads.counts) - worth
    p = said.probabilities
    # "Better" loses less than half of what was lost: ties and hairbreadths are no better moves.
    better = lost < np.repeat(lost[made] / 2, spreads.counts)
    mean_lost = _sums(p * lost, starts)
    spare = np.maximum(_sums(p * lost**2, starts) - mean_lost**2, 0.0)
    table = pl.DataFrame(
        {
            "agent_elo": at,
            "value": worth[starts],
            "loss": loss[made],
            "expected_loss": _sums(p * loss, starts),
            "points_lost": lost[made],
            "points_expected": mean_lost,
            "points_sd": np.sqrt(spare),
            "chance": np.exp(said.ln_chosen),
            "best_chance": said.first,
            "better_chance": _sums(np.where(better, p, 0.0), starts),
            "entropy": said.entropy,
            "options": spreads.counts,
            "decided": np.abs(spreads.values[starts]) > LIMIT_PAWNS,
        }
    ).with_columns((pl.col("points_lost") - pl.col("points_expected")).alias("cost"))
    return TurnCosts(table, spreads, p, lost)


def measure_points_a_pawn(value: npt.ArrayLike, score: npt.ArrayLike, games: npt.ArrayLike) \
        -> tuple[float, float]:  # fmt: skip
    """Fit k of the expected score to how games ended, with its error by game.

    The score U of k is Σ v (result - expected); both sides of a game share its result, so errors
    are clustered by game.

    Parameters
    ----------
    value
        Worth of the position for the mover, in pawns.
    score
        The mover's score in the game: 1, ½, 0.
    games
        The game of each turn.
    """
    v = np.clip(np.asarray(value, dtype=np.float64), -GREATEST_PAWNS, GREATEST_PAWNS)
    result = np.asarray(score, dtype=np.float64)
    k = 0.3
    for _ in range(100):
        said = expected_score(v, k)
        step = float(v @ (result - said)) / float(v**2 @ (said * (1 - said)))
        k += step
        if abs(step) < 1e-9:
            break
    else:
        raise InputError(f"the worth of a pawn does not settle: the last step was {step}")
    said = expected_score(v, k)
    _, game = np.unique(np.asarray(games), return_inverse=True)
    sums = np.bincount(game, weights=v * (result - said))
    return k, float(np.sqrt((sums**2).sum())) / float(v**2 @ (said * (1 - said)))


def reliability(chance: npt.ArrayLike, happened: npt.ArrayLike, games: npt.ArrayLike,
                edges: Floats | None = None) -> pl.DataFrame:  # fmt: skip
    """Lay stated chances beside how often it happened, in bins, with errors by game.

    Returns
    -------
    polars.DataFrame
        One row a bin that holds turns: `from`, `to`, `turns`, `stated`, `happened`, `se`, `z`.
    """
    said = np.asarray(chance, dtype=np.float64)
    hit = np.asarray(happened, dtype=np.float64)
    game = np.asarray(games)
    bounds = np.linspace(0, 1, 11) if edges is None else edges
    place = np.clip(np.searchsorted(bounds, said, side="right") - 1, 0, len(bounds) - 2)
    rows = []
    for number in range(len(bounds) - 1):
        here = place == number
        if not here.any():
            continue
        _, which = np.unique(game[here], return_inverse=True)
        gaps = np.bincount(which, weights=hit[here] - said[here])
        count = int(here.sum())
        se = float(np.sqrt((gaps**2).sum())) / count
        stated, made = float(said[here].mean()), float(hit[here].mean())
        rows.append(
            {
                "from": float(bounds[number]),
                "to": float(bounds[number + 1]),
                "turns": count,
                "stated": stated,
                "happened": made,
                "se": se,
                "z": (made - stated) / se if se > 0 else None,
            }
        )
    return pl.DataFrame(rows)


def _sums(values: Floats, starts: Ints) -> Floats:
    answer: Floats = np.add.reduceat(values, starts)
    return answer
