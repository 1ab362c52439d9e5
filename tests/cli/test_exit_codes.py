"""Every row of docs/exit_codes.md, run: the code and the message are those of the page."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
import zstandard
from tests.analysis.run.test_run import make_engine, searches
from tests.cli.runner import run_inside
from tests.conftest import PROJECT

PAGE = PROJECT / "docs" / "exit_codes.md"
_ROW = re.compile(r"^\| (.+) \| (\d+) \| `(.+)` \|$", re.MULTILINE)
ROWS = {when: (int(code), told) for when, code, told in _ROW.findall(PAGE.read_text("utf-8"))}
RESULTS = "time,player_1,player_2,score\n2000,A,B,1\n2001,A,C,0.5\n"
BROKEN = '[Event "E"]\n[White "A"]\n[Black "B"]\n\n1. e4 e5 2. Ke7 1-0\n'
DATA = PROJECT / "src" / "milepost" / "data"
FAMOUS = DATA / "famous_games.pgn"
SPREADS = {"game_id": ["g"], "mover": ["m"], "values": [[0.1, 0.0]], "chosen": [None]}
Words = list[str | Path]


def _file(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def _history(folder: Path, content: str | bytes, *more: str) -> Words:
    table = _file(folder, "results.csv", content)
    return ["history", table, "-o", folder / "out.csv", "-q", *more]


def _rate(folder: Path, calibration: str | None, chosen: int | None = 0) -> Words:
    table = folder / "spreads.parquet"
    whole = pl.Series([chosen], dtype=pl.Int32)
    pl.DataFrame(SPREADS).with_columns(chosen=whole).write_parquet(table)
    words: Words = ["rate", table, "-q"]
    if calibration is not None:
        words += ["--calibration", _file(folder, "mine.json", calibration)]
    return words


def _lopsided() -> str:
    rows = [f"{2000 + n // 500},A,B,{int(n % 5 > 0)}" for n in range(10_000)]
    return "\n".join(["time,player_1,player_2,score", *rows, ""])


def _unwritable(folder: Path) -> Words:
    (folder / "out.csv").mkdir()
    return _history(folder, RESULTS)


SAMPLE_STORE = DATA / "sample" / "evaluations"
CASES: dict[str, Callable[[Path], Words]] = {
    "no such command": lambda _: ["gmaes"],
    "no such option": lambda _: ["games", "x.pgn", "--fast"],
    "a value out of its bounds": lambda _: ["guess", "--top", "0"],
    "a value of another kind": lambda _: ["guess", "--top", "x"],
    "an input that is not there": lambda f: ["games", f / "x.pgn", "-o", f / "g.csv"],
    "a folder without PGN": lambda f: ["games", f, "-o", f / "g.csv"],
    "a table of another kind": lambda f: _history(f, "a,score\n1,1\n"),
    "a table without scores": lambda f: _history(f, "a,b\n1,2\n"),
    "a table in UTF-16": lambda f: _history(f, RESULTS.encode("utf-16")),
    "a PGN file without games": lambda f: ["games", _file(f, "no.pgn", ""), "-o", f / "out.csv"],
    "a PGN file that is damaged": lambda f: [
        "results", _file(f, "g.pgn.zst", zstandard.compress(BROKEN.encode())[:40]),
        "-o", f / "out.csv", "-q",
    ],
    "a PGN file in UTF-16": lambda f: [
        "games", _file(f, "g.pgn", BROKEN.encode("utf-16")), "-o", f / "out.csv", "-q", "-j", "1",
    ],
    "a file that is no PGN": lambda f: [
        "turns", _file(f, "g.pgn", bytes(range(256)) * 9), "-o", f / "out.csv", "-q", "-j", "1",
    ],
    "a table without rows": lambda f: _history(f, RESULTS.splitlines()[0] + "\n"),
    "a value of the wrong kind in a table": lambda f: [
        "fit", _file(f, "x.csv", "decision,value,chosen\n1,2,1\n1,x,0\n"), "-q",
    ],
    "a word that an option does not know": lambda f: [
        "analyse", FAMOUS, "--store", f / "s", "--plan", "quik",
    ],
    "a table that is damaged": lambda f: ["history", _file(f, "r.parquet", "x"), "-o", f / "o.csv"],
    "a line with too many values": lambda f: _history(f, RESULTS + "2001,A, Jr,B,1\n"),
    "an open quotation mark": lambda f: _history(f, RESULTS + '2001,"A,B,1\n'),
    "a table that is not UTF-8": lambda f: _history(f, RESULTS.encode() + b"2001,\xfc,B,1\n"),
    "a line that is no JSON": lambda f: [
        "history", _file(f, "r.ndjson", '{"time":2000:1}\n'), "-o", f / "o.csv",
    ],
    "no row can be used": lambda f: _history(f, "time,player_1,player_2,score\n1,A,B,x\n"),
    "an output whose format nobody knows": lambda f: _history(f, RESULTS, "-o", "out.xyz"),
    "an output in a folder that is not there": lambda f: _history(
        f, RESULTS, "-o", str(f / "no" / "o.csv")
    ),
    "an output that is a folder": _unwritable,
    "an output that is an input": lambda f: ["book", _file(f, "g.pgn", BROKEN), "-o", f / "g.pgn"],
    "games without a store": lambda _: ["rate", FAMOUS],
    "a store that is none": lambda f: ["rate", FAMOUS, "--store", f],
    "turns that are not in the store": lambda _: [
        "rate", FAMOUS, "--store", SAMPLE_STORE, "-q", "-j", "1",
    ],
    "a calibration that is none": lambda f: _rate(f, "[" * 100_000),
    "a calibration that lacks a part": lambda f: _rate(f, '{"schema": 2}'),
    "decisions without choices": lambda f: _rate(f, None, chosen=None),
    "an engine that is not there": lambda f: [
        "analyse", FAMOUS, "--store", f / "s", "--engine", f / "none",
    ],
    "an engine that never searches": lambda f: [
        "analyse", FAMOUS, "--store", f / "s", "-q", "-j", "1", "--engine",
        make_engine(f / "engine", "continue"),
    ],
    "an option's value that cannot be": lambda f: _history(f, RESULTS, "--beta", "-1"),
    "a player whom nobody knows": lambda _: [
        "rate", DATA / "sample" / "games.pgn", "--store", SAMPLE_STORE, "--player", "Nobody",
        "-q", "-j", "1",
    ],
    "`--strict`, and a game is broken": lambda f: [
        "games", _file(f, "b.pgn", BROKEN), "-o", f / "g.csv", "--strict", "-q", "-j", "1",
    ],
    "a broken game": lambda f: [
        "games", _file(f, "b.pgn", BROKEN), "-o", f / "g.csv", "-q", "-j", "1",
    ],
    "rows that a history cannot use": lambda f: _history(f, RESULTS + "2001,A,A,1\n2001,A,B,x\n"),
    "rows left out of a history": lambda f: _history(f, RESULTS + "20240,A,C,1\n"),
    "ratings that run away": lambda f: _history(f, _lopsided(), "--model", "glicko2"),
}  # fmt: skip
STOPS = {
    "terminated by a scheduler": signal.SIGTERM,
    "the terminal is closed": signal.SIGHUP,
    "interrupted": signal.SIGINT,
}


def is_told(message: str, stderr: str) -> bool:
    """Whether a line holds the message of the page, its ellipses filled."""
    pattern = ".*".join(re.escape(part) for part in message.split("…"))
    return any(re.search(f"^{pattern}", line.strip()) for line in stderr.splitlines())


def test_the_page_and_the_cases_are_the_same() -> None:
    assert sorted(ROWS) == sorted([*CASES, *STOPS])


@pytest.mark.parametrize("when", CASES)
def test_code_and_message(when: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("milepost.analysis.engine.uci.SILENT_SECONDS", 0.3)
    monkeypatch.chdir(tmp_path)
    code, message = ROWS[when]
    done = run_inside(*CASES[when](tmp_path))
    told = done.stderr.decode()
    assert done.returncode == code, told
    assert is_told(message, told), told
    assert "Traceback" not in told
    lines = [line for line in told.splitlines() if line]
    if message.startswith("milepost:"):
        assert len(lines) == 1, told
    if code == 2:
        assert len(lines) == 3, told
        assert lines[0].startswith("Usage: ")
        assert lines[2].startswith("Error: ")
    assert not list(tmp_path.rglob("*.partial"))


@pytest.mark.parametrize("when", STOPS)
def test_code_and_message_of_a_stop(when: str, tmp_path: Path) -> None:
    program = make_engine(tmp_path / "engine", "time.sleep(0.1)")
    command = [sys.executable, "-m", "milepost", "analyse", str(FAMOUS), "--engine", str(program)]
    command += ["--store", str(tmp_path / "s"), "-j", "1", "-q", "--depth", "1"]
    # Under nohup these tests would hand down that SIGHUP is to be ignored.
    asked = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    try:
        process = subprocess.Popen(command, stderr=subprocess.PIPE, start_new_session=True)
    finally:
        signal.signal(signal.SIGHUP, asked)
    give_up = time.monotonic() + 120
    log = program.parent / "searches"
    while time.monotonic() < give_up and not (log.exists() and searches(program) >= 2):
        time.sleep(0.02)
    process.send_signal(STOPS[when])
    told = process.communicate(timeout=60)[1].decode()
    code, message = ROWS[when]
    assert process.returncode == code, told
    assert is_told(message, told)
    assert "Traceback" not in told


def test_a_stop_before_the_command_is_begun() -> None:
    stopped = (
        "import os, signal, milepost.cli.app as app\n"
        "app._with_one_command = lambda _: lambda: os.kill(os.getpid(), signal.SIGTERM)\n"
        "app.main()"
    )
    done = subprocess.run([sys.executable, "-c", stopped], capture_output=True, check=False)
    assert done.returncode == 143
    assert done.stderr.decode().strip() == "milepost: terminated; nothing was begun"


@pytest.mark.parametrize(
    ("how", "code", "word"),
    [("SIGINT", 130, "interrupted"), ("SIGTERM", 143, "terminated"), ("SIGHUP", 129, "hung up")],
)
def test_a_stop_while_the_command_line_is_read(how: str, code: int, word: str) -> None:
    """Typer makes every interrupt outside a command an exit with 130, without a word."""
    stopped = (
        "import os, signal, sys, milepost.cli.app as app\n"
        f"app._Group.make_context = lambda *_, **__: os.kill(os.getpid(), signal.{how})\n"
        "sys.argv = ['milepost', 'calibrations']\n"
        "app.main()"
    )
    done = subprocess.run([sys.executable, "-c", stopped], capture_output=True, check=False)
    assert done.returncode == code
    assert done.stderr.decode().strip() == f"milepost: {word}; nothing was begun"


@pytest.mark.parametrize("how", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_stop_when_the_command_has_just_ended_changes_nothing(how: str) -> None:
    stopped = (
        "import os, signal, sys, typer.core, milepost.cli.app as app\n"
        "invoke = app._Group.invoke\n"
        "def last(*given):\n"
        "    invoke(*given)\n"
        f"    os.kill(os.getpid(), signal.{how})\n"
        "app._Group.invoke = last\n"
        "sys.argv = ['milepost', 'calibrations', '-q']\n"
        "app.main()"
    )
    done = subprocess.run([sys.executable, "-c", stopped], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("how", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_stop_after_the_command_has_ended_changes_nothing(how: str) -> None:
    # Registered before the command line runs, so called after what that registers.
    stopped = (
        "import atexit, os, signal, milepost.cli.app as app\n"
        f"atexit.register(lambda: os.kill(os.getpid(), signal.{how}))\n"
        "app._with_one_command = lambda _: lambda: None\n"
        "app.main()"
    )
    done = subprocess.run([sys.executable, "-c", stopped], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
