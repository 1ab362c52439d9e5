"""What kind of event a game belongs to, worked out from the event's own cross-table.

The kinds: ``match`` (two players), ``round-robin`` (nearly every pair met), ``small-swiss`` (at
most six players for each round, the bound of Regan & Haworth 2011), ``large-swiss``, ``knockout``
(about one pair fewer than players, several games a pair), ``team`` (where the headers say so) and
``unknown``. The whole input is counted, never only the selected games: ten games of a
hundred would make any tournament a small one.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from milepost.games.rounds import round_numbers
from milepost.tables import as_frame

EVENT_KINDS = (
    "match", "round-robin", "small-swiss", "large-swiss", "knockout", "team", "unknown",
)  # fmt: skip

_PLAYERS_PER_ROUND = 6
_NEARLY_ALL = 0.8
"""Share of the pairs that must have met in a round-robin; databases lack some games."""
_TEAM_WORDS = (
    r"\b(?:teams?|team ch|tch|olympiads?|ol|bundesliga|\d?\.?\s?bl|liga|league|4ncl|interclubs?"
    r"|eccc?|mitropa|nationals? tch|mannschaft\w*|equipes?|club cup)\b"
)


def event_kinds(games: Any) -> pl.DataFrame:
    """Return the events of a games table with their kinds.

    An event is one name in one year; a name that goes on into January counts as two.

    Parameters
    ----------
    games
        A games table, or the headers of one.

    Returns
    -------
    polars.DataFrame
        `event`, `year`, `event_kind`, `event_games`, `event_players`, `event_rounds`.
    """
    frame = as_frame(games)
    for side in ("white", "black"):
        if f"{side}_key" not in frame.columns:
            frame = frame.with_columns(pl.col(side).alias(f"{side}_key"))
        if f"{side}_team" not in frame.columns:
            frame = frame.with_columns(pl.lit(None, dtype=pl.String).alias(f"{side}_team"))
    played = frame.filter(pl.col("event").is_not_null() & ~pl.col("event").is_in(["?", "-", ""]))
    played = played.select(
        "event",
        "year",
        pl.coalesce("white_key", "white").alias("white"),
        pl.coalesce("black_key", "black").alias("black"),
        round_numbers(pl.col("round")).alias("number"),
        (pl.col("white_team").is_not_null() & pl.col("black_team").is_not_null()).alias("teams"),
    ).with_columns(
        pl.min_horizontal("white", "black").alias("one"),
        pl.max_horizontal("white", "black").alias("two"),
    )
    by_event = played.group_by("event", "year").agg(
        pl.len().cast(pl.Int64).alias("event_games"),
        pl.concat_list("white", "black")
        .list.explode()
        .n_unique()
        .cast(pl.Int64)
        .alias("event_players"),
        pl.struct("one", "two").n_unique().cast(pl.Int64).alias("pairs"),
        pl.col("number").drop_nulls().n_unique().cast(pl.Int64).alias("numbered"),
        pl.col("teams").mean().alias("teams"),
    )
    appearances = (
        pl.concat(
            [played.select("event", "year", pl.col(s).alias("who")) for s in ("white", "black")]
        )
        .group_by("event", "year", "who")
        .len()
        .group_by("event", "year")
        .agg(pl.col("len").max().cast(pl.Int64).alias("most_games"))
    )
    counted = by_event.join(appearances, on=["event", "year"], nulls_equal=True).with_columns(
        # Where rounds are not given, nobody plays more games than there are rounds.
        pl.when(pl.col("numbered") > 0)
        .then(pl.col("numbered"))
        .otherwise(pl.col("most_games"))
        .alias("event_rounds")
    )
    return (
        counted.with_columns(_kind().alias("event_kind"))
        .select("event", "year", "event_kind", "event_games", "event_players", "event_rounds")
        .sort("event", "year")
    )


def with_event_kinds(games: pl.DataFrame, events: pl.DataFrame) -> pl.DataFrame:
    """Add `event_kind` to games, from what `event_kinds` found in the whole input."""
    kinds = events.select("event", "year", "event_kind")
    return games.drop("event_kind", strict=False).join(
        kinds, on=["event", "year"], how="left", nulls_equal=True, maintain_order="left"
    ).with_columns(pl.col("event_kind").fill_null("unknown"))  # fmt: skip


def _kind() -> pl.Expr:
    players = pl.col("event_players")
    pairs = pl.col("pairs")
    all_pairs = players * (players - 1) / 2
    named_team = pl.col("event").str.to_lowercase().str.contains(_TEAM_WORDS)
    # In a knock-out every pair but the final removes a player: pairs are one fewer than players.
    knockout = (pairs <= players) & (pl.col("event_games") >= 1.5 * pairs) & (players >= 4)
    return (
        pl.when((pl.col("teams") > 0.5) | named_team)
        .then(pl.lit("team"))
        .when(players == 2)
        .then(pl.lit("match"))
        .when((players >= 3) & (pairs >= _NEARLY_ALL * all_pairs))
        .then(pl.lit("round-robin"))
        .when(knockout)
        .then(pl.lit("knockout"))
        .when(pl.col("numbered") == 0)
        .then(pl.lit("unknown"))
        .when(players <= _PLAYERS_PER_ROUND * pl.col("event_rounds"))
        .then(pl.lit("small-swiss"))
        .otherwise(pl.lit("large-swiss"))
    )
