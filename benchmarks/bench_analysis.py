"""What the analysis costs beside the engine, and what the two-stage plan keeps; one run, ratios.

Run it with ``make bench`` or ``python benchmarks/bench_analysis.py [--positions N]`` on a machine
that does nothing else. ``--only plans --positions 160 --work DIR`` takes most of an hour; it can be
stopped and called again. The positions are drawn from ``../shared/data/analysis``; without it, from
the bundled sample.

1. our processor time against the engine's, plan quick, one worker;
2. two workers against one, wall time;
3. the second run against the first, wall time;
4. standard against reference: nodes; the moves within 100 cp of the best at full depth that are
   searched to full depth; the change of the top five values, against the change that another hash
   size makes (the noise floor: reference with half and with twice the hash, against reference),
   paired by position, with a bootstrap interval, as it is and with each change at most 100 cp;
5. the store: bytes a position, positions scanned a second.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from milepost.analysis.engine.setup import find_engine
from milepost.analysis.plans import Plan, make_plan
from milepost.analysis.run.run import analyse
from milepost.analysis.run.state import RunState
from milepost.analysis.run.threads import Job
from milepost.analysis.store.store import EvaluationStore, stored_position
from milepost.errors import EngineError
from milepost.games import read_turns

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared" / "data" / "analysis" / "random_turns_2011-2014.parquet"
SAMPLE = ROOT / "src" / "milepost" / "data" / "sample" / "games.pgn"
NEAR_CP = 100
TOP = 5
WINSOR_CP = 100
"""A few moves that change by several pawns would else decide a mean."""
SEED = 2011

Floats = NDArray[np.float64]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--positions", type=int, default=24, help="for the plans of depth 13")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--only", choices=("overhead", "plans"))
    parser.add_argument("--workers", type=int, default=2, help="engines, for the plans")
    parser.add_argument(
        "--work", type=Path, help="keep the plans' stores here, and go on from them"
    )
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
            kept = arguments.work or work
            _two_stages(kept, program, turns[: arguments.positions], arguments.workers)


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


def _two_stages(work: Path, program: Path, turns: Sequence[tuple[str, str]], workers: int) -> None:
    reference = make_plan("reference")
    plans = {
        "reference": reference,
        "standard": make_plan("standard"),
        # A change of the hash size in either direction.
        "hash halved": replace(reference, hash_mb=reference.hash_mb // 2),
        "hash doubled": replace(reference, hash_mb=reference.hash_mb * 2),
    }
    tables: dict[str, dict[str, _Searched]] = {}
    for name, plan in plans.items():
        folder = work / name.replace(" ", "-")
        store, state, _ = _run(folder, program, plan, turns, workers)
        tables[name] = _searched(store, state, turns)
    nodes = {name: sum(each.nodes for each in table.values()) for name, table in tables.items()}
    print(
        f"4. standard needs {nodes['standard'] / nodes['reference']:.3f} of reference's nodes "
        f"({len(turns)} positions)"
    )
    kept = [
        depth == reference.depth
        for position, full in tables["reference"].items()
        for depth in _depths_near_the_best(full, tables["standard"][position])
    ]
    print(
        f"   keeps {100 * statistics.fmean(kept):.1f} % of the {len(kept)} moves within "
        f"{NEAR_CP} cp of the best at depth {reference.depth}"
    )
    for cap in (None, WINSOR_CP):
        changes = {name: _changes(tables, name, cap) for name in tables if name != "reference"}
        floor = (changes["hash halved"] + changes["hash doubled"]) / 2
        _tell_excess(changes["standard"], floor, cap)


def _tell_excess(change: Floats, floor: Floats, cap: int | None) -> None:
    """Print by how much the change goes beyond the floor: paired, position by position."""
    excess = change - floor
    low, high = bootstrap_interval(excess, np.random.default_rng(SEED))
    # An interval that holds zero around a positive excess is no proof that there is none.
    verdict = "undecided, take more positions"
    if low > 0:
        verdict = "above the floor"
    elif excess.mean() <= 0:
        verdict = "within the floor"
    how = "" if cap is None else f", each at most {cap} cp"
    print(
        f"   top five values{how}: change {change.mean():.2f} cp in the mean over positions "
        f"(median {np.median(change):.1f}), another hash size {floor.mean():.2f} "
        f"({np.median(floor):.1f})\n"
        f"   excess over the floor {excess.mean():+.2f} cp, 95 % interval {low:+.2f} to "
        f"{high:+.2f} (bootstrap over {len(excess)} positions): {verdict}; more than the floor "
        f"in {100 * np.mean(excess > 0):.0f} % of positions, less in "
        f"{100 * np.mean(excess < 0):.0f} %"
    )


def bootstrap_interval(
    values: Floats, generator: np.random.Generator, *, draws: int = 10_000
) -> tuple[float, float]:
    """Return the 95 % interval of the mean, by drawing the values again (percentiles)."""
    places = generator.integers(0, len(values), (draws, len(values)))
    low, high = np.quantile(values[places].mean(axis=1), (0.025, 0.975))
    return float(low), float(high)


@dataclass(frozen=True)
class _Searched:
    """A position as a plan has left it."""

    values: dict[str, tuple[int, int | None]]
    """By move: the greatest depth, and its centipawns; `None` for a mate."""
    moves: list[str]
    """Best first."""
    nodes: int
    """Nodes searched."""


def _searched(
    store: EvaluationStore, state: RunState, turns: Sequence[tuple[str, str]]
) -> dict[str, _Searched]:
    assert state.setup is not None
    found: dict[str, _Searched] = {}
    rows = store.read(state.setup.digest)
    wanted = [position for position, _ in turns]  # a store that was kept may hold more
    for row in rows.filter(pl.col("position").is_in(wanted)).iter_rows(named=True):
        values: dict[str, tuple[int, int | None]] = {}
        for depth, (cps, mates) in enumerate(zip(row["cp"], row["mate"], strict=True), start=1):
            for move, cp, mate in zip(row["moves"], cps, mates, strict=True):
                if cp is not None or mate is not None:
                    values[move] = (depth, cp)
        found[row["position"]] = _Searched(values, row["moves"], row["nodes"])
    return found


def _depths_near_the_best(full: _Searched, other: _Searched) -> list[int]:
    """How deep the other plan has searched the moves that are near the best at full depth."""
    best = full.values[full.moves[0]][1]
    if best is None:  # mates: nothing is within centipawns of them
        return [other.values[full.moves[0]][0]]
    return [
        other.values[move][0]
        for move, (_, cp) in full.values.items()
        if cp is not None and best - cp <= NEAR_CP
    ]


def _changes(tables: dict[str, dict[str, _Searched]], name: str, cap: int | None) -> Floats:
    """The mean absolute change of the five best moves' values, for each position.

    A move that is a mate in any of the runs is left out of all: mates have no distance in
    centipawns.
    """
    changes = []
    for position, full in tables["reference"].items():
        comparable = [
            move
            for move in full.moves[:TOP]
            if all(table[position].values[move][1] is not None for table in tables.values())
        ]
        if comparable:
            each = [
                abs((tables[name][position].values[m][1] or 0) - (full.values[m][1] or 0))
                for m in comparable
            ]
            changes.append(statistics.fmean(min(x, cap) if cap else x for x in each))
    return np.asarray(changes)


if __name__ == "__main__":
    main()
