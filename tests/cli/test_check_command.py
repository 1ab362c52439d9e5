"""`milepost check` as a new user runs it, on the bundled sample."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import polars as pl
import pytest
from tests.cli.runner import run_inside

import milepost
from milepost.cli.commands.analyse import analyse_command
from milepost.fairplay import words

SAMPLE = Path(milepost.__file__).parent / "data" / "sample"
GAMES = SAMPLE / "games.pgn"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    shutil.copytree(SAMPLE / "evaluations", tmp_path / "evaluations")
    return tmp_path / "evaluations"


def run(*arguments: str | Path) -> tuple[int, str, str]:
    done = run_inside("check", *arguments)
    return done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8")


def decent(*texts: str) -> None:
    """No name, and none of the forbidden words."""
    for text in texts:
        assert not [word for word in words.FORBIDDEN if word in text.lower()]
        assert "Quillfeather" not in text


def test_an_event_is_screened(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    out = tmp_path / "checks.parquet"
    code, shown, told = run(GAMES, "--store", store, "--follow", "-o", out)
    assert code == 0, told
    decent(shown, told)
    assert "Player 08" in shown
    assert "index" in shown
    assert "The event as a whole" in shown
    assert "evidence, not a judgement" in told
    assert "Looks taken with this store: 1" in told
    assert max(map(len, shown.splitlines())) <= 80
    (counted,) = [line for line in told.splitlines() if "turns count" in line]
    assert "left out" in counted
    assert len(counted) <= 80
    (heading,) = [line for line in shown.splitlines() if "index" in line and "sees" in line]
    assert heading.split()[:3] == ["player", "Elo", "turns"]
    assert " of 14 " in shown  # a score says of how many games
    assert len(pl.read_parquet(out)) == 8


def test_one_performance_in_full(store: Path, tmp_path: Path) -> None:
    out = tmp_path / "figures.json"
    page = tmp_path / "report.html"
    code, shown, told = run(
        GAMES, "--store", store, "--player", "Quillfeather", "--full", "-o", out, "--report", page,
        "--no-analyse",
    )  # fmt: skip
    assert code == 0, told
    decent(shown, told, out.read_text(encoding="utf-8"), page.read_text(encoding="utf-8"))
    # Lines may be broken anywhere: how wide the terminal is depends on where the tests run.
    words_of = " ".join(shown.split())
    for part in ("would be noticed in", "support", "p = ", "share of turns", "odds beforehand"):
        assert part in words_of
    figures = json.loads(out.read_text(encoding="utf-8"))
    assert figures["full"][0]["turns"] > 100
    assert figures["full"][0]["trace_caution"] == "Single moves are not evidence."
    assert figures["about"][0].startswith("This is evidence, not a judgement.")
    assert "--seed 2011 --no-analyse" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--full"], "--player"),
        (["--player", "Quillfeather"], "--full"),
        (["--report", "page.docx"], "HTML or PDF"),
        (["--elo", "Quillfeather"], "NAME=ELO"),
        (["--elo", "Nobody Known=2000"], "Nobody Known"),
        (["--sort", "guilt"], "--sort: expected one of seed, name, index"),
        (["--player", "Nobody Known", "--full"], "Nobody Known"),
        (["--reply", "missing.txt", "--report", "x.html"], "cannot read the reply"),
        (["--reply", "missing.txt"], "--report"),
    ],
)
def test_mistakes_are_told(store: Path, arguments: list[str], told: str) -> None:
    code, _, message = run(GAMES, "--store", store, *arguments)
    assert code == 1
    assert told in message
    assert "Traceback" not in message


def test_a_missing_store_is_told() -> None:
    code, _, message = run(GAMES)
    assert code == 1
    assert "--store" in message


def test_turns_that_are_missing_are_told_whole(store: Path, tmp_path: Path) -> None:
    """Thousands have a comma, and the command that adds them names the plan."""
    famous = SAMPLE.parent / "famous_games.pgn"
    both = tmp_path / "both.pgn"
    texts = [path.read_text(encoding="utf-8") for path in (GAMES, famous)]
    both.write_text("\n".join(texts), encoding="utf-8")
    _, _, told = run(both, "--store", store, "--no-analyse")
    counted = re.search(r"(\d+) of \d,\d{3} turns are not in the store", " ".join(told.split()))
    assert counted is not None, told
    assert f"milepost analyse {both}" in told
    assert analyse_command(["a.pgn"], str(tmp_path / "none"), None, "bullet").endswith(
        "--plan bullet"
    )
