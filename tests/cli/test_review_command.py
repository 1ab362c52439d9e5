"""milepost review: the bundled games from store to page, and games with comments alone."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.cli.runner import run_inside

import milepost as mp

SAMPLE = Path(mp.__file__).parent / "data" / "sample"


def run(*arguments: str | Path) -> tuple[int, str, str]:
    done = run_inside("review", *arguments)
    return done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four games of one player, with their evaluations."""
    home = tmp_path_factory.mktemp("review")
    games = (SAMPLE / "games.pgn").read_text(encoding="utf-8").split("\n\n[Event ")
    mine = [games[0], *(f"[Event {each}" for each in games[1:])]
    mine = [each for each in mine if "Brannochie" in each][:4]
    (home / "games.pgn").write_text("\n\n".join(mine) + "\n", encoding="utf-8")
    shutil.copytree(SAMPLE / "evaluations", home / "store")
    return home


def test_from_games_to_page(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    page = folder / "page.html"
    code, shown, told = run(
        str(folder / "games.pgn"), "--player", "Brann", "--store", str(folder / "store"),
        "--no-analyse", "--report", str(page), "--difference", "white,black", "-j", "1",
        "-o", str(folder / "turns.csv"),
    )  # fmt: skip
    assert code == 0, told
    assert max(len(line) for line in shown.splitlines() if "│" in line or "─" in line) <= 80
    for words in ("Brannochie, Tavish", "opening", "endgame", "white against black", "p = "):
        assert words in shown
    text = page.read_text(encoding="utf-8")
    assert text.count("<article") == 10
    assert "<script" not in text
    assert "http://" not in text.replace("http://www.w3.org", "")
    ids = [part.split('"')[0] for part in text.split(' id="')[1:]]
    assert len(ids) == len(set(ids))
    assert "Brannochie, Tavish" in text
    assert (folder / "turns.csv").read_text(encoding="utf-8").startswith("game_id,ply")


def test_comments_alone(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "80")
    code, shown, told = run("games.pgn", "--player", "Brann", "--no-analyse", "-j", "1")
    assert code == 0, told
    assert "no rating" in told
    assert "none" in shown
    assert "?-?" not in shown
    assert (folder / "review.html").exists()


@pytest.mark.parametrize(
    ("extra", "told"),
    [
        (["--report", "page.pdf"], "a page is HTML"),
        (["--difference", "endgame"], "two groups with a comma"),
        (["--equals", "-1"], "equals are opponents within"),
    ],
)
def test_what_makes_no_sense_is_told_first(folder: Path, extra: list[str], told: str) -> None:
    code, _, complaint = run(str(folder / "games.pgn"), "--player", "Brann", *extra)
    assert code != 0
    assert told in complaint
