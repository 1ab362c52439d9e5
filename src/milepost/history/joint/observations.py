"""Move evidence as a history takes it: a table of sites, checked, each at its node.

Three kinds of tables are taken: sites (`milepost.tables.SITES`); player, time, mean and sd from
elsewhere; and ratings by player and year with at least 100 turns, whose `se_turns` is the error
(never `se_player`, which holds the variation of players that is counted here).
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from milepost.errors import InputError, MilepostWarning
from milepost.history.joint.options import CALIBRATION, LEARN, Moves
from milepost.history.periods import clock_of
from milepost.history.records import Floats, Ints, Records
from milepost.tables import SITES, as_frame

LEAST_TURNS_OF_RATINGS = 100
"""Ratings with fewer turns are no sites: a maximum of few turns is far off, or has no bound."""
LEAST_PLAYERS = 100
"""With fewer players of two games or more, variation and form cannot be learned."""
FAR = 100.0
"""A site taken further than this from the expected Elo is worth another step."""


class MovesWarning(MilepostWarning):
    """Something about the move evidence that its user must know."""


class FarSitesWarning(MovesWarning):
    """Sites were taken far from where the history puts their players."""

    far_sites = True


@dataclass(frozen=True, eq=False)
class Observations:
    """Sites that have a node."""

    node: Ints
    """For each site, its node."""
    player: Ints
    """For each site, its player's number."""
    period: Ints
    """For each site, its period."""
    site: Floats
    """What the moves say, Elo."""
    reference: Floats
    """Where they were linearised; NaN = not known."""
    given_variance: Floats
    """The variance where it is given as such; NaN = it follows from the games."""
    game_owner: Ints
    """For each game behind the sites, its site."""
    game_variance: Floats
    """For each game, dispersion / information."""
    n: npt.NDArray[np.int64]
    """Turns of each site."""
    spread: float
    """The calibration's player variation, Elo; NaN = not known."""
    form: float
    """The calibration's form, Elo; NaN = not known."""
    designs: Mapping[str, int]
    """Turns by design."""
    left_out: Mapping[str, int]
    """Rows that were left out, by reason."""

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.node)

    def variance(self, form: float) -> Floats:
        """Return the variance of each site about the player's own level, for a form.

        Games vary by form beside the dispersion of their turns, and the more turns of one game, the
        less they add: 1 / Σ_games 1 / (dispersion / information + form²).
        """
        parts = 1.0 / (self.game_variance + form**2)
        total = np.bincount(self.game_owner, weights=parts, minlength=len(self))
        with np.errstate(divide="ignore"):
            own = 1.0 / total
        return np.where(np.isnan(self.given_variance), own, self.given_variance)


def tempered(variance: Floats, player: Ints, spread: float) -> Floats:
    """Return variances that let a player's lasting offset count once, not once a period.

    With v the variances and u ~ N(0, r²) common to a player's sites, the message of each site is
    taken to the power 1 / (1 + r² Σ 1/v): together they say as much about his level as the exact
    joint law does.
    """
    known = np.bincount(player, weights=1.0 / variance)
    return np.asarray(variance * (1.0 + spread**2 * known[player]))


def observe(table: Any, records: Records, options: Moves) -> Observations:
    """Read a table of move evidence for the nodes of a history.

    Raises
    ------
    InputError
        If the table cannot be used: no such columns, several set-ups, no row with a node, or
        variation and form to be learned from too little.

    Warns
    -----
    MovesWarning
        If sites of different designs stand at different times, or rows were left out.
    """
    frame = _one_kind(as_frame(table))
    _refuse_mixed(frame)
    left_out: dict[str, int] = {}
    frame = _bounded(frame, left_out)
    found = _at_nodes(frame, records, left_out)
    if not len(found):
        told = ", ".join(f"{count:,} {reason}" for reason, count in left_out.items())
        raise InputError(f"no site of the move evidence has a node in this history ({told})")
    _check_learning(found, options)
    _warn_of_designs(frame)
    if left_out:
        told = ", ".join(f"{count:,} {reason}" for reason, count in left_out.items())
        warnings.warn(f"sites left out: {told}", MovesWarning, stacklevel=5)
    return replace(found, left_out=left_out)


def _one_kind(frame: pl.DataFrame) -> pl.DataFrame:
    """The table as sites, with a column `given` where it brings variances."""
    names = set(frame.columns)
    if {"site", "information"} <= names:
        return SITES.conform(frame).with_columns(given=pl.lit(None, dtype=pl.Float64))
    if {"player", "time", "mean", "sd"} <= names:
        mean, sd = pl.col("mean").cast(pl.Float64), pl.col("sd").cast(pl.Float64)
        frame = frame.with_columns(site=mean, given=sd**2)
    elif {"player", "year", "rating", "se_turns", "n"} <= names:
        frame = frame.with_columns(
            time=pl.col("year").cast(pl.Float64, strict=False),
            site=pl.when(pl.col("n") >= LEAST_TURNS_OF_RATINGS).then(pl.col("rating")),
            given=pl.col("se_turns").cast(pl.Float64) ** 2,
        )
    else:
        raise InputError(
            "expected a table of sites, or the columns player, time, mean, sd, or ratings by "
            f"player and year (player, year, rating, se_turns, n); got {', '.join(frame.columns)}"
        )
    return SITES.conform(frame.with_columns(reference=pl.lit(None, dtype=pl.Float64)))


def _refuse_mixed(frame: pl.DataFrame) -> None:
    setups = frame["setup"].drop_nulls().unique().sort().to_list()
    if len(setups) > 1:
        raise InputError(
            f"the sites come from {len(setups)} engine set-ups ({', '.join(setups[:4])}): each has "
            "a scale of its own; make them all with one"
        )


def _warn_of_designs(frame: pl.DataFrame) -> None:
    known = frame.filter(pl.col("design").is_not_null())
    designs = known["design"].unique().sort().to_list()
    if len(designs) < 2:
        return
    by_time = known.group_by("time").agg(pl.col("design").n_unique())
    if (by_time["design"] < len(designs)).any():
        warnings.warn(
            f"the turns were chosen by different designs at different times ({', '.join(designs)})."
            " What designs differ by cannot be told from what eras differ by: in one set, whole "
            "games lay 90 Elo below random turns",
            MovesWarning,
            stacklevel=6,
        )


def _bounded(frame: pl.DataFrame, left_out: dict[str, int]) -> pl.DataFrame:
    information = pl.col("information").fill_null(0.0) > 0.0
    given = pl.col("given").fill_null(0.0) > 0.0
    good = pl.col("site").is_finite().fill_null(value=False) & (information | given)
    kept = frame.filter(good)
    if kept.height < frame.height:
        left_out["without a bound"] = frame.height - kept.height
    return kept


def _at_nodes(frame: pl.DataFrame, records: Records, left_out: dict[str, int]) -> Observations:
    if records.period in ("game", "event"):
        raise InputError(
            "move evidence goes by time: it needs periods of time, not games or events"
        )
    clock = np.array([clock_of(time, records.period) for time in frame["time"].unique()])
    places = np.searchsorted(records.clock, clock + 1e-9, side="right") - 1
    periods = pl.DataFrame({
        "time": frame["time"].unique(), "period": places.astype(np.int32), "clock": clock,
    })  # fmt: skip
    players = pl.DataFrame({"player": records.names, "number": np.arange(records.players)})
    nodes = pl.DataFrame({
        "number": records.node_player, "period": records.node_period,
        "node": np.arange(records.nodes, dtype=np.int32),
    }).with_columns(pl.col("number").cast(pl.Int64))  # fmt: skip
    rows = frame.join(periods, on="time", how="left", maintain_order="left")
    rows = rows.join(players, on="player", how="left", maintain_order="left")
    strangers = int(rows["number"].null_count())
    if strangers:
        left_out["of players without results"] = strangers
    rows = rows.drop_nulls("number").join(
        nodes, on=["number", "period"], how="left", maintain_order="left"
    )
    idle = int(rows["node"].null_count())
    if idle:
        left_out["of players without games in the period"] = idle
    rows = rows.drop_nulls("node")
    return _observations(rows)


def _observations(rows: pl.DataFrame) -> Observations:
    dispersion = rows["dispersion"].fill_null(1.0).to_numpy()
    one_game = pl.concat_list("information")
    games = rows.select(
        pl.when(pl.col("game_information").is_null()).then(one_game)
        .otherwise(pl.col("game_information"))
    ).to_series()  # fmt: skip
    flat = pl.DataFrame({"row": np.arange(len(games), dtype=np.int32), "games": games})
    flat = flat.explode("games").filter(pl.col("games").is_finite() & (pl.col("games") > 0.0))
    owners = flat["row"].to_numpy()
    own = dispersion[owners] / flat["games"].to_numpy()
    design = rows["design"].fill_null("not known")
    counts = rows.group_by(design.alias("design")).agg(pl.col("n").fill_null(0).sum())
    return Observations(
        node=rows["node"].to_numpy().astype(np.int32),
        player=rows["number"].to_numpy().astype(np.int32),
        period=rows["period"].to_numpy().astype(np.int32),
        site=rows["site"].to_numpy().astype(np.float64),
        reference=rows["reference"].fill_null(float("nan")).to_numpy(),
        given_variance=rows["given"].fill_null(float("nan")).to_numpy(),
        game_owner=owners,
        game_variance=own,
        n=rows["n"].fill_null(0).to_numpy().astype(np.int64),
        spread=_calibrated(rows, "player_sd"),
        form=_calibrated(rows, "form_sd"),
        designs=dict(counts.sort("design").iter_rows()),
        left_out={},
    )


def _calibrated(rows: pl.DataFrame, name: str) -> float:
    known = rows[name].drop_nulls()
    return float(known.mean()) if len(known) else float("nan")  # type: ignore[arg-type]


def _check_learning(found: Observations, options: Moves) -> None:
    games = np.bincount(found.game_owner, minlength=len(found))
    several = int(np.sum(np.bincount(found.player, weights=games) >= 2))
    for name in ("spread", "form"):
        value = getattr(options, name)
        if value == LEARN and several < LEAST_PLAYERS:
            raise InputError(
                f"the {name} can be learned from {LEAST_PLAYERS} players with two games or more; "
                f"these sites have {several}: give a number, or take the calibration's"
            )
        if value == CALIBRATION and np.isnan(getattr(found, name)):
            missing = f"these sites do not say the {name} of their calibration"
            warnings.warn(f"{missing}: taken as 0", MovesWarning, stacklevel=6)
