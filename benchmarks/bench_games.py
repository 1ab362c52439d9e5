"""How fast games come in, as ratios to python-chess measured in the same run.

Run it with ``make bench`` or ``python benchmarks/bench_games.py [--repeats N]``. The files are
those of ``../shared/data``; without them it says so and ends. Three ratios:

1. turns from PGN with two processes, to one process of plain python-chess: ``read_game``, then a
   replay that writes the FEN before each move; and to one whose replay only plays the moves. Wall
   time, since two cores are the point.
2. results from headers, to python-chess ``read_headers`` on the same file: all files joined once
   (some 20 MB, read by array operations), and several times over (over 100 MB, by compiled code).
   Processor time of one thread: polars is held to one.
3. peak memory of both commands on an input and on one ten times as long.

Every pair is measured in turn, and the medians of the repeats are compared.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

os.environ["POLARS_MAX_THREADS"] = "1"  # before polars is imported: one core against one core

import chess.pgn
from record import record

from milepost.api.games import Target, write_results, write_turns
from milepost.games.pgn.blocks import Reading, cut_batches
from milepost.games.pgn.readers import HEADER_BATCH, read_headers
from milepost.io.sources import find_sources

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


def main() -> None:
    """Measure and print the ratios."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", choices=("headers", "turns", "memory"))
    parser.add_argument("--peak", nargs=2, metavar=("COMMAND", "FILE"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.peak:
        _print_peak(*arguments.peak)
        return
    if not SHARED.is_dir():
        print(f"skipped: no {SHARED}, whose files this benchmark reads")
        return
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        # Long enough for the compiled scan, which shorter inputs do not load.
        tournament = _joined(work / "mileposts.pgn", sorted(SHARED.glob("mileposts/*/*.pgn")), 24)
        server = _joined(work / "lichess.pgn", sorted(SHARED.glob("lichess/*.pgn")), 24)
        everything = _joined(work / "all.pgn", sorted(SHARED.glob("**/*.pgn")), 8)
        if arguments.only in (None, "headers"):
            print("results from headers, processor time of one core:")
            # First, while neither Numba nor the compiled scan is loaded: what a command meets.
            once = _joined(work / "once.pgn", sorted(SHARED.glob("**/*.pgn")), 1)
            _compare_headers("files as they are", once, arguments.repeats)
            if "numba" in sys.modules:
                raise RuntimeError("Numba was loaded for a short input")
            for name, file in (
                ("tournament games", tournament),
                ("server games", server),
                ("all files", everything),
            ):
                _compare_headers(name, file, arguments.repeats)
        if arguments.only in (None, "turns"):
            print("turns from PGN, wall time:")
            for name, pattern in (
                ("tournament games", "mileposts/2011-2014/*.pgn"),
                ("server games", "lichess/*.pgn"),
            ):
                file = _joined(work / "turns.pgn", sorted(SHARED.glob(pattern)), 1)
                _compare_turns(name, file, work, arguments.repeats)
        if arguments.only in (None, "memory"):
            print("peak memory, MiB, at 1 and 10 times the input:")
            for command in ("results", "turns"):
                _compare_memory(command, work)


def _joined(target: Path, files: list[Path], copies: int) -> Path:
    """Join files; in each copy the rounds differ, so that no game is a duplicate of another."""
    with target.open("wb") as out:
        for copy in range(copies):
            for file in files:
                text = file.read_bytes()
                out.write(re.sub(rb'\[Round "', b'[Round "%d.' % copy, text) + b"\n\n")
    return target


def _medians(repeats: int, *functions: Callable[[], float]) -> list[float]:
    """Run the functions in turn, and return the median of what each returns."""
    values: list[list[float]] = [[] for _ in functions]
    for _ in range(repeats):
        for function, kept in zip(functions, values, strict=True):
            kept.append(function())
    return [statistics.median(each) for each in values]


def _compare_headers(name: str, file: Path, repeats: int) -> None:
    def theirs() -> float:
        begun = time.process_time()
        games = 0
        with file.open(encoding="utf-8", errors="replace") as handle:
            while chess.pgn.read_headers(handle) is not None:
                games += 1
        return (time.process_time() - begun) / games

    def reader() -> float:
        begun = time.process_time()
        games = 0
        for batch in cut_batches(find_sources([file]), Reading(digest=False), games=HEADER_BATCH):
            games += len(read_headers(batch)["games"])
        return (time.process_time() - begun) / games

    def command() -> float:
        begun = time.process_time()
        summary = write_results([file], Target(str(file.with_suffix(".parquet"))))
        return (time.process_time() - begun) / summary.games

    reader()  # once for free: imports
    ours, whole, plain = _medians(repeats, reader, command, theirs)
    record(f"headers {name}", plain / ours)
    record(f"results {name}", plain / whole)
    print(
        f"  {name:18} read_headers {plain * 1e6:6.1f} us a game; our reader {plain / ours:5.2f}"
        f" times as fast; the whole command (keys, duplicates, Parquet) {plain / whole:5.2f} times"
    )


def _compare_turns(name: str, file: Path, work: Path, repeats: int) -> None:
    def theirs(fens: bool) -> Callable[[], float]:
        def run() -> float:
            begun = time.perf_counter()
            with file.open(encoding="utf-8", errors="replace") as handle:
                while (game := chess.pgn.read_game(handle)) is not None:
                    board = game.board()
                    for move in game.mainline_moves():
                        if fens:
                            board.fen()
                        board.push(move)
            return time.perf_counter() - begun

        return run

    def ours(workers: int) -> Callable[[], float]:
        def run() -> float:
            begun = time.perf_counter()
            write_turns([file], Target(str(work / "turns.parquet")), workers=workers)
            return time.perf_counter() - begun

        return run

    two, one, plain, bare = _medians(repeats, ours(2), ours(1), theirs(True), theirs(False))
    record(f"turns {name}", plain / two)
    print(
        f"  {name:18} two processes {plain / two:5.2f} times plain python-chess"
        f" ({bare / two:4.2f} if that writes no FEN); one process {plain / one:5.2f} times"
    )


def _compare_memory(command: str, work: Path) -> None:
    files = sorted(SHARED.glob("mileposts/2011-2014/*.pgn"))
    base = 2 if command == "turns" else 12
    peaks = []
    for factor in (1, 10):
        file = _joined(
            work / f"memory{factor}.pgn", files[: 3 if command == "turns" else None], base * factor
        )
        done = subprocess.run(
            [sys.executable, __file__, "--peak", command, str(file)],
            capture_output=True,
            check=True,
            text=True,
        )
        peaks.append(float(done.stdout))
        size = file.stat().st_size / 2**20
        print(f"  {command:8} {size:7.1f} MiB of PGN: {peaks[-1]:7.1f}")
    print(f"  {command:8} ratio {peaks[1] / peaks[0]:.2f}")


def _print_peak(command: str, file: str) -> None:
    """Run a command in this fresh process, and print its peak memory."""
    target = Target(f"{file}.parquet")
    if command == "results":
        write_results([file], target)
    else:
        write_turns([file], target)
    # Not getrusage: its peak is inherited from the process that started this one.
    status = Path("/proc/self/status").read_text(encoding="ascii")
    print(int(re.findall(r"VmHWM:\s+(\d+)", status)[0]) / 1024)


if __name__ == "__main__":
    main()
