"""What the ``%eval`` comments of games say by themselves: losses beside those of opponents.

A comment is the worth of the position behind a move; of the moves that were not played it says
nothing. So there is no agent, no better move and no rating. What is left: how much each move lost,
in points of the game, beside what the opponents of about the same rating lost, in the same phase
and with the game as far decided. Every expectation comes from the games at hand.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from scipy.special import ndtr

from milepost.analysis.spreads.build import LIMIT_PAWNS
from milepost.intrinsic.review.turn_costs import GREATEST_PAWNS

COMMENT_POINTS_A_PAWN = 0.368
"""What lichess takes for its evaluations: winning chances 1 / (1 + exp(-0.00368208 centipawns)),
from its page on accuracy."""
LEAST_CELL = 30
"""With fewer turns of equals in a phase and band, all phases or all bands are taken."""
_BANDS = (0.7, LIMIT_PAWNS)
"""Where bands of the worth of the position begin, in pawns for either side."""


def comment_losses(
    turns: pl.DataFrame, points_a_pawn: float = COMMENT_POINTS_A_PAWN
) -> pl.DataFrame:
    """Return the turns with two comments: value before and after the move, and points lost.

    Book turns, repetitions, only moves and other variants are left out. Two searches differ by
    noise: a move that gained is counted as losing nothing.
    """
    mate = pl.col("eval_mate")
    # Mate on the board is #0, given by who has just moved.
    worth = (
        pl.when(mate.is_not_null())
        .then(pl.when(mate >= 0).then(GREATEST_PAWNS).otherwise(-GREATEST_PAWNS))
        .otherwise(pl.col("eval_cp") / 100)
        .clip(-GREATEST_PAWNS, GREATEST_PAWNS)
    )
    frame = turns.sort("game_id", "ply", maintain_order=True).with_columns(
        worth.alias("value_after")
    )
    follows = (pl.col("ply").shift(1) == pl.col("ply") - 1).over("game_id")
    before = pl.when(follows).then(-pl.col("value_after").shift(1).over("game_id"))
    frame = frame.with_columns(before.alias("value")).filter(
        pl.col("value").is_not_null(),
        pl.col("value_after").is_not_null(),
        ~pl.col("book").fill_null(False),
        ~pl.col("repetition").fill_null(False),
        ~pl.col("only_move").fill_null(False),
        pl.col("variant").fill_null("standard") == "standard",
    )

    def score(name: str) -> pl.Expr:
        return 1 / (1 + (-points_a_pawn * pl.col(name)).exp())

    band = pl.lit(0)
    for limit in _BANDS:
        band = band + (pl.col("value").abs() > limit).cast(pl.Int32)
    return frame.with_columns(
        (pl.col("value") - pl.col("value_after")).clip(0).alias("loss"),
        (score("value") - score("value_after")).clip(0).alias("points_lost"),
        (pl.col("value").abs() > LIMIT_PAWNS).alias("decided"),
        band.alias("band"),
    )


def beside_equals(own: pl.DataFrame, equals: pl.DataFrame) -> pl.DataFrame:
    """Return own turns with what equals lose in the same phase and band, and the cost."""
    wanted = ["points_lost", "loss"]

    def means(keys: list[str], suffix: str) -> pl.DataFrame:
        found = equals.group_by(keys).agg(pl.col(wanted).mean(), pl.len().alias("n"))
        found = found.filter(pl.col("n") >= LEAST_CELL)
        return found.rename({name: f"{name}{suffix}" for name in [*wanted, "n"]})

    table = own.join(means(["phase", "band"], "_1"), on=["phase", "band"], how="left",
                     maintain_order="left").join(
        means(["band"], "_2"), on="band", how="left", maintain_order="left"
    )  # fmt: skip
    overall = {name: equals[name].mean() if len(equals) else None for name in wanted}
    names = {"points_lost": "points_expected", "loss": "expected_loss"}
    table = table.with_columns(
        pl.coalesce(
            f"{name}_1", f"{name}_2", pl.lit(overall[name], dtype=pl.Float64)
        ).alias(names[name])
        for name in wanted
    )  # fmt: skip
    return table.with_columns((pl.col("points_lost") - pl.col("points_expected")).alias("cost"))


def compare_losses(own: pl.DataFrame, equals: pl.DataFrame) -> dict[str, Any]:
    """Return mean points lost beside those of equals, with z and p; errors by game."""
    row: dict[str, Any] = {
        "turns": int((~own["decided"]).sum()),
        "decided": int(own["decided"].sum()),
        "games": own["game_id"].n_unique(),
        "note": "",
    }
    if not len(own):
        return row | {"note": "no turn with two comments"}
    row["points_lost"] = own["points_lost"].mean()
    if own["cost"].null_count() or len(equals) < LEAST_CELL:
        return row | {"note": "too few turns of equals to compare with"}
    row["points_expected"] = own["points_expected"].mean()
    gap, square = _mean(own, "cost")
    _, theirs = _mean(equals, "points_lost")
    se = float(np.sqrt(square + theirs))
    if se > 0:
        row |= {"points_z": -gap / se, "points_p": float(2 * ndtr(-abs(gap) / se))}
    return row


def _mean(turns: pl.DataFrame, name: str) -> tuple[float, float]:
    """Mean of a column, and the variance of that mean, clustered by game."""
    values = turns[name].to_numpy()
    mean = float(values.mean())
    _, game = np.unique(turns["game_id"].to_numpy(), return_inverse=True)
    sums = np.bincount(game, weights=values - mean)
    count = len(sums)
    if count < 2:
        return mean, float("inf")
    return mean, float((sums**2).sum() * count / (count - 1)) / len(values) ** 2
