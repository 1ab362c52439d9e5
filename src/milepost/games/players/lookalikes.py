"""Keys that may be one person under two names, or two persons under one: listed, never joined."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import polars as pl

from milepost.games.players.names import sound, split_name
from milepost.tables import LIKELY_DUPLICATES

_LONGEST_CAREER = 80
"""Years from first to last game that one person may span."""
_SHORTEST_TYPO = 8
"""Letters that a name needs for one changed letter to mean anything."""
_SHORTEST_SURNAME = 3
"""Letters that a surname needs to be looked at by its sound."""
_CROWD = 40
"""More keys than this under one surname and initial say nothing about any two of them."""


def likely_duplicates(players: pl.DataFrame) -> pl.DataFrame:
    """List pairs of keys that may be one person, and names that are shared by several ids.

    The reasons: the same words in another order, an initial or a shorter form of the given name,
    one letter changed, left out or swapped, another transliteration, and one name with several FIDE
    ids. Pairs whose years cannot be one life, and pairs with two different FIDE ids (but for the
    last reason), are out.

    Parameters
    ----------
    players
        A players table, see `milepost.tables.PLAYERS`.
    """
    people = players.group_by("key").agg(
        pl.col("games").sum(),
        pl.col("first_year").min(),
        pl.col("last_year").max(),
        pl.col("fide_id").drop_nulls().unique().sort().alias("ids"),
    )
    facts = {row["key"]: row for row in people.sort("key").iter_rows(named=True)}
    rows = []
    seen = set()
    for first, second, reason in _pairs(list(facts)):
        pair = (min(first, second), max(first, second))
        one, two = facts[pair[0]], facts[pair[1]]
        namesakes = reason.startswith("one name")
        if pair in seen or (not namesakes and (one["ids"] and two["ids"])):
            continue
        if not namesakes and not _one_life(one, two):
            continue
        seen.add(pair)
        rows.append(
            {
                "key_1": pair[0], "key_2": pair[1], "reason": reason,
                "games_1": one["games"], "games_2": two["games"],
                "years_1": _years(one), "years_2": _years(two),
            }
        )  # fmt: skip
    frame = (
        pl.DataFrame(rows, schema=LIKELY_DUPLICATES.dtypes) if rows else LIKELY_DUPLICATES.empty()
    )
    return frame.sort(
        pl.min_horizontal("games_1", "games_2"), "key_1", "key_2", descending=[True, False, False]
    )


def pairs(players: pl.DataFrame, alike: pl.DataFrame) -> pl.DataFrame:
    """Return likely duplicates as people read them: names as written, both sides in one cell.

    Parameters
    ----------
    players
        A players table.
    alike
        What `likely_duplicates` has found in it.

    Returns
    -------
    polars.DataFrame
        `name_1`, `name_2`, `reason`, `games`, `years`; a name that several people have is followed
        by the FIDE id.
    """
    # Keys are parted from each other by the id behind them.
    shown = pl.concat_str("name", pl.col("key").str.extract(r"( #\d+)$").fill_null(""))
    names = dict(players.select("key", shown.alias("shown")).iter_rows())

    def both(column: str) -> pl.Expr:
        sides = [pl.col(f"{column}_{side}").cast(pl.String).fill_null("?") for side in (1, 2)]
        return pl.concat_str(sides, separator=" / ").alias(column)

    return alike.select(
        *(pl.col(f"key_{side}").replace(names).alias(f"name_{side}") for side in (1, 2)),
        "reason",
        both("games"),
        both("years"),
    )


def _pairs(keys: list[str]) -> Iterator[tuple[str, str, str]]:
    yield from _grouped(
        keys, lambda key: key.partition(" #")[0] if " #" in key else key, "one name, other FIDE ids"
    )
    plain = [key for key in keys if " #" not in key]
    yield from _grouped(
        plain, lambda key: " ".join(sorted(key.replace(",", "").split())), "same words, other order"
    )
    yield from _shorter_given_names(plain)
    yield from _one_letter_apart(plain)
    yield from _same_sound(plain)


def _grouped(keys: list[str], form: object, reason: str) -> Iterator[tuple[str, str, str]]:
    groups: defaultdict[str, list[str]] = defaultdict(list)
    assert callable(form)
    for key in keys:
        groups[form(key)].append(key)
    for members in groups.values():
        for place, first in enumerate(members):
            for second in members[place + 1 :]:
                yield first, second, reason


def _shorter_given_names(keys: list[str]) -> Iterator[tuple[str, str, str]]:
    """Same surname, and every given name of one begins the other's: "carlsen, m"."""
    groups: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for key in keys:
        surname, given = split_name(key)
        if given and "," in key:
            groups[(surname, given[0])].append(key)
    for members in groups.values():
        if len(members) > _CROWD:
            continue
        for place, first in enumerate(members):
            for second in members[place + 1 :]:
                shorter = sorted((split_name(first)[1], split_name(second)[1]), key=len)
                ours, theirs = (given.split(" ") for given in shorter)
                fits = len(ours) <= len(theirs) and all(
                    long.startswith(short) for short, long in zip(ours, theirs, strict=False)
                )
                if fits:
                    yield first, second, "same surname, shorter given name"


def _one_letter_apart(keys: list[str]) -> Iterator[tuple[str, str, str]]:
    """Pairs one change apart: they become equal when one letter is left out of one or both."""
    shortened: defaultdict[str, list[str]] = defaultdict(list)
    for key in keys:
        if len(key) < _SHORTEST_TYPO or any(character.isdigit() for character in key):
            continue
        shortened[key].append(key)
        for form in {key[:place] + key[place + 1 :] for place in range(len(key))}:
            shortened[form].append(key)
    for members in shortened.values():
        for place, first in enumerate(members):
            for second in members[place + 1 :]:
                if first != second and _apart_by_one(first, second):
                    yield first, second, "one letter apart"


def _same_sound(keys: list[str]) -> Iterator[tuple[str, str, str]]:
    """Names that sound alike: "kortschnoj, viktor", "korchnoi, v", "kortchnoi viktor".

    Without a comma either end may be the surname. Every given name must begin, or be begun by, the
    other's, and both must have one.
    """
    groups: defaultdict[tuple[str, str], dict[str, list[str]]] = defaultdict(dict)
    for key in keys:
        for surname, given in _readings(key):
            groups[(sound(surname), given[0][:1])].setdefault(key, given)
    for members in groups.values():
        if len(members) > _CROWD:
            continue
        listed = sorted(members.items())
        for place, (first, ours) in enumerate(listed):
            for second, theirs in listed[place + 1 :]:
                if all(_begins(one, two) for one, two in zip(ours, theirs, strict=False)):
                    yield first, second, "sounds alike"


def _readings(key: str) -> Iterator[tuple[str, list[str]]]:
    """Surname and given names, as far as sounds go, in every way that the name can be read."""
    surname, comma, given = key.partition(", ")
    if comma:
        ways = [(surname, given.split(" "))]
    else:
        words = key.split(" ")
        ways = [(words[0], words[1:]), (words[-1], words[:-1])]
    for surname, names in ways:
        if len(surname) >= _SHORTEST_SURNAME and names and names[0]:
            yield surname, [sound(name) for name in names]


def may_be_one(first: str, second: str) -> bool:
    """Return whether two normalised names may be one person's by their sound.

    >>> may_be_one("kortschnoj, viktor", "korchnoi v"), may_be_one("polgar, judit", "polgar, sofia")
    (True, False)
    """
    if first == second:
        return True
    names = [{sound(name), sound(name.split(",")[0])} for name in (first, second)]
    for bare, other in ((first, names[1]), (second, names[0])):
        if " " not in bare and sound(bare) in other:  # a surname alone
            return True
    return any(
        sound(surname) == sound(other)
        and all(_begins(one, two) for one, two in zip(ours, theirs, strict=False))
        for surname, ours in _readings(first)
        for other, theirs in _readings(second)
    )


def _begins(one: str, two: str) -> bool:
    return one.startswith(two) or two.startswith(one)


def _apart_by_one(first: str, second: str) -> bool:
    """Whether one letter was changed, added, left out, or two neighbours swapped."""
    start = 0
    while start < min(len(first), len(second)) and first[start] == second[start]:
        start += 1
    ours, theirs = first[start:], second[start:]
    return (
        ours[1:] == theirs[1:]
        or ours[1:] == theirs
        or ours == theirs[1:]
        or (ours[:2] == theirs[1::-1] and ours[2:] == theirs[2:])
    )


def _one_life(one: dict[str, int | None], two: dict[str, int | None]) -> bool:
    years = [
        year
        for person in (one, two)
        for year in (person["first_year"], person["last_year"])
        if year is not None
    ]
    return not years or max(years) - min(years) <= _LONGEST_CAREER


def _years(person: dict[str, int | None]) -> str | None:
    first, last = person["first_year"], person["last_year"]
    if first is None:
        return None
    return str(first) if first == last else f"{first}-{last}"
