"""Sets of games: by rating band, period, speed, event kind and length, chosen repeatably."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from milepost.errors import InputError
from milepost.games.pgn.speeds import CONDITIONS, SPEEDS, has_condition
from milepost.games.selection.events import EVENT_KINDS, event_kinds, with_event_kinds
from milepost.games.turns.replay import BOOK_MOVES
from milepost.tables import GAMES, as_frame

NO_SPEED = "speed not known"
"""The reason for which a game is left out whose speed nothing tells, where one is asked for."""
_NEARLY_ALL = 0.9
_ADVICE = {
    NO_SPEED: "they have no time control, and their events' names say nothing; to keep them, "
    "exclude the other speeds (rapid, blitz, bullet, correspondence) instead of asking for one",
    "year": "do their dates hold years?",
    "Elo of white": "do they have Elo tags? A wider band takes in more",
    "Elo of black": "do they have Elo tags? A wider band takes in more",
    "event kind": "kinds are told by all games of an event, and many are unknown: see the kinds of "
    "the events",
    "too short": "were they read with their moves?",
}
_ADVICE_ELSE = "is that what you meant?"
_BANDS = ("Elo of white", "Elo of black", "year")

DEFAULT_WITHIN = 10
"""Points that both Elos may differ from a milepost (Regan & Haworth 2011)."""


FIRST_YEAR, LAST_YEAR = 1, 9999
"""Where a span of years with an open end begins and ends."""


@dataclass(frozen=True)
class Criteria:
    """Which games belong to a set; what is not given does not matter."""

    elo: int | None = None
    """The milepost: both players' Elo lies near it."""
    within: int = DEFAULT_WITHIN
    """How near, in points."""
    widen: tuple[int, ...] = ()
    """Wider bands to try, one after the other, while the set has too few turns."""
    until_turns: int | None = None
    """How many turns behind the book are enough."""
    years: tuple[int, int] | None = None
    """First and last year."""
    exclude: frozenset[str] = frozenset()
    """Conditions to leave out, see `milepost.games.pgn.speeds.CONDITIONS`."""
    only: frozenset[str] = frozenset()
    """Conditions one of which a game must have."""
    event_kinds: frozenset[str] = frozenset()
    """Kinds of event to keep, see `milepost.games.selection.events.EVENT_KINDS`."""
    minimum_plies: int = 0
    """Half-moves that a game must have."""
    cap: int | None = None
    """At most so many games, chosen by a digest of their moves."""
    book_moves: int = BOOK_MOVES
    """Moves a side that do not count as turns."""
    group: str | None = None
    """The composite player that the games pool into; worked out from Elo and years if not given."""

    def __post_init__(self) -> None:
        for given, known in (
            (self.exclude | self.only, CONDITIONS),
            (self.event_kinds, EVENT_KINDS),
        ):
            unknown = sorted(given - set(known))
            if unknown:
                raise InputError(f"unknown: {', '.join(unknown)}; known are {', '.join(known)}")
        if self.widen and self.until_turns is None:
            raise InputError("widen needs until_turns: how many turns are enough?")
        if self.until_turns is not None and self.elo is None:
            raise InputError("until_turns needs a rating band: give elo")
        if any(width <= self.within for width in self.widen):
            raise InputError(f"widen: every width must be more than {self.within}")
        for name in ("within", "cap", "minimum_plies", "book_moves", "until_turns"):
            value = getattr(self, name)
            if value is not None and value < 0:
                raise InputError(f"{name.replace('_', ' ')} cannot be {value}")
        if self.years and self.years[0] > self.years[1]:
            raise InputError(f"the years {self.years[0]}-{self.years[1]} run backwards")

    @property
    def name(self) -> str | None:
        """The group's name: given, or the milepost and the period."""
        if self.group is not None or self.elo is None:
            return self.group
        if not self.years:
            return str(self.elo)
        return f"{self.elo} {years_text(self.years)}"

    @property
    def widths(self) -> tuple[int, ...]:
        """The bands to try, one after the other."""
        return (self.within, *self.widen)


@dataclass(frozen=True)
class Selection:
    """The games of one set, and how they were found."""

    games: pl.DataFrame
    """A games table with the columns group, milepost, period and event_kind added."""
    within: int | None
    """The band that was used, in points."""
    available: int
    """Games that fit, before the cap."""
    turns: int
    """Turns behind the book in the chosen games."""
    left_out: dict[str, int] = field(default_factory=dict)
    """Games that are not in the set, each counted once, under the first reason that applies: with
    the chosen ones they are all games that there were."""

    @property
    def read(self) -> int:
        """All games that there were."""
        return len(self.games) + sum(self.left_out.values())

    @property
    def advice(self) -> str:
        """What to do where one criterion has left out nearly all games; empty = none has."""
        reached = self.read
        for reason, count in self.left_out.items():
            # Few games have a given Elo or year: that alone is nothing to be told about.
            usual = reason in _BANDS and len(self.games) > 0
            if count and count >= _NEARLY_ALL * reached and not usual:
                what = f"{count:,} of {reached:,} games were left out by one criterion: {reason}"
                return f"{what}; {_ADVICE.get(reason, _ADVICE_ELSE)}"
            reached -= count
        return ""


def prefilter(criteria: Sequence[Criteria]) -> pl.Expr:
    """Return a filter that keeps, by its headers, every game that any criterion may want."""
    return pl.any_horizontal(
        pl.all_horizontal(
            pl.lit(True), *(test for _, test in _header_tests(each, max(each.widths)))
        )
        for each in criteria
    )


def select_games(games: Any, criteria: Criteria, *, events: Any = None) -> Selection:
    """Choose the games of one set.

    Parameters
    ----------
    games
        A games table (polars, pandas, Arrow).
    criteria
        What belongs to the set.
    events
        What `event_kinds` found in the whole input; if not given, `games` is the whole input.

    Returns
    -------
    Selection
        With games in the order in which they came.
    """
    frame = GAMES.conform(games).with_columns(
        # Tables of other programs may lack them.
        pl.col("variant").fill_null("standard"),
        pl.coalesce("plies", _words("moves")).alias("plies"),
    )
    kinds = event_kinds(frame) if events is None else as_frame(events)
    frame = with_event_kinds(frame, kinds)
    for within in criteria.widths:
        tests = _header_tests(criteria, within)
        tests.append(("too short", pl.col("plies") >= criteria.minimum_plies))
        if criteria.event_kinds:
            tests.append(("event kind", pl.col("event_kind").is_in(sorted(criteria.event_kinds))))
        judged = frame.with_columns(_first_reason(tests).alias("reason"))
        left_out = _counts(judged["reason"], tests)
        fitting = judged.filter(pl.col("reason").is_null()).drop("reason")
        chosen = _capped(fitting, criteria.cap)
        turns = count_turns(chosen, criteria.book_moves)
        if criteria.until_turns is None or turns >= criteria.until_turns:
            break
    if len(chosen) < len(fitting):
        left_out["beyond the cap"] = len(fitting) - len(chosen)
    period = years_text(criteria.years) if criteria.years else None
    chosen = chosen.with_columns(
        pl.lit(criteria.name, dtype=pl.String).alias("group"),
        pl.lit(criteria.elo, dtype=pl.Int32).alias("milepost"),
        pl.lit(period, dtype=pl.String).alias("period"),
    )
    return Selection(
        chosen, within if criteria.elo is not None else None, len(fitting), turns, left_out
    )


def count_reasons(headers: pl.DataFrame, criteria: Criteria) -> dict[int, dict[str, int]]:
    """Count games that their headers alone leave out, each under its first reason.

    Returns
    -------
    dict
        For each width of the band that may be used, the counts by reason.
    """
    counts = {}
    for within in criteria.widths:
        tests = _header_tests(criteria, within)
        counts[within] = _counts(headers.select(_first_reason(tests)).to_series(), tests)
    return counts


def _first_reason(tests: list[tuple[str, pl.Expr]]) -> pl.Expr:
    """The name of the first test that a game does not pass; null = it passes all."""
    reasons = [pl.when(~test.fill_null(False)).then(pl.lit(name)) for name, test in tests]
    return pl.coalesce(*reasons, pl.lit(None, dtype=pl.String))


def _counts(reasons: pl.Series, tests: list[tuple[str, pl.Expr]]) -> dict[str, int]:
    """How many games each test left out, in the order of the tests."""
    counted = dict(reasons.drop_nulls().value_counts().iter_rows())
    return {name: counted[name] for name, _ in tests if name in counted}


def count_turns(games: pl.DataFrame, book_moves: int = BOOK_MOVES) -> int:
    """Return how many turns of these games lie behind the book."""
    behind = pl.col("plies") - pl.when(pl.col("fen").is_null()).then(2 * book_moves).otherwise(0)
    return int(games.select(behind.clip(lower_bound=0).sum()).item() or 0)


def milepost_grid(mileposts: str, periods: Sequence[str], template: Criteria) -> list[Criteria]:
    """Return the criteria of every milepost in every period.

    Parameters
    ----------
    mileposts
        ``first:last:step``, for example ``1600:2700:100``.
    periods
        Spans of years such as ``1991-1994``; none means the years of the template.
    template
        All that the sets have in common.
    """
    try:
        first, last, step = (int(part) for part in mileposts.split(":"))
    except ValueError:
        raise InputError(f"mileposts: expected first:last:step, got {mileposts!r}") from None
    if step <= 0 or last < first:
        raise InputError(f"mileposts: {mileposts!r} holds no milepost")
    spans: list[tuple[int, int] | None] = [parse_years(period) for period in periods]
    if not spans:
        spans = [template.years]
    return [
        Criteria(**{**template.__dict__, "elo": elo, "years": span, "group": None})
        for span in spans or [None]
        for elo in range(first, last + 1, step)
    ]


def parse_years(text: str) -> tuple[int, int]:
    """Read a span of years: ``1991-1994`` or ``1994``."""
    first, dash, last = text.strip().partition("-")
    try:
        return int(first), int(last if dash else first)
    except ValueError:
        raise InputError(f"expected years such as 1991-1994, got {text!r}") from None


def years_text(years: tuple[int, int]) -> str:
    """Name a span of years; an end that is open stays so: ``from 1991``."""
    first, last = years
    if last == LAST_YEAR:
        return f"from {first}"
    return f"to {last}" if first == FIRST_YEAR else f"{first}-{last}"


def _header_tests(criteria: Criteria, within: int) -> list[tuple[str, pl.Expr]]:
    tests: list[tuple[str, pl.Expr]] = [("Chess960", pl.col("variant") == "standard")]
    if criteria.elo is not None:
        low, high = criteria.elo - within, criteria.elo + within
        tests += [
            (f"Elo of {side}", pl.col(f"{side}_elo").is_between(low, high))
            for side in ("white", "black")
        ]
    if criteria.years:
        tests.append(("year", pl.col("year").is_between(*criteria.years)))
    tests += [(name, ~has_condition(name)) for name in sorted(criteria.exclude)]
    if criteria.only:
        wanted = pl.any_horizontal(has_condition(name) for name in sorted(criteria.only))
        if criteria.only & set(SPEEDS):
            tests.append((NO_SPEED, wanted | pl.col("speed").is_not_null()))
        tests.append((f"not {' or '.join(sorted(criteria.only))}", wanted))
    return tests


def _capped(games: pl.DataFrame, cap: int | None) -> pl.DataFrame:
    """Keep at most `cap` games: those with the smallest digests, which no taste has chosen."""
    if cap is None or len(games) <= cap:
        return games
    digests = [hashlib.sha256((text or "").encode()).hexdigest() for text in games["moves"]]
    # Games with the same moves are told apart by their ids, so that the input's order is nothing.
    order = pl.DataFrame({"digest": digests, "id": games["game_id"]}).select(
        pl.arg_sort_by("digest", "id", maintain_order=True)
    )
    return games[order.to_series()[:cap].sort()]


def _words(column: str) -> pl.Expr:
    return pl.col(column).str.count_matches(r"\S+").cast(pl.Int32)
