"""A real client: XBoard under Xvfb, through Polyglot, its UCI adapter."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from studies import bot_xboard

from milepost.analysis.engine.setup import find_engine
from milepost.errors import EngineError

GAMES = 5
MOVES = 16
"""XBoard ends each game after so many moves: eight of them beyond the book."""
PATIENCE = 500


@pytest.fixture(scope="module")
def engine_path() -> Path:
    """The inner engine, or a skip."""
    try:
        return find_engine(os.environ.get("MILEPOST_TEST_ENGINE"))
    except EngineError as error:
        pytest.skip(f"no engine: {error}")


@pytest.fixture(scope="module")
def display() -> Iterator[str]:
    """A display without a screen; skipped where a program is missing."""
    if missing := bot_xboard.missing_programs():
        pytest.skip(f"not installed: {', '.join(missing)} (scripts/setup.sh clients)")
    with bot_xboard.display() as screen:
        if screen is None:
            pytest.skip("Xvfb does not start here")
        yield screen


def test_five_games_in_xboard(engine_path: Path, display: str, tmp_path: Path) -> None:
    """No time loss, no stall, no illegal move at ten seconds and a tenth a move."""
    bot = f"{sys.executable} -m milepost play --plan bullet --engine {engine_path}"
    bots = (f"{bot} --elo 1600 --seed 1", f"{bot} --elo 2200 --seed 2")
    ended_early = ("-adjudicateDrawMoves", str(MOVES))
    path = bot_xboard.play(display, bots, GAMES, tmp_path, patience=PATIENCE, options=ended_early)
    found = bot_xboard.read_games(path)
    assert found.complaints.total() == 0, found.ends
    assert len(found.games) == GAMES
    for game in found.games:
        board = game.end().board()
        assert board.fullmove_number > MOVES or board.is_game_over()


@pytest.mark.parametrize(
    ("end", "name"),
    [("White forfeits on time", "time_loss"), ("Xboard: Forfeit due to illegal move", "illegal"),
     ("Black disconnected", "stall"), ("Error: first chess program exited unexpectedly", "stall")],
)  # fmt: skip
def test_an_end_that_must_not_be_is_noticed(end: str, name: str, tmp_path: Path) -> None:
    path = tmp_path / "xboard.pgn"
    path.write_text(f'[Event "x"]\n[Result "0-1"]\n\n1. e4 e5\n{{{end}}} 0-1\n', encoding="utf-8")
    assert bot_xboard.read_games(path).complaints[name] == 1
    path.write_text('[Event "x"]\n[Result "0-1"]\n\n1. e4 e5\n{Black mates} 0-1\n', "utf-8")
    assert bot_xboard.read_games(path).complaints.total() == 0
