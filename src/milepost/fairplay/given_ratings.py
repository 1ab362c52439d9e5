"""The rating that each player brings to an event: in the games, in a table, or given by hand.

A check compares a performance with the rating from *before* the event. Tags may say something else:
some sources write the rating of the day, so that it follows the results under test. Within one
event a player therefore has one rating, that of the first game, and whoever had several is told.
What is given by hand wins over a table, and a table over the games.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from milepost.errors import InputError, TableError
from milepost.games.players.find import PlayerFinder
from milepost.games.players.names import normalise_names
from milepost.games.rounds import round_number
from milepost.io.files import read_table
from milepost.tables import as_frame, is_frame

IN_THE_GAME, GIVEN, TABLE = "in the game", "given", "table"
"""Where a rating came from."""
_HIGHEST_ELO = 4000
_LISTED = 5
"""So many names are listed in a message."""


@dataclass(frozen=True)
class Rating:
    """A rating that somebody gave for a player."""

    elo: int
    """The rating."""
    source: str
    """`GIVEN` or `TABLE`."""
    sd: float | None = None
    """Its standard deviation; `None` = not given."""


@dataclass(frozen=True)
class RatingNote:
    """Something to know about a player's rating."""

    player: str
    """The player's key; empty = about the ratings as a whole."""
    text: str
    """What to know; it names nobody."""


@dataclass(frozen=True, eq=False)
class RatedDecisions:
    """Decisions in which every player has one rating an event."""

    table: pl.DataFrame
    """The decisions, `mover_elo` and `opponent_elo` replaced; all else as it was."""
    sources: Mapping[str, str]
    """Where each player's rating came from, by key; players without a rating are not in it."""
    rating_sds: Mapping[str, float]
    """The standard deviations that were given, by key."""
    notes: tuple[RatingNote, ...]
    """What to know about the ratings, in the order of the players' keys."""

    @property
    def unrated(self) -> list[str]:
        """The keys of the players without a rating."""
        return [key for key in _players_of(self.table)["key"] if key not in self.sources]


def parse_elos(items: Iterable[str]) -> list[tuple[str, int]]:
    """Return the names and ratings of texts such as ``"Quillfeather, Ada=1850"``.

    Raises
    ------
    InputError
        If a text is not of this form, or its number is no rating.
    """
    pairs = []
    for item in items:
        name, sign, number = item.rpartition("=")
        if not (sign and name.strip() and number.strip()):
            raise InputError(f"expected NAME=ELO, such as Smith=1850, got {item!r}")
        pairs.append((name.strip(), _elo(number.strip(), name.strip())))
    return pairs


def read_ratings(path: str | Path) -> pl.DataFrame:
    """Read a table of ratings: CSV, NDJSON or Parquet; see `with_given_ratings`."""
    return read_table(path)


def with_given_ratings(
    decisions: Any,
    *,
    elos: Iterable[tuple[str, float]] = (),
    table: str | Path | pl.DataFrame | Any | None = None,
) -> RatedDecisions:
    """Return decisions in which every player has the rating from before the event.

    Parameters
    ----------
    decisions
        A decisions table (polars, pandas, Arrow); see `milepost.tables.DECISIONS`. The first game
        of an event is the one of the earliest `date` (where the table has that column), then of the
        earliest `round`, then the one that stands first. An event that goes on into the next year
        is one event if its rounds go on too.
    elos
        Names and ratings given by hand; a name may be a key, or a part of a name that means one
        player. See `parse_elos`.
    table
        A file or frame with the columns `player` or `name`, `elo`, and perhaps `rating_sd`. Rows
        without a rating, or with 0, as lists of members have them, give nothing. If some row means
        nobody in these games, the table is taken as a list of many: only whole names count there,
        and other rows are passed over; a note says how many.

    Returns
    -------
    RatedDecisions

    Raises
    ------
    InputError
        If a name means nobody or several players, a player is given two ratings by one source, or a
        number is no rating.
    TableError
        If the decisions name no mover, or the ratings lack a column.
    """
    frame = as_frame(decisions)
    missing = [name for name in ("game_id", "mover") if name not in frame.columns]
    if missing:
        raise TableError(f"the decisions table needs the columns {', '.join(missing)}")
    by_table, passed_over, by_hand = dict[str, Rating](), "", dict[str, Rating]()
    items = list(elos)
    if items or table is not None:
        players = _players_of(frame)
        finder = PlayerFinder(players)
        if table is not None:
            by_table, passed_over = _of_table(table, players, finder)
        by_hand = _of_items(items, finder)
    ratings = by_table | by_hand

    lean = _lean(frame)
    events = _event_numbers(lean)
    in_games = _elos_in_games(lean, events)
    known: dict[tuple[int, str], int | None] = {}
    for game in in_games:
        key = (game.event, game.player)
        known[key] = game.elo if known.get(key) is None else known[key]
    for event, player in known:
        if player in ratings:
            known[event, player] = ratings[player].elo
    rated = sorted({player for (_, player), elo in known.items() if elo is not None})
    sources = {key: ratings[key].source if key in ratings else IN_THE_GAME for key in rated}
    notes = _notes(in_games, ratings)
    if passed_over:
        notes = (RatingNote("", passed_over), *notes)
    sds = {key: rating.sd for key, rating in sorted(ratings.items()) if rating.sd is not None}
    return RatedDecisions(_replaced(frame, events, known), sources, sds, notes)


def _players_of(frame: pl.DataFrame) -> pl.DataFrame:
    """Key, name and games of everybody in the decisions, mover or opponent, sorted by key."""
    parts = []
    for side in ("mover", "opponent"):
        if side in frame.columns:
            has_names = f"{side}_name" in frame.columns
            name = pl.col(f"{side}_name") if has_names else pl.col(side)
            parts.append(
                frame.select(pl.col(side).alias("key"), name.alias("name"), "game_id").unique()
            )
    return (
        pl.concat(parts)
        .filter(pl.col("key").is_not_null())
        .group_by("key")
        .agg(pl.col("name").drop_nulls().sort().first(), pl.col("game_id").n_unique())
        .select("key", "name", pl.col("game_id").cast(pl.Int64).alias("games"))
        .sort("key")
    )


def _of_items(items: Iterable[tuple[str, float]], finder: PlayerFinder) -> dict[str, Rating]:
    ratings: dict[str, Rating] = {}
    for name, number in items:
        _add(ratings, finder.find(name).key, Rating(_elo(number, name), GIVEN), name)
    return ratings


def _of_table(
    table: Any, players: pl.DataFrame, finder: PlayerFinder
) -> tuple[dict[str, Rating], str]:
    """The ratings of a table, and what to say of rows that were passed over."""
    shown = "the table of ratings" if is_frame(table) else str(table)
    rows = _rating_rows(as_frame(table) if is_frame(table) else read_ratings(table), shown)
    names = {*normalise_names(players["name"]), *normalise_names(players["key"])} - {None}
    whole = rows.filter(normalise_names(rows["name"]).is_in(sorted(names)))
    passed_over = ""
    if len(whole) and not all(_means_one(finder, name) for name in rows["name"].unique()):
        # A list of members: part of a stranger's name must not stand for somebody here.
        lost = len(rows) - len(whole)
        passed_over = (
            f"{lost:,} {'row' if lost == 1 else 'rows'} of the table of ratings passed over: no "
            "player of these games has just such a name"
        )
        rows = whole
    ratings: dict[str, Rating] = {}
    problems: list[str] = []
    for name, number, sd in rows.iter_rows():
        try:
            rating = Rating(_elo(number, name), TABLE, _sd(sd, name))
            _add(ratings, finder.find(name).key, rating, name)
        except InputError as problem:
            problems.append(str(problem))
    if problems:
        more = f"; and {len(problems) - _LISTED:,} more" if len(problems) > _LISTED else ""
        raise InputError(f"{shown}: {'; '.join(problems[:_LISTED])}{more}")
    return ratings, passed_over


def _means_one(finder: PlayerFinder, name: str) -> bool:
    try:
        finder.find(name)
    except InputError:
        return False
    return True


def _rating_rows(frame: pl.DataFrame, shown: str) -> pl.DataFrame:
    """Name, rating and standard deviation of the rows that have a name and a rating."""
    by_lower = {name.strip().lower(): name for name in reversed(frame.columns)}
    name = by_lower.get("player", by_lower.get("name"))
    elo = by_lower.get("elo")
    if name is None or elo is None:
        raise TableError(
            f"{shown}: ratings need the columns player (or name) and elo; "
            f"found {', '.join(frame.columns) or 'none'}"
        )
    sd = by_lower.get("rating_sd")
    rows = frame.select(
        pl.col(name).cast(pl.String).str.strip_chars().alias("name"),
        pl.col(elo).cast(pl.String).str.strip_chars().alias("elo"),
        (pl.lit(None) if sd is None else pl.col(sd)).cast(pl.String).str.strip_chars().alias("sd"),
    )
    told = pl.col("name", "elo").is_not_null() & (pl.col("name", "elo") != "")
    return rows.filter(pl.all_horizontal(told), ~pl.col("elo").str.contains(r"^0+(\.0*)?$"))


def _add(ratings: dict[str, Rating], key: str, rating: Rating, name: str) -> None:
    before = ratings.setdefault(key, rating)
    if before != rating:
        which = "elo" if before.elo != rating.elo else "sd"
        one, two = getattr(before, which), getattr(rating, which)
        raise InputError(f"{name!r} is given two ratings: {which} {one} and {two}")


def _elo(number: str | float, name: str) -> int:
    try:
        elo = round(float(number))
    except (ValueError, OverflowError):
        elo = 0
    if not 0 < elo < _HIGHEST_ELO:
        raise InputError(f"the Elo of {name!r} must be a number up to {_HIGHEST_ELO}: {number!r}")
    return elo


def _sd(number: str | None, name: str) -> float | None:
    if not number:
        return None
    try:
        sd = float(number)
    except ValueError:
        sd = 0.0
    if not 0 < sd < _HIGHEST_ELO:
        raise InputError(f"the rating_sd of {name!r} must be a number over 0: {number!r}")
    return sd


class _Side(NamedTuple):
    """One player's side of the turns of a game that say the same."""

    player: str | None
    elo: int | None
    row: int
    """The first row of the decisions that says it."""
    game: str | None
    event: str | None
    year: int | None
    round: str | None
    date: str | None
    """Whole dates alone."""


def _lean(frame: pl.DataFrame) -> list[_Side]:
    """What the decisions say of players and games, each thing once: the movers, then the others."""
    sides = [side for side in ("mover", "opponent") if side in frame.columns]
    date = _column(frame, "date", pl.String)
    columns = {
        "game_id": pl.col("game_id"),
        "event": _column(frame, "event", pl.String),
        "year": _column(frame, "year", pl.Int32),
        "round": _column(frame, "round", pl.String),
        "date": pl.when(date.str.contains(r"^\d{4}\.\d{2}\.\d{2}$")).then(date),
    }
    for side in sides:
        columns |= {side: pl.col(side), f"{side}_elo": _column(frame, f"{side}_elo", pl.Int32)}
    needed = [name for name in columns if name in frame.columns]
    once = (
        frame.lazy()
        .select(needed)
        .select(expression.alias(name) for name, expression in columns.items())
        .with_row_index("row")
        .group_by(list(columns))
        .agg(pl.col("row").min())
        .sort("row")
        .collect()
    )
    return [
        _Side(player, elo, row, *about)
        for side in sides
        for player, elo, row, *about in once.select(
            side, f"{side}_elo", "row", "game_id", "event", "year", "round", "date"
        ).iter_rows()
    ]


def _last(*values: Any) -> tuple[Any, ...]:
    """A key by which what is not known comes last."""
    return tuple(
        part for value in values for part in (value is None, 0 if value is None else value)
    )


def _event_numbers(sides: Sequence[_Side]) -> dict[tuple[str | None, int | None], int]:
    """A number for each event and year: its name, and years whose rounds go on."""
    rounds: dict[tuple[str | None, int | None], set[int]] = {}
    for side in sides:
        number = round_number(side.round)
        rounds.setdefault((side.event, side.year), set()).update([] if number is None else [number])
    numbers: dict[tuple[str | None, int | None], int] = {}
    before: tuple[Any, ...] | None = None
    number = -1
    for event, year in sorted(rounds, key=lambda key: _last(*key)):
        known = rounds[event, year]
        first, last = (min(known), max(known)) if known else (None, None)
        goes_on = (
            before is not None
            and year is not None
            and None not in (first, *before[1:])
            and before[:2] == (event, year - 1)
            and before[2] < first
        )
        number += not goes_on
        numbers[event, year] = number
        before = (event, year, last)
    return numbers


@dataclass
class _Game:
    """One player's game of one event."""

    event: int
    player: str
    row: int
    year: int | None = None
    date: str | None = None
    round: str | None = None
    elo: int | None = None
    elo_row: int = -1


def _elos_in_games(
    sides: Sequence[_Side], events: Mapping[tuple[str | None, int | None], int]
) -> list[_Game]:
    """The games by player, the first game of a player and event first."""
    games: dict[tuple[int, str, str | None], _Game] = {}
    for side in sides:
        if side.player is None:
            continue
        event = events[side.event, side.year]
        game = games.setdefault(
            (event, side.player, side.game), _Game(event, side.player, side.row)
        )
        game.row = min(game.row, side.row)
        for name in ("year", "date", "round"):
            if getattr(game, name) is None:
                setattr(game, name, getattr(side, name))
        if side.elo is not None and (game.elo is None or side.row < game.elo_row):
            game.elo, game.elo_row = side.elo, side.row
    return sorted(
        games.values(),
        key=lambda game: (
            game.player,
            game.event,
            *_last(game.year, game.date, round_number(game.round), game.row),
        ),
    )


def _notes(games: Sequence[_Game], ratings: Mapping[str, Rating]) -> tuple[RatingNote, ...]:
    """What to know of players whose ratings do not agree; at most one note a player and event."""
    notes = []
    for (player, _), group in groupby(games, key=lambda game: (game.player, game.event)):
        part = list(group)
        elos = list(dict.fromkeys(game.elo for game in part if game.elo is not None))
        text = _replacement(elos, ratings[player]) if player in ratings else _choice(part, elos)
        if text:
            notes.append(RatingNote(player, text))
    return tuple(dict.fromkeys(notes))


def _replacement(elos: list[int], rating: Rating) -> str:
    """What a given rating replaces; empty = nothing."""
    others = ", ".join(str(elo) for elo in elos if elo != rating.elo)
    where = "given by hand" if rating.source == GIVEN else "of the table of ratings"
    return f"{rating.elo} {where} is used instead of {others} in the games" if others else ""


def _choice(part: Sequence[_Game], elos: list[int]) -> str:
    """Which of the Elos in the games is used; empty = they all say the same."""
    if len(elos) > 1:
        first = next(game for game in part if game.elo is not None)
        where = "the first game" if first.round is None else f"round {first.round}"
        others = ", ".join(str(elo) for elo in elos[1:])
        return (
            f"the Elo differs between games of one event: {elos[0]} in {where}, later {others}: "
            f"{elos[0]} is used for all games, since only a rating from before the event keeps the "
            "guarantee"
        )
    missing = sum(game.elo is None for game in part)
    if elos and missing:
        told = f"the Elo is missing in {missing:,} of {len(part):,} games of one event"
        return f"{told}: {elos[0]} of the others is used"
    return ""


def _replaced(
    frame: pl.DataFrame,
    events: Mapping[tuple[str | None, int | None], int],
    known: Mapping[tuple[int, str], int | None],
) -> pl.DataFrame:
    """The decisions with the one rating of each player and event."""
    sides = [side for side in ("mover", "opponent") if side in frame.columns]
    by_player = {player: elo for (_, player), elo in known.items()}
    if by_player and all(by_player[player] == elo for (_, player), elo in known.items()):
        return frame.with_columns(
            pl.col(side)
            .replace_strict(by_player, default=None, return_dtype=pl.Int32)
            .alias(f"{side}_elo")
            for side in sides
        )
    of_events = pl.DataFrame(
        [(event, year, number) for (event, year), number in events.items()],
        schema={"event": pl.String, "year": pl.Int32, "number": pl.Int64},
        orient="row",
    ).lazy()
    ratings = pl.DataFrame(
        [(number, player, elo) for (number, player), elo in known.items()],
        schema={"number": pl.Int64, "player": pl.String, "elo": pl.Int32},
        orient="row",
    ).lazy()
    elos = (
        frame.lazy()
        .select(
            _column(frame, "event", pl.String).alias("event"),
            _column(frame, "year", pl.Int32).alias("year"),
            *sides,
        )
        .join(
            of_events,
            on=["event", "year"],
            how="left",
            nulls_equal=True,
            maintain_order="left",
        )
    )
    for side in sides:
        own = ratings.rename({"player": side, "elo": f"{side}_elo"})
        elos = elos.join(own, on=["number", side], how="left", maintain_order="left")
    return frame.with_columns(elos.select(f"{side}_elo" for side in sides).collect().get_columns())


def _column(frame: pl.DataFrame, name: str, dtype: Any) -> pl.Expr:
    """A column that a table may lack."""
    if name in frame.columns:
        return pl.col(name).cast(dtype)
    return pl.lit(None, dtype=dtype).alias(name)
