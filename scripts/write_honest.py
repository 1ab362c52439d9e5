"""Write the honest players that come with the package: figures alone, no games and no names.

    python scripts/write_honest.py ../shared/data --store DIR --calibration stockfish15.1-bullet

Reads the complete events of part `estimate` whose turns are in the store, measures how honest
players play as the calibration sees them (`milepost.fairplay.measure`), and writes
`src/milepost/data/fairplay/NAME.json`. Events of part `test` are never read.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

import milepost as mp
from milepost.errors import MissingEvaluationsWarning, NotAnalysedError
from milepost.fairplay.measure import measure
from milepost.io.files import write_text

OUTPUTS = Path(__file__).resolve().parents[1] / "src" / "milepost" / "data" / "fairplay"


LEAST_TURNS = 300
"""Shared openings leave stray turns of other events in a store: fewer are no event."""


def read_events(
    data: Path, store: Path, plan: str, part: str = "estimate", names: Sequence[str] = ()
) -> dict[str, mp.Decisions]:
    """Return the decisions of the events of a part that the store holds at a plan."""
    index = pl.read_csv(data / "events" / "index.csv").filter(pl.col("part") == part)
    events = {}
    for name in index["file"]:
        if names and Path(name).stem not in names:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MissingEvaluationsWarning)
            try:
                found = mp.decisions(data / "events" / name, store, plan=plan)
            except NotAnalysedError:
                continue
        if len(found) >= LEAST_TURNS:
            events[Path(name).stem] = found
    return events


def describe(rows: pl.DataFrame) -> None:
    """Print what the reference performances look like."""
    z = rows["z"].to_numpy()
    e = np.exp(rows["ln_e"].to_numpy())
    print(
        f"{len(rows)} performances: z mean {z.mean():+.2f}, sd {z.std():.2f}; "
        f"E mean {e.mean():.2f} (± {e.std() / np.sqrt(len(e)):.2f}), "
        f"over 20 {np.mean(e > 20):.3f}, over 100 {np.mean(e > 100):.3f}"
    )
    for low in range(1400, 2900, 200):
        part = rows.filter((pl.col("elo") >= low) & (pl.col("elo") < low + 200))
        if len(part):
            mine, ln_e = part["z"].to_numpy(), part["ln_e"].to_numpy()
            print(
                f"  {low}-{low + 199}: {len(part)}, z {mine.mean():+.2f} sd {mine.std():.2f}, "
                f"ln E {ln_e.mean():+.2f}"
            )


def main() -> None:
    """Write them."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("data", type=Path, help="the folder of real data (../shared/data)")
    parser.add_argument("--store", type=Path, required=True)
    parser.add_argument("--calibration", default="stockfish15.1-bullet")
    parser.add_argument("--plan", default="bullet")
    parser.add_argument("--events", nargs="*", default=[], help="names [default: all there are]")
    parser.add_argument(
        "--widen", nargs=3, type=float, action="append", default=[],
        metavar=("FROM", "TO", "SD"), help="ratings where the null is wider, by so many points",
    )  # fmt: skip
    parser.add_argument("--caution", default="", help="what every check with it must say")
    parser.add_argument("--power", type=Path, help="what studies.fair_play power wrote")
    parser.add_argument("--outputs", type=Path, default=OUTPUTS)
    given = parser.parse_args()
    calibration = mp.load_calibration(given.calibration)
    events = read_events(given.data, given.store, given.plan, names=given.events)
    honest, rows = measure(
        {name: found.table for name, found in events.items()},
        calibration,
        widened=[(low, high, sd) for low, high, sd in given.widen],
        made={
            "made_by": f"milepost {mp.__version__}",
            "script": "scripts/write_honest.py",
            "plan": given.plan,
            "setup": calibration.setup,
            "events": sorted(events),
            "widened": given.widen,
        },
        tell=lambda text: print(text, file=sys.stderr, flush=True),
    )
    honest = replace(honest, caution=given.caution)
    if given.power is not None:
        power = json.loads(given.power.read_text(encoding="utf-8"))["rows"]
        honest = replace(honest, power=tuple(power))
    given.outputs.mkdir(parents=True, exist_ok=True)
    path = given.outputs / f"{calibration.name}.json"
    write_text(path, json.dumps(honest.to_dict(), indent=1) + "\n")
    print(honest.rests_on)
    print(f"offset {honest.offset}, bias {honest.bias.tolist()}")
    print(f"dispersion {honest.dispersion.tolist()}, bands {honest.bands}")
    describe(rows)


if __name__ == "__main__":
    main()
