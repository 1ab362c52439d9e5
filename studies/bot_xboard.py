"""Whole games of two bots in XBoard, at 10+0.1 by its clock, through Polyglot, its UCI adapter.

    python -m studies.bot_xboard --output DIR [--games 100] [--plan bullet]

XBoard runs under Xvfb and needs no screen. Games that are over stay in DIR/xboard.pgn, and the same
command plays those that are missing. What XBoard says of the end of each game is counted, and goes
into ``studies/figures/bot.json``.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import chess.pgn
from studies.figure_file import BOT

PROGRAMS = ("xboard", "polyglot", "Xvfb")
FOLDERS = f"{os.environ.get('PATH', '')}:/usr/games:/usr/local/games"
COMPLAINTS = {
    "time_loss": ("on time",),
    "illegal": ("illegal",),
    "stall": ("disconnect", "exited", "abort"),
}
"""Words in XBoard's comment on the end of a game, and what they mean."""
_FIGURES = re.compile(r"^[+-]?[\d.M#]+/\d+ [\d.:]+ ?")


def missing_programs() -> list[str]:
    """Which of the programs are not installed."""
    return [name for name in PROGRAMS if shutil.which(name, path=FOLDERS) is None]


@contextlib.contextmanager
def display() -> Iterator[str | None]:
    """A display without a screen; None where it does not start."""
    read, write = os.pipe()
    server = subprocess.Popen(
        [str(shutil.which("Xvfb", path=FOLDERS)), "-displayfd", str(write),
         "-screen", "0", "1024x768x24"],
        pass_fds=[write], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    os.close(write)
    with os.fdopen(read) as numbers:
        number = numbers.readline().strip()
    try:
        yield f":{number}" if number else None
    finally:
        server.terminate()
        server.wait()


def play(
    screen: str, bots: tuple[str, str], games: int, folder: Path, *, patience: float,
    options: Sequence[str] = (),
) -> Path:  # fmt: skip
    """Let two bots, given as commands, play at 10+0.1; games go to the end of FOLDER/xboard.pgn."""
    path = folder / "xboard.pgn"
    xboard = shutil.which("xboard", path=FOLDERS)
    assert xboard is not None
    command = [
        xboard,
        "-fcp", bots[0], "-fd", str(folder), "-fUCI",
        "-scp", bots[1], "-sd", str(folder), "-sUCI",
        "-mg", str(games), "-tc", "0:10", "-inc", "0.1", "-sgf", str(path), "-xponder",
        "-popupExitMessage", "false", "-popupMoveErrors", "false", "-autoCallFlag", "true",
        # What another match has set must not end these games.
        "-saveSettingsOnExit", "false", "-adjudicateDrawMoves", "0",
        *options,
    ]  # fmt: skip
    around = {**os.environ, "PATH": FOLDERS, "DISPLAY": screen, "HOME": str(folder)}
    around.pop("XBOARD_OPTIONS", None)
    # A bot that stalls keeps XBoard waiting: the games that are there then tell.
    with contextlib.suppress(subprocess.TimeoutExpired):
        subprocess.run(
            command, env=around, stdin=subprocess.DEVNULL, capture_output=True, timeout=patience,
            check=False,
        )  # fmt: skip
    return path


@dataclass
class Standing:
    """What became of the games."""

    games: list[chess.pgn.Game] = field(default_factory=list)
    complaints: Counter[str] = field(default_factory=Counter)
    """How many games ended in each way that must not be."""
    ends: Counter[str] = field(default_factory=Counter)
    """What XBoard says of the ends."""


def read_games(path: Path) -> Standing:
    """Read the games, and what XBoard says of their ends."""
    found = Standing()
    if not path.exists():
        return found
    with path.open(encoding="utf-8") as file:
        while (game := chess.pgn.read_game(file)) is not None:
            found.games.append(game)
            # A bot's own value, depth and seconds may stand before XBoard's words.
            end = _FIGURES.sub("", " ".join(game.end().comment.split()))
            found.ends[end] += 1
            for name, words in COMPLAINTS.items():
                found.complaints[name] += any(word in end.lower() for word in words)
            found.complaints["illegal"] += bool(game.errors)
    return found


def study(output: Path, games: int, plan: str, patience: float) -> dict[str, Any]:
    """Play the games that are missing, and count."""
    if missing := missing_programs():
        raise SystemExit(f"not installed: {', '.join(missing)} (scripts/setup.sh clients)")
    output.mkdir(parents=True, exist_ok=True)
    bot = f"{sys.executable} -m milepost play --plan {plan}"
    done = len(read_games(output / "xboard.pgn").games)
    if done < games:
        with display() as screen:
            if screen is None:
                raise SystemExit("Xvfb does not start here")
            bots = (f"{bot} --elo 1700 --seed {done}", f"{bot} --elo 2000 --seed {done + 1}")
            play(screen, bots, games - done, output.resolve(), patience=patience)
    found = read_games(output / "xboard.pgn")
    plies = sum(game.end().ply() for game in found.games)
    return {
        "games": len(found.games), "asked": games, "plies": plies,
        "complaints": dict(found.complaints), "ends": dict(found.ends),
    }  # fmt: skip


def main() -> None:
    """Play, count and keep the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--output", type=Path, default=Path("bot-study"))
    parser.add_argument("--games", type=int, default=100)
    parser.add_argument("--plan", default="bullet")
    parser.add_argument("--patience", type=float, default=7200.0, help="seconds for all games")
    given = parser.parse_args()
    found = study(given.output, given.games, given.plan, given.patience)
    BOT.keep(f"xboard {given.plan}", found)
    sys.stdout.write(f"{found}\n")


if __name__ == "__main__":
    main()
