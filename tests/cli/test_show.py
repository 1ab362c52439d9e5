"""What people see: progress, and tables as wide as the terminal."""

from __future__ import annotations

import io
import time
from typing import Any

import polars as pl
import pytest
import rich.console
from typer.testing import CliRunner

from milepost.cli import show
from milepost.cli.app import app
from milepost.io.progress import Progress
from milepost.tables import ERRORS

COLUMNS = ("player", "rating", "interval", "turns", "matched %", "mean error", "warnings")
ROWS = [
    ("Szélhegyfi, Örs", 2710, "2650 - 2770", 1234, 56.71, 0.0821, "fast games; one opponent"),
    ("Nepomniachtchi, Ian Alexandrovich", 2795, "2730 - 2860", 999, 58.12, 0.0712, ""),
]


def printed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: int, **settings: Any
) -> list[str]:
    monkeypatch.setenv("COLUMNS", str(width))
    show.print_table(COLUMNS, ROWS, whole=("interval",), **settings)
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("width", [30, 40, 60, 80, 100, 160])
def test_names_stand_first_at_every_width(
    width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = printed(capsys, monkeypatch, width, drop_first=["matched %", "mean error"])
    heading = next(line for line in lines if "player" in line)
    assert heading.split()[0] == "player"
    assert any(line.lstrip().startswith("Szélhegyfi, Örs") for line in lines)
    assert max(len(line) for line in lines) <= width


def test_rare_columns_go_first_and_are_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    spare = {"drop_first": ["mean error", "matched %"]}
    narrow = "\n".join(printed(capsys, monkeypatch, 75, **spare))
    assert "no room for: matched %, mean error (" in narrow
    assert "-o FILE" in narrow
    for name in ("rating", "interval", "turns", "warnings"):
        assert name in narrow
    middle = "\n".join(printed(capsys, monkeypatch, 82, **spare))
    assert "no room for: mean error (" in middle
    wide = printed(capsys, monkeypatch, 100, **spare)
    assert not any(line.startswith("no room") for line in wide)
    assert "matched %" in "\n".join(wide)


def test_columns_move_together_before_one_is_left_out(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [("Ada", 1234, 5678), ("Bo", 4321, 8765)]

    def lines(width: int) -> list[str]:
        monkeypatch.setenv("COLUMNS", str(width))
        show.print_table(("player", "turns", "games"), rows)
        return capsys.readouterr().out.splitlines()

    assert "  player   turns   games" in "\n".join(lines(26))
    assert " player  turns  games" in "\n".join(lines(23))
    assert "no room for: games" in " ".join(lines(22))


def test_a_long_line_is_broken_between_words(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "  a note that goes on, 1,234 of 5,678 turns"
    monkeypatch.setenv("COLUMNS", "30")
    show.say(text)
    assert capsys.readouterr().out == "  a note that goes on, 1,234\n    of 5,678 turns\n"
    monkeypatch.delenv("COLUMNS")
    show.say(text, err=True)
    assert capsys.readouterr().err == f"{text}\n"  # a file gets it in one line


def test_columns_to_keep_stay(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = printed(capsys, monkeypatch, 60, keep=["warnings"], drop_first=["warnings", "turns"])
    assert any("warnings" in line for line in lines[:5])
    lost = " ".join(lines).partition("no room for")[2]
    assert "warnings" not in lost
    assert "turns" in lost


def test_a_file_gets_lines_every_few_seconds(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(show, "LINE_SECONDS", 0.02)
    with show.progress("rating", unit="turns") as tell:
        tell(Progress(30, 120, "the note"))
        time.sleep(0.1)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) > 1
    assert all(line.startswith("rating: 30 of 120 turns, about ") for line in lines)
    assert all(line.endswith(" left, the note") for line in lines)


def test_what_nobody_tells_of_shows_its_time(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(show, "LINE_SECONDS", 0.02)
    with show.progress("[1/3] 2007-games"):
        time.sleep(0.05)
    assert capsys.readouterr().err.startswith("[1/3] 2007-games: 0 s\n")


def test_a_terminal_gets_a_bar_that_vanishes(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    real = rich.console.Console

    def terminal(**settings: Any) -> rich.console.Console:
        return real(file=screen, force_terminal=True, width=80)

    monkeypatch.setattr("rich.console.Console", terminal)
    with show.progress("[1/2] tuning", total=40, unit="points") as tell:
        tell(10)
        time.sleep(0.3)
    assert "[1/2] tuning" in screen.getvalue()
    assert "10 of 40 points, about " in screen.getvalue()
    assert screen.getvalue().endswith("\x1b[2K")  # the line is cleared at the end


def test_quiet_shows_nothing_and_can_be_told(capsys: pytest.CaptureFixture[str]) -> None:
    with show.progress("rating", quiet=True) as tell:
        tell(1, 2, "nothing")
        tell(Progress(2, 2))
    assert capsys.readouterr().err == ""


def test_what_an_earlier_run_did_says_nothing_of_the_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown = show._Shown("playing", None, "games")
    later = shown._begun + 60
    monkeypatch.setattr(time, "monotonic", lambda: later)
    shown(Progress(5, 8, "5 played before", before=5))
    assert shown.words() == "5 of 8 games, 1 min 0 s, 5 played before"
    shown(Progress(6, 8, before=5))
    assert shown.words() == "6 of 8 games, about 2 min 0 s left"


def test_without_a_unit_the_share_is_shown(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(show, "LINE_SECONDS", 0.02)
    with show.progress("reading") as tell:
        tell(1_000, 4_000, "12 games")
        time.sleep(0.05)
    assert capsys.readouterr().err.startswith("reading: 25 %, about 0 s left, 12 games\n")


def test_every_step_of_a_job_has_a_count_of_its_own(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(show, "LINE_SECONDS", 0.05)
    with show.progress("reading") as tell:
        tell(Progress(90_000, 90_000, step="reading"))
        time.sleep(0.2)
        tell(Progress(3, 40, step="analysing", unit="positions"))
        time.sleep(0.2)
        tell(Progress(0, 6, step="fitting", unit="fits"))
        time.sleep(0.2)
    told = capsys.readouterr().err
    assert "reading: 100 %" in told
    assert "positions" not in told.partition("analysing")[0]
    assert "analysing: 3 of 40 positions, about" in told
    assert "fitting: 0 of 6 fits, 0 s\n" in told, "nobody knows yet how long it will take"


def test_times_as_people_say_them() -> None:
    assert [show.duration(seconds) for seconds in (0.4, 59, 200, 7500)] == [
        "0 s", "59 s", "3 min 20 s", "2 h 5 min",
    ]  # fmt: skip


@pytest.mark.parametrize("extra", [[], ["--no-such-option"]])
def test_a_quiet_command_silences_nothing_after_it(
    extra: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    CliRunner().invoke(app, ["calibrations", "-q", *extra])
    show.note("still told")
    assert "still told" in capsys.readouterr().err


def test_what_is_wrong_with_games_is_told_with_the_first_reason(
    capsys: pytest.CaptureFixture[str],
) -> None:
    kinds = {"kind": ["doubt", "broken"], "source": ["g.pgn"] * 2, "line": [3, 9]}
    wrong = ERRORS.conform(pl.DataFrame(kinds | {"reason": ["odd", "illegal move"]}))
    assert show.tell_wrong(wrong, quiet=True) == 1
    told = capsys.readouterr().err
    assert "1 broken, 1 doubt; the first: g.pgn, line 9: illegal move" in told
    assert show.tell_wrong(wrong.head(1), quiet=True) == 0, "a doubt is no loss"
    assert capsys.readouterr().err == ""
