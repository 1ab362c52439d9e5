"""How fast the fits are beside a plain-Python loop over turns and moves; one run, ratios.

Run it with ``make bench`` or ``python benchmarks/bench_fit.py`` on a machine that does nothing
else. 25,000 simulated turns of 50 moves each. The baseline does what a script does: for every turn
and move the scaled difference, the curve, and p_0 of the powers ratio by Newton; gradients by
differences; the fit by Nelder-Mead over Σ (R_q - q)²; the covariance by differences again. It runs
on part of the turns (``--part``), and its time is taken in proportion, since it is linear in turns.

1. one evaluation of the percentile objective with its gradient;
2. a full percentile fit of (s, c) with its covariance;
3. two threads against one;
4. memory at ten times the turns.
"""

from __future__ import annotations

import argparse
import math
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy import optimize

from milepost.choice import Agent, ChoiceModel, Spreads
from milepost.choice.evaluation.evaluate import evaluate, prepare
from milepost.fit import fit_agent
from milepost.fit.methods.percentile import GRID, percentile_residuals

TURNS, MOVES = 25_000, 50
TRUTH = Agent(s=0.1, c=0.5)


def simulated(turns: int, seed: int = 2011) -> Spreads:
    """Return turns with gaps that look like those of chess: many small, some large."""
    rng = np.random.default_rng(seed)
    best = rng.normal(0.2, 0.8, size=(turns, 1))
    gaps = np.cumsum(rng.gamma(0.35, 0.35, size=(turns, MOVES)), axis=1)
    gaps[:, 0] = 0.0
    values = np.round(best - gaps, 2)
    offsets = np.arange(0, turns * MOVES + 1, MOVES)
    spreads = Spreads.from_arrays(offsets, values.ravel(), np.zeros(turns, dtype=np.int64))
    return TRUTH.simulate(spreads, rng)


def plain_residuals(
    turns: list[list[float]], chosen: list[int], s: float, c: float
) -> tuple[list[float], list[list[float]]]:
    """Return R_q - q and each turn's up shares, turn by turn and move by move."""
    rows = []
    for values, pick in zip(turns, chosen, strict=True):
        best = values[0]
        top = math.copysign(math.log(1 + abs(best)), best)
        exponents = []
        for place, value in enumerate(values):
            clipped = max(value, best - 4.0)
            delta = top - math.copysign(math.log(1 + abs(clipped)), clipped)
            if value == best and place > 0:
                delta = 0.03
            u = (delta / s) ** c if delta > 0 else 0.0
            exponents.append(math.exp(min(u, 30.0)))
        length = 0.0
        for _ in range(50):
            powers = [math.exp(-a * length) for a in exponents]
            total = sum(powers)
            step = (
                math.log(total) * total / sum(a * p for a, p in zip(exponents, powers, strict=True))
            )
            length += step
            if abs(total - 1) < 1e-12:
                break
        before = sum(powers[:pick])
        p = max(powers[pick], 1e-300)
        rows.append([min(max((q - before) / p, 0.0), 1.0) for q in GRID])
    count = len(rows)
    means = [sum(row[g] for row in rows) / count for g in range(len(GRID))]
    return [mean - q for mean, q in zip(means, GRID, strict=True)], rows


def plain_gradient(turns: list[list[float]], chosen: list[int]) -> None:
    """Evaluate with gradient, by differences."""
    for s, c in ((0.1, 0.5), (0.1001, 0.5), (0.1, 0.5005)):
        plain_residuals(turns, chosen, s, c)


def plain_fit(turns: list[list[float]], chosen: list[int]) -> tuple[float, float]:
    """Fit by Nelder-Mead, with the covariance by differences; return s and c."""

    def cost(theta: np.ndarray) -> float:
        residuals, _ = plain_residuals(turns, chosen, math.exp(theta[0]), math.exp(theta[1]))
        return sum(each * each for each in residuals)

    found = optimize.minimize(
        cost, np.log([0.2, 0.7]), method="Nelder-Mead", options={"xatol": 1e-5, "fatol": 1e-10}
    )
    step = 1e-4
    columns = []
    for place in range(2):
        high, low = found.x.copy(), found.x.copy()
        high[place] += step
        low[place] -= step
        above, _ = plain_residuals(turns, chosen, *map(math.exp, high))
        below, _ = plain_residuals(turns, chosen, *map(math.exp, low))
        columns.append([(a - b) / (2 * step) for a, b in zip(above, below, strict=True)])
    _, rows = plain_residuals(turns, chosen, *map(math.exp, found.x))
    jacobian = np.array(columns).T
    bread = np.linalg.inv(jacobian.T @ jacobian)
    _ = bread @ jacobian.T @ np.cov(np.array(rows).T) @ jacobian @ bread / len(rows)
    return math.exp(found.x[0]), math.exp(found.x[1])


def seconds(function: Callable[[], object], repeats: int = 3) -> float:
    """Return the median time of a call."""
    times = []
    for _ in range(repeats):
        begun = time.perf_counter()
        function()
        times.append(time.perf_counter() - begun)
    return sorted(times)[len(times) // 2]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--part", type=int, default=250, help="turns that the baseline takes")
    parser.add_argument("--memory-of", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.memory_of:
        fit_agent(simulated(arguments.memory_of))
        # Not ru_maxrss: that begins with the peak of the process that started this one.
        status = Path("/proc/self/status").read_text(encoding="utf-8")
        print(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM")))
        return
    spreads = simulated(TURNS)
    part = spreads.take(np.arange(arguments.part))
    rows = [list(map(float, each)) for each in np.split(part.values, part.offsets[1:-1])]
    chosen = [int(each) for each in part.chosen]
    scale = TURNS / arguments.part
    model = ChoiceModel()
    prepared = prepare(spreads, model)
    theta = np.log([0.1, 0.5])

    def ours(workers: int | None = None) -> None:
        said = evaluate(model, prepared, theta, workers=workers)
        percentile_residuals(said, spreads.weights)

    ours()
    fit_agent(part)
    print(
        f"{TURNS:,} turns of {MOVES} moves; the baseline on {arguments.part} of them, in proportion"
    )
    plain = seconds(lambda: plain_gradient(rows, chosen)) * scale
    once = seconds(ours, 7)
    print(f"1. evaluation with gradient: {plain / once:.0f} times the plain loop")
    plain = seconds(lambda: plain_fit(rows, chosen), 1) * scale
    whole = seconds(lambda: fit_agent(spreads), 3)
    print(f"2. full percentile fit with covariance: {plain / whole:.0f} times the plain loop")
    s, c = plain_fit(rows, chosen)
    found = fit_agent(part)
    print(f"   both on the part: s {s:.5f} and {found.s:.5f}, c {c:.5f} and {found.c:.5f}")
    one, two = seconds(lambda: ours(1), 7), seconds(lambda: ours(2), 7)
    print(f"3. two threads: {one / two:.2f} times one")
    none, small, large = (_memory(turns) for turns in (100, TURNS, 10 * TURNS))
    print(
        f"4. memory over that of 100 turns, at ten times the turns: "
        f"{(large - none) / (small - none):.1f} times ({small - none} and {large - none} MB)"
    )


def _memory(turns: int) -> int:
    command = [sys.executable, __file__, "--memory-of", str(turns)]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout) // 1024


if __name__ == "__main__":
    main()
