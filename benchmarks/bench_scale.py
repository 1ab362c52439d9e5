"""Histories in slices: bytes and nanoseconds a game, border bytes, for a given number of games.

Run it with ``python benchmarks/bench_scale.py [--games N] [--slices K]``. Games are simulated, year
by year, and streamed to Parquet; each slice then reads its own rows. All slices are held by one
process here, one after the other, so that processor time is that of one core: a cluster shares it.
The curves are written in the end, as `milepost history` does. After every stage a line on standard
error says how far it is and what it took.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow.parquet as pq

from milepost.history import TTT
from milepost.history.slices.piece import Slice
from milepost.history.slices.rounds import Links, fit_in_slices, here, sources_of
from milepost.io.files import write_table
from milepost.io.progress import Progress

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


def _memory_now() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return float(pages * resource.getpagesize())


class Stages:
    """What each stage took, told as it ends: a run may take an hour."""

    def __init__(self) -> None:
        self.at = time.process_time()
        self.sweeps: list[float] = []

    def told(self, what: str) -> float:
        """Return the seconds since the stage before."""
        now = time.process_time()
        took, self.at = now - self.at, now
        print(f"{what}: {took:,.1f} s; {_memory_now() / 1e9:.2f} GB, peak {_peak() / 1e9:.2f} GB",
              file=sys.stderr, flush=True)  # fmt: skip
        return took

    def swept(self, news: Progress) -> None:
        """Take the news of a sweep."""
        self.sweeps.append(self.told(f"sweep {len(self.sweeps) + 1}"))


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
        before, stages = _peak(), Stages()
        slices = []
        for number, source in enumerate(sources, start=1):
            slices.append(Slice(source, model, "year"))
            print(f"slice {number} is read", file=sys.stderr, flush=True)
        reading, rest = stages.told("reading and numbering"), _memory_now() - before
        links = Links([each.facts() for each in slices], model)
        stages.told("who crosses borders")
        found = fit_in_slices(
            here(slices), len(slices), model, "year", progress=stages.swept
        )  # fmt: skip
        closing = stages.told("curves")
        write_table(found.curves, (given.folder or Path(name)) / "curves.parquet")
        closing += stages.told("writing")
        games, nodes = found.games, found.nodes
        stored = path.stat().st_size / games
        print(f"{games:,} games, {found.players:,} players, {nodes:,} player-years, "
              f"{len(slices)} slices, file {stored:.1f} bytes a game")  # fmt: skip
        print(f"reading and numbering: {reading / games * 1e9:,.0f} ns a game")
        print(
            f"{found.sweeps} sweeps to {found.remaining_error:.3f} points: "
            f"{sum(stages.sweeps) / games / found.sweeps * 1e9:,.0f} ns a game and sweep"
        )
        print(f"curves and writing them: {closing / nodes * 1e9:,.0f} ns a player-year")
        print(f"memory of the slices at rest: {rest / games:,.0f} bytes a game")
        print(f"memory above the start, all slices: {(_peak() - before) / games:,.0f} bytes a game")
        print(f"across the borders: {links.number:,} links, 64 bytes each and sweep, "
              f"{64 * links.number / 1e6:.1f} MB a sweep in all")  # fmt: skip


if __name__ == "__main__":
    main()
