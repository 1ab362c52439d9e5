"""The scales that a history can be shown on: its own points, or another read off from it.

A scale is chosen by name when a history is asked (`on_scale`), and the answer is a history again,
so that rankings, comparisons, curves and careers need not know of it. A further scale is one more
entry of `SCALES`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from milepost.errors import InputError
from milepost.history.beliefs import Lives
from milepost.history.models import TTT, TTTD, TrueSkill
from milepost.history.records import Floats, Records
from milepost.tables import CURVES

if TYPE_CHECKING:
    from milepost.history.result import History

LINK_GAMES = 10
"""A player-period takes part in the link if it has so many games: of fewer, neither the mean nor
the printed Elo says much about that time."""
LINK_ROWS = 30
LINK_PLAYERS = 10
"""The least that a line is drawn through."""
NEAR_YEARS = 2.0
"""A printed Elo counts as that of a time if it is no farther away."""
_OF_MOVES = ("intrinsic_mean", "intrinsic_sd", "moves_n", "moves_site", "moves_sd")
"""Columns of curves that move evidence fills."""
_SIZES = ("beta", "tau", "sigma", "draw", "first_mover", "margin_mu", "margin_sigma", "margin_tau")
"""Options of models that are lengths on the scale."""


@dataclass(frozen=True)
class EloLink:
    """The straight line from a history's points to printed Elos: Elo = zero + slope × points.

    Fitted by least squares to all player-periods with `LINK_GAMES` games and printed Elos, each
    counted once. The means are posterior means, so that the regression of the Elo on them is the
    line by which an Elo is expected, without a correction for their error.
    """

    slope: float
    """Elo for a point."""
    zero: float
    """Elo at zero points."""
    error: float
    """How far printed Elos lie from the line: root mean square, in Elo."""
    correlation: float
    """Between printed Elos and the means."""
    rows: int
    """Player-periods that the line goes through."""
    players: int
    """Players that they are of."""
    first: Any
    """The first time with printed Elos among them."""
    last: Any
    """The last one."""
    lowest: float
    """The lowest printed Elo among them."""
    highest: float
    """The highest one."""
    top: float
    """Where the line puts the best hundredth: at this Elo or above."""
    top_error: float
    """How far the printed Elos of those lie from it: root mean square."""
    top_above: float
    """By how much they lie above it on average."""
    by_decade: Mapping[int, float]
    """By how much printed Elos lie above the line on average, by decade (or block of ten units)."""

    @property
    def lines(self) -> tuple[str, ...]:
        """How to read the points, in lines for people."""
        apart = [f"{value:+.0f} ({decade}s)" for decade, value in self.by_decade.items()]
        line = (
            f"Elo = {self.zero:.0f} + {self.slope:.3f} × points, by the Elos printed beside the "
            f"games of {self.rows:,} player-periods, {self.first} to {self.last}."
        )
        error = (
            f"Printed Elos lie {self.error:.0f} from that line (root mean square), at the top "
            f"({self.top:.0f} and more) {self.top_error:.0f}, there {self.top_above:+.0f} on "
            f"average; it has seen Elos from {self.lowest:.0f} to {self.highest:.0f}."
        )
        if len(apart) < 2:
            return line, error
        drift = f"One line for all times: on average Elos lie above it by {', '.join(apart)}."
        return line, error, drift


@dataclass(frozen=True)
class Scale:
    """What the numbers of a history mean."""

    name: str = "points"
    """The name that it is chosen by."""
    unit: str = "points"
    """What a number is called."""
    lines: tuple[str, ...] = ()
    """How to read the numbers and how far to trust them, in lines for people."""
    link: EloLink | None = None
    """The line to printed Elos, where there is one."""

    @property
    def own(self) -> bool:
        """Whether it is the scale that the history was fitted on."""
        return self.name == POINTS.name


POINTS = Scale()
"""The scale of the fit: relative, `mu` where newcomers begin (or began, if that is learned)."""


def on_scale(history: History, name: str) -> History:
    """Return a history whose answers are on another scale.

    Parameters
    ----------
    history
        A history on its own scale.
    name
        One of `SCALES`: ``"points"`` or ``"results"`` (results alone), ``"elo"`` (a straight line
        to printed Elos) or ``"joint"`` (intrinsic Elo, of results and moves).

    Raises
    ------
    InputError
        If there is no such scale, or the history has not what it needs.
    """
    if name not in SCALES:
        raise InputError(f"expected a scale of {', '.join(SCALES)}; got {name!r}")
    if history.scale.name == name and not history.scale.own:
        return history
    if not history.scale.own:
        raise InputError(
            f"this history is on the scale {history.scale.name} already: ask the one it was "
            "made from"
        )
    return SCALES[name](history)


def elo_link(history: History) -> EloLink:
    """Return the line from a history's points to the Elos printed beside its games.

    Raises
    ------
    InputError
        If too few games have printed Elos, or the Elos do not rise with the skill.
    """
    curves = history.curves
    with_elo = curves.filter(
        pl.col("elo").is_not_null() & (pl.col("games") >= LINK_GAMES) & pl.col("mean").is_finite()
    )
    players = with_elo["player"].n_unique()
    if with_elo.height < LINK_ROWS or players < LINK_PLAYERS:
        raise InputError(
            f"the scale elo needs Elos printed beside the games: at least {LINK_ROWS} "
            f"player-periods of {LINK_GAMES} games and {LINK_PLAYERS} players have to have them, "
            f"and {with_elo.height:,} of {players:,} do. Results made of PGN have them if the PGN "
            "does; of another table, map elo_1 and elo_2"
        )
    mean, elo = with_elo["mean"].to_numpy(), with_elo["elo"].to_numpy()
    slope, zero = np.polyfit(mean - mean.mean(), elo, 1)
    zero -= slope * mean.mean()
    correlation = float(np.corrcoef(mean, elo)[0, 1])
    if not slope > 0.0:
        raise InputError("printed Elos do not rise with the skill here: no scale can be read off")
    above = elo - zero - slope * mean
    best = mean >= np.quantile(mean, 0.99)
    time = with_elo["time"]
    years = time.dt.year() if time.dtype.is_temporal() else time
    decade = (years.cast(pl.Float64) // 10 * 10).cast(pl.Int64).alias("decade")
    means = (
        pl.DataFrame({"decade": decade, "above": above})
        .group_by("decade").agg(pl.col("above").mean(), pl.len()).sort("decade")
        .filter(pl.col("len") >= LINK_ROWS)
    )  # fmt: skip
    return EloLink(
        slope=float(slope), zero=float(zero), error=float(np.sqrt(np.mean(above**2))),
        correlation=correlation, rows=with_elo.height, players=players, first=time.min(),
        last=time.max(), lowest=float(elo.min()), highest=float(elo.max()),
        top=float(zero + slope * mean[best].min()),
        top_error=float(np.sqrt(np.mean(above[best] ** 2))),
        top_above=float(above[best].mean()),
        by_decade=dict(means.select("decade", "above").iter_rows()),
    )  # fmt: skip


def printed_elo(history: History, key: str, moment: float) -> float | None:
    """Return the Elo printed beside a player's games nearest to a time, at most two years away."""
    row = history.curves.select("player", "elo").with_columns(
        away=pl.Series(np.abs(history._lives.clock - moment))
    )
    near = row.filter(
        (pl.col("player") == key) & pl.col("elo").is_not_null() & (pl.col("away") <= NEAR_YEARS)
    ).sort("away")
    return float(near["elo"][0]) if len(near) else None


def affine(history: History, scale: Scale, *, slope: float, zero: float) -> History:
    """Return a history with every number x replaced by zero + slope x, lengths by slope x.

    Chances do not change: the model's beta, the drift and the margins go along.

    Raises
    ------
    InputError
        If the model's chances are tied to a scale of their own (elo, glicko2).
    """
    model = history.model
    if not isinstance(model, TTT | TTTD | TrueSkill):
        raise InputError(f"the model {model.name} is on the scale of Elo's curve already")
    sizes = {
        option.name: slope * getattr(model, option.name)
        for option in fields(model)
        if option.name in _SIZES and isinstance(getattr(model, option.name), int | float)
    }
    skill = history._skill
    assert skill is None or isinstance(skill, Lives)
    return replace(
        history,
        curves=history.curves.with_columns(
            pl.col("mean") * slope + zero,
            pl.col("sd") * slope,
            pl.col("margin_mean") * slope,
            pl.col("margin_sd") * slope,
        ),
        model=replace(model, **sizes, mu=zero + slope * model.mu),
        draw_margin=slope * history.draw_margin,
        remaining_error=slope * history.remaining_error,
        paths=history.paths.with_columns(
            pl.col("newcomer_mean") * slope + zero, pl.col("first_mover") * slope
        ),
        scale=scale,
        _skill=None if skill is None else _affine_lives(skill, slope, zero),
        _margins=None if history._margins is None else _affine_lives(history._margins, slope, 0.0),
    )


def with_printed_elos(
    curves: pl.DataFrame, records: Records, results: pl.DataFrame
) -> pl.DataFrame:
    """Return curves with the mean of the Elos printed beside the games of each row.

    Parameters
    ----------
    curves
        A row for each node of the records, sorted by player and period.
    records
        The games.
    results
        The table that they were read from, with elo_1 and elo_2.
    """
    if all(results[f"elo_{side}"].null_count() == len(results) for side in (1, 2)):
        return curves.with_columns(elo=pl.lit(None, dtype=pl.Float64))
    total, count = np.zeros(records.nodes), np.zeros(records.nodes)
    for side, other in ((1, False), (2, True)):
        column = results[f"elo_{side}"].cast(pl.Float64).fill_null(math.nan).to_numpy()
        elo = column[records.row]
        node = np.where(records.swapped != other, records.second, records.first)
        known = np.isfinite(elo) & (elo > 0.0)
        total += np.bincount(node[known], elo[known], minlength=records.nodes)
        count += np.bincount(node[known], minlength=records.nodes)
    order = records.by_player
    mean: Floats = np.divide(total, count, out=np.full(records.nodes, math.nan), where=count > 0)
    return curves.with_columns(pl.Series("elo", mean[order]).fill_nan(None))


def _affine_lives(lives: Lives, slope: float, zero: float) -> Lives:
    # Natural form: a precision goes by the square of the slope, precision times mean by the slope.
    table = lives.table / np.array([slope**2, slope, slope**2, slope])
    return replace(
        lives, table=table, offset=zero + slope * lives.offset, drift=slope**2 * lives.drift
    )


def _by_printed_elos(history: History) -> History:
    link = elo_link(history)
    scale = Scale("elo", "Elo", link.lines, link)
    return affine(history, scale, slope=link.slope, zero=link.zero)


def _results_alone(history: History) -> History:
    """What results alone say, in points; a history without move evidence says nothing else."""
    moves = history.moves
    if moves is None:
        return history
    if moves.results_only is None:
        raise InputError("this joint history does not keep what results alone say: fit it again")
    mean, sd = moves.results_only.at_rows()
    return replace(
        history,
        curves=history.curves.with_columns(
            pl.Series("mean", mean), pl.Series("sd", sd),
            *(pl.lit(None, dtype=CURVES.dtypes[name]).alias(name) for name in _OF_MOVES),
        ),
        moves=None,
        _skill=moves.results_only,
    )  # fmt: skip


def _joint(history: History) -> History:
    if history.moves is None:
        raise InputError(
            "this history has no move evidence, and so no joint scale: fit it with moves"
        )
    return history


SCALES: Mapping[str, Callable[[History], History]] = {
    "points": _results_alone,
    "results": _results_alone,
    "elo": lambda history: _by_printed_elos(_results_alone(history)),
    "joint": _joint,
}
"""The scales by the names that they are chosen by, each a function from a history on its own scale
to one on that scale."""
