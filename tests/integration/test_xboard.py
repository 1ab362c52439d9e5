"""A real client: XBoard under Xvfb, through Polyglot, its UCI adapter."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import chess.pgn
import pytest

from milepost.analysis.engine.setup import find_engine
from milepost.errors import EngineError

GAMES = 5
MOVES = 16
"""XBoard ends each game after so many moves: eight of them beyond the book."""
PATIENCE = 500
FOLDERS = f"{os.environ.get('PATH', '')}:/usr/games:/usr/local/games"


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
    for program in ("xboard", "polyglot", "Xvfb"):
        if shutil.which(program, path=FOLDERS) is None:
            pytest.skip(f"{program} is not installed (scripts/setup.sh clients)")
    read, write = os.pipe()
    server = subprocess.Popen(
        [
            str(shutil.which("Xvfb", path=FOLDERS)),
            "-displayfd",
            str(write),
            "-screen",
            "0",
            "1024x768x24",
        ],
        pass_fds=[write],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(write)
    with os.fdopen(read) as numbers:
        number = numbers.readline().strip()
    if not number:
        pytest.skip("Xvfb does not start here")
    yield f":{number}"
    server.terminate()
    server.wait()


def test_five_games_in_xboard(engine_path: Path, display: str, tmp_path: Path) -> None:
    """No time loss, no stall, no illegal move at ten seconds and a tenth a move."""
    games = tmp_path / "games.pgn"
    bot = f"{sys.executable} -m milepost play --plan bullet --engine {engine_path}"
    xboard = shutil.which("xboard", path=FOLDERS)
    assert xboard is not None
    command = [
        xboard,
        "-fcp", f"{bot} --elo 1600 --seed 1", "-fd", str(tmp_path), "-fUCI",
        "-scp", f"{bot} --elo 2200 --seed 2", "-sd", str(tmp_path), "-sUCI",
        "-mg", str(GAMES), "-tc", "0:10", "-inc", "0.1", "-sgf", str(games), "-xponder",
        "-adjudicateDrawMoves", str(MOVES), "-popupExitMessage", "false",
        "-popupMoveErrors", "false", "-autoCallFlag", "true",
    ]  # fmt: skip
    settings = {**os.environ, "PATH": FOLDERS, "DISPLAY": display, "HOME": str(tmp_path)}
    settings.pop("XBOARD_OPTIONS", None)
    with contextlib.suppress(subprocess.TimeoutExpired):
        subprocess.run(
            command,
            env=settings,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PATIENCE,
            check=False,
        )
    text = games.read_text(encoding="utf-8") if games.exists() else ""
    assert text, f"XBoard wrote no game: {shlex.join(command)}"
    for complaint in ("forfeit", "illegal", "time", "disconnect", "exited"):
        assert complaint not in text.replace("TimeControl", "").lower()
    found = []
    with games.open(encoding="utf-8") as file:
        while (game := chess.pgn.read_game(file)) is not None:
            assert not game.errors
            found.append(game)
    assert len(found) == GAMES
    for game in found:
        board = game.end().board()
        assert board.fullmove_number > MOVES or board.is_game_over()
