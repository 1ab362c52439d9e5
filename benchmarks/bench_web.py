"""A set of 5,000 games in the workbench: the first table beside the same call in Python, memory.

The games are those of the sample, again and again under other names: 5,000 games of about 700
players, whose tables are written as a job would have written them. The ratings of the sample's
players are worked out once, and stand for those of their namesakes. Measured is what a visitor
waits for: the table of ratings and the page of the set, beside reading and naming the same table in
Python; and a split that has to be worked out, beside reading the same decisions and rating them.
Ratios of processor time in one run: they hold on a busy machine too.
"""

from __future__ import annotations

import resource
import shutil
import tempfile
import time
from collections.abc import Callable
from importlib.resources import as_file, files
from pathlib import Path

import polars as pl
from starlette.testclient import TestClient

import milepost as mp
from milepost.web.app import create_app
from milepost.web.sets.shelf import write_json
from milepost.web.settings import Settings

GAMES = 5_000
TOKEN = "a-token-for-benchmarks"  # noqa: S105
HOME = "http://127.0.0.1:8765"
REPEATS = 5


def many(table: pl.DataFrame, leagues: int, names: tuple[str, ...]) -> pl.DataFrame:
    """Return a table again and again, with the names in it changed each time."""
    parts = [
        table.with_columns(
            (pl.lit(f"l{league} ") + pl.col(name)).alias(name) for name in ("game_id", *names)
        )
        for league in range(leagues)
    ]
    return pl.concat(parts)


def best_of(
    repeats: int, job: Callable[[], object], clock: Callable[[], float] = time.process_time
) -> float:
    """Return the shortest time of several; the server works in this process."""
    times = []
    for _ in range(repeats):
        begun = clock()
        job()
        times.append(clock() - begun)
    return min(times)


def memory() -> float:
    """Return the most memory that this process has had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Measure."""
    with tempfile.TemporaryDirectory() as name, as_file(files("milepost") / "data") as data:
        folder = Path(name)
        store = folder / "evaluations"
        shutil.copytree(data / "sample" / "evaluations", store)
        pgn = data / "sample" / "games.pgn"
        settings = Settings(
            folder=folder / "bench", token=TOKEN, store_folder=store, engine="none-at-all"
        )
        app = create_app(settings)
        bench = app._app.state.bench  # type: ignore[attr-defined]
        with pgn.open("rb") as file:
            chosen, _ = bench.shelf.add(file, "many.pgn")
        fill(chosen.folder, pgn, store)
        client = TestClient(app, base_url=HOME, cookies={"milepost-8765": TOKEN})
        measure(client, chosen.folder, chosen.id)


def fill(folder: Path, pgn: Path, store: Path) -> None:
    """Write what a job would have written."""
    few, _ = mp.read_games(pgn)
    leagues = -(-GAMES // len(few))
    games = many(few, leagues, ("white", "black", "white_key", "black_key", "event")).head(GAMES)
    games.write_parquet(folder / "games.parquet")
    found = mp.decisions(pgn, store)
    turns, _ = mp.read_turns(few)
    turns = many(turns, leagues, ("mover", "opponent", "mover_name", "opponent_name", "event"))
    turns.write_parquet(folder / "turns.parquet")
    # The decisions of one league: a page that works out a split reads one player's alone.
    one = many(found.table, 1, ("mover", "opponent", "mover_name", "opponent_name", "event"))
    one.write_parquet(folder / "decisions.parquet")
    found.left_out.write_parquet(folder / "left_out.parquet")
    details = {"setup": found.setup, "setup_details": dict(found.setup_details), "counts": {}}
    write_json(folder / "decisions.json", {**details, "options": dict(found.options)})
    rated = mp.rate(found)
    table = rated.table.with_columns(game_id=pl.lit(""))
    many(table, leagues, ("player",)).drop("game_id").write_parquet(folder / "ratings.parquet")
    told = {"level": rated.level, "notes": list(rated.notes)}
    write_json(folder / "ratings.json", {**told, "calibration": rated.calibration.name})
    players = leagues * len(rated)
    counts = {"found": len(games), "kept": len(games), "skipped": {}, "players": players}
    write_json(folder / "counts.json", counts)
    print(f"{len(games):,} games, {len(turns):,} turns, {players:,} players")


def measure(client: TestClient, folder: Path, set_id: str) -> None:
    """Ask for tables and pages, and do the same in Python."""
    table = f"/api/v1/sets/{set_id}/ratings?format=csv"
    page = f"/sets/{set_id}"

    def asked(path: str) -> None:
        assert client.get(path).status_code == 200

    def in_python() -> None:
        rows = pl.read_parquet(folder / "ratings.parquet")
        turns = pl.read_parquet(folder / "turns.parquet", columns=["mover", "mover_name"])
        names = dict(turns.drop_nulls().unique("mover").iter_rows())
        rows.with_columns(pl.col("player").replace(names)).write_csv()

    asked(table)
    asked(page)
    before = memory()
    plain = best_of(REPEATS, in_python)
    for name, path in (("table of ratings, CSV", table), ("page of the set", page)):
        took = best_of(REPEATS, lambda path=path: asked(path))  # type: ignore[misc]
        print(f"{name:<28} {took / plain:6.2f} times the same table in Python")
        waited = best_of(REPEATS, lambda path=path: asked(path), time.perf_counter)  # type: ignore[misc]
        print(f"{'':<28} {'within' if waited < 1 else 'NOT within'} a second here")
    player = pl.read_parquet(folder / "decisions.parquet", columns=["mover"])["mover"][0]
    key = next(
        each["id"]
        for each in client.get(f"/api/v1/sets/{set_id}/players").json()
        if each["key"] == player
    )

    def in_python_too() -> None:
        table = pl.scan_parquet(folder / "decisions.parquet").filter(pl.col("mover") == player)
        mp.rate(mp.Decisions(table.collect(), setup="402e5f08073ffa6d"), by="phase")

    in_python_too()
    python = best_of(REPEATS, in_python_too)

    def split() -> None:
        shutil.rmtree(folder / "answers", ignore_errors=True)
        asked(f"/api/v1/sets/{set_id}/players/{key}?by=phase")

    took = best_of(REPEATS, split)
    print(f"{'a split, worked out':<28} {took / python:6.2f} times milepost.rate in Python")
    for _ in range(50):
        asked(page)
    print(f"memory: {before:.0f} MB at first, {memory():.0f} MB after 60 pages and tables")


if __name__ == "__main__":
    main()
