"""How long screening an event takes, beside the engine time that it rests on.

    python benchmarks/bench_check.py [--data DIR]

A complete event of 45 games whose evaluations are stored (`../shared/data/analysis/events`), on one
core: reading games and evaluations, then everything that `milepost check` prints. The engine's time
is measured in the same run on a few of the same positions. All times are processor seconds, so that
other work on the machine does not count. Without the data, the bundled sample.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
from record import record

import milepost as mp
from milepost.errors import MilepostError

ROOT = Path(__file__).resolve().parents[1]
SAMPLE = ROOT / "src" / "milepost" / "data" / "sample"
POSITIONS = 24
"""Positions that the engine's time is measured on."""


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the processor seconds of something and its processes, and what it gives."""
    start = processor_seconds()
    answer = work()
    return processor_seconds() - start, answer


def processor_seconds() -> float:
    """Of this process and of those that it has ended."""
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(used.ru_utime + used.ru_stime for used in both)


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--no-engine", action="store_true", help="do not time the engine")
    given = parser.parse_args()
    games = given.data / "events" / "1919_fsfm2018.pgn"
    store = given.data / "analysis" / "events"
    if not games.exists():
        print("the real event is not here: the bundled sample instead")
        games, store = SAMPLE / "games.pgn", SAMPLE / "evaluations"
    mp.check(games, store)  # kernels are compiled once on a machine
    reading, decisions = timed(lambda: mp.decisions(games, store))
    checking, found = timed(lambda: mp.check(decisions))
    record("check turns", len(decisions) / checking)
    print(f"check, warm: {len(decisions) / checking:,.0f} turns a second of one core")
    if given.no_engine:
        return
    turns = mp.read_turns(games)[0].filter(
        ~(pl.col("book") | pl.col("only_move") | pl.col("repetition"))
    )
    with tempfile.TemporaryDirectory() as folder:
        few = turns.head(POSITIONS)
        try:
            engine, analysis = timed(
                lambda: mp.analyse(few, Path(folder) / "store", "quick", workers=1)
            )
        except MilepostError as error:
            print(f"no engine to compare with: {error}")
            engine, analysis = float("nan"), None
    whole = engine / POSITIONS * len(turns) if analysis is not None else float("nan")
    print("processor seconds")
    print(f"{len(found)} players, {len(decisions):,} turns that count of {len(turns):,}")
    both = reading + checking
    print(f"reading {reading:.1f} s, screening {checking:.1f} s, together {both:.1f} s")
    print(f"engine (quick, one core, from {POSITIONS} positions) {whole:,.0f} s")
    print(f"reading and screening take {both / whole:.1%} of the engine's time")


if __name__ == "__main__":
    main()
