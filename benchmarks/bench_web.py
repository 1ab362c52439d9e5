"""A set of 5,000 games in the workbench: the first table beside the same call in Python, memory.

The games are those of the sample under other names, so that their evaluations are stored: about
5,000 games of 700 players, whose ratings are worked out once on 60 of them (the number of turns
does not change how a page is made) and written for all. Measured are what a visitor waits for: the
table of ratings and the page of the set, beside reading and sorting the same table in Python; and a
split that has to be worked out, beside `milepost.rate` on the same decisions. Ratios of one run.
"""

from __future__ import annotations

import re
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


def many_games(sample: str, count: int) -> str:
    """Return many games: those of the sample, the players under further names."""
    parts = ["[Event " + part for part in sample.split("[Event ")[1:]]
    games = []
    for place in range(count):
        league = place // len(parts)
        text = parts[place % len(parts)]
        games.append(re.sub(r'(\[(?:White|Black|Event) ")', rf"\g<1>L{league} ", text))
    return "".join(games)


def best_of(repeats: int, job: Callable[[], object]) -> float:
    """Return the shortest time of several."""
    times = []
    for _ in range(repeats):
        begun = time.perf_counter()
        job()
        times.append(time.perf_counter() - begun)
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
        sample = (data / "sample" / "games.pgn").read_text(encoding="utf-8")
        settings = Settings(
            folder=folder / "bench", token=TOKEN, store_folder=store, engine="none-at-all"
        )
        app = create_app(settings)
        bench = app._app.state.bench  # type: ignore[attr-defined]
        pgn = folder / "many.pgn"
        pgn.write_text(many_games(sample, GAMES), encoding="utf-8")
        with pgn.open("rb") as file:
            chosen, _ = bench.shelf.add(file, "many.pgn")
        fill(chosen.folder, pgn, store, sample)
        client = TestClient(app, base_url=HOME, cookies={"milepost-8765": TOKEN})
        measure(client, chosen.folder, chosen.id)


def fill(folder: Path, pgn: Path, store: Path, sample: str) -> None:
    """Write what a job would have written: games and turns of all, ratings of all players."""
    games, _ = mp.read_games(pgn)
    games.write_parquet(folder / "games.parquet")
    turns, _ = mp.read_turns(games)
    turns.write_parquet(folder / "turns.parquet")
    few = pgn.with_name("few.pgn")
    few.write_text(sample, encoding="utf-8")
    found = mp.decisions(few, store)
    first = turns["mover"].unique(maintain_order=True).to_list()
    own = dict(zip(found.table["mover"].unique(maintain_order=True).to_list(), first, strict=False))
    table = found.table.with_columns(pl.col("mover").replace(own))
    table.write_parquet(folder / "decisions.parquet")
    found.left_out.write_parquet(folder / "left_out.parquet")
    write_json(folder / "decisions.json", {
        "setup": found.setup, "setup_details": dict(found.setup_details), "counts": {},
        "options": dict(found.options),
    })  # fmt: skip
    rated = mp.rate(found)
    rows = rated.table.sample(len(first), with_replacement=True, seed=2011).with_columns(
        pl.Series("player", first)
    )
    rows.write_parquet(folder / "ratings.parquet")
    write_json(folder / "ratings.json", {
        "level": rated.level, "notes": list(rated.notes), "calibration": rated.calibration.name,
    })  # fmt: skip
    write_json(folder / "counts.json", {
        "found": len(games), "kept": len(games), "skipped": {}, "players": len(first),
    })  # fmt: skip
    print(f"{len(games):,} games, {len(turns):,} turns, {len(first):,} players")


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
        print(f"{'':<28} {'within' if took < 1 else 'NOT within'} a second here")
    player = pl.read_parquet(folder / "decisions.parquet", columns=["mover"])["mover"][0]
    key = next(
        each["id"]
        for each in client.get(f"/api/v1/sets/{set_id}/players").json()
        if each["key"] == player
    )
    decisions = mp.Decisions(
        pl.read_parquet(folder / "decisions.parquet").filter(pl.col("mover") == player),
        setup="402e5f08073ffa6d",
    )
    mp.rate(decisions, by="phase")
    python = best_of(2, lambda: mp.rate(decisions, by="phase"))

    def split() -> None:
        shutil.rmtree(folder / "answers", ignore_errors=True)
        asked(f"/api/v1/sets/{set_id}/players/{key}?by=phase")

    took = best_of(2, split)
    print(f"{'a split, worked out':<28} {took / python:6.2f} times milepost.rate in Python")
    for _ in range(50):
        asked(page)
    print(f"memory: {before:.0f} MB at first, {memory():.0f} MB after 60 pages and tables")


if __name__ == "__main__":
    main()
