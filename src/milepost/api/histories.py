"""Histories as whole jobs: from files or frames to skill through time, and back from a folder."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import polars as pl

from milepost import history as stage
from milepost.api.chosen_results import choose
from milepost.api.evidence import named_as_in, read_evidence
from milepost.errors import InputError
from milepost.games.results.choose import ChosenResults
from milepost.history.career import BEST_WINS, Career, career_of
from milepost.history.doubles import likely_doubles
from milepost.history.field import (
    NORMS,
    UNRATED,
    FieldForecast,
    NormForecast,
    NormRule,
    forecast_field,
    norm_in_field,
)
from milepost.history.joint.moves_fit import ASSUMPTION
from milepost.history.joint.options import Moves
from milepost.history.models import (
    TTT,
    TTTD,
    Model,
    check_option,
    described,
    model_type,
)
from milepost.history.periods import checked_period as check_period
from milepost.history.scales import SCALES, printed_elo
from milepost.history.sweeping import Sweeping
from milepost.history.teams.game import Game
from milepost.io.files import write_text
from milepost.io.progress import Report
from milepost.io.provenance import provenance
from milepost.io.shown import percent
from milepost.io.sources import find_sources

if TYPE_CHECKING:
    import altair as alt

__all__ = [
    "ASSUMPTION",
    "NORMS",
    "SCALES",
    "ChosenResults",
    "History",
    "Moves",
    "NormRule",
    "Sweeping",
    "about",
    "check_period",
    "choose",
    "fit_history",
    "fit_on_cluster",
    "load_history",
    "model_and_sweeping",
    "percent",
    "pool_levels",
]

Paths: TypeAlias = str | Path | Iterable[str | Path]


@dataclass(frozen=True, repr=False)
class History(stage.History):
    """Every player's skill over time: see `milepost.fit_history`."""

    made: Mapping[str, Any] = field(default_factory=dict)
    """How it was made: version, options, digests of the inputs."""
    said: tuple[str, ...] = ()
    """What was decided about the results, in lines for people."""

    def plot(
        self, *players: str, band: str = "sd", beside: stage.History | None = None,
        margins: bool = True, first: Any = None, last: Any = None, title: str = "",
        gap: float | None = None, scale: str | None = None,
    ) -> alt.TopLevelMixin:  # fmt: skip
        """Return a chart of players' skill through time.

        Parameters
        ----------
        *players
            Their names, or parts of them.
        band
            ``"sd"`` (one standard deviation to either side), ``"95"`` (the central 95 %) or
            ``"none"``.
        beside
            Another history, drawn dotted.
        margins
            Whether to draw mean plus draw margin, dashed, where players have margins of their own.
        first, last
            The time range; `None` = the whole lives.
        title
            Title.
        gap
            Where there are no games for longer than this, a curve is broken; `None` = five years,
            where the times are years or dates.
        scale
            See `on`; `None` = intrinsic Elo where there is move evidence, with the results-only
            curve dashed and the sites as points; else the history's own.
        """
        from milepost.report.history.curves import curve_points, curves_chart

        if scale is not None:
            return self.on(scale).plot(
                *players, band=band, beside=beside, margins=margins, first=first, last=last,
                title=title, gap=gap,
            )  # fmt: skip
        keys = list(dict.fromkeys(self.key_of(name) for name in players))
        if not keys:
            raise InputError("expected at least one player to plot")
        if self.moves is not None:
            if beside is not None:
                raise InputError(
                    "the joint scale is not drawn beside another history: choose results or elo"
                )
            from milepost.report.history.joint import joint_chart

            return joint_chart(
                self, keys, band=band, first=first, last=last, title=title, subtitle=[self.about]
            )
        said, other = [self.about], None
        if beside is not None:
            names = [self.name_of(key) for key in keys]
            known = [beside.key_of(key if key in set(beside.curves["player"]) else name)
                     for key, name in zip(keys, names, strict=True)]  # fmt: skip
            other = curve_points(beside, known, first=first, last=last, gap=gap)
            said.append(f"dotted: {about(beside)}")
        said += self.scale.lines
        points = curve_points(self, keys, first=first, last=last, gap=gap)
        return curves_chart(
            points, band=band, beside=other, margins=margins, title=title, subtitle=said,
            unit=self.scale.unit,
        )  # fmt: skip

    def career(self, player: str, *, wins: int = BEST_WINS) -> Career:
        """Return a player's career: years, games, peak, draw margin, and the best wins.

        Parameters
        ----------
        player
            The name, or a part of it.
        wins
            How many of the best wins.
        """
        return career_of(self, self.key_of(player), wins=wins)

    def search(self, typed: str) -> pl.DataFrame:
        """Return the players whose names hold some words, or are spelled much like them.

        Returns
        -------
        polars.DataFrame
            player (the key), name, games, first, last (times with games), peak (the highest
            mean; intrinsic Elo where there is move evidence) and peak_sd (its standard deviation);
            the best known first.
        """
        mean, sd = ("mean", "sd") if self.moves is None else ("intrinsic_mean", "intrinsic_sd")
        near = self._finder.search(typed)
        curves = self.curves.filter(pl.col("player").is_in(near["key"].to_list()))
        lives = curves.group_by("player").agg(
            first=pl.col("time").min(), last=pl.col("time").max(), peak=pl.col(mean).max(),
            peak_sd=pl.col(sd).sort_by(mean).last(),
        )  # fmt: skip
        return near.rename({"key": "player"}).join(lives, on="player", maintain_order="left")

    def doubles(self, ranking: pl.DataFrame) -> list[list[str]]:
        """Return groups of keys of a ranking that may be one person each."""
        return likely_doubles(self, ranking)

    def field(
        self, player: str, opponents: Sequence[str], time: Any,
        *, movers: Sequence[int | None] | None = None,
    ) -> FieldForecast:  # fmt: skip
        """Return the expected score against a field, and the chance of every score.

        Parameters
        ----------
        player
            The player.
        opponents
            The opponents, one a game.
        time
            When: the beliefs of that time count.
        movers
            For each game 1 = the player moves first, 2 = the opponent; `None` = nobody does.
        """
        keys = [self.key_of(name) for name in opponents]
        return forecast_field(self, self.key_of(player), keys, time, movers=movers)

    def norm(
        self, player: str, opponents: Sequence[str], time: Any, *, title: str = "GM",
        rule: NormRule | None = None, score: float | None = None,
        ratings: Mapping[str, float] | None = None, movers: Sequence[int | None] | None = None,
    ) -> NormForecast:  # fmt: skip
        """Return the chance of a title norm, or of a score, in a field.

        Parameters
        ----------
        player, opponents, time, movers
            As for `field`.
        title
            GM, IM, WGM or WIM: the performance that FIDE's title regulations ask for.
        rule
            Another rule.
        score
            A score to reach instead; then no ratings are needed.
        ratings
            Opponents' ratings, by the names given; the others' are those printed beside their games
            nearest to the time.

        Raises
        ------
        InputError
            If somebody is not known, has no rating, or there is no such title.
        """
        keys = [self.key_of(name) for name in opponents]
        forecast = forecast_field(self, self.key_of(player), keys, time, movers=movers)
        if score is not None:
            if not 0.0 <= score <= len(keys):
                raise InputError(f"expected a score from 0 to {len(keys)}, got {score:g}")
            return NormForecast(forecast, f"{score:g} of {len(keys)} points", score)
        if rule is None and title not in NORMS:
            raise InputError(f"expected a title of {', '.join(NORMS)}; got {title!r}")
        given = {self.key_of(name): float(value) for name, value in (ratings or {}).items()}
        moment = self.moment(time)
        rated: list[float] = []
        for key in keys:
            elo = given.get(key, printed_elo(self, key, moment))
            if elo is None:
                raise InputError(
                    f"no rating of {self.name_of(key)} is known near {time}: give one (an unrated "
                    f"opponent counts as {UNRATED:.0f})"
                )
            rated.append(elo)
        wanted = f"a performance of {rule.performance:.0f}" if rule else f"a norm for {title}"
        return norm_in_field(forecast, rated, rule or NORMS[title], wanted)

    def sensitivity(
        self, group: Any = "top:100", *, reference: Any = None, deeper: Any = None,
        progress: Report | None = None,
    ) -> pl.DataFrame:  # fmt: skip
        """Return how a group's level changed under other assumptions, fitted anew.

        Parameters
        ----------
        group, reference
            See `inflation`.
        deeper
            Sites without the first moves of games (`milepost.sites`, first_move), or their file.
        progress
            Called after each fit.
        """
        from milepost.history.joint.sensitivity import sensitivity_of

        sites, _ = read_evidence(deeper)
        if sites is not None and self._kept is not None:
            sites = named_as_in(sites, self._kept.results)
        return sensitivity_of(self, group, reference=reference, deeper=sites, progress=progress)

    def plot_inflation(
        self, group: Any = "top:100", *, reference: Any = None, title: str = ""
    ) -> alt.TopLevelMixin:
        """Return a chart of a group's level through time, with its band and the turns behind it.

        Parameters
        ----------
        group, reference
            See `inflation`.
        title
            Title.
        """
        from milepost.report.history.joint import inflation_chart

        table = self.inflation(group, reference=reference)
        return inflation_chart(table, title=title, subtitle=[self.about, ASSUMPTION])

    @property
    def about(self) -> str:
        """What it was fitted to, in a line."""
        return about(self)

    def update(self, more: Any) -> History:
        """Return the history with more results: see `milepost.history.update_history`."""
        return _whole(stage.update_history(self, more), self.made, self.said)

    def save(self, folder: str | Path) -> None:
        """Write the history into a folder: Parquet tables, and JSON for the rest."""
        stage.save_history(self, folder)
        if self.made:
            text = json.dumps(self.made, indent=1, sort_keys=True, ensure_ascii=False, default=str)
            write_text(Path(folder) / "provenance.json", text + "\n")


def fit_history(
    results: Any,
    model: Model | None = None,
    *,
    period: str | float = "year",
    mapping: str | Mapping[str, str] | None = None,
    skip_fast: bool = False,
    first: int | None = None,
    last: int | None = None,
    sweeping: Sweeping | None = None,
    moves: Any = None,
    joining: Moves | None = None,
    progress: Report | None = None,
) -> History:
    """Fit every player's skill over time to results.

    Parameters
    ----------
    results
        Files: results tables, games tables, PGN, or any table with a mapping. Or a frame with the
        columns of a results table, what `choose` returned, or a sequence of
        `milepost.history.Game` (teams, more than two sides).
    model
        `TTT`, `TTTD`, `TrueSkill`, `Elo` or `Glicko2` with its options. `None` = `TTT.for_chess()`
        for games of chess, else `TTT()`. Games of chess are PGN, games tables, results made of
        them, and tables whose columns white… and black… are mapped to the players.
    period
        ``"year"``, ``"month"``, ``"day"``, ``"event"``, ``"game"``, or a length in the unit of the
        times (years, for dates): see `milepost.history.fit_history`.
    mapping
        Which columns of a table hold what: ``"time=date,player_1=home,player_2=away,score=points"``
    skip_fast
        Leave out fast games.
    first, last
        Only the results of these years, both included.
    sweeping
        How near to the fixed point to go.
    moves
        Move evidence, for a joint history: a table of sites (`milepost.sites`), its file, or a
        table of player, time, mean and sd.
    joining
        How it enters: `Moves`.
    progress
        Called after every sweep.

    Returns
    -------
    History

    Raises
    ------
    InputError
        If the files, the model or the results cannot be used.

    Warns
    -----
    SkippedResultsWarning
        If rows were left out.
    ConvergenceWarning
        If the fixed point was not reached.

    Examples
    --------
    >>> import milepost as mp
    >>> history = mp.fit_history(
    ...     {"time": [1990, 1991], "player_1": ["Ann", "Ann"], "player_2": ["Bob", "Cy"],
    ...      "score": [1.0, 0.5]},
    ...     mp.TTT(beta=200.0, tau=25.0),
    ... )
    >>> history.rank(1991)["name"].to_list()
    ['Ann', 'Cy', 'Bob']
    """
    if isinstance(results, list | tuple) and results and isinstance(results[0], Game):
        found = stage.fit_history(
            results, model, period=period, sweeping=sweeping, moves=moves, joining=joining,
            progress=progress,
        )  # fmt: skip
        return _whole(found, {}, ())
    chosen = choose(results, mapping=mapping, skip_fast=skip_fast, first=first, last=last)
    sites, inputs = read_evidence(moves)
    sites = named_as_in(sites, chosen.table)
    if model is None:
        plain = TTT() if sites is None else TTT(newcomers="learn")
        model = TTT.for_chess() if chosen.chess else plain
    found = stage.fit_history(
        chosen.table, model, period=period, sweeping=sweeping, moves=sites, joining=joining,
        progress=progress,
    )  # fmt: skip
    options = {**described(model), "period": period, **chosen.choices}
    if found.moves is not None:
        options["moves"] = asdict(found.moves.options)
    made = provenance("history", options, [*(dict(each) for each in chosen.inputs), *inputs])
    return _whole(found, made, chosen.said)


def fit_on_cluster(
    results: Any, model: Model, *, period: str | float = "year", slices: int = 4,
    address: str | None = "auto", sweeping: Sweeping | None = None, progress: Report | None = None,
) -> History:  # fmt: skip
    """Fit a history to Parquet results on a Ray cluster, in slices of time.

    Parameters
    ----------
    results
        Parquet files with the columns of a results table, under the same names on every machine.
        Players are told apart by the names there.
    model
        `TTT` that learns neither the level of newcomers nor the first mover's advantage.
    slices
        How many slices of time, each held by an actor of its own.
    address
        ``HOST:PORT``, or ``auto`` for the cluster that runs here, else a new one.
    period, sweeping, progress
        As for `fit_history`.

    Raises
    ------
    InputError
        If the files or the model cannot be used, or Ray is not installed.
    """
    from milepost.history.slices.actors import fit_on_cluster as fit

    sources = find_sources(results)
    paths = [str(source.path or source.name) for source in sources]
    other = [path for path in paths if not path.endswith(".parquet")]
    if other:
        raise InputError(f"{other[0]}: a cluster reads Parquet (milepost results -o x.parquet)")
    if not isinstance(model, TTT):
        raise InputError(f"a history in slices is fitted by ttt, not by {model.name}")
    found = fit(
        paths, model, period=period, slices=slices, address=address, sweeping=sweeping,
        progress=progress,
    )  # fmt: skip
    options = {**described(model), "period": period, "slices": slices}
    return _whole(found, provenance("history", options, sources.about()), ())


def load_history(folder: str | Path) -> History:
    """Read a history that was saved.

    Raises
    ------
    InputError
        If the folder holds none, or one of a later version.
    """
    made: Any = {}
    # One that was saved by the stage alone says nothing about where it is from.
    with suppress(OSError, ValueError):
        made = json.loads((Path(folder) / "provenance.json").read_text(encoding="utf-8"))
    return _whole(stage.load_history(folder), made if isinstance(made, dict) else {}, ())


def model_and_sweeping(
    name: str, settings: Mapping[str, Any], *, chess: bool = False
) -> tuple[Model, Sweeping | None]:
    """Return a model, and how it is swept, from its name and settings told by their names.

    Parameters
    ----------
    name
        ttt, ttt-d, trueskill, elo or glicko2.
    settings
        Options of the model, and of `Sweeping`.
    chess
        Whether the options that are not told are those for chess.

    Raises
    ------
    InputError
        If there is no such model, it has no such option, or a value cannot be used.
    """
    kind = model_type(name)
    controls = {part.name for part in fields(Sweeping)}
    options = {name: value for name, value in settings.items() if name not in controls}
    for option in options:
        check_option(kind, option)
    base = kind.for_chess() if chess and issubclass(kind, TTT | TTTD) else kind()
    told = {name: value for name, value in settings.items() if name in controls}
    sweeping = Sweeping(**told) if told else None
    if sweeping is not None and not isinstance(base, TTT | TTTD):
        raise InputError(f"the model {name} makes one pass: it has no {', '.join(sorted(told))}")
    return replace(base, **options), sweeping


def pool_levels(history: stage.History) -> pl.DataFrame:
    """Return how strong the players of each period were: the level of the pool over time.

    Means of a history's curves, so on its own scale: intrinsic Elo where it has move evidence. By
    results alone, levels of distant times rest on what the model assumes about newcomers (see
    `milepost.history.eras`).

    Returns
    -------
    polars.DataFrame
        `time`, `players`, `games`, `mean`, `lower`, `median`, `upper` (quartiles), `best` (mean of
        the ten highest; null of fewer than twenty players).
    """
    mean = pl.col("mean" if history.moves is None else "intrinsic_mean")
    return (
        history.curves.group_by("time")
        .agg(
            pl.len().alias("players"),
            (pl.col("games").sum() / 2).round().cast(pl.Int64).alias("games"),
            mean.mean().alias("mean"),
            mean.quantile(0.25, "linear").alias("lower"),
            mean.median().alias("median"),
            mean.quantile(0.75, "linear").alias("upper"),
            # Of a few players the ten best would be nearly all.
            pl.when(pl.len() >= 20).then(mean.top_k(10).mean()).alias("best"),
        )
        .sort("time")
    )


def about(history: stage.History) -> str:
    """Return in a line what a history was fitted to."""
    kept = getattr(history, "made", {}).get("options", {})
    fast = ", not known whether fast games count"
    if kept.get("fast") == "left out":
        fast = ", fast games are left out"
    elif kept.get("fast") and kept.get("fast_games") is None:
        fast = ", fast games count like the others"
    elif kept.get("fast") and not kept["fast_games"]:
        fast = ""
    elif kept.get("fast"):
        fast = f", {kept['fast_games']:,} fast games count like the others"
    joint = "" if history.moves is None else f", {history.moves.turns:,} turns of moves"
    state = "" if history.converged else ", NOT CONVERGED"
    return (
        f"{history.model.name}, period {history.period}, {history.games:,} games of "
        f"{history.players:,} players{fast}{joint}{state}"
    )


def _whole(found: stage.History, made: Mapping[str, Any], said: tuple[str, ...]) -> History:
    parts = {part.name: getattr(found, part.name) for part in fields(stage.History)}
    return History(**parts, made=made, said=said)
