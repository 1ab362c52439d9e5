"""How fast stored evaluations are turned into decisions and ratings; ratios measured in one run.

Run it with ``make bench`` or ``python benchmarks/bench_rate.py``. The games are the shipped sample.
Processor time, so that other programs disturb less; what is compared is interleaved.

- The columns of the options (what kind of move each is): the kernel beside python-chess.
- The model on decisions that are at hand, for all ratings of the ladder, beside the same model in
  plain NumPy; `milepost.rate` as a whole, warm; and the way from PGN and stored evaluations to
  decisions. Turns a second on one core, of the sample taken several times over.
- `milepost rate` in a new process, with nothing compiled and after that.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from statistics import median
from typing import Any

import chess
import numpy as np
import polars as pl
from record import record

import milepost as mp
from milepost.analysis.spreads.option_columns import KINDS_OF_MOVE, describe_moves, option_columns
from milepost.choice import Spreads
from milepost.choice.evaluation.prepared import Prepared, prepare
from milepost.intrinsic.calibration.paths import AgentPath
from milepost.intrinsic.rating.likelihood_grid import RUNGS, climb

COPIES = 6
"""So often the sample is taken, so that what a run costs whatever it rates does not tell."""
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
    record("rate columns", ratio)
    print(f"columns of the options, {len(fens):,} positions: {ratio:.0f} times python-chess;")
    print(f"   {each:.1f} microseconds a position, {1e6 / each:,.0f} positions a second")


def numpy_ladder(prepared: Prepared, path: AgentPath, rungs: Any) -> Any:
    """ln p of the choices by NumPy alone, rung by rung: the blend solved by Newton for all at once.

    The same model as it is written down (`milepost.choice.ratios.forms`), without tables, guesses
    from the rung before, or the information, which ours works out as well.
    """
    model, spreads = path.model, prepared.spreads
    starts, counts = spreads.offsets[:-1], spreads.counts
    scheme, places = model.depths, model.utility_places
    assert scheme is not None
    answer = []
    for theta in path.theta(rungs):
        c, kappa = np.exp(theta[1]), np.exp(theta[model.place("kappa")])
        weights = scheme.weights(theta[model.curve_parameters : places.start])
        u = np.exp(c * (prepared.ln_depth_delta - theta[0]))
        z = (1 + kappa) * (prepared.features @ theta[places] - u @ weights)
        z -= np.repeat(np.maximum.reduceat(z, starts), counts)
        level = np.log(np.log(counts + 1.0)) - 0.7
        level = np.exp(level) + kappa * level
        for _ in range(60):
            b = np.repeat(level, counts) - z
            x = np.where(b > 1, np.log(np.maximum(b, 1.0)), np.minimum(b / kappa, 0.0))
            for _ in range(100):
                e = np.exp(x)
                step = np.maximum((e + kappa * x - b) / (e + kappa), -3.0)
                x -= step
                if np.abs(step).max() < 1e-10:
                    break
            ell = np.exp(x)
            p = np.exp(-ell)
            total = np.add.reduceat(p, starts)
            slope = np.add.reduceat(p * ell / (kappa + ell), starts)
            # ln Σ p falls with λ: Newton on it, no further than a unit at a time.
            change = np.clip(np.log(total) * total / slope, -1.0, 1.0)
            level += change
            if np.abs(change).max() < 1e-9:
                break
        answer.append(-ell[starts + spreads.chosen])
    return np.array(answer).T


def ratings() -> None:
    """Measure a warm `rate`, its parts, and the model beside NumPy."""
    games, store = SAMPLE / "games.pgn", SAMPLE / "evaluations"
    found = mp.decisions(games, store=store)
    copies = [found.table.with_columns(pl.col("game_id") + f" {copy}") for copy in range(COPIES)]
    many = replace(found, table=pl.concat(copies))
    calibration = mp.rate(many).calibration
    path = calibration.map.path
    prepared = prepare(Spreads.from_table(many.table), path.model)
    climb(prepared, path)
    model = [len(many) / spent(lambda: climb(prepared, path)) for _ in range(5)]
    small = prepare(Spreads.from_table(found.table), path.model)
    few = RUNGS[20:23]
    plain: list[float] = []
    said: list[Any] = []
    for _ in range(2):
        taken = spent(lambda: said.append(numpy_ladder(small, path, few)))
        plain.append(len(found) / taken * len(few) / len(RUNGS))
    ours = climb(small, path).ln_chosen[:, 20:23]
    np.testing.assert_allclose(said[0], ours, rtol=1e-6, atol=1e-6)
    whole = [len(many) / spent(lambda: mp.rate(many)) for _ in range(3)]
    reading = [len(found) / spent(lambda: mp.decisions(games, store=store)) for _ in range(3)]
    record("rate model", model)
    record("rate numpy", median(model) / median(plain))
    record("rate whole", whole)
    record("rate decisions", reading)
    print(f"calibration {calibration.name}, {len(RUNGS)} rungs; turns a second of one core:")
    print(f"   the model alone {median(model):,.0f}; by NumPy {median(plain):,.0f} (3 rungs of 41)")
    print(f"   rate of {len(many):,} decisions as a whole {median(whole):,.0f}")
    print(f"   decisions from PGN and stored evaluations {median(reading):,.0f}")


def start_up() -> None:
    """Measure `rate` of the demo's games in new processes: first with nothing compiled."""
    words = ["-m", "milepost", "rate", str(SAMPLE / "games.pgn"), "--store"]
    words += [str(SAMPLE / "evaluations"), "-q", "-j", "1"]
    with tempfile.TemporaryDirectory() as folder:
        # Python's own compiled files are kept there too, whatever this machine does with them.
        kept = {"NUMBA_CACHE_DIR": folder, "PYTHONPYCACHEPREFIX": folder}
        around = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"} | kept
        taken = []
        for _ in range(4):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(
                [sys.executable, *words], check=True, stdout=subprocess.DEVNULL,
                env=around,
            )  # fmt: skip
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            used = (after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime)
            taken.append(sum(used))
    record("rate cold", taken[0])
    record("rate warm", taken[1:])
    print(f"milepost rate in a new process: {taken[0]:.1f} s with nothing compiled, then")
    print(f"   {', '.join(f'{each:.1f}' for each in taken[1:])} s of processor time")


if __name__ == "__main__":
    columns()
    ratings()
    start_up()
