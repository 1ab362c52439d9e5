"""Ratings by moves: from decisions to intrinsic ratings, posteriors and calibrations."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from milepost.api.decisions import Decisions, cautions_missing, decisions, score_doubts_told
from milepost.choice.spreads import Spreads
from milepost.errors import InputError
from milepost.intrinsic.calibration.accuracy import CUTS
from milepost.intrinsic.calibration.calibration import (
    Calibration,
    calibration_for,
    load_calibration,
    shipped_calibrations,
)
from milepost.intrinsic.calibration.maps import KINDS
from milepost.intrinsic.calibration.variance_components import RatedTurns
from milepost.intrinsic.rating.groupings import GROUPINGS, columns_needed
from milepost.intrinsic.rating.posterior import Followed, Prior, follow
from milepost.intrinsic.rating.rate import LEAST_TURNS, shares_of
from milepost.intrinsic.rating.rate import rate as rate_groups
from milepost.io.files import write_table
from milepost.io.progress import Report
from milepost.io.provenance import provenance
from milepost.io.sources import Inputs
from milepost.report.pages import check_page_ending
from milepost.tables import CONTEXT, OPTION

if TYPE_CHECKING:
    import altair as alt

LEVEL = 0.95
"""Probability of intervals, if nothing else is asked for."""


@dataclass(frozen=True, eq=False, repr=False)
class Ratings:
    """Rated groups of turns."""

    table: pl.DataFrame
    """One row a group; see `milepost.tables.RATINGS`. A player's key is followed by the name."""
    by: tuple[str, ...]
    """What the turns were gathered by."""
    level: float
    """Probability of the intervals."""
    calibration: Calibration
    """The calibration that was used."""
    decisions: Decisions
    """What was rated."""
    notes: tuple[str, ...] = ()
    """Caveats that hold for all rows."""
    made: Mapping[str, Any] = field(default_factory=dict)
    """How they were made: version, options, digests of the inputs."""

    def __len__(self) -> int:
        """Return the number of groups."""
        return len(self.table)

    @property
    def shown(self) -> pl.DataFrame:
        """The table as people read it: players by their names as written."""
        return without_keys(self.table)

    def __repr__(self) -> str:
        """Return the ratings with their intervals and turns, a line a group."""
        with pl.Config(tbl_cols=-1, tbl_width_chars=160):  # no interval is hidden
            return str(self._short())

    def _repr_html_(self) -> str:
        return self._short()._repr_html_()

    def _short(self) -> pl.DataFrame:
        intervals = ["low", "high", "player_low", "player_high"]
        wanted = [*self.by, "rating", *intervals, "n", "games", "elo", "warnings"]
        points = pl.col("rating", *intervals, "elo")
        return self.shown.select(wanted).with_columns(points.round(0).cast(pl.Int64))

    def to_pandas(self) -> Any:
        """Return the table as a pandas frame."""
        return self.table.to_pandas()

    def to_polars(self) -> pl.DataFrame:
        """Return the table."""
        return self.table

    def save(self, path: str | Path, *, form: str | None = None) -> None:
        """Write the table as Parquet, CSV or NDJSON; it says how it was made."""
        write_table(self.table, path, form=form, made=self.made)

    def plot(self) -> alt.TopLevelMixin:
        """Return a chart of the ratings with both intervals, the players' own Elo beside them.

        In a notebook it shows itself; ``.save("ratings.svg")`` writes it. Of many groups those with
        most turns are drawn.

        Raises
        ------
        InputError
            If no group has a rating.
        """
        from milepost.report.ratings.page import plot_ratings

        return plot_ratings(self.table, self.by, self.level, self.decisions.names)

    def report(self, path: str | Path) -> None:
        """Write a page with the ratings, their intervals and plots (HTML)."""
        from milepost.report.ratings.page import RatingsView, write_ratings_page

        view = RatingsView(
            ratings=self.table, by=self.by, level=self.level, calibration=self.calibration,
            decisions=self.decisions.table, names=self.decisions.names, notes=self.notes,
        )  # fmt: skip
        write_ratings_page(view, path, made=self.made)


def rate(
    inputs: Inputs | Decisions | Any,
    store: str | Path | None = None,
    by: str | Sequence[str] = "player",
    *,
    player: str | Iterable[str] = (),
    calibration: Calibration | str | Path | None = None,
    force: bool = False,
    level: float = LEVEL,
    least: int = LEAST_TURNS,
    workers: int = 1,
    progress: Report | None = None,
) -> Ratings:
    """Rate players, games, phases … by their moves.

    Parameters
    ----------
    inputs, store
        Games whose turns are in a store, or decisions; see `milepost.decisions`. What the store
        lacks, `milepost.analyse` adds.
    by
        What to gather turns by: one or several of player, game, event, year, phase, colour,
        opponent, opponent-band, time-control, result, clock, move-range, milepost. None = all
        turns in one.
    player
        Only these players' turns: keys, names or parts of names.
    calibration
        A calibration, its file, or the name of one that comes with the package [default: the one
        for the set-up of the evaluations].
    force
        Use the calibration for another engine set-up as well; the rows say so.
    level
        Probability of both intervals: `low` to `high` says how well these games were played,
        `player_low` to `player_high` how strong the player is.
    least
        Groups with fewer turns get no rating, but a row that says so.
    workers
        Processes to read games with.
    progress
        Called while games are read, then with the turns that are rated.

    Returns
    -------
    Ratings

    Raises
    ------
    InputError
        If there is nothing to rate, or no calibration for these evaluations.
    """
    groupings = [by] if isinstance(by, str) else list(dict.fromkeys(by))
    columns_needed(groupings)  # an unknown grouping is told before anything is read
    rated = decisions(inputs, store, player=player, workers=workers, progress=progress)
    chosen = find_calibration(calibration, rated)
    table = rate_groups(
        rated.table, chosen, groupings, setup=rated.setup, force=force, level=level, least=least,
        left_out=rated.left_out, progress=progress,
    )  # fmt: skip
    told = {"by": groupings, "calibration": chosen.name, "level": level, "least": least}
    told |= {"force": force, "player": [player] if isinstance(player, str) else list(player)}
    told |= _setup_told(rated)
    return Ratings(
        table=_with_names(table, rated.names),
        by=tuple(groupings),
        level=level,
        calibration=chosen,
        decisions=rated,
        notes=(*_notes(rated, chosen), *((phases_told(chosen),) if "phase" in groupings else ())),
        made=provenance("rate", told, [dict(each) for each in rated.inputs]),
    )


def phases_told(calibration: Calibration) -> str:
    """Return what ratings of phases are worth under a calibration."""
    # Loads SciPy, which other ratings do without.
    from milepost.intrinsic.review import baselines

    return baselines.phases_told(calibration)


_NAMES = {"player": "name", "opponent": "opponent_name"}
"""The column with the name as written, for each column of players' keys."""


def _with_names(table: pl.DataFrame, names: Mapping[str, str]) -> pl.DataFrame:
    """Put the players' names as written behind their keys."""
    return table.select(
        column
        for key in table.columns
        for column in (
            pl.col(key),
            *([pl.col(key).replace(names).alias(_NAMES[key])] if key in _NAMES else ()),
        )
    )


def without_keys(table: pl.DataFrame) -> pl.DataFrame:
    """Return ratings as people read them: players by their names as written."""
    keys = {key: name for key, name in _NAMES.items() if name in table.columns}
    return table.drop(*keys).rename({name: key for key, name in keys.items()})


def find_calibration(wanted: Calibration | str | Path | None, decisions: Decisions) -> Calibration:
    """Return a calibration: as given, from a file or by name, or the one for some decisions.

    Where none is named, it is the best one for their set-up that the columns they bring allow.

    Raises
    ------
    InputError
        If there is none, or the one named needs columns that the decisions do not bring.
    """
    brought = [
        name.removeprefix(OPTION).removeprefix(CONTEXT)
        for name in decisions.table.columns
        if name.startswith((OPTION, CONTEXT))
    ]
    if wanted is None:
        return load_calibration(calibration_for(decisions.setup, brought))
    chosen = wanted if isinstance(wanted, Calibration) else load_calibration(wanted)
    missing = [name for name in chosen.columns if name not in brought]
    if missing:
        raise InputError(
            f"the agents of {chosen.name} go by columns that these decisions do not bring "
            f"({', '.join(missing)}): make them of the games and the store, or take a calibration "
            "that goes by values alone"
        )
    return chosen


def _setup_told(rated: Decisions) -> dict[str, Any]:
    return {"setup": dict(rated.setup_details), "digest": rated.setup} if rated.setup else {}


def _notes(rated: Decisions, calibration: Calibration) -> Iterable[str]:
    yield from calibration.notes
    doubts = score_doubts_told(rated.table)
    if doubts:
        yield doubts
    unknown = cautions_missing(rated.table)
    if unknown:
        yield (
            f"these decisions do not say {', '.join(unknown)}: cautions that rest on that "
            "(fast games, one opponent, no Elo) cannot be given"
        )


def _times(difference: float) -> str:
    """A ratio of probabilities as people say it: two digits, and no more than can be meant."""
    ratio = math.exp(min(difference, 20.0))
    if ratio >= MOST_TIMES:
        return "over a million times"
    if ratio < LEAST_TIMES:
        return "hardly"
    return f"{ratio:.1f} times" if ratio < 10 else f"{float(f'{ratio:.2g}'):,.0f} times"


MOST_TIMES, LEAST_TIMES = 1e6, 1.05
"""Beyond these a ratio is told in words."""


@dataclass(frozen=True, eq=False)
class Likelihood:
    """How probable a player's moves are for given ratings, and what is known after each game."""

    totals: pl.DataFrame
    """One row a given rating: the probability of all moves."""
    games: pl.DataFrame
    """One row a game: the posterior after it."""
    turns: pl.DataFrame
    """One row a turn: the probability of the move for each given rating."""
    followed: Followed
    """The same, with the density of the final posterior."""
    warning: str | None
    """What was forced, if anything."""
    notes: tuple[str, ...]
    """Caveats."""
    made: Mapping[str, Any]
    """How it was made."""

    @property
    def sentence(self) -> str:
        """Which of the given ratings fits best, and how many times better than the others."""
        order = self.totals.sort("ln_probability", descending=True)
        ratings, logs = order["elo"].to_list(), order["ln_probability"].to_list()
        if len(ratings) < 2:
            return ""
        others = [
            f"{_times(logs[0] - log)} better than {rating:.0f}"
            for rating, log in zip(ratings[1:], logs[1:], strict=True)
        ]
        return f"{ratings[0]:.0f} fits these moves best: {', '.join(others)}."

    def __repr__(self) -> str:
        """Return the totals and the last posteriors."""
        return f"{self.totals}\n{self.games}"

    def _repr_html_(self) -> str:
        return self.totals._repr_html_() + self.games._repr_html_()

    def to_pandas(self) -> Any:
        """Return the posterior after each game as a pandas frame."""
        return self.games.to_pandas()


def likelihood(
    inputs: Inputs | Decisions | Any,
    store: str | Path | None = None,
    *,
    player: str | Iterable[str] = (),
    elo: Sequence[float] = (1600, 2000, 2400, 2800),
    prior: tuple[float, float] | Prior | None = None,
    calibration: Calibration | str | Path | None = None,
    force: bool = False,
    level: float = LEVEL,
    workers: int = 1,
    progress: Report | None = None,
) -> Likelihood:
    """Say how probable a player's moves are for given Elos, and what is known after each game.

    Parameters
    ----------
    inputs, store, player
        Whose moves; see `milepost.rate`. They must be one player's.
    elo
        Ratings to ask about.
    prior
        Mean and standard deviation of what is known beforehand [default: even from 600 to 3400].
    calibration, force, level, workers, progress
        See `milepost.rate`.

    Raises
    ------
    InputError
        If there are moves of several players, or no calibration for these evaluations.
    """
    belief = Prior(*prior) if isinstance(prior, tuple) else prior
    rated = decisions(inputs, store, player=player, workers=workers, progress=progress)
    chosen = find_calibration(calibration, rated)
    warning = chosen.refuse_other(rated.setup, force=force)
    table = rated.table
    # A table of another trade need not say who chose: then it is one chooser's.
    count = table["mover"].n_unique() if "mover" in table.columns else 1
    if count > 1:
        raise InputError(f"these are moves of {count} players: name one of them")
    told = follow(
        Spreads.from_table(table), chosen, list(elo), prior=belief, level=level,
        shares=shares_of(table),
    )  # fmt: skip
    about = [name for name in ("game_id", "mover", "opponent") if name in table.columns]
    games = table.select(about).with_columns(told.turns["group"])
    after = told.games.join(
        games.group_by("group", maintain_order=True).first(), on="group", how="left"
    ).select(*about, *told.games.columns[1:])
    columns = [name for name in ("game_id", "ply", "mover", "played") if name in table.columns]
    low, high = chosen.range
    notes = list(chosen.notes)
    if not all(low <= each <= high for each in elo):
        notes.append(f"the calibration was fitted on {low:.0f} to {high:.0f}")
    options = {"elo": [float(each) for each in elo], "player": player, **_setup_told(rated)}
    options |= {"prior": "" if belief is None else [belief.mean, belief.sd]}
    return Likelihood(
        totals=told.totals,
        games=after,
        turns=pl.concat([table.select(columns), told.turns.drop("group")], how="horizontal"),
        followed=told,
        warning=warning,
        notes=tuple(notes),
        made=provenance("likelihood", options, [dict(each) for each in rated.inputs]),
    )


@dataclass(frozen=True)
class CalibrationPlan:
    """How a calibration is made; see `milepost.calibrate`."""

    kinds: tuple[str, ...] = tuple(KINDS)
    """Maps to try."""
    folds: int = 5
    """Folds, by game."""
    repeats: int = CUTS
    """Random cuts into pieces; the errors of the maps are means over them."""
    seed: int = 2011
    """Draws folds and pieces."""
    c_line: tuple[float, float] | None = None
    """c = first + second × Elo of a reference period; None = fitted."""

    def __post_init__(self) -> None:
        """Refuse maps that do not exist."""
        unknown = [kind for kind in self.kinds if kind not in KINDS]
        if unknown:
            raise InputError(f"there are the maps {', '.join(KINDS)}, not {unknown[0]!r}")


def calibrate(
    inputs: Inputs | Decisions | Any,
    store: str | Path | None = None,
    *,
    name: str,
    setup: str | None = None,
    whole_games: Inputs | Decisions | None = None,
    whole_store: str | Path | None = None,
    plan: CalibrationPlan | None = None,
    workers: int = 1,
    progress: Report | None = None,
) -> Calibration:
    """Fit maps between Elo and agents to games of rated players, and choose one.

    Parameters
    ----------
    inputs, store, setup
        The games of rated players; see `milepost.decisions`.
    name
        What to call it.
    whole_games, whole_store
        Further games, evaluated whole, that the variation of players and their form is measured by
        [default: the same games].
    plan
        Maps, folds, seed …
    workers, progress
        See `milepost.rate`.

    Raises
    ------
    InputError
        If no evaluated turn has a player with an Elo.
    """
    how = plan or CalibrationPlan()
    rated = decisions(inputs, store, setup=setup, workers=workers, progress=progress)
    turns = _of_the_rated(rated)
    digests = list(rated.inputs)
    whole = turns
    if whole_games is not None:
        further = decisions(
            whole_games, whole_store or store, setup=rated.setup or None, plan=rated.plan,
            workers=workers, progress=progress,
        )  # fmt: skip
        whole = _of_the_rated(further)
        digests += further.inputs
    told = {"maps": list(how.kinds), "folds": how.folds, "repeats": how.repeats, "seed": how.seed}
    told |= {"c_line": list(how.c_line) if how.c_line else "", **_setup_told(rated)}
    from milepost.intrinsic.calibration.build import calibrate as build_calibration

    return build_calibration(
        turns.spreads,
        turns.players,
        whole_games=whole,
        events=turns.events,
        name=name,
        setup=rated.setup,
        setup_text=rated.setup_text,
        kinds=list(how.kinds),
        folds=how.folds,
        repeats=how.repeats,
        seed=how.seed,
        c_line=how.c_line,
        made=provenance("calibrate", told, [dict(each) for each in digests]),
        progress=progress,
    )


def _of_the_rated(found: Decisions) -> RatedTurns:
    """The decisions of players whose Elo is known, who they are, and where they played."""
    rated = found.table.filter(pl.col("mover_elo").is_not_null(), pl.col("mover").is_not_null())
    if not len(rated):
        raise InputError("no evaluated turn has a player with an Elo")
    # An event of the same name in another year is another one.
    about = [pl.col(name).cast(pl.String) for name in ("event", "year") if name in rated.columns]
    events = None
    if "event" in rated.columns:
        events = rated.select(pl.concat_str(about, separator=" ", ignore_nulls=True)).to_series()
    return RatedTurns(
        Spreads.from_table(rated),
        rated["mover"].to_list(),
        None if events is None else events.to_list(),
        rated["ply"].to_list() if "ply" in rated.columns else None,
    )


def calibrations() -> pl.DataFrame:
    """Return the calibrations that come with the package, and what each rests on."""
    rows = []
    for name in shipped_calibrations():
        known = load_calibration(name)
        low, high = known.range
        rows.append(
            {
                "name": name,
                "set-up": known.setup_text or known.setup,
                "map": known.map.kind,
                "from": round(low),
                "to": round(high),
                "rests on": known.rests_on,
                "variation rests on": _variation_told(known),
                "admitted": known.admitted,
                "accuracy": known.accuracy_text,
                "notes": "; ".join(known.notes),
            }
        )
    return pl.DataFrame(rows)


def _variation_told(known: Calibration) -> str:
    variation = known.variation
    if variation.borrowed:
        return f"borrowed from {variation.borrowed}"
    return str(variation.design) if variation.design.turns else "assumed"


__all__ = [
    "GROUPINGS",
    "Calibration",
    "CalibrationPlan",
    "Likelihood",
    "Prior",
    "Ratings",
    "calibrate",
    "calibrations",
    "check_page_ending",
    "columns_needed",
    "find_calibration",
    "likelihood",
    "load_calibration",
    "phases_told",
    "rate",
]
