"""Write the honest players that come with the package: figures alone, no games and no names.

    python scripts/write_honest.py ../shared/data --store DIR --calibration stockfish15.1-bullet

Reads the complete events of part `estimate` whose turns are in the stores, measures how honest
players play as the calibration sees them (`milepost.fairplay.reference.measure`), and writes
`src/milepost/data/fairplay/NAME.json`. Events of part `test` are never read. `--only-evidence`
keeps the people as they are shipped and writes their evidence ratios anew, of the events at hand:
for a new menu where the evaluations of the other events are gone. `--power` puts in a power table,
`--deep` the pull of a deep search's moves.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

import milepost as mp
from milepost.errors import InputError, MissingEvaluationsWarning, NotAnalysedError
from milepost.fairplay.deep.pull import DeepPull
from milepost.fairplay.performances import make_board
from milepost.fairplay.reference.honest import HonestPlayers, honest_players
from milepost.fairplay.reference.measure import LEAST_GAMES, enough_turns, measure, reference_rows
from milepost.fairplay.screen import LEAST_TURNS as SCREENED
from milepost.io.files import write_text

OUTPUTS = Path(__file__).resolve().parents[1] / "src" / "milepost" / "data" / "fairplay"


LEAST_TURNS = 300
"""Shared openings leave stray turns of other events in a store: fewer are no event."""
ENOUGH = 0.02
"""With fewer turns missing no other evaluations are looked for."""


def read_events(
    data: Path,
    stores: Sequence[Path],
    plan: str,
    part: str = "estimate",
    names: Sequence[str] = (),
) -> dict[str, mp.Decisions]:
    """Return the decisions of the events of a part that the stores hold at a plan.

    Evaluations of a deeper plan are cut to this one where they hold more of an event.
    """
    index = pl.read_csv(data / "events" / "index.csv").filter(pl.col("part") == part)
    setups = [(store, setup) for store in stores for setup in sorted(_setups(store))]
    events: dict[str, mp.Decisions] = {}
    for name in index["file"]:
        if names and Path(name).stem not in names:
            continue
        for store, setup in setups:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", MissingEvaluationsWarning)
                try:
                    found = mp.decisions(data / "events" / name, store, plan=plan, setup=setup)
                except (NotAnalysedError, InputError):
                    continue
            known = events.get(Path(name).stem)
            if len(found) >= max(LEAST_TURNS, 0 if known is None else len(known) + 1):
                events[Path(name).stem] = found
                if found.missing <= ENOUGH * len(found):
                    break
    return events


def _setups(store: Path) -> list[str]:
    return mp.open_store(store).query("select distinct setup from evaluations")["setup"].to_list()


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
    parser.add_argument("--store", type=Path, required=True, action="append")
    parser.add_argument("--calibration", default="stockfish15.1-bullet")
    parser.add_argument("--plan", default="bullet")
    parser.add_argument("--events", nargs="*", default=[], help="names [default: all there are]")
    parser.add_argument(
        "--widen", nargs=3, type=float, action="append", default=[],
        metavar=("FROM", "TO", "SD"), help="ratings where the null is wider, by so many points",
    )  # fmt: skip
    parser.add_argument(
        "--wilder", nargs=3, type=float, action="append", default=[],
        metavar=("FROM", "TO", "FACTOR"), help="ratings where figures vary more, by this factor",
    )  # fmt: skip
    parser.add_argument("--caution", default="", help="what every check with it must say")
    parser.add_argument("--only-evidence", action="store_true", help="keep the shipped people")
    parser.add_argument(
        "--only-power", action="store_true", help="keep all but power, deep look and wider nulls"
    )
    parser.add_argument("--power", type=Path, help="what studies.fair_play_power wrote")
    parser.add_argument("--deep", type=Path, help="what the study pull of fair_play_deep wrote")
    parser.add_argument("--outputs", type=Path, default=OUTPUTS)
    given = parser.parse_args()
    calibration = mp.load_calibration(given.calibration)
    if given.only_evidence or given.only_power:
        honest = honest_players(calibration)
    if not given.only_power:
        events = read_events(given.data, given.store, given.plan, names=given.events)
        if given.only_evidence:
            honest, rows = with_new_evidence(honest, calibration, events)
        else:
            honest, rows = measured(calibration, events, given)
        describe(rows)
    if given.only_power and given.widen:
        honest = widened(honest, [(low, high, sd) for low, high, sd in given.widen])
    if given.wilder:
        honest = replace(honest, wilder=tuple((low, high, by) for low, high, by in given.wilder))
    if given.power is not None:
        power = json.loads(given.power.read_text(encoding="utf-8"))["rows"]
        honest = replace(honest, power=tuple(power))
    if given.caution:
        honest = replace(honest, caution=given.caution)
    if given.deep is not None:
        pull = json.loads(given.deep.read_text(encoding="utf-8"))["pull"]
        honest = replace(honest, deep=DeepPull.from_dict(pull))
    given.outputs.mkdir(parents=True, exist_ok=True)
    path = given.outputs / f"{calibration.name}.json"
    write_text(path, json.dumps(honest.to_dict(), indent=1) + "\n")
    print(honest.rests_on)
    print(f"offset {honest.offset}, bias {honest.bias.tolist()}")
    print(f"dispersion {honest.dispersion.tolist()}, bands {honest.bands}")


def widened(honest: HonestPlayers, bands: Sequence[tuple[float, float, float]]) -> HonestPlayers:
    """Put bands with a wider null in; those that they overlap go. The reference stays as it was.

    Reference performances within the bands then have somewhat larger scores than they would have:
    that is on the cautious side.
    """
    kept = [
        old for old in honest.bands if all(old[1] <= new[0] or new[1] <= old[0] for new in bands)
    ]
    made = {**honest.made, "widened": [list(band) for band in bands]}
    return replace(honest, bands=tuple(sorted([*kept, *bands])), made=made)


def measured(
    calibration: mp.Calibration, events: Mapping[str, mp.Decisions], given: argparse.Namespace
) -> tuple[HonestPlayers, pl.DataFrame]:
    """Measure honest players anew."""
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
    return replace(honest, caution=given.caution), rows


def with_new_evidence(
    honest: HonestPlayers, calibration: mp.Calibration, events: Mapping[str, mp.Decisions]
) -> tuple[HonestPlayers, pl.DataFrame]:
    """Keep the people, and write the evidence ratios of honest performances anew."""
    boards = {
        name: make_board(enough_turns(found.table, SCREENED), calibration, honest)
        for name, found in events.items()
    }
    rows = reference_rows(boards, honest, SCREENED, LEAST_GAMES)
    made = {**honest.made, "evidence": {"events": sorted(events), "performances": len(rows)}}
    known = replace(honest.reference, ln_e=np.sort(rows["ln_e"].to_numpy()))
    return replace(honest, reference=known, made=made), rows


if __name__ == "__main__":
    main()
