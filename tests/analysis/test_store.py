"""The evaluation store: what is in it, what is refused, what two stores become."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from milepost.analysis.engines import make_setup
from milepost.analysis.plans import Evaluation
from milepost.analysis.searchlog import Value
from milepost.analysis.store import EvaluationStore, evaluation_row, stored_position
from milepost.errors import InputError, OutputError

FEN = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"


def row(
    position: str, value: int = 0, setup: str = "s", played: str | None = None
) -> dict[str, Any]:
    """A row with one move."""
    found = Evaluation(("e2e4",), {(1, "e2e4"): Value(value, None)}, {"e2e4": 1}, 10)
    return evaluation_row(position, played, setup, found)


@pytest.fixture
def store(tmp_path: Path) -> EvaluationStore:
    """An empty store."""
    return EvaluationStore(tmp_path / "store", create=True)


def test_the_move_number_is_no_part_of_a_position_but_the_fifty_move_counter_is() -> None:
    assert stored_position("8/8/8/8/8/8/8/8 w - - 7 33") == "8/8/8/8/8/8/8/8 w - - 7 1"
    with pytest.raises(InputError, match="not a whole FEN"):
        stored_position("8/8/8/8/8/8/8/8 w - -")


def test_a_missing_depth_is_null_and_mates_are_mates(store: EvaluationStore) -> None:
    values = {
        (1, "a2a3"): Value(5, None),
        (1, "b2b3"): Value(None, -3),
        (2, "a2a3"): Value(None, 2),
    }
    found = Evaluation(("a2a3", "b2b3"), values, {"a2a3": 2, "b2b3": 1}, 99)
    store.append([evaluation_row(FEN, None, "s", found)])
    stored = store.read().row(0, named=True)
    assert stored["moves"] == ["a2a3", "b2b3"]
    assert stored["cp"] == [[5, None], [None, None]]
    assert stored["mate"] == [[None, -3], [2, None]]
    assert stored["nodes"] == 99


def test_appended_twice_counts_once(store: EvaluationStore) -> None:
    store.append([row("a"), row("b")])
    store.append([row("b"), row("c")])
    assert store.read()["position"].to_list() == ["a", "b", "c"]
    assert store.keys("s") == {("a", None), ("b", None), ("c", None)}
    assert store.keys("other") == set()


def test_played_and_setup_belong_to_the_key(store: EvaluationStore) -> None:
    store.append([row("a", 1), row("a", 2, played="e2e4"), row("a", 3, setup="t")])
    assert len(store.read()) == 3
    assert store.keys("s") == {("a", None), ("a", "e2e4")}
    assert len(store.read("t")) == 1


def test_nothing_to_add_makes_no_file(store: EvaluationStore) -> None:
    assert store.append([]) is None
    assert store.files() == []
    assert len(store.read()) == 0


def test_compaction_gives_the_same_bytes_whatever_the_order(tmp_path: Path) -> None:
    files = []
    for name, order in (("one", "abcd"), ("two", "dbca")):
        store = EvaluationStore(tmp_path / name, create=True)
        for position in order:
            store.append([row(position)])
        assert len(store.files()) == 4
        path = store.compact()
        assert path is not None
        assert store.files() == [path]
        files.append(path.read_bytes())
    assert files[0] == files[1]


def test_merge_takes_what_is_new_with_its_setups(tmp_path: Path, store: EvaluationStore) -> None:
    other = EvaluationStore(tmp_path / "other", create=True)
    setup = make_setup("Engine", {}, {}, "quick")
    other.add_setup(setup)
    store.append([row("a")])
    other.append([row("a"), row("b", setup=setup.digest)])
    assert store.merge(other) == 1
    assert store.merge(other) == 0
    assert store.read()["position"].to_list() == ["b", "a"]  # sorted by set-up first
    assert store.known_setups()[setup.digest]["name"] == "Engine"


def test_duckdb_reads_it(store: EvaluationStore) -> None:
    assert store.query("select count(*) as n from evaluations")["n"].to_list() == [0]
    store.append([row("a"), row("b")])
    found = store.query("select position from evaluations order by position desc")
    assert found["position"].to_list() == ["b", "a"]


def test_a_torn_file_is_refused_by_name(store: EvaluationStore) -> None:
    path = store.append([row("a")])
    assert path is not None
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InputError, match=path.name):
        store.read()
    assert [problem.path for problem in store.verify()] == [path]


def test_a_foreign_file_is_refused_by_name(store: EvaluationStore) -> None:
    store.append([row("a")])
    foreign = store.shards / "part-0123.parquet"
    pl.DataFrame({"position": ["x"]}).write_parquet(foreign)
    with pytest.raises(InputError, match=r"part-0123\.parquet: not written by milepost"):
        store.read()
    foreign.rename(store.shards / "notes.txt")
    with pytest.raises(InputError, match=r"notes\.txt: a foreign file"):
        store.keys("s")


def test_changed_bytes_are_found_by_verify(store: EvaluationStore) -> None:
    path = store.append([row("a"), row("b", 77)])
    assert path is not None
    assert store.verify() == []
    data = bytearray(path.read_bytes())
    data[40] ^= 0xFF
    path.write_bytes(bytes(data))
    assert [problem.reason for problem in store.verify()] != []


def test_a_file_that_is_being_written_is_passed_over(store: EvaluationStore) -> None:
    store.append([row("a")])
    (store.shards / ".123.partial").write_bytes(b"half")
    assert len(store.read()) == 1
    assert store.verify() == []


def test_what_is_no_store_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no evaluation store"):
        EvaluationStore(tmp_path / "nothing")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(InputError, match="holds other things"):
        EvaluationStore(tmp_path / "full", create=True)
    store = EvaluationStore(tmp_path / "new", create=True)
    (store.folder / "store.json").write_text('{"kind": "other"}', encoding="utf-8")
    with pytest.raises(InputError, match="no evaluation store"):
        EvaluationStore(store.folder)


def test_a_store_that_cannot_be_written_is_an_output_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(OutputError, match="cannot write"):
        EvaluationStore(tmp_path / "file" / "store", create=True)
    store = EvaluationStore(tmp_path / "store", create=True)
    store.shards.rmdir()
    with pytest.raises(OutputError, match="cannot write"):
        store.append([row("a")])
