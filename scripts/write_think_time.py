"""Fit how long people think to the games with clocks.

    python scripts/write_think_time.py ../shared/data

Read are `lichess/rapid_classical_clk_eval.pgn` (lichess, rapid and classical) and
`lichess/broadcast_otb_clk_2025.pgn` (over the board, 90+30). Every third turn is drawn (by hash),
the engine scores its moves at the plan bullet, and the entropy is that of the agent of the mover's
Elo. ln(seconds) is regressed on the terms of `milepost.intrinsic.choosing.think_time`; held-out
games (one in four) say how well it fits. Written are coefficients only.
"""

from __future__ import annotations

import argparse
import json
import sys
import zlib
from pathlib import Path

import chess
import chess.pgn
import numpy as np

from milepost.api.play import Bot
from milepost.intrinsic.choosing.think_time import TERMS, Moment
from milepost.io.files import write_text

OUTPUT = Path(__file__).resolve().parents[1] / "src" / "milepost" / "data" / "think_time.json"
FILES = ("rapid_classical_clk_eval.pgn", "broadcast_otb_clk_2025.pgn")
LEAST_SECONDS = 0.5
"""Clocks count whole seconds: a move in no time took about this."""


def clock_turns(path: Path, every: int) -> list[tuple[chess.Board, chess.Move, dict[str, float]]]:
    """Return turns with clocks: the position, the move, and what was known of the time."""
    turns = []
    with path.open(encoding="utf-8", errors="replace") as file:
        number = 0
        while (game := chess.pgn.read_game(file)) is not None:
            number += 1
            control = game.headers.get("TimeControl", "")
            base, _, increment = control.partition("+")
            if not base.isdigit():
                base, increment = "5400", "30"
            clocks = {chess.WHITE: float(base), chess.BLACK: float(base)}
            added = float(increment or 0)
            board = game.board()
            for node in game.mainline():
                mover = board.turn
                after = node.clock()
                if after is None:
                    board.push(node.move)
                    continue
                before = clocks[mover]
                spent = before + added - after
                clocks[mover] = after
                key = zlib.crc32(f"{path.name} {number} {board.ply()}".encode())
                legal = board.legal_moves.count()
                if key % every == 0 and board.ply() >= 4 and legal > 1 and 0 <= spent <= before:
                    elo = game.headers.get("WhiteElo" if mover else "BlackElo", "")
                    turns.append(
                        (
                            board.copy(stack=2),
                            node.move,
                            {
                                "game": float(number),
                                "elo": float(elo) if elo.isdigit() else 2000.0,
                                "left": before,
                                "increment": added,
                                "ply": float(board.ply()),
                                "seconds": max(spent, LEAST_SECONDS),
                            },
                        )
                    )
                board.push(node.move)
    return turns


def main() -> None:
    """Write it."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("data", type=Path, help="the folder of real data (../shared/data)")
    parser.add_argument("--every", type=int, default=3, help="take one turn in so many")
    parser.add_argument("--most", type=int, default=100_000, help="at most so many turns a file")
    given = parser.parse_args()
    rows, answers, games = [], [], []
    counts = {}
    with Bot(1800, book=None, seed=1) as bot:
        low, high = bot.range
        for place, name in enumerate(FILES):
            turns = clock_turns(given.data / "lichess" / name, given.every)
            turns = sorted(turns, key=lambda turn: zlib.crc32(turn[0].fen().encode()))
            turns = turns[: given.most]
            counts[name] = len(turns)
            for done, (board, _, about) in enumerate(turns):
                thought = bot.think(board, elo=float(np.clip(about["elo"], low, high)))
                likeliest = chess.Move.from_uci(thought.options.moves[thought.choice.likeliest])
                last = board.move_stack[-1].to_square if board.move_stack else None
                moment = Moment(
                    about["left"],
                    about["increment"],
                    int(about["ply"]),
                    thought.choice.entropy,
                    board.is_capture(likeliest) and likeliest.to_square == last,
                )
                rows.append(moment.terms)
                answers.append(np.log(about["seconds"]))
                games.append(1_000_000 * place + int(about["game"]))
                if done % 100 == 0:
                    sys.stderr.write(f"\r{name}: {done:,} of {len(turns):,} turns ")
    x, y, group = np.array(rows), np.array(answers), np.array(games)
    held = group % 4 == 0
    beta = np.linalg.lstsq(x[~held], y[~held], rcond=None)[0]
    plain = y[~held].mean()
    rest = y[held] - x[held] @ beta
    explained = 1 - float((rest**2).mean() / ((y[held] - plain) ** 2).mean())
    whole = np.linalg.lstsq(x, y, rcond=None)[0]
    sd = float(np.std(y - x @ whole, ddof=x.shape[1]))
    made = {
        "made_by": "scripts/write_think_time.py",
        "turns": counts,
        "games": len(np.unique(group)),
        "held_out_turns": int(held.sum()),
        "held_out_variance_explained": round(explained, 4),
        "held_out_sd": round(float(rest.std()), 4),
    }
    values = {
        "coefficients": dict(zip(TERMS, map(float, whole), strict=True)),
        "sd": sd,
        "made": made,
    }
    write_text(OUTPUT, json.dumps(values, indent=1) + "\n")
    sys.stderr.write("\n")
    sys.stdout.write(f"{json.dumps(values, indent=1)}\n")


if __name__ == "__main__":
    main()
