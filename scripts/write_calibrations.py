"""Write the shipped calibrations: quick, and bullet and standard, which rest on it.

    python scripts/write_calibrations.py ../shared/data --work DIR --store DIR [--only quick]

*quick* is fitted to the evaluated turns of `analysis/random_turns_2011-2014.parquet` and to those
of the events of part `estimate` that the store holds (players with 60 turns or more), which reach
up to 2850; how players vary is measured by the events. *values* is the same with agents that go by
values alone, for decisions that bring no columns. The other two borrow how players vary, so run
them after every change of quick.

*bullet* is fitted directly: a search to its depth is the beginning of one to depth 10, so the
evaluated turns of `analysis/random_turns_2011-2014.parquet` are cut to its depth. *standard* is a
bridge from quick, since rated turns evaluated with it would take days: the engine evaluates
positions of the sample, and, for a check, turns of rated players. All evaluations are kept in
`--work` (stores `random-turns`, `standard`, `standard-players`): a run that was stopped goes on
where it was, and a later run needs no engine for what is there.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

import milepost as mp
from milepost.analysis.exchange.scored_tables import import_shared
from milepost.analysis.plans import make_plan
from milepost.analysis.spreads.build import make_decisions
from milepost.analysis.store.reading import find_reading
from milepost.api.bridges import same_positions
from milepost.errors import MissingEvaluationsWarning, NotAnalysedError
from milepost.intrinsic.calibration.bridge_check import compare_on_players
from milepost.intrinsic.calibration.calibration import Calibration, load_calibration

OUTPUTS = Path(__file__).resolve().parents[1] / "src" / "milepost" / "data" / "calibrations"
QUICK = "stockfish15.1-quick"
TURNS = Path("analysis", "random_turns_2011-2014.parquet")
GAMES = Path("mileposts", "2011-2014")
MAPS = ("line", "joint-depths", "joint-columns")
PARTS = ("quick", "values", "bullet", "standard")
VALUE_MAPS = ("line", "joint-depths")
"""For decisions that bring values alone, as live ones do."""
LEAST_TURNS = 60
"""Players of an event with fewer are left out: shared openings leave stray turns of others."""


def random_turns(data: Path, work: Path) -> mp.EvaluationStore:
    """Return the store of the evaluated turns, made at the first run."""
    store = mp.open_store(work / "random-turns", create=True)
    if not store.files():
        import_shared(data / TURNS, store)
    return store


def event_decisions(data: Path, work: Path, store: Path) -> mp.Decisions:
    """Return the turns of the events of part `estimate` that the store holds, cached in `work`."""
    cached = work / "event_decisions.parquet"
    if cached.exists():
        return mp.decisions(cached)
    index = pl.read_csv(data / "events" / "index.csv").filter(pl.col("part") == "estimate")
    parts: list[mp.Decisions] = []
    for name in index["file"]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MissingEvaluationsWarning)
            try:
                found = mp.decisions(data / "events" / name, store)
            except NotAnalysedError:
                continue
        many = found.table.group_by("mover").len().filter(pl.col("len") >= LEAST_TURNS)["mover"]
        kept = found.table.filter(pl.col("mover").is_in(many.implode()))
        if len(kept):
            event = pl.lit(Path(name).stem).alias("event")
            parts.append(replace(found, table=kept.with_columns(event)))
    inputs = tuple(about for part in parts for about in part.inputs)
    table = pl.concat([part.table for part in parts], how="diagonal_relaxed")
    together = replace(parts[0], table=table, inputs=inputs)
    together.save(cached)
    return replace(together, inputs=inputs)


def write_quick(
    data: Path, work: Path, store: Path, name: str = QUICK, maps: Sequence[str] = MAPS
) -> Calibration:
    """Fit the map of quick, and measure how players vary."""
    events = event_decisions(data, work, store)
    turns = mp.decisions(data / GAMES, random_turns(data, work), workers=2)
    # Some games of the events are among the mileposts: no turn counts twice.
    table = pl.concat([turns.table, events.table], how="diagonal_relaxed").unique(
        ["mover", "opponent", "ply", "position", "played"], keep="first", maintain_order=True
    )
    return mp.calibrate(
        replace(turns, table=table, inputs=_by_name((*turns.inputs, *events.inputs))),
        name=name,
        whole_games=replace(events, inputs=_by_name(events.inputs)),
        plan=mp.CalibrationPlan(tuple(maps)),
        progress=_show,
    )


def _by_name(inputs: Sequence[Mapping[str, Any]]) -> tuple[Mapping[str, Any], ...]:
    """Digests of the inputs without the folders of whoever ran this."""
    return tuple({**about, "name": Path(str(about["name"])).name} for about in inputs)


def write_bullet(data: Path, work: Path, known: Calibration) -> Calibration:
    """Fit the map of bullet to quick's turns, cut to its depth."""
    decisions = mp.decisions(data / GAMES, random_turns(data, work), plan="bullet", workers=2)
    decisions = replace(decisions, inputs=_by_name(decisions.inputs))
    fitted = mp.calibrate(
        decisions, name="stockfish15.1-bullet", plan=mp.CalibrationPlan(MAPS, repeats=10)
    )
    borrowed = f"how players vary is borrowed from {known.name}"
    cut = "fitted to evaluations to depth 10, cut to the depth of the plan"
    return replace(fitted, variation=known.variation, notes=(*fitted.notes, cut, borrowed))


def write_standard(
    data: Path, work: Path, known: Calibration, *, positions: int, players: int, engine: str | None
) -> Calibration:
    """Carry quick over to standard, and check it on turns of rated players."""
    bridged = mp.bridge(
        known, work / "standard", "standard", engine=engine, positions=positions,
        name="stockfish15.1-standard", progress=_show,
    )  # fmt: skip
    if not players:
        return bridged
    table = check(data, work, known, bridged, "standard", turns=players, engine=engine)
    row = table.row(-1, named=True)
    note = (
        f"on {row['turns']} turns of rated players it reads {row['level']:+.0f} Elo (standard "
        f"error {row['level_se']:.0f}) from what {known.name} reads off the same turns, and "
        f"{row['slope']:+.2f} ({row['slope_se']:.2f}) Elo more for a point of Elo"
    )
    made = {**bridged.made, "check": table.to_dicts()}
    return replace(bridged, notes=(*bridged.notes, note), made=made)


def check(
    data: Path,
    work: Path,
    known: Calibration,
    new: Calibration,
    plan: str,
    *,
    turns: int,
    engine: str | None,
    store: str | None = None,
) -> pl.DataFrame:
    """Compare two calibrations on turns of rated players, drawn by hash evenly over mileposts."""
    ours = random_turns(data, work)
    reading = find_reading(ours, None, make_plan("quick"))
    played = mp.read_turns(data / GAMES, workers=2)[0]
    before = make_decisions(played, ours, setup=reading.stored)
    drawn = [hashlib.sha256(fen.encode()).hexdigest() for fen in before.table["position"]]
    chosen = (
        before.table.select("game_id", "ply", (pl.col("mover_elo") / 100).round().alias("milepost"))
        .with_columns(pl.Series("hash", drawn))
        .sort("hash")
        .with_columns(pl.int_range(pl.len()).over("milepost").alias("rank"))
        .sort("rank", "milepost")
        .head(turns)
    )
    wanted = played.join(chosen, on=["game_id", "ply"], how="semi")
    theirs = mp.open_store(work / (store or f"{plan}-players"), create=True)
    analysis = mp.analyse(wanted, theirs, plan, engine=engine, progress=_show)
    after = make_decisions(wanted, theirs, setup=analysis.setups[0])
    same = same_positions(before, after)
    return compare_on_players((same.known, known.map.path), (same.new, new.map.path))


def _show(news: object) -> None:
    done, total, note = (getattr(news, name) for name in ("done", "total", "note"))
    sys.stderr.write(f"\r{done} of {total} {note}   ")


def main() -> None:
    """Write them."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("data", type=Path, help="the folder of real data (../shared/data)")
    parser.add_argument("--work", type=Path, required=True, help="the folder of stores")
    parser.add_argument("--store", type=Path, help="the store of the events, for quick")
    parser.add_argument("--outputs", type=Path, default=OUTPUTS, help="where calibrations are")
    parser.add_argument(
        "--only", choices=["quick", "values", "bullet", "standard"], help="one of them"
    )
    parser.add_argument("--positions", type=int, default=400, help="of the bridge to standard")
    parser.add_argument("--players", type=int, default=120, help="turns of players to check it on")
    parser.add_argument("--engine", help="Stockfish 15.1 [default: the usual places]")
    given = parser.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    if given.only in {None, "quick"}:
        if given.store is None:
            parser.error("quick needs the store of the events")
        write_quick(given.data, given.work, given.store).save(given.outputs / f"{QUICK}.json")
    if given.only in {None, "values"}:
        if given.store is None:
            parser.error("quick needs the store of the events")
        write_quick(given.data, given.work, given.store, f"{QUICK}-values", VALUE_MAPS).save(
            given.outputs / f"{QUICK}-values.json"
        )
    known = load_calibration(given.outputs / f"{QUICK}.json")
    if given.only in {None, "bullet"}:
        write_bullet(given.data, given.work, known).save(
            given.outputs / "stockfish15.1-bullet.json"
        )
    if given.only in {None, "standard"}:
        write_standard(
            given.data, given.work, known, positions=given.positions, players=given.players,
            engine=given.engine,
        ).save(given.outputs / "stockfish15.1-standard.json")  # fmt: skip


if __name__ == "__main__":
    main()
