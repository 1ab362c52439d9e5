"""How the level of a group changed: on the joint scale, and by results alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from milepost.errors import InputError
from milepost.history.joint.moves_fit import MovesFit
from milepost.history.records import Floats

_QUANTILE = 1.959964


def inflation_of(
    curves: pl.DataFrame, moves: MovesFit, group: str | Sequence[str],
    reference: tuple[float, float] | None,
) -> pl.DataFrame:  # fmt: skip
    """Return the level of a group by period: see `milepost.history.History.inflation`.

    Parameters
    ----------
    curves
        The curves of a joint history.
    moves
        What its move evidence said.
    group
        ``"top:N"``, ``"all"``, or keys of players.
    reference
        First and last moment of the reference; `None` = the period of most move evidence.

    Raises
    ------
    InputError
        If the group is not known or has nobody, or the reference lies outside the history.
    """
    members = _members(curves, group)
    if members.is_empty():
        raise InputError("nobody of the group has games in this history")
    results = _results_only(curves, moves)
    members = members.join(results, on=["player", "time"], how="left")
    own = (moves.slope * pl.col("sd")) ** 2
    levels = members.group_by("time").agg(
        players=pl.len(),
        level=pl.col("intrinsic_mean").mean(),
        own=own.sum() / pl.len().cast(pl.Float64) ** 2,
        level_results=pl.col("results").mean(),
        skill=pl.col("mean").mean(),
    )
    table = moves.era.select("time", "clock", "era", "era_by_slope", "turns", era_sd="sd")
    table = table.with_row_index("period").join(levels, on="time").sort("clock")
    weights = _reference(table, reference)
    rows = np.zeros((table.height, len(moves.covariance)))
    rows[np.arange(table.height), table["period"].to_numpy()] = 1.0
    base = weights @ rows
    apart = rows - base
    shared = np.einsum("ij,jk,ik->i", apart, moves.covariance, apart)
    own_variance = table["own"].to_numpy()
    level, points = table["level"].to_numpy(), table["level_results"].to_numpy()
    lever = (table["skill"] - moves.mu + table["era_by_slope"]).to_numpy()
    slope = (moves.slope_se * (lever - float(weights @ lever))) ** 2
    change_sd = np.sqrt(np.maximum(shared, 0.0) + own_variance * (1.0 - weights) ** 2 + slope)
    sd = np.sqrt(own_variance + table["era_sd"].to_numpy() ** 2 + (moves.slope_se * lever) ** 2)
    name = group if isinstance(group, str) else f"{len(group)} players"
    return table.select("time", group=pl.lit(name), players="players").with_columns(
        level=pl.Series(level),
        low=pl.Series(level - _QUANTILE * sd),
        high=pl.Series(level + _QUANTILE * sd),
        change=pl.Series(level - float(weights @ level)),
        change_sd=pl.Series(change_sd),
        level_results=pl.Series(points),
        change_results=pl.Series(moves.slope * (points - float(weights @ points))),
        era=table["era"],
        era_sd=table["era_sd"],
        turns=table["turns"],
    )


def _members(curves: pl.DataFrame, group: str | Sequence[str]) -> pl.DataFrame:
    if not isinstance(group, str):
        return curves.filter(pl.col("player").is_in(list(group)))
    if group == "all":
        return curves
    kind, _, number = group.partition(":")
    if kind != "top" or not number.isdigit() or int(number) < 1:
        raise InputError(f"expected top:100, all or players as the group, got {group!r}")
    rank = pl.col("mean").rank("ordinal", descending=True).over("time")
    return curves.filter(rank <= int(number))


def _results_only(curves: pl.DataFrame, moves: MovesFit) -> pl.DataFrame:
    """What results alone say at the rows of the curves."""
    lives = moves.results_only
    if lives is None:
        return curves.select("player", "time", results=pl.lit(None, dtype=pl.Float64))
    return curves.select("player", "time", results=pl.Series(lives.at_rows()[0]))


def _reference(table: pl.DataFrame, reference: tuple[float, float] | None) -> Floats:
    """Weights of the rows that make the reference."""
    clock = table["clock"].to_numpy()
    if reference is None:
        best = int(np.argmax(table["turns"].to_numpy()))
        inside = np.arange(len(clock)) == best
    else:
        inside = (clock >= reference[0] - 1e-9) & (clock <= reference[1] + 1e-9)
    if not inside.any():
        raise InputError("no period of the history lies in the reference")
    return np.asarray(inside / inside.sum(), dtype=np.float64)
