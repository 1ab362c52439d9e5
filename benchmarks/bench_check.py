"""How long screening an event takes, beside the engine time that it rests on.

    python benchmarks/bench_check.py [--data DIR]

A complete event of 45 games whose evaluations are stored (`../shared/data/analysis/events`), on one
core: reading games and evaluations, then everything that `milepost check` prints. Screening is
called once to warm up, and then timed five times: the figure is the median. So it is with three
events of the store taken together, where a turn should cost no more. The engine's time is measured
in the same run on a few of the same positions. All times are processor seconds, so that other work
on the machine does not count. Without the data, the bundled sample.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import polars as pl
from record import record

import milepost as mp
from milepost.errors import MilepostError

ROOT = Path(__file__).resolve().parents[1]
SAMPLE = ROOT / "src" / "milepost" / "data" / "sample"
EVENT = "1919_fsfm2018.pgn"
MORE_EVENTS = ("2311_cccsa_im2016.pgn", "2788_sinquefield2018.pgn")
"""Taken together with it as a large input, each three times under other names."""
CALLS = 5
"""So often screening is timed."""
NAMED = ("mover", "opponent", "mover_name", "opponent_name", "game_id", "event")
"""The columns that tell players and games apart."""
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


def screening(figure: str, decisions: mp.Decisions) -> tuple[float, mp.Check]:
    """Time screening several times, warm; return the median of the times, and what was found."""
    calls = [timed(lambda: mp.check(decisions)) for _ in range(CALLS)]
    speeds = [len(decisions) / taken for taken, _ in calls]
    record(figure, speeds)
    print(f"check, warm, {len(decisions):,} turns, median of {CALLS} calls: "
          f"{median(speeds):,.0f} turns a second of one core ({min(speeds):,.0f} to "
          f"{max(speeds):,.0f})")  # fmt: skip
    return median(taken for taken, _ in calls), calls[0][1]


def together(events: Sequence[mp.Decisions], copies: int) -> mp.Decisions:
    """Return the decisions of events as one, several times over with other players and games."""
    parts = []
    for copy in range(copies):
        for each in events:
            names = [name for name in NAMED if name in each.table.columns]
            parts.append(each.table.with_columns(pl.col(name) + f" {copy}" for name in names))
    return replace(events[0], table=pl.concat(parts, how="diagonal_relaxed"))


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--no-engine", action="store_true", help="do not time the engine")
    given = parser.parse_args()
    games = given.data / "events" / EVENT
    store = given.data / "analysis" / "events"
    if not games.exists():
        print("the real event is not here: the bundled sample instead")
        games, store = SAMPLE / "games.pgn", SAMPLE / "evaluations"
    mp.check(games, store)  # kernels are compiled once on a machine
    reading, decisions = timed(lambda: mp.decisions(games, store))
    checking, found = screening("check turns", decisions)
    others = [given.data / "events" / name for name in MORE_EVENTS]
    if all(other.exists() for other in others):
        events = [decisions, *(mp.decisions(other, store) for other in others)]
        screening("check many turns", together(events, copies=3))
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
