"""Write the shipped calibrations: quick, bullet, and standard, which rests on quick.

    python scripts/write_calibrations.py ../shared/data --work DIR --store DIR [--only quick]

*quick* is fitted to the evaluated turns of `analysis/random_turns_2011-2014.parquet` and to those
of the events of part `estimate` that the store holds (players with 60 turns or more), which reach
up to 2850; how players vary is measured by the events. *values* is the same with agents that go by
values alone, for decisions that bring no columns.

*bullet* is fitted in the same way to the random turns, cut to its depth (a search to depth 6 is the
beginning of one to depth 10), and to every other game of the events that the store holds whole, at
bullet or deeper: half the games halve the time of the fits. How players vary is measured by all
games of these events. The map that was chosen goes by values alone, so it needs no *values* beside
it.

*standard* is a bridge from quick, since rated turns evaluated with it would take days: the engine
evaluates positions of the sample, and, for a check, turns of rated players; it borrows how players
vary, so run it after every change of quick. All evaluations are kept in `--work` (stores
`random-turns`, `standard`, `standard-players`), and so are the decisions of the events
(`event_decisions_PLAN.parquet`: remove it when the store has grown): a run that was stopped goes on
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
from milepost.errors import InputError, MissingEvaluationsWarning
from milepost.intrinsic.calibration.accuracy import CUTS
from milepost.intrinsic.calibration.bridge_check import compare_on_players
from milepost.intrinsic.calibration.calibration import Calibration, load_calibration
from milepost.io.provenance import read_provenance
from milepost.io.sources import find_sources

OUTPUTS = Path(__file__).resolve().parents[1] / "src" / "milepost" / "data" / "calibrations"
QUICK = "stockfish15.1-quick"
TURNS = Path("analysis", "random_turns_2011-2014.parquet")
GAMES = Path("mileposts", "2011-2014")
MAPS = ("line", "joint-depths", "joint-columns")
PARTS = ("quick", "values", "bullet", "standard")
VALUE_MAPS = ("line", "joint-depths")
"""For decisions that bring values alone, as live ones do."""
BULLET = "stockfish15.1-bullet"
BULLET_CUTS = 10
"""Many turns make cuts slow, and their luck small."""
WHOLE = 0.9
"""The store holds an event whole if it has so much of its turns."""
LEAST_TURNS = 60
"""Players of an event with fewer are left out: shared openings leave stray turns of others."""


def random_turns(data: Path, work: Path) -> mp.EvaluationStore:
    """Return the store of the evaluated turns, made at the first run."""
    store = mp.open_store(work / "random-turns", create=True)
    if not store.files():
        import_shared(data / TURNS, store)
    return store


def event_decisions(
    data: Path, work: Path, store: Path, plan: str = "quick", least_share: float = 0.0
) -> mp.Decisions:
    """Return the turns of the events of part `estimate` that the store holds, cached in `work`.

    Parameters
    ----------
    data, work, store
        The folder of real data, that of the cached table, and the store of the events.
    plan
        The plan whose evaluations are read.
    least_share
        An event counts if the store holds so much of its turns.
    """
    cached = work / f"event_decisions_{plan}.parquet"
    if cached.exists():
        # What it was made of, not the table itself: that is in nobody else's hands.
        return replace(mp.decisions(cached), inputs=tuple(read_provenance(cached)["inputs"]))
    index = pl.read_csv(data / "events" / "index.csv").filter(pl.col("part") == "estimate")
    parts: list[mp.Decisions] = []
    for name in index["file"]:
        found = _fullest(data / "events" / name, store, plan)
        if found is None or _share_analysed(found) < least_share:
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


def _fullest(games: Path, store: Path, plan: str) -> mp.Decisions | None:
    """The decisions of an event under the set-up of the store that holds most of its turns.

    A store may hold some events with the plan itself, and others with a deeper one to be cut.
    """
    sources = find_sources(games)
    turns = mp.read_turns(sources)[0]
    best: mp.Decisions | None = None
    for setup in mp.open_store(store).known_setups():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MissingEvaluationsWarning)
            try:
                found = mp.decisions(turns, store, setup=setup, plan=plan)
            except InputError:
                continue  # it does not hold this plan, or no turn of the event
        if best is None or len(found) > len(best):
            best = replace(found, inputs=tuple(sources.about()))
    return best


def _share_analysed(found: mp.Decisions) -> float:
    asked = found.counts["turns in"] - found.counts.get("book", 0)
    return 1 - found.counts.get("not analysed", 0) / asked


def write_quick(
    data: Path, work: Path, store: Path, name: str = QUICK, maps: Sequence[str] = MAPS
) -> Calibration:
    """Fit the map of quick, and measure how players vary."""
    events = event_decisions(data, work, store)
    return _fit(name, random_decisions(data, work, "quick"), events, maps)


def write_bullet(
    data: Path, work: Path, store: Path, name: str = BULLET, maps: Sequence[str] = MAPS
) -> Calibration:
    """Fit the map of bullet, and measure how players vary, as for quick."""
    events = event_decisions(data, work, store, "bullet", WHOLE)
    fitted = _fit(
        name, random_decisions(data, work, "bullet"), events, maps,
        of_map=every_other_game(events.table), cuts=BULLET_CUTS,
    )  # fmt: skip
    halved = "the map is fitted to every other game of the events, player variation to all"
    cut = "the random turns are evaluations to depth 10, cut to the depth of the plan"
    return replace(fitted, notes=(*fitted.notes, halved, cut))


def every_other_game(table: pl.DataFrame) -> pl.DataFrame:
    """Return the turns of the first, third, … game of each event, in the order of the table."""
    games = table.select("event", "game_id").unique(maintain_order=True)
    number = pl.int_range(pl.len()).over("event")
    chosen = games.filter(number % 2 == 0)
    return table.join(chosen, on=["event", "game_id"], how="semi", maintain_order="left")


def random_decisions(data: Path, work: Path, plan: str) -> mp.Decisions:
    """Return the random turns of the mileposts, with the values that a plan would have seen."""
    with warnings.catch_warnings():
        # The store holds some turns of each game.
        warnings.simplefilter("ignore", MissingEvaluationsWarning)
        return mp.decisions(data / GAMES, random_turns(data, work), plan=plan, workers=2)


def _fit(
    name: str,
    turns: mp.Decisions,
    events: mp.Decisions,
    maps: Sequence[str],
    *,
    of_map: pl.DataFrame | None = None,
    cuts: int = CUTS,
) -> Calibration:
    """Fit maps to turns and events (or a part of these), and player variation to the events."""
    further = events.table if of_map is None else of_map
    # Some games of the events are among the mileposts: no turn counts twice.
    table = pl.concat([turns.table, further], how="diagonal_relaxed").unique(
        ["mover", "opponent", "ply", "position", "played"], keep="first", maintain_order=True
    )
    return mp.calibrate(
        replace(turns, table=table, inputs=_by_name((*turns.inputs, *events.inputs))),
        name=name,
        whole_games=replace(events, inputs=_by_name(events.inputs)),
        plan=mp.CalibrationPlan(tuple(maps), repeats=cuts),
        progress=_show,
    )


def _by_name(inputs: Sequence[Mapping[str, Any]]) -> tuple[Mapping[str, Any], ...]:
    """Digests of the inputs without the folders of whoever ran this."""
    return tuple({**about, "name": Path(str(about["name"])).name} for about in inputs)


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
    parser.add_argument("--store", type=Path, help="the store of the events")
    parser.add_argument("--outputs", type=Path, default=OUTPUTS, help="where calibrations are")
    parser.add_argument("--only", choices=PARTS, help="one of them")
    parser.add_argument("--positions", type=int, default=400, help="of the bridge to standard")
    parser.add_argument("--players", type=int, default=120, help="turns of players to check it on")
    parser.add_argument("--engine", help="Stockfish 15.1 [default: the usual places]")
    given = parser.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    if given.store is None and given.only != "standard":
        parser.error("only standard can do without the store of the events")
    where = given.data, given.work, given.store
    for part, name, write, maps in (
        ("quick", QUICK, write_quick, MAPS),
        ("values", f"{QUICK}-values", write_quick, VALUE_MAPS),
        ("bullet", BULLET, write_bullet, MAPS),
    ):
        if given.only in {None, part}:
            write(*where, name, maps).save(given.outputs / f"{name}.json")
    known = load_calibration(given.outputs / f"{QUICK}.json")
    if given.only in {None, "standard"}:
        write_standard(
            given.data, given.work, known, positions=given.positions, players=given.players,
            engine=given.engine,
        ).save(given.outputs / "stockfish15.1-standard.json")  # fmt: skip


if __name__ == "__main__":
    main()
