"""What the analysis costs beside the engine, and what the two-stage plan keeps; one run, ratios.

Run it with ``make bench`` or ``python benchmarks/bench_analysis.py [--positions N]`` on a machine
that does nothing else. The positions are drawn from ``../shared/data/analysis``; without it, from
the bundled sample.

1. our processor time against the engine's, plan quick, one worker;
2. two workers against one, wall time;
3. the second run against the first, wall time;
4. standard against reference: nodes; the moves within 100 cp of the best at full depth that are
   searched to full depth; the change of the top five values, against the change that another hash
   size makes (the noise floor);
5. the store: bytes a position, positions scanned a second.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from milepost.analysis.engines import find_engine
from milepost.analysis.plans import Plan, make_plan
from milepost.analysis.run import Job, RunState, analyse
from milepost.analysis.store import EvaluationStore, stored_position
from milepost.errors import EngineError
from milepost.games import read_turns

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared" / "data" / "analysis" / "random_turns_2011-2014.parquet"
SAMPLE = ROOT / "src" / "milepost" / "data" / "sample" / "games.pgn"
NEAR_CP = 100


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--positions", type=int, default=24, help="for the plans of depth 13")
    parser.add_argument("--seed", type=int, default=2011)
    parser.add_argument("--only", choices=("overhead", "plans"))
    arguments = parser.parse_args()
    try:
        program = find_engine()
    except EngineError as error:
        print(f"skipped: {error}")
        return
    turns = _turns(arguments.seed)
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        if arguments.only in (None, "overhead"):
            _overhead(work, program, turns[: 4 * arguments.positions])
        if arguments.only in (None, "plans"):
            _two_stages(work, program, turns[: arguments.positions])


def _turns(seed: int) -> list[tuple[str, str]]:
    """Position and played move, drawn at random, in positions that are still open."""
    if SHARED.exists():
        frame = pl.read_parquet(SHARED)
        best = pl.col("cp").list.last().list.first()
        frame = frame.filter(best.abs() <= 300).select("fen", "played")
    else:
        print(f"no {SHARED.name}: positions of the bundled sample instead")
        frame, _ = read_turns([SAMPLE])
        frame = frame.filter(~pl.col("book") & ~pl.col("only_move")).select("position", "played")
    drawn = frame.unique(maintain_order=True).sample(400, seed=seed)
    return [(stored_position(fen), played) for fen, played in drawn.iter_rows()]


def _jobs(plan: Plan, turns: Sequence[tuple[str, str]]) -> list[Job]:
    return [(position, played if plan.needs_played else None) for position, played in turns]


def _run(
    folder: Path, program: Path, plan: Plan, turns: Sequence[tuple[str, str]], workers: int = 2
) -> tuple[EvaluationStore, RunState, float]:
    store = EvaluationStore(folder, create=True)
    begun = time.perf_counter()
    state = analyse(_jobs(plan, turns), store, program, plan, workers=workers)
    return store, state, time.perf_counter() - begun


def _overhead(work: Path, program: Path, turns: Sequence[tuple[str, str]]) -> None:
    plan = make_plan("quick")
    ours = time.process_time()
    theirs = _children_seconds()
    store, _, alone = _run(work / "one", program, plan, turns, workers=1)
    ours, theirs = time.process_time() - ours, _children_seconds() - theirs
    print(f"1. our processor time at quick: {100 * ours / theirs:.2f} % of the engine's")
    _, _, together = _run(work / "two", program, plan, turns, workers=2)
    print(f"2. two workers: {alone / together:.2f} times one")
    _, state, again = _run(work / "one", program, plan, turns, workers=1)
    assert state.done == 0
    print(f"3. second run: {alone / again:.0f} times as fast as the first ({len(turns)} positions)")
    store.compact()
    size = sum(path.stat().st_size for path in store.files())
    begun = time.perf_counter()
    scanned = len(store.read())
    rate = scanned / (time.perf_counter() - begun)
    print(f"5. store: {size / scanned:.0f} bytes a position, {rate:,.0f} positions read a second")


def _children_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _two_stages(work: Path, program: Path, turns: Sequence[tuple[str, str]]) -> None:
    reference_plan = make_plan("reference")
    runs = {
        "reference": _run(work / "reference", program, reference_plan, turns),
        "hash": _run(work / "hash", program, replace(reference_plan, hash_mb=32), turns),
        "standard": _run(work / "standard", program, make_plan("standard"), turns),
    }
    values = {name: _final_values(store) for name, (store, _, _) in runs.items()}
    deep = _deepest(runs["standard"][0])
    nodes = {name: float(sum(store.read()["nodes"])) for name, (store, _, _) in runs.items()}
    kept = near = 0
    noise: list[float] = []
    change: list[float] = []
    for position, _ in turns:
        full = values["reference"][position]
        best = max(full.values())
        for move, value in full.items():
            if best - value <= NEAR_CP:
                near += 1
                kept += deep[position][move] == reference_plan.depth
        for move in sorted(full, key=lambda each: -full[each])[:5]:
            noise.append(abs(values["hash"][position][move] - full[move]))
            change.append(abs(values["standard"][position][move] - full[move]))
    print(f"4. standard needs {nodes['standard'] / nodes['reference']:.2f} of reference's nodes")
    print(f"   keeps {100 * kept / near:.1f} % of the {near} moves within {NEAR_CP} cp at depth 13")
    print(
        f"   top five values change by {statistics.fmean(change):.1f} cp in the mean "
        f"({statistics.median(change):.1f} in the median); another hash size changes them by "
        f"{statistics.fmean(noise):.1f} ({statistics.median(noise):.1f})"
    )
    times = {name: seconds for name, (_, _, seconds) in runs.items()}
    print(f"   wall time {times['standard'] / times['reference']:.2f} of reference's")


def _final_values(store: EvaluationStore) -> dict[str, dict[str, float]]:
    """The deepest value of each move, mates beyond all centipawns but not far."""
    found: dict[str, dict[str, float]] = {}
    for row in store.read().iter_rows(named=True):
        found[row["position"]] = {move: value for move, (_, value) in _deepest_of_row(row).items()}
    return found


def _deepest(store: EvaluationStore) -> dict[str, dict[str, int]]:
    return {
        row["position"]: {move: depth for move, (depth, _) in _deepest_of_row(row).items()}
        for row in store.read().iter_rows(named=True)
    }


def _deepest_of_row(row: dict[str, Any]) -> dict[str, tuple[int, float]]:
    result: dict[str, tuple[int, float]] = {}
    for depth, (cps, mates) in enumerate(zip(row["cp"], row["mate"], strict=True), start=1):
        for move, cp, mate in zip(row["moves"], cps, mates, strict=True):
            if mate is not None:
                result[move] = (depth, 2000.0 if mate > 0 else -2000.0)
            elif cp is not None:
                result[move] = (depth, float(max(-2000, min(2000, cp))))
    return result


if __name__ == "__main__":
    main()
