"""How fast histories are beside other packages, and how they grow; ratios measured in one run.

Run it with ``make bench`` or ``python benchmarks/bench_history.py [--only PART]``. The games are
those of ../shared/data/otb_results.parquet from 1850 on, in the order of time (where it is missing:
simulated ones, and the parts that need the real table are skipped).

- ``packages``: the first 100,000 games. A sweep of ours (forward, back, and the Newton step) beside
  one of trueskillthroughtime, which is timed on a subsample, per game. The whole fit beside whr,
  both brought to the same distance from their own fixed points: 0.0002 of a performance's standard
  deviation (for whr 0.04 Elo; its fixed point is where 400 iterations end). kickscore on a
  subsample, per game and iteration, and in all.
- ``table``: ttt and ttt-d on the whole table, each in a process of its own: sweeps, seconds, peak
  memory above that of the loaded table, evidence a game.
- ``scaling``: nanoseconds a game and sweep, from 100,000 games to all.
- ``workers``: two threads against one on the whole table; the same answer.

One thread is timed by its processor time, which other programs on the machine disturb less; two
threads by the clock on the wall. What is compared is interleaved; median and range are told.
"""

from __future__ import annotations

import argparse
import gc
import importlib.util
import json
import math
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import polars as pl
from record import record

from milepost.history import TTT, TTTD, Sweeping, fit_history
from milepost.history.models import make_model
from milepost.history.records import read_records
from milepost.history.solver.convergence import converge
from milepost.history.ttt.from_model import fresh_state, learning_of

TABLE = Path(__file__).resolve().parents[1].parent / "shared" / "data" / "otb_results.parquet"
PARTS = ("packages", "table", "scaling", "workers")
BETA, SIGMA, TAU, LEAD = 480.0, 400.0, 60.0, 60.0
FIRST = 100_000
ELO_OF_POINT = 208.0 / BETA
"""whr's logistic has a standard deviation of about 208 Elo a player, where ours has beta."""


def real_games() -> pl.DataFrame | None:
    """Return the results from 1850 on in the order of time, or None where there is no table."""
    if not TABLE.exists():
        return None
    score = {"1-0": 1.0, "1/2-1/2": 0.5, "0-1": 0.0}
    return (
        pl.scan_parquet(TABLE)
        .filter(pl.col("year") >= 1850)
        .select(
            time="year", player_1="white_key", player_2="black_key",
            score=pl.col("result").replace_strict(score), first_mover=pl.lit(1, dtype=pl.Int8),
        )
        .collect()
        .sort("time", maintain_order=True)
    )  # fmt: skip


def simulated(games: int) -> pl.DataFrame:
    """Return games of players who come and go, for machines without the table."""
    rng = np.random.default_rng(2007)
    year = np.sort(rng.integers(0, 100, games))
    players = games // 10
    centre = year * players // 100
    one = (centre + rng.integers(0, players // 10, games)) % players
    two = (one + 1 + rng.integers(0, players // 10, games)) % players
    skill = rng.normal(0, 300, players)
    apart = skill[one] - skill[two] + rng.normal(0, BETA * math.sqrt(2), games)
    score = np.where(apart > 200, 1.0, np.where(apart < -200, 0.0, 0.5))
    names = np.array([f"p{n:06}" for n in range(players)])
    return pl.DataFrame({
        "time": year + 1900, "player_1": names[one], "player_2": names[two], "score": score,
        "first_mover": np.ones(games, dtype=np.int8),
    })  # fmt: skip


def spent(function: Callable[[], Any], clock: Callable[[], float] = time.process_time) -> float:
    """Return the time that a call takes."""
    gc.collect()
    begun = clock()
    function()
    return clock() - begun


def shown(values: list[float], form: str = ",.0f") -> str:
    """Return the median and the range."""
    return f"{median(values):{form}} ({min(values):{form}} to {max(values):{form}})"


def sweeps_of(games: pl.DataFrame, model: str = "ttt") -> tuple[float, int]:
    """Return the processor time of all sweeps, and their number."""
    chosen = make_model(model, first_mover=LEAD)
    assert isinstance(chosen, TTT | TTTD)
    state = fresh_state(read_records(games), chosen)
    ended: list[int] = []

    def run() -> None:
        done = converge(
            state, tolerance=Sweeping().distance(chosen.beta), max_sweeps=200,
            learning=learning_of(chosen),
        )  # fmt: skip
        ended.append(done.sweeps)

    return spent(run), ended[0]


def plain_sweeps(games: pl.DataFrame, repeats: int) -> tuple[list[float], int]:
    """Return nanoseconds a game of sweeps without Newton steps, and how many would be needed."""
    model = TTT(first_mover=LEAD, draw="share")
    records = read_records(games)
    exact = fresh_state(records, model)
    converge(exact, tolerance=1e-4, max_sweeps=200, learning=learning_of(model))
    end = exact.chains.belief[:, 1] / exact.chains.belief[:, 0]
    state = fresh_state(records, model)
    times: list[float] = []
    while len(times) < 2000:
        begun = time.process_time()
        state.forward(0, records.periods)
        state.backward(0, records.periods)
        times.append((time.process_time() - begun) / records.games * 1e9)
        belief = state.chains.belief
        if np.abs(belief[:, 1] / belief[:, 0] - end).max() <= Sweeping().distance(model.beta):
            break
    return times[:repeats], len(times)


def packages(games: pl.DataFrame, repeats: int, *, quick: bool = False) -> None:
    """Measure ours beside the other packages; kickscore, which takes minutes, only if not quick."""
    games = games.head(FIRST)
    print(f"1. {games.height:,} games")
    fit_history(games.head(2000), TTT(first_mover=LEAD, draw="share"))
    found = [sweeps_of(games) for _ in range(repeats)]
    each = [taken / sweeps / games.height * 1e9 for taken, sweeps in found]
    plain, needed = plain_sweeps(games, 4 * repeats)
    print(f"   ours: {found[0][1]} sweeps, {shown(each)} ns a game and sweep with its Newton step,")
    print(f"   {shown(plain)} without; without it {needed} sweeps are needed")
    _beside_ttt(games, plain, [taken / games.height * 1e9 / needed for taken, _ in found], repeats)
    _beside_whr(games, repeats)
    if not quick:
        _beside_kickscore(games)


def _missing(package: str) -> bool:
    if importlib.util.find_spec(package) is not None:
        return False
    print(f"   {package}: skipped, the package is not installed")
    return True


def _beside_ttt(
    games: pl.DataFrame, plain: list[float], shares: list[float], repeats: int, part: int = 2000
) -> None:
    if _missing("trueskillthroughtime"):
        return
    import trueskillthroughtime as other

    rows = games.tail(part).select("time", "player_1", "player_2", "score").rows()
    history = other.History(
        [[[one], [two]] for _, one, two, _ in rows],
        [[score, 1 - score] for *_, score in rows],
        [year for year, *_ in rows],
        sigma=SIGMA, beta=BETA, gamma=TAU, p_draw=0.3,
    )  # fmt: skip
    times = [spent(history.iteration) / part * 1e9 for _ in range(repeats)]
    print(f"   trueskillthroughtime, on {part:,} of the games: {shown(times)} ns a game and sweep;")
    ratios = [a / median(plain) for a in times]
    record("history ttt", ratios)
    print(f"   a plain sweep of ours is {shown(ratios)} times as fast (its time in proportion),")
    ratios = [a / b for a, b in zip(times, shares, strict=True)]
    print(f"   the way to the fixed point {shown(ratios)} times (as many sweeps as ours without")
    print("   Newton steps would need: the iteration is the same)")


def _beside_whr(games: pl.DataFrame, repeats: int) -> None:
    if _missing("whr"):
        return
    import whr

    result = {1.0: "B", 0.5: "D", 0.0: "W"}
    rows = [
        [one, two, result[score], year]
        for year, one, two, score in games.select("time", "player_1", "player_2", "score").rows()
    ]
    # w² is the variance a day adds, and here a day is a year.
    base = whr.Base(config={"w2": (TAU * ELO_OF_POINT) ** 2})

    def ratings() -> np.ndarray:
        lives = sorted(base.get_ordered_ratings())
        return np.concatenate([[day[1] for day in days] for _, days in lives])

    begun = spent(lambda: base.create_games(rows))
    blocks, seen = [], []
    for _ in range(40):
        blocks.append(spent(lambda: base.iterate(10)))
        seen.append(ratings())
    near = 2e-4 * BETA * ELO_OF_POINT
    needed = next(n for n, r in enumerate(seen, 1) if np.abs(r - seen[-1]).max() <= near)
    theirs = begun + sum(blocks[:needed])
    whole = [
        spent(lambda: fit_history(games, TTT(first_mover=LEAD, draw="share")))
        for _ in range(repeats)
    ]
    inner = [sweeps_of(games)[0] for _ in range(repeats)]
    record("history whr", [theirs / t for t in whole])
    print(
        f"   whr: {10 * needed} iterations; the whole of ours, from table to curves, is "
        f"{shown([theirs / t for t in whole])} times as fast,"
    )
    print(
        f"   our sweeps alone beside its iterations alone "
        f"{shown([sum(blocks[:needed]) / t for t in inner])} times"
    )


def _beside_kickscore(games: pl.DataFrame, part: int = 2000) -> None:
    if _missing("kickscore"):
        return
    import kickscore

    margin = 0.25 * math.sqrt(2)

    def model(rows: list[tuple[Any, ...]]) -> Any:
        made = kickscore.TernaryModel(margin=margin)
        # Not the first year itself: a variance of zero there has no inverse.
        start = float(rows[0][0]) - 1.0
        for name in sorted({row[place] for row in rows for place in (1, 2)}):
            constant = kickscore.kernel.Constant(var=(SIGMA / BETA) ** 2 / 2)
            drift = kickscore.kernel.Wiener(var=(TAU / BETA) ** 2 / 2, t0=start)
            made.add_item(name, kernel=constant + drift)
        for year, one, two, score in rows:
            first, second = (two, one) if score == 0 else (one, two)
            made.observe(winners=[first], losers=[second], t=float(year), tie=score == 0.5)
        return made

    chosen = games.tail(part)
    rows = chosen.select("time", "player_1", "player_2", "score").rows()
    model(rows[:100]).fit()
    once = model(rows)
    single = spent(lambda: once.fit(max_iter=1)) / part * 1e9
    whole = model(rows)
    theirs = spent(lambda: whole.fit(tol=2e-4))
    own = median(spent(lambda: fit_history(chosen)) for _ in range(5))
    print(
        f"   kickscore, on {part:,} of the games: {single:,.0f} ns a game and iteration; to 0.0002 "
        f"of its scale {theirs / own:,.0f} times as long as ours"
    )


SHARE = "ttt, margin by the share of draws"
"""The model as it was when the goals were set: now the margin is learned."""


def child(name: str) -> None:
    """Fit the whole table and print what it took, as JSON."""
    games = real_games()
    assert games is not None
    share = TTT(first_mover=LEAD, draw="share")
    model = share if name == SHARE else make_model(name, first_mover=LEAD)
    fit_history(games.head(2000), model)
    gc.collect()
    # The peak so far was that of reading; from here on it is ours.
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")
    before = _memory("VmRSS")
    begun, wall = time.process_time(), time.perf_counter()
    history = fit_history(games, model)
    print(json.dumps({
        "games": history.games, "players": history.players, "nodes": history.nodes,
        "sweeps": history.sweeps, "left": history.remaining_error,
        "processor": time.process_time() - begun, "wall": time.perf_counter() - wall,
        "memory": (_memory("VmHWM") - before) / 1024,
        "evidence": history.log_evidence / history.games,
    }))  # fmt: skip


def _memory(name: str) -> int:
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith(name))


def table(games: pl.DataFrame | None, repeats: int) -> None:
    """Measure ttt and ttt-d on the whole table."""
    if games is None:
        print(f"2. skipped: there is no table {TABLE.name} in ../shared/data")
        return
    taken: dict[str, list[float]] = {SHARE: [], "ttt": [], "ttt-d": []}
    print("2. from table to curves, one thread of ours; seconds of processor time, and by the wall")
    for _ in range(repeats):
        for model, times in taken.items():
            command = [sys.executable, __file__, "--child", model]
            done = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            told = json.loads(done)
            times.append(told["processor"])
            print(
                f"   {model:5}: {told['games']:,} games, {told['players']:,} players, "
                f"{told['nodes']:,} player-years, {told['sweeps']} sweeps to {told['left']:.2g} "
                f"points, {told['processor']:.1f} s ({told['wall']:.1f} s), "
                f"{told['memory']:.0f} MB, evidence {told['evidence']:.6f} a game"
            )
    ratios = [b / a for a, b in zip(taken["ttt"], taken["ttt-d"], strict=True)]
    record("history share", taken[SHARE])
    record("history table", taken["ttt"])
    record("history ttt-d", ratios)
    print(f"   ttt-d takes {shown(ratios, '.2f')} times as long as ttt")


def scaling(games: pl.DataFrame | None, repeats: int) -> None:
    """Measure the cost of a game and sweep as the table grows."""
    if games is None:
        print(f"3. skipped: there is no table {TABLE.name} in ../shared/data")
        return
    fit_history(games.head(2000), TTT(first_mover=LEAD, draw="share"))
    sizes = [FIRST, 300_000, 1_000_000, games.height]
    cost: dict[int, list[float]] = {size: [] for size in sizes}
    for _ in range(repeats):
        for size in sizes:
            whole, sweeps = sweeps_of(games.head(size))
            cost[size].append(whole / sweeps / size * 1e9)
    print("3. nanoseconds a game and sweep, the Newton step included")
    for size in sizes:
        print(f"   {size:>9,} games: {shown(cost[size])}")
    ratios = [b / a for a, b in zip(cost[sizes[0]], cost[sizes[-1]], strict=True)]
    print(f"   all games against the first {FIRST:,}: {shown(ratios, '.2f')} times")


def workers(games: pl.DataFrame | None, repeats: int) -> None:
    """Measure two threads against one."""
    if games is None:
        print(f"4. skipped: there is no table {TABLE.name} in ../shared/data")
        return
    model = TTT(first_mover=LEAD, draw="share")
    records = read_records(games)
    taken: dict[int, list[float]] = {1: [], 2: []}
    means = {}
    sweeps = {}
    for number in (1, 2):
        fit_history(games.head(2000), model, sweeping=Sweeping(workers=number))
    for _ in range(repeats):
        for number, times in taken.items():
            state = fresh_state(records, model)
            begun = time.perf_counter()
            done = converge(
                state, tolerance=Sweeping().distance(model.beta), max_sweeps=200,
                learning=learning_of(model), workers=number,
            )  # fmt: skip
            times.append(time.perf_counter() - begun)
            means[number] = state.chains.belief[:, 1] / state.chains.belief[:, 0]
            sweeps[number] = done.sweeps
    ratios = [a / b for a, b in zip(taken[1], taken[2], strict=True)]
    record("history threads", ratios)
    apart = float(np.abs(means[1] - means[2]).max())
    print(
        f"4. two threads are {shown(ratios, '.2f')} times as fast as one on {records.games:,} games"
        f" ({sweeps[1]} and {sweeps[2]} sweeps); means differ by at most {apart:.2g} points"
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--only", choices=PARTS, help="one part")
    parser.add_argument("--repeats", type=int, default=3, help="how often each is timed")
    parser.add_argument("--quick", action="store_true", help="without kickscore")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        child(arguments.child)
        return
    games = real_games()
    if games is None:
        print("there is no ../shared/data/otb_results.parquet: simulated games")
    if arguments.only in (None, "packages"):
        chosen = simulated(FIRST) if games is None else games
        packages(chosen, arguments.repeats, quick=arguments.quick)
    for name, part in (("table", table), ("scaling", scaling), ("workers", workers)):
        if arguments.only in (None, name):
            part(games, arguments.repeats)


if __name__ == "__main__":
    main()
