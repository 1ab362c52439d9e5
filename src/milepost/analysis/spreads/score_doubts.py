"""Turns that may be errors of the game score: both sides overlook more than five pawns in a row.

A player may overlook a piece; that the opponent does not take it either, and gives it back at once,
is rarer than a move that was written down wrongly. Regan & Haworth (AAAI 2011, section 8, "Summary
and Future Agenda", last paragraph) speak of "the incidence of gamescore errors in the test-data
sets and the policy on fixing them", and refer to the first author's pages for both; they print
neither rate nor rule. This rule is ours, and it mends nothing: it marks.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from milepost.analysis.spreads.game_order import GameOrder
from milepost.io.arrow_buffers import Longs

DOUBT_PAWNS = 5.0
"""Both moves must give away more than this."""
DECIDED_PAWNS = 10.0
"""Values are held within this: who misses a quicker mate overlooks nothing."""
_NO, _UNKNOWN, _YES = 0, 1, 2
"""So that the least of two is both of them, and the greatest is one or the other."""

_Floats = npt.NDArray[np.float64]


def score_doubts(turns: pl.DataFrame, options: pl.DataFrame) -> pl.Series:
    """Return for each row of `options` whether its move may be an error of the game score.

    A turn is in doubt if its played move and the next or the last one of the same game, by the
    other side, both give away more than five pawns.

    Parameters
    ----------
    turns
        All turns of the games, as far as known: `game_id`, `ply`, `only_move`.
    options
        All evaluated turns, those over the limit too: `game_id`, `ply`, `values` and `chosen`.

    Returns
    -------
    polars.Series
        In the order of `options`; null = not known, for the played move or that of a neighbour that
        is in the table was not evaluated.
    """
    values = pl.col("values").list.eval(pl.element().clip(-DECIDED_PAWNS, DECIDED_PAWNS))
    loss = values.list.first() - values.list.get(pl.col("chosen"), null_on_oob=True)
    losses = options.select("game_id", "ply", (loss > DOUBT_PAWNS).alias("big"))
    # Where a game or ply is there twice, one doubt is enough.
    known = losses.group_by("game_id", "ply").agg(pl.col("big").max())
    # A ply that the table does not have cannot be doubted; one that it has may not be known.
    forced = pl.col("only_move").fill_null(False)
    plies = turns.group_by("game_id", "ply").agg(forced.any())
    known = plies.join(known, on=["game_id", "ply"], how="left").select(
        "game_id",
        "ply",
        pl.when("only_move").then(False).otherwise("big").alias("big"),
        pl.lit(True).alias("there"),
    )
    near = losses
    for name, step in (("next", 1), ("last", -1)):
        beside = known.select(
            "game_id", pl.col("ply") - step, pl.col("big", "there").name.suffix(name)
        )
        near = near.join(beside, on=["game_id", "ply"], how="left", maintain_order="left")
    beside_big = [
        pl.when(pl.col(f"there{name}").is_null()).then(False).otherwise(pl.col(f"big{name}"))
        for name in ("next", "last")
    ]
    doubt = pl.col("big") & (beside_big[0] | beside_big[1])
    return near.select(doubt.alias("score_doubt"))["score_doubt"]


def score_doubts_in_order(
    order: GameOrder, only_move: npt.NDArray[np.bool_], rows: Longs, best: _Floats, worth: _Floats
) -> pl.Series:
    """As `score_doubts`, for turns that stand in the order of play.

    Parameters
    ----------
    order
        Of all turns of the games.
    only_move
        Whether each of them was forced.
    rows
        Which of them were evaluated.
    best, worth
        The values of the best and of the played move there; NaN = not known.
    """
    held = [np.clip(values, -DECIDED_PAWNS, DECIDED_PAWNS) for values in (best, worth)]
    loss = held[0] - held[1]
    big = np.where(np.isnan(loss), _UNKNOWN, np.where(loss > DOUBT_PAWNS, _YES, _NO))
    known = np.full(len(order.ply), _UNKNOWN)
    known[rows] = big
    known[only_move] = _NO
    last = order.before(1)
    # A ply that the table does not have cannot be doubted.
    beside = np.where(last >= 0, known[last], _NO)
    answered = last[last >= 0]
    beside[answered] = np.maximum(beside[answered], known[last >= 0])
    doubt = np.minimum(big, beside[rows])
    marks = pl.Series("score_doubt", doubt == _YES)
    return marks.scatter(np.flatnonzero(doubt == _UNKNOWN), None) if (doubt == 1).any() else marks
