"""Who is who: joined on evidence only, the same whatever the order."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from milepost.errors import TableError
from milepost.games.load import list_players
from milepost.games.players.names import normalise_name
from milepost.games.players.resolve import NameCounts, find_players, resolve_players, with_keys
from milepost.io.files import write_table
from milepost.tables import GAMES, PLAYERS

Name = tuple[str, int | None]
NAMES_SCHEMA = {
    "spelling": pl.String,
    "fide_id": pl.Int64,
    "games": pl.Int64,
    "first_year": pl.Int32,
    "last_year": pl.Int32,
}


def _names(rows: Sequence[tuple[str, int | None, int]]) -> pl.DataFrame:
    """Names with ids and numbers of games."""
    return pl.DataFrame([(*row, 2000, 2001) for row in rows], schema=NAMES_SCHEMA, orient="row")


def _aliases(pairs: dict[str, str]) -> pl.DataFrame:
    return pl.DataFrame({"spelling": list(pairs), "name": list(pairs.values())})


def _keys(
    rows: Sequence[tuple[str, int | None, int]], aliases: dict[str, str] | None = None
) -> dict[Name, str]:
    """The key of each name and id."""
    table = None if aliases is None else _aliases(aliases)
    players = resolve_players(_names(rows), aliases=table)
    return {
        (spelling, fide_id): key
        for spelling, fide_id, key in players.select("spelling", "fide_id", "key").iter_rows()
    }


def _joined_by(players: pl.DataFrame) -> dict[str, str]:
    return dict(players.select("spelling", "joined_by").iter_rows())


def _games(rows: list[tuple[str, int | None, str, int | None, int | None]]) -> pl.DataFrame:
    return pl.DataFrame(
        rows,
        schema={
            "white": pl.String,
            "white_fide_id": pl.Int64,
            "black": pl.String,
            "black_fide_id": pl.Int64,
            "year": pl.Int32,
        },
        orient="row",
    )


def test_same_normalised_spelling_is_one_player() -> None:
    keys = _keys([("Carlsen, Magnus", None, 5), ("CARLSEN,Magnus", None, 2)])
    assert set(keys.values()) == {"carlsen, magnus"}


def test_word_order_is_no_evidence() -> None:
    keys = _keys([("Carlsen, Magnus", None, 5), ("Magnus Carlsen", None, 2)])
    assert len(set(keys.values())) == 2


def test_same_fide_id_is_one_player() -> None:
    players = resolve_players(_names([("Carlsen, Magnus", 1503014, 5), ("Carlsen,M", 1503014, 2)]))
    assert players["key"].to_list() == ["carlsen, magnus"] * 2
    assert players["name"].to_list() == ["Carlsen, Magnus"] * 2
    assert _joined_by(players) == {"Carlsen, Magnus": "spelling", "Carlsen,M": "fide id"}


def test_row_without_id_joins_the_one_id_of_its_spelling() -> None:
    keys = _keys([("Carlsen, M", 7, 5), ("Carlsen, M", None, 1), ("Carlsen, Magnus", 7, 9)])
    assert set(keys.values()) == {"carlsen, magnus"}


def test_different_ids_stay_apart_and_the_key_says_which() -> None:
    keys = _keys([("Smith, J", 123, 5), ("Smith, J", 456, 5), ("Smith,J.", None, 9)])
    assert keys == {
        ("Smith, J", 123): "smith, j #123",
        ("Smith, J", 456): "smith, j #456",
        ("Smith,J.", None): "smith, j",
    }


def test_namesake_with_another_leading_spelling_needs_no_id_in_the_key() -> None:
    keys = _keys([("Smith, J", 1, 1), ("Smith, John", 1, 5), ("Smith, J", 2, 3)])
    assert keys == {
        ("Smith, J", 1): "smith, john",
        ("Smith, John", 1): "smith, john",
        ("Smith, J", 2): "smith, j",
    }


def test_most_frequent_spelling_names_the_player() -> None:
    players = resolve_players(_names([("Kortchnoi, V", 1, 3), ("Korchnoi, V", 1, 4)]))
    assert players["name"].unique().to_list() == ["Korchnoi, V"]


def test_frequency_counts_over_all_ids_of_a_spelling() -> None:
    # 3 + 3 games under one spelling are more than 5 under the other.
    rows = [("Kortchnoi, V", 1, 3), ("Kortchnoi, V", None, 3), ("Korchnoi, V", 1, 5)]
    players = resolve_players(_names(rows))
    assert players["name"].unique().to_list() == ["Kortchnoi, V"]


def test_equally_frequent_spellings_the_longer_one_names() -> None:
    players = resolve_players(_names([("Carlsen, M", 1, 3), ("Carlsen, Magnus", 1, 3)]))
    assert players["name"].unique().to_list() == ["Carlsen, Magnus"]


@pytest.mark.parametrize("nobody", ["?", "NN", "", "-", "Unknown"])
def test_nobody_gets_no_key(nobody: str) -> None:
    assert len(resolve_players(_names([(nobody, None, 100)]))) == 0


def test_nobody_with_an_id_gets_no_key() -> None:
    keys = _keys([("?", 5, 1), ("Carlsen, M", 5, 1)])
    assert keys == {("Carlsen, M", 5): "carlsen, m"}


def test_no_names_give_an_empty_table() -> None:
    players = resolve_players(NameCounts().table())
    assert players.columns == PLAYERS.names
    assert len(players) == 0


def test_alias_joins() -> None:
    rows = [("Carlsen, Magnus", None, 1), ("Magnus Carlsen", None, 9)]
    players = resolve_players(_names(rows), aliases=_aliases({"Magnus Carlsen": "Carlsen, Magnus"}))
    assert players["key"].to_list() == ["carlsen, magnus"] * 2
    assert players["name"].to_list() == ["Carlsen, Magnus"] * 2
    assert _joined_by(players) == {"Carlsen, Magnus": "spelling", "Magnus Carlsen": "alias"}


def test_alias_is_found_in_any_writing() -> None:
    keys = _keys(
        [("MAGNUS  CARLSEN", None, 1), ("Carlsen,Magnus", None, 1)],
        {"Magnus Carlsen": "Carlsen, Magnus"},
    )
    assert set(keys.values()) == {"carlsen, magnus"}


def test_alias_of_a_name_that_does_not_occur_gives_its_key() -> None:
    assert _keys([("DrNykterstein", None, 4)], {"DrNykterstein": "Carlsen, Magnus"}) == {
        ("DrNykterstein", None): "carlsen, magnus"
    }


def test_aliases_chain() -> None:
    keys = _keys(
        [("A", None, 1), ("B", None, 1), ("C", None, 1)],
        {"A": "B", "B": "C"},
    )
    assert set(keys.values()) == {"c"}


def test_long_chain_in_any_order() -> None:
    links = {f"p{place}": f"p{place + 1}" for place in range(9)}
    for seed in range(5):
        shuffled = list(links.items())
        random.Random(seed).shuffle(shuffled)
        keys = _keys([(name, None, 1) for name in links], dict(shuffled))
        assert set(keys.values()) == {"p9"}


@pytest.mark.parametrize(
    "circle", [{"A": "B", "B": "A"}, {"A": "B", "B": "C", "C": "A"}, {"D": "A", "A": "B", "B": "A"}]
)
def test_circle_of_aliases_is_refused(circle: dict[str, str]) -> None:
    with pytest.raises(TableError, match="circle"):
        _keys([("A", None, 1)], circle)


def test_alias_with_two_names_is_refused() -> None:
    table = pl.DataFrame({"spelling": ["A", "a."], "name": ["B", "C"]})
    with pytest.raises(TableError, match="two names"):
        resolve_players(_names([]), aliases=table)


def test_alias_said_twice_is_no_contradiction() -> None:
    table = pl.DataFrame({"spelling": ["A", "a."], "name": ["B", "b"]})
    players = resolve_players(_names([("A", None, 1)]), aliases=table)
    assert players["key"].to_list() == ["b"]


def test_alias_to_itself_does_nothing() -> None:
    assert _keys([("A", None, 1)], {"A": "a."}) == {("A", None): "a"}


@pytest.mark.parametrize(("spelling", "name"), [("?", "A"), ("A", "NN"), (None, "A")])
def test_alias_of_nobody_is_refused(spelling: str | None, name: str | None) -> None:
    table = pl.DataFrame({"spelling": [spelling], "name": [name]})
    with pytest.raises(TableError, match="names nobody"):
        resolve_players(_names([]), aliases=table)


def test_alias_table_needs_its_columns() -> None:
    with pytest.raises(TableError, match=r"spelling and name; found a, b"):
        resolve_players(_names([]), aliases=pl.DataFrame({"a": ["x"], "b": ["y"]}))


def test_aliases_may_come_from_pandas() -> None:
    table = pd.DataFrame({"spelling": ["A"], "name": ["B"]})
    assert resolve_players(_names([("A", None, 1)]), aliases=table)["key"].to_list() == ["b"]


def test_alias_joins_two_ids() -> None:
    keys = _keys([("A", 1, 1), ("B", 2, 1)], {"A": "B"})
    assert set(keys.values()) == {"b"}


def test_alias_does_not_part_a_spelling_from_its_id() -> None:
    # Without the alias the first two are one player by the id; with it, all three are.
    rows = [("Carlsen, M", 7, 2), ("Carlsen Magnus", 7, 3), ("Carlsen, Magnus", None, 9)]
    keys = _keys(rows, {"Carlsen, M": "Carlsen, Magnus"})
    assert set(keys.values()) == {"carlsen, magnus"}


def test_alias_to_a_shared_name_goes_to_the_namesake_with_its_id() -> None:
    rows = [("Smith, J", 1, 5), ("Smith, J", 2, 5), ("Jack Smith", 2, 1)]
    keys = _keys(rows, {"Jack Smith": "Smith, J"})
    assert keys["Jack Smith", 2] == keys["Smith, J", 2] == "smith, j #2"
    assert keys["Smith, J", 1] == "smith, j #1"


def _reference(rows: list[tuple[str, int | None, int]]) -> set[frozenset[Name]]:
    """Groups by brute force, without aliases, straight from the module's text.

    Rows with an id go together by the id; a row without one goes with the id of its spelling if
    there is one only, else with the other rows of its spelling without id.
    """
    ids: defaultdict[str, set[int]] = defaultdict(set)
    for spelling, fide_id, _ in rows:
        form = normalise_name(spelling)
        if form is not None and fide_id is not None:
            ids[form].add(fide_id)
    groups: defaultdict[Any, set[Name]] = defaultdict(set)
    for spelling, fide_id, _ in rows:
        form = normalise_name(spelling)
        if form is None:
            continue
        whose = fide_id
        if whose is None and len(ids[form]) == 1:
            (whose,) = ids[form]
        groups[form if whose is None else whose].add((spelling, fide_id))
    return {frozenset(group) for group in groups.values()}


ROWS = st.lists(
    st.tuples(
        st.sampled_from(["A, B", "a,b.", "A B", "Ä, B", "C", "c.", "D, E", "?", "F"]),
        st.none() | st.integers(1, 4),
        st.integers(1, 3),
    ),
    max_size=10,
    unique_by=lambda row: row[:2],
)


@settings(max_examples=150, deadline=None)
@given(ROWS)
def test_groups_are_those_of_brute_force(rows: list[tuple[str, int | None, int]]) -> None:
    groups: defaultdict[str, set[Name]] = defaultdict(set)
    for name, key in _keys(rows).items():
        groups[key].add(name)
    # Equal sets of groups also say that no two groups share a key.
    assert {frozenset(group) for group in groups.values()} == _reference(rows)


@settings(max_examples=80, deadline=None)
@given(
    ROWS,
    st.dictionaries(st.sampled_from(["A B", "C", "D, E"]), st.sampled_from(["A, B", "F", "G"])),
    st.randoms(use_true_random=False),
)
def test_order_of_rows_does_not_matter(
    rows: list[tuple[str, int | None, int]], aliases: dict[str, str], chance: random.Random
) -> None:
    shuffled = list(rows)
    chance.shuffle(shuffled)
    table = _aliases(aliases) if aliases else None
    assert_frame_equal(
        resolve_players(_names(rows), aliases=table),
        resolve_players(_names(shuffled), aliases=table),
    )


@settings(max_examples=80, deadline=None)
@given(
    ROWS,
    st.dictionaries(st.sampled_from(["A B", "C", "D, E"]), st.sampled_from(["A, B", "F", "G"])),
)
def test_aliased_rows_have_one_key_with_their_name(
    rows: list[tuple[str, int | None, int]], aliases: dict[str, str]
) -> None:
    # Where no id takes part, the alias file alone decides.
    plain = {spelling: (spelling, None, games) for spelling, _, games in rows}
    keys = _keys(list(plain.values()), aliases)
    for spelling in plain:
        form = normalise_name(spelling)
        if form is not None:
            wanted = {normalise_name(a): normalise_name(b) for a, b in aliases.items()}
            assert keys[spelling, None] == wanted.get(form, form)


@settings(max_examples=80, deadline=None)
@given(ROWS)
def test_fast_path_for_lone_names_agrees_with_the_general_one(
    rows: list[tuple[str, int | None, int]],
) -> None:
    # A second row of each spelling, without id where it had one, leaves nobody alone. A name that
    # had one id keeps it, so keys stay; names with several ids or none are left out of the test.
    of_norm = Counter(normalise_name(spelling) for spelling, _, _ in rows)
    lone = [row for row in rows if of_norm[normalise_name(row[0])] == 1]
    doubled = [*lone, *((f"{spelling} ", fide_id, 1) for spelling, fide_id, _ in lone)]
    general = _keys(doubled)
    for spelling, fide_id in _keys(lone):
        assert general[spelling, fide_id] == general[f"{spelling} ", fide_id]
    simple = {frozenset(group) for group in _groups(_keys(lone))}
    stripped = {
        frozenset((spelling.rstrip(), fide_id) for spelling, fide_id in group)
        for group in _groups(general)
    }
    assert simple == stripped


def _groups(keys: dict[Name, str]) -> list[set[Name]]:
    groups: defaultdict[str, set[Name]] = defaultdict(set)
    for name, key in keys.items():
        groups[key].add(name)
    return list(groups.values())


GAME_ROWS = st.lists(
    st.tuples(
        st.sampled_from(["A, B", "a,b", "C", "?"]),
        st.none() | st.integers(1, 2),
        st.sampled_from(["A, B", "D", "E"]),
        st.none() | st.integers(1, 2),
        st.none() | st.integers(1990, 2000),
    ),
    max_size=12,
)


@settings(max_examples=100, deadline=None)
@given(GAME_ROWS, st.integers(1, 5))
def test_counts_in_pieces_equal_counts_at_once(
    rows: list[tuple[str, int | None, str, int | None, int | None]], size: int
) -> None:
    games = _games(rows)
    pieces, whole = NameCounts(), NameCounts()
    for start in range(0, len(games), size):
        pieces.add(games[start : start + size])
    whole.add(games)
    if rows:
        assert_frame_equal(pieces.table(), whole.table())
    counted = Counter((row[side], row[side + 1]) for row in rows for side in (0, 2))
    found = {(name, ident): n for name, ident, n, *_ in whole.table().iter_rows()}
    assert found == counted


def test_counts_of_many_names_are_gathered_on_the_way() -> None:
    # More than 200,000 rows of names are counted together before the end.
    counts = NameCounts()
    for piece in range(3):
        names = [f"Player {piece * 30_000 + number}" for number in range(60_000)]
        counts.add(_games([(name, None, "Rival", None, 2000 + piece) for name in names]))
    table = counts.table()
    assert table["games"].sum() == 2 * 180_000
    assert len(table) == 120_001  # 0 to 119,999, half of them twice, and the rival
    rival = table.row(by_predicate=pl.col("spelling") == "Rival", named=True)
    assert (rival["games"], rival["first_year"], rival["last_year"]) == (180_000, 2000, 2002)


def test_years_of_a_spelling_span_its_games() -> None:
    players = find_players(
        _games(
            [("A", None, "B", None, 1990), ("B", None, "A", None, 1985), ("A", None, "C", 1, None)]
        )
    )
    years = {name: (first, last) for name, first, last in
             players.select("spelling", "first_year", "last_year").iter_rows()}  # fmt: skip
    assert years == {"A": (1985, 1990), "B": (1985, 1990), "C": (None, None)}


def test_white_and_black_are_enough() -> None:
    players = find_players(pd.DataFrame({"white": ["A", "B"], "black": ["B", "C"]}))
    assert dict(players.select("key", "games").iter_rows()) == {"a": 1, "b": 2, "c": 1}


def test_missing_names_are_refused() -> None:
    with pytest.raises(TableError, match="black"):
        find_players(pl.DataFrame({"white": ["A"]}))


@settings(max_examples=100, deadline=None)
@given(GAME_ROWS)
def test_every_game_gets_the_keys_of_its_names(
    rows: list[tuple[str, int | None, str, int | None, int | None]],
) -> None:
    games = _games(rows)
    players = find_players(games)
    keys = {(s, f): k for s, f, k in players.select("spelling", "fide_id", "key").iter_rows()}
    keyed = with_keys(games, players)
    assert_frame_equal(keyed.select(games.columns), games)
    assert keyed["white_key"].to_list() == [keys.get((row[0], row[1])) for row in rows]
    assert keyed["black_key"].to_list() == [keys.get((row[2], row[3])) for row in rows]
    for (white, *_), key in zip(rows, keyed["white_key"], strict=True):
        assert (key is None) == (white == "?")


def test_keys_are_replaced_not_added() -> None:
    games = _games([("A", None, "B", None, 2000)])
    players = find_players(games)
    once = with_keys(games, players)
    assert_frame_equal(with_keys(once, players), once)


def test_players_of_a_games_table_on_disk(tmp_path: Path) -> None:
    games = GAMES.conform(
        pl.DataFrame(
            {"game_id": ["1", "2"], "white": ["A", "a."], "black": ["B", "?"], "moves": ["", ""]}
        )
    )
    write_table(games, tmp_path / "games.parquet")
    write_table(games[:1], tmp_path / "more.csv")
    listed = list_players([tmp_path / "games.parquet", tmp_path / "more.csv"])
    assert_frame_equal(listed, find_players(pl.concat([games, games[:1]])))


def test_players_of_pgn_headers(tmp_path: Path) -> None:
    path = tmp_path / "games.pgn"
    path.write_text(
        '[Event "x"]\n[White "Carlsen, Magnus"]\n[Black "B"]\n[WhiteFideId "7"]\n[Result "1-0"]\n'
        '\n1. e4 1-0\n\n[Event "y"]\n[White "C"]\n[Black "Carlsen,M"]\n[BlackFideId "7"]\n'
        '[Result "*"]\n\n*\n',
        encoding="utf-8",
    )
    listed = list_players([path], aliases=_aliases({"C": "B"}))
    assert dict(listed.select("spelling", "key").iter_rows()) == {
        "Carlsen, Magnus": "carlsen, magnus",
        "Carlsen,M": "carlsen, magnus",
        "B": "b",
        "C": "b",
    }
