"""Do the intervals cover? Recovery of known agents on real spreads, many times.

Run it with ``python -m studies.coverage [--fits N] [--methods …]``. For shares and powers,
five curves and 300, 1,500 and 5,000 turns drawn from ``../shared/data/analysis`` (without it: from
simulated spreads), an agent of known (s, c) chooses, and is fitted; seeds are fixed beforehand: the
cell's number and the repetition's make the seed. Each cell must lie inside the 99.9 % binomial band
around 95 %, the pooled coverage between 94 and 96 %. Bias is in units of the standard error of the
mean error. Takes about an hour for 200 fits a cell on two cores; results so far go to
``--work FILE`` (NDJSON), and a later run goes on from there.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.bench_fit import simulated
from scipy import stats
from studies.real_spreads import RANDOM_TURNS, read_turns, spreads_of

from milepost.choice import Agent, Spreads
from milepost.choice.attraction.curves import CURVES
from milepost.fit import AgentModel, NotConvergedWarning, fit_agent

SIZES = (300, 1_500, 5_000)
RATIOS = ("powers", "shares")
# Near what the fits of real mileposts give, for each curve and ratio.
TRUTHS = {
    ("powers", "invexp"): (0.16, 0.55),
    ("powers", "ipa"): (0.09, 0.9),
    ("powers", "ipb"): (0.12, 1.0),
    ("powers", "secha"): (0.25, 0.5),
    ("powers", "sechb"): (0.14, 0.6),
    ("shares", "invexp"): (0.06, 0.55),
    ("shares", "ipa"): (0.06, 1.3),
    ("shares", "ipb"): (0.12, 2.2),
    ("shares", "secha"): (0.08, 0.5),
    ("shares", "sechb"): (0.06, 0.5),
}
_SPREADS: list[Spreads] = []


def main() -> None:
    """Run what is not yet done and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--fits", type=int, default=200)
    parser.add_argument("--methods", nargs="+", default=["percentile", "likelihood"])
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES))
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--work", type=Path, default=Path("coverage.ndjson"))
    arguments = parser.parse_args()
    done = {}
    if arguments.work.exists():
        for line in arguments.work.read_text().splitlines():
            row = json.loads(line)
            done[tuple(row["key"])] = row
    jobs = [
        (method, ratio, curve, size, repetition)
        for size in arguments.sizes
        for method in arguments.methods
        for ratio in RATIOS
        for curve in CURVES
        for repetition in range(arguments.fits)
    ]
    left = [job for job in jobs if job not in done]
    print(f"{len(jobs) - len(left):,} fits are there, {len(left):,} to do", file=sys.stderr)
    with (
        ProcessPoolExecutor(arguments.workers) as pool,
        arguments.work.open("a", encoding="utf-8") as log,
    ):
        for number, row in enumerate(pool.map(one, left, chunksize=20), 1):
            done[tuple(row["key"])] = row
            log.write(json.dumps(row) + "\n")
            if number % 500 == 0:
                log.flush()
                print(f"{number:,} of {len(left):,}", file=sys.stderr)
    report([done[job] for job in jobs])


def real_or_simulated() -> Spreads:
    """Return the spreads that the choices are drawn on."""
    if RANDOM_TURNS.exists():
        return spreads_of(read_turns())
    return simulated(11_000)


def one(job: tuple[str, str, str, int, int]) -> dict[str, Any]:
    """Simulate and fit once; say whether the intervals cover."""
    method, ratio, curve, size, repetition = job
    if not _SPREADS:
        _SPREADS.append(real_or_simulated())
    cell = (RATIOS.index(ratio), list(CURVES).index(curve), size)
    rng = np.random.default_rng([2011, *cell, repetition])
    whole = _SPREADS[0]
    # Single turns, each its own group: an agent's choices are independent.
    spreads = whole.take(rng.integers(len(whole), size=size))
    s, c = TRUTHS[ratio, curve]
    chosen = Agent(s=s, c=c, curve=curve, ratio=ratio).simulate(spreads, rng).chosen
    again = Spreads.from_arrays(spreads.offsets, spreads.values, chosen)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)
        found = fit_agent(again, AgentModel(curve=curve, ratio=ratio), method=method)
    bounds = found.interval()
    return {
        "key": list(job),
        "converged": found.converged,
        "s": bounds["s"][0] <= s <= bounds["s"][1],
        "c": bounds["c"][0] <= c <= bounds["c"][1],
        "error_s": float(np.log(found.s / s)),
        "error_c": float(np.log(found.c / c)),
    }


def report(rows: list[dict[str, Any]]) -> None:
    """Print coverage and bias by cell, and pooled."""
    print(f"{'method':11}{'ratio':8}{'curve':8}{'turns':>6}{'fits':>6}{'cover s':>9}{'cover c':>9}"
          f"{'bias s':>9}{'bias c':>9}{'z s':>7}{'z c':>7}")  # fmt: skip
    outside = 0
    cells = sorted({tuple(row["key"][:4]) for row in rows})
    for cell in cells:
        here = [row for row in rows if tuple(row["key"][:4]) == cell]
        count = len(here)
        low, high = stats.binom.ppf([0.0005, 0.9995], count, 0.95) / count
        shares = [sum(row[name] for row in here) / count for name in ("s", "c")]
        marks = ["" if low <= share <= high else "!" for share in shares]
        outside += sum(map(bool, marks))
        bias = [np.mean([row[f"error_{name}"] for row in here]) for name in ("s", "c")]
        scatter = [
            np.std([row[f"error_{name}"] for row in here]) / np.sqrt(count) for name in ("s", "c")
        ]
        print(
            f"{cell[0]:11}{cell[1]:8}{cell[2]:8}{cell[3]:6}{count:6}"
            f"{shares[0]:8.3f}{marks[0] or ' '}{shares[1]:8.3f}{marks[1] or ' '}"
            f"{bias[0]:9.4f}{bias[1]:9.4f}{bias[0] / scatter[0]:7.1f}{bias[1] / scatter[1]:7.1f}"
        )
    for method in sorted({row["key"][0] for row in rows}):
        here = [row for row in rows if row["key"][0] == method]
        pooled = np.mean([[row["s"], row["c"]] for row in here])
        lost = sum(not row["converged"] for row in here)
        print(f"{method}: pooled coverage {100 * pooled:.2f} % of {2 * len(here):,} intervals; "
              f"{lost} fits did not converge")  # fmt: skip
        for size in sorted({row["key"][3] for row in here}):
            part = [row for row in here if row["key"][3] == size]
            cover = 100 * np.mean([[row["s"], row["c"]] for row in part])
            print(f"  {size:,} turns: {cover:.2f} %")
    print(f"cells outside the 99.9 % band: {outside} of {2 * len(cells)}")


if __name__ == "__main__":
    main()
