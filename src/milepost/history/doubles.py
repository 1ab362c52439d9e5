"""Players of a ranking who may be one person under several names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from milepost.games.players.lookalikes import likely_duplicates
from milepost.tables import PLAYERS

if TYPE_CHECKING:
    from milepost.history.result import History

_LOOKED_AT = 300
"""So many players from the top of a ranking are looked at."""


def likely_doubles(history: History, ranking: pl.DataFrame) -> list[list[str]]:
    """Return groups of keys of a ranking that may be one person each.

    Names that look alike (`milepost.games.players.likely_duplicates`: shorter given names, other
    transliterations, a letter apart) are named only if the two never met in a game: people do not
    play themselves.

    Parameters
    ----------
    history
        The history; one that does not keep its results cannot tell who met.
    ranking
        What `History.rank` returned, or its first rows.

    Returns
    -------
    list of list
        The keys of each group, the highest ranked first; groups in the order of the ranking.
    """
    top = ranking.head(_LOOKED_AT)
    keys = top["player"].to_list()
    curves = history.curves.filter(pl.col("player").is_in(keys))
    time = pl.col("time")
    year = time.dt.year() if curves["time"].dtype.is_temporal() else time.floor().cast(pl.Int64)
    people = curves.group_by("player").agg(
        pl.col("games").sum(), year.min().alias("first_year"), year.max().alias("last_year")
    )
    players = PLAYERS.conform(
        people.select(
            key="player", name="player", spelling="player", games="games",
            first_year="first_year", last_year="last_year",
        )
    )  # fmt: skip
    pairs = likely_duplicates(players).select("key_1", "key_2").rows()
    met = _met(history, pairs)
    group = {key: {key} for key in keys}
    for one, two in pairs:
        if (one, two) not in met:
            joined = group[one] | group[two]
            for key in joined:
                group[key] = joined
    place = {key: number for number, key in enumerate(keys)}
    groups = {min(members, key=place.__getitem__): members for members in group.values()}
    return [
        sorted(groups[key], key=place.__getitem__)
        for key in keys
        if key in groups and len(groups[key]) > 1
    ]


def _met(history: History, pairs: list[tuple[str, str]]) -> set[tuple[str, str]]:
    """Those of some pairs who have played each other."""
    if history._kept is None or not pairs:
        return set()
    known = {key for pair in pairs for key in pair}
    games = history._kept.results.filter(
        pl.col("player_1").is_in(known) & pl.col("player_2").is_in(known)
    )
    played = set(games.select("player_1", "player_2").rows())
    return {(one, two) for one, two in pairs if (one, two) in played or (two, one) in played}
