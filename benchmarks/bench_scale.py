"""Histories in slices: bytes and nanoseconds a game, border bytes, for a given number of games.

Run it with ``python benchmarks/bench_scale.py [--games N] [--slices K]``. Games are simulated, year
by year, and streamed to Parquet; each slice then reads its own rows. All slices are held by one
process here, one after the other, so that processor time is that of one core: a cluster shares it.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow.parquet as pq

from milepost.history import TTT
from milepost.history.slices.piece import Slice
from milepost.history.slices.rounds import Links, fit_in_slices, here, sources_of

YEARS = 40
GAMES_A_PLAYER = 17.0
"""As in the results over the board: 3.19 million games of 189,000 players."""


def write_games(path: Path, games: int, seed: int = 2007) -> None:
    """Simulate games of players who come and go, one year after the other."""
    rng = np.random.default_rng(seed)
    players = int(games / GAMES_A_PLAYER)
    skill = rng.normal(0, 300, players)
    # A player is there for some years; most play little, some much.
    active, begin = max(players // 6, 10), np.linspace(0, players - max(players // 6, 10), YEARS)
    writer = None
    for year in range(YEARS):
        count = games // YEARS
        low = int(begin[year])
        one = low + (active * rng.random(count) ** 2).astype(np.int64)
        two = low + (one - low + 1 + rng.integers(0, active - 1, count)) % active
        apart = skill[one] - skill[two] + 60 + rng.normal(0, 480 * np.sqrt(2), count)
        table = pl.DataFrame({
            "time": np.full(count, 1980 + year, dtype=np.int32),
            "player_1": pl.Series(one).cast(pl.String), "player_2": pl.Series(two).cast(pl.String),
            "score": np.where(apart > 200, 1.0, np.where(apart < -200, 0.0, 0.5)),
            "first_mover": np.ones(count, dtype=np.int8),
        }).to_arrow()  # fmt: skip
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    assert writer is not None
    writer.close()


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024.0


def main() -> None:
    """Write the games, fit them, and tell what it took."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--games", type=int, default=1_000_000)
    parser.add_argument("--slices", type=int, default=4)
    parser.add_argument("--folder", type=Path, help="where the games are kept; else temporary")
    given = parser.parse_args()
    model = TTT(first_mover=60.0)
    with tempfile.TemporaryDirectory() as name:
        path = (given.folder or Path(name)) / f"games-{given.games}.parquet"
        if not path.exists():
            write_games(path, given.games)
        sources = sources_of([str(path)], given.slices, "year")
        for source in sources[:1]:  # machine code is there before the clock runs
            small = source.read().head(20_000)
            warm = [Slice(small, model, "year")]
            fit_in_slices(here(warm), 1, model, "year")
        before, begun = _peak(), time.process_time()
        slices = [Slice(source, model, "year") for source in sources]
        reading, at = time.process_time() - begun, time.process_time()
        links = Links([each.facts() for each in slices], model)
        found = fit_in_slices(here(slices), len(slices), model, "year")
        fitting = time.process_time() - at
        games, nodes = found.games, found.nodes
        stored = path.stat().st_size / games
        print(f"{games:,} games, {found.players:,} players, {nodes:,} player-years, "
              f"{len(slices)} slices, file {stored:.1f} bytes a game")  # fmt: skip
        print(f"reading and numbering: {reading / games * 1e9:,.0f} ns a game")
        print(f"{found.sweeps} sweeps to {found.remaining_error:.3f} points: "
              f"{fitting / games / found.sweeps * 1e9:,.0f} ns a game and sweep")  # fmt: skip
        print(f"memory above the start, all slices: {(_peak() - before) / games:,.0f} bytes a game")
        print(f"across the borders: {links.number:,} links, 64 bytes each and sweep, "
              f"{64 * links.number / 1e6:.1f} MB a sweep in all")  # fmt: skip


if __name__ == "__main__":
    main()
