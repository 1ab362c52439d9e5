"""The review: what a player or coach asks of some games, in one job."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import inf
from pathlib import Path
from typing import Any

import polars as pl

from milepost.api.decisions import Decisions, TurnRules, decisions
from milepost.api.ratings import LEVEL, find_calibration
from milepost.api.review_tables import (
    bound,
    game_rows,
    group_expression,
    group_rows,
    pool_levels,
    pool_rows,
    result_words,
    review_notes,
    trap_rows,
    trend_rows,
    with_costs,
    with_elo,
    with_pool,
)
from milepost.errors import InputError
from milepost.intrinsic.calibration.calibration import Calibration
from milepost.intrinsic.review.baselines import phase_baselines, shipped_pools
from milepost.intrinsic.review.difference import Difference
from milepost.intrinsic.review.groups import (
    OPPONENTS,
    PHASES,
    Beside,
    opponents_expr,
)
from milepost.intrinsic.review.levels import pool_level
from milepost.intrinsic.review.trend import Change
from milepost.io.files import write_table
from milepost.io.progress import Report
from milepost.io.provenance import provenance
from milepost.io.sources import Inputs
from milepost.tables import (
    REVIEW_TURNS,
)

EQUALS = 100.0
"""Opponents within so many points are equals."""
MOST = 10
"""So many of the costliest turns are listed."""
EVERY_TURN = TurnRules(limit_pawns=inf)
"""Decided positions are kept: they are not rated, but a win thrown away there is a cost."""

__all__ = ["EVERY_TURN", "Review", "game_turns", "review"]


@dataclass(frozen=True, eq=False, repr=False)
class Review:
    """One player's games: how well, in which phase, beside whom, and which moves mattered."""

    player: str
    """The player's key."""
    name: str
    """The name as written."""
    summary: pl.DataFrame
    """One row a pool: rating with both intervals, turns; see `milepost.tables.REVIEW_POOLS`."""
    phases: pl.DataFrame
    """One row a phase, beside equals; see `milepost.tables.REVIEW_GROUPS`."""
    opponents: pl.DataFrame
    """The same by stronger, equal and weaker opponents."""
    costly: pl.DataFrame
    """The turns that cost most beside what equals lose; see `milepost.tables.REVIEW_TURNS`."""
    games: pl.DataFrame
    """One row a game: own play and the opponent's, each beside its Elo; see
    `milepost.tables.REVIEW_GAMES`."""
    trend: pl.DataFrame
    """One row a day with games, by pool: `pool`, `date`, `time`, `mean`, `low`, `high`."""
    changes: Mapping[str, Change]
    """From the first day to the last, by pool."""
    traps: pl.DataFrame
    """One row a trap; see `milepost.tables.REVIEW_TRAPS`."""
    trap_sums: Mapping[str, float | int | None]
    """Traps met, fallen for, and what equals do: traps, fell, expected, sd, p."""
    turns: pl.DataFrame
    """All the player's turns with their costs; the columns of `costly`."""
    level: float
    """Probability of the intervals."""
    equals: float
    """Opponents within so many points are equals."""
    notes: tuple[str, ...]
    """What must be known, and what could not be said."""
    calibration: Calibration | None = None
    """The calibration; None = evaluations without one, and no rating."""
    beside: Beside | None = field(default=None)
    """The turns, ready for further comparisons."""
    made: Mapping[str, Any] = field(default_factory=dict)
    """How it was made: version, options, digests of the inputs."""

    def __repr__(self) -> str:
        """Return the ratings, the phases and the costliest turns in short."""
        lines = [f"Review of {self.name}"]
        for row in self.summary.iter_rows(named=True):
            told = "not rated"
            if row["rating"] is not None:
                told = f"{row['rating']:.0f} ({bound(row['low'])} to {bound(row['high'])})"
            lines.append(f"  {row['pool']}: {told}, {row['turns']:,} turns, {row['games']} games")
        return "\n".join([*lines, *(f"  note: {note}" for note in self.notes)])

    def _repr_html_(self) -> str:
        parts = (self.summary, self.phases, self.costly.drop("position", strict=False))
        return "".join(part._repr_html_() for part in parts)

    def difference(self, first: str | pl.Expr, second: str | pl.Expr) -> Difference:
        """Say by how much one group of turns was played better than another, with interval and p.

        Parameters
        ----------
        first, second
            A phase (``"endgame"``), a colour, ``"stronger"``, ``"equals"`` or ``"weaker"``
            opponents, ``"win"``, ``"draw"``, ``"loss"``, a pool, ``"column=value"`` of the turns,
            or an expression on them.

        Raises
        ------
        InputError
            If a group means nothing, the two overlap, or there is no calibration.
        """
        if self.beside is None:
            raise InputError("without a calibration there are no ratings to compare")
        masks = [self._mask(each) for each in (first, second)]
        names = [each if isinstance(each, str) else str(each) for each in (first, second)]
        found = self.beside.difference(masks[0], masks[1], (names[0], names[1]), level=self.level)
        mixed = [
            name
            for name, mask in zip(names, masks, strict=True)
            if self.beside.table.filter(mask)["pool"].n_unique() > 1
        ]
        if mixed:
            told = f"{' and '.join(mixed)}: turns of several pools, each beside its own level"
            found = replace(found, note="; ".join(part for part in (found.note, told) if part))
        return found

    def _mask(self, wanted: str | pl.Expr) -> Any:
        assert self.beside is not None
        table = self.beside.table.with_columns(
            opponents_expr(self.equals).alias("opponents"), result_words().alias("result")
        )
        expression = wanted if isinstance(wanted, pl.Expr) else group_expression(wanted, table)
        try:
            mask = table.select(expression.fill_null(False).alias("wanted"))["wanted"]
        except pl.exceptions.PolarsError as error:
            raise InputError(f"{wanted} is no group of these turns: {error}") from error
        return mask.to_numpy()

    def save(self, path: str | Path, *, form: str | None = None) -> None:
        """Write all turns with their costs as Parquet, CSV or NDJSON."""
        write_table(self.turns, path, form=form, made=self.made)


def review(
    inputs: Inputs | Decisions | Any,
    store: str | Path | None = None,
    *,
    player: str,
    elo: float | None = None,
    calibration: Calibration | str | Path | None = None,
    setup: str | None = None,
    plan: str | None = None,
    equals: float = EQUALS,
    most: int = MOST,
    level: float = LEVEL,
    workers: int = 1,
    progress: Report | None = None,
) -> Review:
    """Review one player's games: rating, phases, costly turns, games, trend and traps.

    Parameters
    ----------
    inputs, store, setup, plan
        Games whose turns are in a store, or decisions (best made with `EVERY_TURN`, so that decided
        positions count as costs); see `milepost.decisions`. Without a store, the ``%eval`` comments
        of the games are used, as far as they go.
    player
        Whose: a key, a name or a part of one.
    elo
        The player's Elo over the board, where the tags do not say it or are not to be used.
    calibration
        See `milepost.rate`; one for another set-up is refused.
    equals
        Opponents within so many points are equals.
    most
        How many of the costliest turns to list.
    level
        Probability of the intervals.
    workers, progress
        See `milepost.rate`.

    Raises
    ------
    InputError
        If the name means nobody or several players, or nothing is there to review.
    """
    if not isinstance(inputs, Decisions) and store is None:
        from milepost.api.review_comments import review_comments

        return review_comments(
            inputs, player=player, equals=equals, most=most, level=level, workers=workers,
            progress=progress,
        )  # fmt: skip
    whole = decisions(
        inputs, store, setup=setup, plan=plan, rules=EVERY_TURN, workers=workers, progress=progress
    )
    mine = whole.of_players([player])
    if not len(mine):
        raise InputError(f"no turn of {player} is analysed")
    key = str(mine.table["mover"][0])
    chosen = find_calibration(calibration, whole)
    chosen.refuse_other(whole.setup)
    if elo is not None:
        whole = with_elo(whole, key, elo)
    whole = replace(whole, table=with_pool(whole.table))
    games = whole.table.filter(pl.col("mover") == key)["game_id"].unique()
    whole = whole.filter(pl.col("game_id").is_in(games.implode()))
    mine = whole.filter(pl.col("mover") == key)
    pools, ratings = pool_levels(whole, key, chosen, level)
    baselines = phase_baselines(chosen)
    everything = with_costs(whole, pools, chosen, baselines)
    own = everything.filter(pl.col("mover") == key)
    beside = Beside(own, chosen, baselines)
    turns = REVIEW_TURNS.conform(own).select(REVIEW_TURNS.names)
    trends, changes = trend_rows(beside, ratings, level)
    traps, trap_sums = trap_rows(mine, own, chosen, baselines)
    told = {"player": key, "calibration": chosen.name, "equals": equals, "level": level}
    told |= {"most": most, "elo": elo, "digest": whole.setup, "setup": dict(whole.setup_details)}
    return Review(
        player=key,
        name=whole.names.get(key, key),
        summary=pool_rows(beside, ratings, pools, whole.left_out, key),
        phases=group_rows(beside, "phase", pl.col("phase"), PHASES, whole.left_out, key, level),
        opponents=group_rows(
            beside, "opponents", opponents_expr(equals), OPPONENTS, pl.DataFrame(), key, level
        ),
        costly=turns.sort("cost", descending=True, maintain_order=True).head(most),
        games=game_rows(everything, whole, key, chosen),
        trend=trends,
        changes=changes,
        traps=traps,
        trap_sums=trap_sums,
        turns=turns,
        level=level,
        equals=equals,
        notes=tuple(dict.fromkeys(review_notes(whole, own, key, chosen, pools, baselines))),
        calibration=chosen,
        beside=beside,
        made=provenance("review", told, [dict(each) for each in whole.inputs]),
    )


def game_turns(
    inputs: Inputs | Decisions | Any,
    store: str | Path | None = None,
    *,
    game: str | None = None,
    calibration: Calibration | str | Path | None = None,
    setup: str | None = None,
    plan: str | None = None,
    workers: int = 1,
    progress: Report | None = None,
) -> pl.DataFrame:
    """Return the turns of one game: what each cost, how likely it was, how hard to choose.

    Parameters
    ----------
    inputs, store, calibration, setup, plan, workers, progress
        See `review`.
    game
        The game's id, or its beginning [default: the only one].

    Returns
    -------
    polars.DataFrame
        One row an analysed turn of either side, by `ply`; see `milepost.tables.REVIEW_TURNS`.
        `agent_elo` is null, and with it what equals do, where a player has no rating.

    Raises
    ------
    InputError
        If no game, or several, begin so.
    """
    whole = decisions(
        inputs, store, setup=setup, plan=plan, rules=EVERY_TURN, workers=workers, progress=progress
    )
    ids = whole.table["game_id"].unique(maintain_order=True).to_list()
    hits = [each for each in ids if game is None or each.startswith(game)]
    if len(hits) != 1:
        named = "several games are here" if game is None else f"{len(hits)} games are {game}"
        raise InputError(f"{named}: name one of {', '.join(ids[:5])}{' …' if len(ids) > 5 else ''}")
    chosen = find_calibration(calibration, whole)
    chosen.refuse_other(whole.setup)
    one = whole.filter(pl.col("game_id") == hits[0])
    one = replace(one, table=with_pool(one.table))
    pools = {pool: pool_level(pool, shipped_pools(), None) for pool in one.table["pool"].unique()}
    table = with_costs(one, pools, chosen, phase_baselines(chosen)).sort("ply")
    return REVIEW_TURNS.conform(table).select(REVIEW_TURNS.names)
