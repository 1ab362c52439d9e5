"""The campaign in small: a few inputs of every kind, one kill, and proof that it would notice."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from studies.campaign import faults, inputs
from studies.campaign.documents import DOCUMENTS, try_documents
from studies.campaign.kinds import KINDS, Kind, LostError
from studies.campaign.mutate import damaged_bytes, damaged_rows, damaged_tree

from milepost.errors import InputError

NUMBERS = {"pgn": 30, "compressed": 20, "results": 60, "spreads": 60, "calibration": 10,
           "store": 10, "uci": 100, "upload": 1}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_inputs_are_read_refused_or_reported(kind: str, tmp_path: Path) -> None:
    for number in range(NUMBERS[kind]):
        assert inputs.try_one(kind, 19, number, tmp_path) is None, number


@pytest.mark.parametrize("name", DOCUMENTS)
def test_documents_by_grammar(name: str) -> None:
    assert try_documents(name, 25, 19) is None


def _crash(_: object) -> None:
    raise ZeroDivisionError


def _lose(_: object) -> None:
    raise LostError("a row")


def _spin(_: object) -> None:
    while True:
        pass


def _refuse(_: object) -> None:
    raise InputError("no good")


def _ramble(_: object) -> None:
    raise InputError("one line\nand another")


@pytest.mark.parametrize(
    ("read", "told"),
    [(_crash, "ZeroDivisionError"), (_lose, "LostError: a row"), (_spin, "no end within"),
     (_ramble, "a message of 2 lines"), (_refuse, None)],
)  # fmt: skip
def test_the_campaign_notices(
    read: object, told: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted = Kind("planted", lambda _, folder: folder, read)  # type: ignore[arg-type]
    monkeypatch.setitem(KINDS, "planted", planted)
    monkeypatch.setattr(inputs, "SECONDS_AN_INPUT", 0.2)
    found = inputs.try_one("planted", 1, 1, tmp_path)
    assert (found is None) if told is None else (found is not None and told in found)


@pytest.mark.parametrize(
    ("alone", "together", "found"),
    [((), (), []), ((3,), (3,), [3]), ((), (3,), [0]), ((5,), (), [])],
    ids=["nothing", "one", "only together", "one that nobody reads alone"],
)
def test_a_group_that_fails_is_read_one_by_one(
    alone: tuple[int, ...], together: tuple[int, ...], found: list[int], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    numbers: list[int] = []

    def make(_: random.Random, folder: Path) -> int:
        return numbers.pop(0)

    def read(number: int) -> None:
        assert number not in alone

    def read_group(group: list[int]) -> None:
        assert not set(group) & set(together)

    planted = Kind("planted", make, read, 10, read_group)
    monkeypatch.setitem(KINDS, "planted", planted)
    numbers += [*range(10), *(range(10) if together else (0,))]
    failures = inputs.try_batch("planted", 1, range(10), tmp_path / "at")
    assert [failure["number"] for failure in failures] == found
    assert not (tmp_path / "at").exists()


def test_a_group_that_ended_its_process_is_read_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[int] = []
    planted = Kind("planted", lambda _, folder: 0, tried.append, 10, _crash)
    monkeypatch.setitem(KINDS, "planted", planted)
    (tmp_path / "at").write_text("[0, 10, []]")  # what the process wrote before it ended
    assert inputs.try_batch("planted", 1, range(10), tmp_path / "at") == []
    assert len(tried) == 10


def test_damage_is_repeatable_and_is_damage() -> None:
    data = b"some bytes of an input" * 20
    tree = {"a": [1, 2, {"b": 3.5}], "c": "d"}
    rows = [{"x": 1, "y": 2}, {"x": 3, "y": 4}]
    damages: list[tuple[Callable[[Any, random.Random], Any], Any]] = [
        (damaged_bytes, data), (damaged_tree, tree), (damaged_rows, rows),
    ]  # fmt: skip
    for damage, given in damages:
        ways = [damage(given, random.Random(n)) for n in range(40)]
        again = [damage(given, random.Random(n)) for n in range(40)]
        assert list(map(str, ways)) == list(map(str, again))
        assert sum(way != given for way in ways) > 30
    assert data == b"some bytes of an input" * 20


def test_a_killed_command_leaves_what_the_next_run_completes(tmp_path: Path) -> None:
    faults.make_inputs(tmp_path, times=1)
    command = faults.commands(tmp_path)["results"]
    with tempfile.TemporaryDirectory() as out:
        code, told, seconds = faults._run(command.words(tmp_path, Path(out)))
        assert code == 0, told
        wanted = command.digest(Path(out))
    for how in ("SIGKILL", "SIGTERM"):
        chance = random.Random(how)
        assert faults.disturb(command, how, tmp_path, chance, seconds, wanted) is None
    assert "left something else" in str(
        faults.disturb(command, "SIGKILL", tmp_path, random.Random(1), seconds, "another digest")
    )
