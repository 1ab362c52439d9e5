"""The evaluation store: what is in it, what is refused, what two stores become."""

from __future__ import annotations

import errno
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from milepost.analysis.engine.search_output import Value
from milepost.analysis.engine.setup import make_setup
from milepost.analysis.plans import Evaluation
from milepost.analysis.run.run import evaluation_row
from milepost.analysis.spreads.build import make_spreads
from milepost.analysis.store.shards import MARK, digest_of
from milepost.analysis.store.store import EvaluationStore, stored_position
from milepost.errors import InputError, OutputError
from milepost.tables import TURNS

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


def test_a_damaged_set_up_is_refused_by_name_and_mended(
    tmp_path: Path, store: EvaluationStore
) -> None:
    setup = make_setup("Engine", {}, {}, "quick")
    store.add_setup(setup)
    assert store.verify() == []
    path = store.setups / f"{setup.digest}.json"
    path.write_text('{"name": "Eng', encoding="utf-8")
    with pytest.raises(InputError, match=rf"{path.name}: not the set-up"):
        store.known_setups()
    with pytest.raises(InputError, match=path.name):
        EvaluationStore(tmp_path / "other", create=True).merge(store)
    assert [problem.path for problem in store.verify()] == [path]
    store.add_setup(setup)
    assert store.known_setups()[setup.digest]["name"] == "Engine"


def test_a_run_killed_at_the_very_start_leaves_an_empty_store(store: EvaluationStore) -> None:
    store.shards.rmdir()
    store.setups.rmdir()
    opened = EvaluationStore(store.folder)
    assert len(opened.read()) == 0
    assert opened.verify() == []
    assert opened.query("select count(*) as n from evaluations")["n"].to_list() == [0]
    EvaluationStore(store.folder, create=True).append([row("a")])
    assert len(opened.read()) == 1


def test_files_that_a_compaction_takes_away_are_looked_for_again(
    store: EvaluationStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    for position in "abc":
        store.append([row(position)])
    stale = store.files()
    store.compact()
    fresh = store.files()
    answers = [stale, fresh]
    monkeypatch.setattr(store, "files", lambda: answers.pop(0))
    assert len(store.read()) == 3
    answers = [stale, fresh]
    assert store.query("select count(*) as n from evaluations")["n"].to_list() == [3]
    answers = [stale, fresh]
    assert len(store.keys("s")) == 3


def test_a_store_json_of_another_kind_is_refused(store: EvaluationStore) -> None:
    (store.folder / "store.json").write_text("[]", encoding="utf-8")
    with pytest.raises(InputError, match="no evaluation store"):
        EvaluationStore(store.folder)


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


def damage(path: Path) -> None:
    """Change one bit in the middle of the data; the end, which says what is where, stays."""
    data = bytearray(path.read_bytes())
    data[40] ^= 0x10
    path.write_bytes(bytes(data))


def test_a_damaged_file_is_never_read_as_data(tmp_path: Path, store: EvaluationStore) -> None:
    good = store.append([row("a")])
    bad = store.append([row("b"), row("c")])
    assert good is not None
    assert bad is not None
    assert len(store.read()) == 3  # looked at while it was whole
    damage(bad)
    other = EvaluationStore(tmp_path / "other", create=True)
    calls: list[Callable[[], object]] = [
        store.read,
        lambda: store.keys("s"),
        lambda: store.query("select count(*) from evaluations"),
        store.compact,
        lambda: other.merge(store),
        lambda: store.merge(other),
        lambda: make_spreads(TURNS.empty(), store),
    ]
    for call in calls:
        with pytest.raises(InputError, match=f"{bad.name}: its bytes are not those") as caught:
            call()
        assert "\n" not in str(caught.value)
    assert good.exists()
    assert other.files() == []
    bad.unlink()
    assert len(store.read()) == 1


def test_a_file_of_other_columns_is_named(store: EvaluationStore) -> None:
    table = pa.table({"setup": ["s"]}).replace_schema_metadata({MARK: b"1"})
    whole = store.shards / ".x.partial"
    pq.write_table(table, whole)
    path = whole.rename(store.shards / f"part-{digest_of(whole)}.parquet")
    store.append([row("a")])
    calls: list[Callable[[], object]] = [
        store.read,
        lambda: store.query("select position from evaluations"),
    ]
    for call in calls:
        with pytest.raises(
            InputError, match=r"part-.*\.parquet: cannot be read|the query"
        ) as caught:
            call()
        assert "\n" not in str(caught.value)
    path.unlink()
    with pytest.raises(InputError, match="the query failed"):
        store.query("select nothing from evaluations")


@pytest.mark.parametrize("text", ["", "[]", "{", "\x00\xff"])
def test_a_set_up_that_is_damaged_in_any_way(store: EvaluationStore, text: str) -> None:
    (store.setups / "0123456789abcdef.json").write_text(text, encoding="utf-8")
    assert len(store.verify()) == 1
    with pytest.raises(InputError, match="0123456789abcdef"):
        store.known_setups()


def test_where_nothing_may_be_written_the_tidying_up_says_nothing(
    store: EvaluationStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.append([row("a")])
    store.append([row("b")])

    def refuse(*_: object, **__: object) -> NoReturn:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    store.files()  # looked at before, since here not even reading is possible
    for name in ("open", "write_text", "write_bytes", "unlink", "mkdir", "replace"):
        monkeypatch.setattr(Path, name, refuse)
    setup = make_setup("Engine", {}, {}, "quick")
    calls: list[Callable[[], object]] = [
        store.compact,
        store.check_writable,
        lambda: store.append([row("c")]),
        lambda: store.add_setup(setup),
        lambda: EvaluationStore(store.folder / "new", create=True),
    ]
    for call in calls:
        with pytest.raises(OutputError, match="Read-only file system"):
            call()


def test_compaction_removes_what_killed_runs_have_left(store: EvaluationStore) -> None:
    store.append([row("a")])
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    node = platform.node()
    old = time.time() - 2 * 86_400
    stay: list[Path] = []
    go: list[Path] = []
    for folder, name, age, stays in (
        (store.shards, f".{dead.pid}.partial", None, False),
        (store.shards, f".{node}.{dead.pid}.partial", None, False),
        (store.shards, f".{node}.{os.getppid()}.partial", None, True),
        (store.shards, f".elsewhere.{dead.pid}.partial", None, True),
        (store.shards, f".elsewhere.{dead.pid + 1}.partial", old, False),
        (store.setups, f".0123456789abcdef.json.{dead.pid}.partial", None, False),
        (store.folder, f".store.json.{dead.pid}.partial", None, False),
    ):
        path = folder / name
        path.write_bytes(b"half")
        if age is not None:
            os.utime(path, (age, age))
        (stay if stays else go).append(path)
    store.compact()
    assert [path for path in go if path.exists()] == []
    assert [path for path in stay if not path.exists()] == []
    assert len(store.read()) == 1


def test_values_that_two_stores_disagree_about_are_counted(
    tmp_path: Path, store: EvaluationStore
) -> None:
    other = EvaluationStore(tmp_path / "other", create=True)
    store.append([row("a", 1), row("b", 2), row("c", 3, played="e2e4")])
    imported = row("b", 2) | {"nodes": None}
    other.append([row("a", 9), imported, row("c", 8, played="e2e4"), row("d", 4)])
    assert store.count_differing(other) == 2
    assert store.count_differing(store) == 0
    assert store.merge(other) == 1
    assert store.read()["cp"].to_list()[0] == [[1]]
