"""Turns that may be errors of the game score: both sides overlook more than five pawns in a row.

A player may overlook a piece; that the opponent does not take it either, and gives it back at once,
is rarer than a move that was written down wrongly. Regan & Haworth (AAAI 2011, section 8, "Summary
and Future Agenda", last paragraph) speak of "the incidence of gamescore errors in the test-data
sets and the policy on fixing them", and refer to the first author's pages for both; they print
neither rate nor rule. This rule is ours, and it mends nothing: it marks.
"""

from __future__ import annotations

import polars as pl

DOUBT_PAWNS = 5.0
"""Both moves must give away more than this."""
DECIDED_PAWNS = 10.0
"""Values are held within this: who misses a quicker mate overlooks nothing."""


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
