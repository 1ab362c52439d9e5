"""How fast a game was, and under which conditions, from its time control and its event's name.

The speeds are FIDE's: the time that a player has for sixty moves, up to ten minutes blitz, under an
hour rapid, else classical; under three minutes is bullet, a word of the servers. The event's name
decides where the tag says nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

import polars as pl

SPEEDS = ("classical", "rapid", "blitz", "bullet", "correspondence")
CONDITIONS = (*SPEEDS, "simul", "blindfold", "online")
"""What `milepost select` can ask for or leave out."""
NOT_STANDARD = tuple(name for name in CONDITIONS if name != "classical")
"""What a set of ordinary tournament games leaves out."""

FAST = ("rapid", "blitz", "bullet")
"""The speeds of fast games."""
_FLAGS = ("true", "yes", "1", "1.0", "fast")
"""What a flag that says yes looks like as text."""

# Words in the event's or the site's name; \b keeps "blitzstein" and "activity" out.
_WORDS = {
    "classical": r"\b(?:classical|standard)\b",
    "blitz": r"\b(?:(?:super|semi)?blitz(?:\w{0,2}|chess|schach\w*|turnier\w*|meister\w*)"
    r"|armageddon|lightning)\b",
    "bullet": r"\b(?:bullet|hyperbullet|ultrabullet)\b",
    "rapid": r"\b(?:(?:super|semi)?rapid(?:\w{0,3}|play|schach\w*|turnier\w*)|rápid\w{0,2}"
    r"|schnell\w*|(?:active|action) chess|quick(?:play)?)\b",
    "correspondence": r"\b(?:corr|corres\w*|iccf|postal|e-?mail|fernschach|turn-based)\b",
    "simul": r"\b(?:simul|simultan\w*|clock simul|exhibition)\b",
    "blindfold": r"\b(?:blindfold\w*|blind chess|amber blind|sans voir)\b",
    "online": r"lichess|chess\.com|chess24|playchess|chessbase server|tornelo|"
    r"\b(?:online|internet|icc|fics|titled (?:tuesday|arena|cup)|prochess|pro chess league)\b",
}
_INTERNET_SITE = r"\bint$"
"""How databases name the site of an online event; in an event's name it is "international"."""
_MOVES_COUNTED = 60

# Base times in minutes of over-the-board controls. A broadcast often writes "90+30" for ninety
# minutes and thirty seconds where PGN wants seconds; ninety seconds with thirty more for each move
# is a control that nobody plays. So are up to ten seconds ("3+2"), a quarter of a minute with ten
# seconds more ("15+10"), and forty moves in ninety seconds ("40/90+30"). "15+0" and "30+0" are
# seconds: servers have them.
_MINUTE_BASES = tuple(
    map(float, (40, 45, 50, 60, 75, 80, 85, 90, 95, 100, 105, 110, 115, 120, 150, 180))
)


def speeds_of(games: pl.DataFrame) -> pl.Series:
    """Return the speed of each game from its time control, else from its event's name.

    Step by step: polars would work out a part of an expression anew wherever it stands.
    """
    parts, increment, times, by_control, by_event, speed = _steps()
    numbers = games.select(parts).unnest("parts").cast(pl.Float64, strict=False)
    found = numbers.with_columns(increment).select(times).select(by_control)
    return games.select(by_event).hstack(found).select(speed).to_series()


@cache
def _steps() -> tuple[Any, ...]:
    """The expressions of `speeds_of`, made once: for a few games that takes longer than the rest.

    Parts of a time control, the increment of one that gives none, times out of the parts, the speed
    by the times, speeds by the event's name, and which of these counts.
    """
    text = pl.col("time_control").str.strip_chars().str.to_lowercase()
    # [moves/]seconds[+increment], first period only: later periods only lengthen a slow game.
    parts = text.str.extract_groups(r"^(?:(\d+)/)?(\d+)(?:\+(\d+))?(?::.*)?$")
    moves, base, increment = pl.col("moves"), pl.col("base"), pl.col("increment")
    in_minutes = (
        pl.when(moves.is_null())
        .then(
            (base.is_in(_MINUTE_BASES) & (increment >= 10))
            | base.is_between(1, 10)
            | (base.is_between(11, 60) & (increment >= 5))
        )
        .otherwise((moves >= 10) & (base < 300))
    )
    seconds = pl.when(in_minutes).then(base * 60).otherwise(base)
    sixty = seconds * pl.when(moves > 0).then(_MOVES_COUNTED / moves).otherwise(1.0)
    for_sixty = pl.col("for_sixty")
    by_control = (
        pl.when("days")
        .then(pl.lit("correspondence"))
        .when(for_sixty < 180)
        .then(pl.lit("bullet"))
        .when(for_sixty <= 600)
        .then(pl.lit("blitz"))
        .when(for_sixty < 3600)
        .then(pl.lit("rapid"))
        .when(for_sixty >= 3600)
        .then(pl.lit("classical"))
    )
    by_word = pl.coalesce(
        pl.when(_event_says(word)).then(pl.lit(word))
        for word in ("bullet", "blitz", "rapid", "correspondence")
    )
    # A server names the pool that it rates the game in: lichess calls 600+0 rapid.
    event = pl.col("event").str.to_lowercase()
    named = event.str.extract(r"^(?:rated|casual) (?:ultra)?(\w+) (?:game|tournament)")
    return (
        parts.struct.rename_fields(["moves", "base", "increment"]).alias("parts"),
        increment.fill_null(0.0),
        [
            (sixty + increment * _MOVES_COUNTED).alias("for_sixty"),
            ((moves == 1) & (base >= 43_200)).alias("days"),
        ],
        by_control.alias("by_control"),
        [pl.when(named.is_in(SPEEDS)).then(named).alias("by_server"), by_word.alias("by_word")],
        pl.coalesce("by_server", "by_control", "by_word").alias("speed"),
    )


def fast_games(columns: Iterable[str]) -> pl.Expr:
    """Return whether a game was fast: as a column `fast` flags it, else by the speed.

    Null where neither says anything.
    """
    told = [name for name in ("fast", "speed") if name in columns]
    fast = [pl.col(name).cast(pl.String).str.strip_chars().str.to_lowercase() for name in told]
    # An empty cell says nothing.
    known = [pl.when(text != "").then(text.is_in([*FAST, *_FLAGS])) for text in fast]
    return pl.coalesce(*known, pl.lit(None, dtype=pl.Boolean))


def has_condition(condition: str) -> pl.Expr:
    """Return whether a game was played under a condition (see `CONDITIONS`)."""
    said = _event_says(condition)
    if condition == "online":
        site = pl.col("site").str.to_lowercase().str.strip_chars()
        on_the_net = site.str.contains(_INTERNET_SITE).fill_null(False)
        said = said | _says("site", condition) | on_the_net
    if condition in SPEEDS:
        return (pl.col("speed") == condition).fill_null(False) | (pl.col("speed").is_null() & said)
    return said


def _event_says(condition: str) -> pl.Expr:
    return _says("event", condition)


def _says(column: str, condition: str) -> pl.Expr:
    return pl.col(column).str.to_lowercase().str.contains(_WORDS[condition]).fill_null(False)
