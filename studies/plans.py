"""Which depth buys most information about Elo for an engine's time: what the plan bullet rests on.

    python -m studies.plans [--positions 60] [--least 4]

A search to depth D is the beginning of one to depth 10, so the evaluated turns of
``../shared/data/analysis``, cut to D, are what a plan of depth D would have stored: a map is fitted
to them for every D, and its information about Elo taken at the players' own Elo. Information is
given with its robust counterpart, J²/V: what the likelihood really tells, as its slope V varies in
life. Time is the engine's own processor time on positions drawn by hash, the depths taking turns,
so that other work on the machine falls on all alike; ratios are what counts.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import os
from pathlib import Path

import polars as pl
from studies.real_spreads import RANDOM_TURNS, read_turns, spreads_of

from milepost.analysis.engine.setup import find_engine
from milepost.analysis.engine.uci import UciEngine
from milepost.analysis.plans import Plan, evaluate
from milepost.choice import Spreads
from milepost.intrinsic.calibration.maps import DEPTHS, fit_map
from milepost.intrinsic.rating.likelihood_grid import climb

DEEPEST = 10
BANDS = ((1550, 1950), (1950, 2350), (2350, 2750))


def engine_costs(fens: list[str], depths: list[int]) -> pl.DataFrame:
    """Return processor seconds and nodes a position for each depth, the depths taking turns."""
    nodes = dict.fromkeys(depths, 0)
    with contextlib.ExitStack() as stack:
        engines = {depth: stack.enter_context(UciEngine(find_engine())) for depth in depths}
        for engine in engines.values():
            engine.configure(Plan("quick").options)
            engine.search(fens[0], "depth 1", timeout=60.0)  # its net is loaded by now
        before = {depth: _processor_seconds(engine) for depth, engine in engines.items()}
        for fen in fens:
            for depth, engine in engines.items():
                nodes[depth] += evaluate(engine, Plan("quick", depth), fen).nodes
        after = {depth: _processor_seconds(engine) for depth, engine in engines.items()}
    return pl.DataFrame(
        {
            "depth": depths,
            "seconds": [(after[depth] - before[depth]) / len(fens) for depth in depths],
            "nodes": [nodes[depth] / len(fens) for depth in depths],
        }
    )


def _processor_seconds(engine: UciEngine) -> float:
    """Time that an engine's process has had on a processor (Linux)."""
    fields = Path(f"/proc/{engine._process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def information(spreads: Spreads, depth: int) -> dict[str, float]:
    """Return the information about Elo that a turn gives, cut to a depth, in 10⁻⁶ a turn."""
    cut = spreads.to_depth(depth)
    assert cut.rating is not None
    path = fit_map(DEPTHS, cut, covariance=False).path
    ladder = climb(cut, path)
    stated = ladder.information_at(cut.rating)
    score = ladder.scores(cut.rating)
    low, high = (ladder.scores(cut.rating + step) for step in (-50.0, 50.0))
    bend = -(high - low) / 100.0
    row = {"depth": float(depth), "stated": 1e6 * float(stated.mean())}
    row["robust"] = 1e6 * float(bend.mean() ** 2 / (score**2).mean())
    for first, last in BANDS:
        inside = (cut.rating >= first) & (cut.rating < last)
        row[f"{first}-{last}"] = 1e6 * float(stated[inside].mean())
    return row


def table(positions: int, least: int) -> pl.DataFrame:
    """Return information, engine time and their ratio by depth, against the greatest depth."""
    frame = read_turns(RANDOM_TURNS)
    spreads = spreads_of(frame)
    fens = sorted(frame["fen"], key=lambda fen: hashlib.sha256(fen.encode()).hexdigest())
    depths = list(range(least, DEEPEST + 1))
    costs = engine_costs(fens[:positions], depths)
    gains = pl.DataFrame([information(spreads, depth) for depth in depths])
    joined = costs.join(gains.with_columns(pl.col("depth").cast(pl.Int64)), on="depth")
    last = pl.col("depth") == DEEPEST
    return joined.with_columns(
        (pl.col("seconds") / pl.col("seconds").filter(last).first()).alias("time"),
        (pl.col("robust") / pl.col("robust").filter(last).first()).alias("information"),
    ).with_columns((pl.col("information") / pl.col("time")).alias("per second"))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--positions", type=int, default=60)
    parser.add_argument("--least", type=int, default=4)
    given = parser.parse_args()
    pl.Config.set_tbl_rows(20).set_tbl_cols(20).set_tbl_width_chars(160)
    print(table(given.positions, given.least))


if __name__ == "__main__":
    main()
