"""The ledger: every look is counted, the same look once, and nobody is named."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from milepost.errors import InputError, OutputError
from milepost.fairplay.ledger import (
    KINDS,
    NAME,
    Look,
    LooksSummary,
    ledger_of,
    performance_digest,
    read,
    record,
    summary,
)

ADA = performance_digest("quillfeather, ada", "Open 2019")
BO = performance_digest("rømer, bo", "Open 2019")
SCREEN = Look(
    time="2026-11-17T10:00:00+00:00",
    kind="screen",
    command="check open.pgn",
    inputs=("d1", "d2"),
    calibration="c1",
    players=("quillfeather, ada", "rømer, bo"),
    performances=(ADA, BO),
    settings={"after_round": None},
)
FULL = replace(
    SCREEN,
    time="2026-11-17T11:00:00+00:00",
    kind="full",
    players=SCREEN.players[:1],
    performances=(ADA,),
    settings={"exclusions": ["from move 12"]},
)

WRITE = """
import sys
from pathlib import Path
from milepost.fairplay.ledger import Look, record
path, writer = Path(sys.argv[1]), sys.argv[2]
for number in range(20):
    record(path, Look("2026-11-17T10:00:00+00:00", "screen", "x", (writer, str(number)), "c",
                      tuple(f"player {n}" for n in range(200)), ("a",)))
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return ledger_of(tmp_path)


def test_no_ledger_is_no_look(path: Path) -> None:
    assert path.name == NAME
    assert read(path) == []
    assert summary(path, ADA) == LooksSummary(0, 0, 0, 0, 0, (), (), 0)
    assert not path.exists()


def test_looks_are_counted_in_all_and_here(path: Path) -> None:
    record(path, SCREEN)
    record(path, FULL)
    assert summary(path, ADA) == LooksSummary(
        looks=2,
        times=2,
        performances=2,
        tests=3,
        looks_here=2,
        times_here=(SCREEN.time, FULL.time),
        settings_here=(SCREEN.settings, FULL.settings),
        unreadable=0,
    )
    of_bo = summary(path, BO)
    assert (of_bo.looks, of_bo.looks_here, of_bo.settings_here) == (2, 1, (SCREEN.settings,))
    assert summary(path, performance_digest("rømer, bo", "Cup")).looks_here == 0


def test_what_is_read_is_what_was_recorded_but_for_the_names(path: Path) -> None:
    record(path, FULL)
    (look,) = read(path)
    for name in ("time", "kind", "inputs", "calibration", "settings"):
        assert getattr(look, name) == getattr(FULL, name)
    assert look.times == (FULL.time,)
    assert len(look.players) == len(look.performances) == 1


def test_the_same_look_again_counts_once_and_its_times_are_kept(path: Path) -> None:
    again = replace(
        SCREEN,
        time="2026-11-18T10:00:00+00:00",
        command="check open.pgn -o out.csv",
        inputs=SCREEN.inputs[::-1],
        players=SCREEN.players[::-1],
        performances=SCREEN.performances[::-1],
    )
    record(path, SCREEN)
    record(path, FULL)
    record(path, again)
    looks = read(path)
    assert [look.kind for look in looks] == ["screen", "full"]
    assert looks[0].times == (SCREEN.time, again.time)
    assert looks[0].time == SCREEN.time
    counts = summary(path, ADA)
    assert (counts.looks, counts.times, counts.tests, counts.looks_here) == (2, 3, 3, 2)


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "sequential"},
        {"inputs": ("d1",)},
        {"calibration": "c2"},
        {"settings": {"after_round": 3}},
        {"players": ("rømer, bo",)},
        {"performances": (BO,)},
    ],
    ids=lambda change: next(iter(change)),
)
def test_any_other_difference_makes_another_look(path: Path, change: dict[str, object]) -> None:
    record(path, SCREEN)
    record(path, replace(SCREEN, **change))  # type: ignore[arg-type]
    assert len(read(path)) == 2


def test_nobody_is_named_and_ledgers_do_not_share_hashes(tmp_path: Path) -> None:
    players: list[str] = []
    for name in ("one.ndjson", "two.ndjson"):
        record(tmp_path / name, replace(SCREEN, command="check --elo quillfeather=1850"))
        text = (tmp_path / name).read_text(encoding="utf-8")
        # No word of hex digits alone ("ada"): a salt or a hash may hold it by chance.
        for word in ("quillfeather", "rømer", "r\\u00f8mer", ADA, BO):
            assert word not in text
        players += read(tmp_path / name)[0].players
    assert len(set(players)) == 4
    assert all(len(player) == 12 for player in players)


def test_the_salt_stands_in_the_first_line_and_stays(path: Path) -> None:
    record(path, SCREEN, salt="s1")
    record(path, replace(SCREEN, calibration="c2"), salt="s2")
    first, *others = path.read_text(encoding="utf-8").splitlines()
    assert json.loads(first) == {"kind": "milepost check ledger", "schema": 1, "salt": "s1"}
    assert len({json.loads(line)["players"][0] for line in others}) == 1


@pytest.mark.parametrize("cut", [1, 5, 60])
def test_a_torn_last_line_is_passed_over_and_counted(
    path: Path, cut: int, caplog: pytest.LogCaptureFixture
) -> None:
    record(path, SCREEN)
    record(path, FULL)
    path.write_bytes(path.read_bytes()[:-cut])
    # Without its newline alone the line is still whole.
    whole = cut == 1
    assert len(read(path)) == 1 + whole
    assert summary(path, ADA).unreadable == (not whole)
    assert ("1 lines cannot be read" in caplog.text) == (not whole)
    record(path, replace(FULL, calibration="c2"))
    assert len(read(path)) == 2 + whole
    assert summary(path, ADA).unreadable == (not whole)


def test_the_file_only_grows(path: Path) -> None:
    record(path, SCREEN)
    before = path.read_bytes()
    record(path, FULL)
    record(path, SCREEN)
    assert path.read_bytes().startswith(before)


def test_an_empty_file_becomes_a_ledger(path: Path) -> None:
    path.touch()
    assert read(path) == []
    record(path, SCREEN)
    assert len(read(path)) == 1


@pytest.mark.parametrize("text", ["a,b\n1,2\n", "[]\n", '{"kind": "other"}\n', "\n"])
def test_another_file_is_refused_and_left_alone(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match="is no ledger"):
        read(path)
    with pytest.raises(InputError, match="is no ledger"):
        record(path, SCREEN)
    assert path.read_text(encoding="utf-8") == text


def test_a_newer_ledger_is_refused(path: Path) -> None:
    path.write_text('{"kind": "milepost check ledger", "schema": 2, "salt": "s"}\n')
    with pytest.raises(InputError, match="schema 2, this version knows 1"):
        record(path, SCREEN)


@pytest.mark.parametrize(
    "line", ["{}", "7", "null", '{"time": 3}', '{"settings": []}', "\\xff", '"x"']
)
def test_a_line_that_is_no_look_is_counted(path: Path, line: str) -> None:
    record(path, SCREEN)
    with path.open("a", encoding="utf-8") as file:
        file.write(line + "\n")
    record(path, FULL)
    assert len(read(path)) == 2
    assert summary(path, ADA).unreadable == 1


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"kind": "glance"}, f"one of {', '.join(KINDS)}, got 'glance'"),
        ({"time": "yesterday"}, "ISO 8601 with a zone, got 'yesterday'"),
        ({"time": "2026-11-17T10:00:00"}, "ISO 8601 with a zone"),
        ({"settings": {"x": {1, 2}}}, "cannot be written as JSON"),
        ({"settings": {"x": float("nan")}}, "cannot be written as JSON"),
    ],
)
def test_a_look_that_is_none_is_refused(path: Path, change: dict[str, object], told: str) -> None:
    with pytest.raises(InputError, match=told):
        record(path, replace(SCREEN, **change))  # type: ignore[arg-type]
    assert not path.exists()


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="cannot write"):
        record(tmp_path / "absent" / NAME, SCREEN)


def test_a_line_that_cannot_be_written_whole_is_taken_back(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record(path, SCREEN)
    before = path.read_bytes()

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", full)
        with pytest.raises(OutputError, match="No space left"):
            record(path, FULL)
    assert path.read_bytes() == before


def test_writers_at_once_lose_nothing(path: Path) -> None:
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITE, str(path), name]) for name in ("one", "two")
    ]
    assert [writer.wait() for writer in writers] == [0, 0]
    looks = read(path)
    assert len(looks) == 40
    assert len({look.players for look in looks}) == 1
    assert summary(path, "a").unreadable == 0
