"""How fast stored evaluations are turned into decisions and ratings; ratios measured in one run.

Run it with ``make bench`` or ``python benchmarks/bench_rate.py``. The games are the shipped sample.
Processor time, so that other programs disturb less; what is compared is interleaved.

- The columns of the options (what kind of move each is): the kernel beside python-chess.
- `milepost.rate` as a whole, warm, and its stages: turns a second on one core.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from statistics import median
from typing import Any

import chess
import numpy as np
import polars as pl

import milepost as mp
from milepost.analysis.spreads.option_columns import KINDS_OF_MOVE, describe_moves, option_columns

SAMPLE = Path(str(files("milepost") / "data" / "sample"))


def spent(function: Callable[[], Any]) -> float:
    """Return the processor time of a call."""
    begun = time.process_time()
    function()
    return time.process_time() - begun


def positions() -> tuple[list[str], list[list[str]]]:
    """Return every tenth position of the sample's games, and its legal moves."""
    import chess.pgn

    fens, moves = [], []
    with (SAMPLE / "games.pgn").open(encoding="utf-8") as file:
        while (game := chess.pgn.read_game(file)) is not None:
            board = game.board()
            for ply, move in enumerate(game.mainline_moves()):
                if ply % 10 == 0:
                    fens.append(board.fen())
                    moves.append([each.uci() for each in board.legal_moves])
                board.push(move)
    return fens, moves


def plainly(fens: list[str], moves: list[list[str]]) -> None:
    """Ask python-chess about every move."""
    for fen, options in zip(fens, moves, strict=True):
        out = np.zeros((len(options), len(KINDS_OF_MOVE)), dtype=np.float32)
        describe_moves(chess.Board(fen), options, None, None, out)


def columns() -> None:
    """Measure the columns of the options."""
    fens, moves = positions()
    nothing = [None] * len(fens)
    lists = pl.Series(moves)
    option_columns(fens, lists, nothing, nothing)
    pairs = [
        (spent(lambda: plainly(fens, moves)),
         spent(lambda: option_columns(fens, lists, nothing, nothing)))
        for _ in range(3)
    ]  # fmt: skip
    ratio = median(plain / ours for plain, ours in pairs)
    each = median(ours for _, ours in pairs) / len(fens) * 1e6
    print(f"columns of the options, {len(fens):,} positions: {ratio:.0f} times python-chess;")
    print(f"   {each:.1f} microseconds a position, {1e6 / each:,.0f} positions a second")


def ratings() -> None:
    """Measure a warm `rate`."""
    games, store = SAMPLE / "games.pgn", SAMPLE / "evaluations"
    mp.rate(games, store=store)
    made: list[Any] = []
    reading = spent(lambda: made.append(mp.decisions(games, store=store)))
    rating = spent(lambda: mp.rate(made[0]))
    turns = len(made[0])
    print(f"rate, warm, {turns:,} turns: decisions {turns / reading:,.0f} turns a second,")
    print(f"   ratings of them {turns / rating:,.0f}, in all {turns / (reading + rating):,.0f}")


if __name__ == "__main__":
    columns()
    ratings()
