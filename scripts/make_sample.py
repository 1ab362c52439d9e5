"""Write the sample that is bundled with Milepost: games, players and how they were made.

Run from the root of the repository:

    python scripts/make_sample.py

The world of the sample, and how a move is chosen, are in `sample_league.py` beside this file. It
takes about an hour of engine time; finished games are kept in the folder `--work`, so that a run
that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import io
import json
import os
import shutil
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import chess.engine
import chess.pgn
import polars as pl

from milepost.analysis.plans import make_plan
from milepost.analysis.run.run import engine_setup
from milepost.analysis.store.store import EvaluationStore
from milepost.tables import EVALUATIONS

if TYPE_CHECKING:
    from scripts import sample_league as league
else:
    # A script has its own folder on the path, not the root the type checker starts from.
    import sample_league as league

SEASONS = 2
WORKERS = 2


def find_engine(named: str | None = None) -> str | None:
    """Find Stockfish: as named, else by `STOCKFISH_EXECUTABLE`, on the path, in Debian's folder."""
    debian = "/usr/games/stockfish"
    fallback = debian if Path(debian).is_file() else None
    return named or os.environ.get("STOCKFISH_EXECUTABLE") or shutil.which("stockfish") or fallback


def read_engine_name(engine_path: str) -> str:
    """Return the name an engine gives itself."""
    with chess.engine.SimpleEngine.popen_uci(engine_path) as engine:
        return engine.id.get("name", "unknown engine")


def format_cross_table(games: Sequence[str]) -> str:
    """Show the points of every player against every other, best score first."""
    points = {
        player.name: dict.fromkeys((p.name for p in league.PLAYERS), 0.0)
        for player in league.PLAYERS
    }
    for text in games:
        headers = chess.pgn.read_headers(io.StringIO(text))
        assert headers is not None
        white_points = {"1-0": 1.0, "0-1": 0.0, "1/2-1/2": 0.5}[headers["Result"]]
        points[headers["White"]][headers["Black"]] += white_points
        points[headers["Black"]][headers["White"]] += 1 - white_points
    ranked = sorted(league.PLAYERS, key=lambda p: (-sum(points[p.name].values()), -p.elo))
    rows = [f"{'':26}" + "".join(f"{number + 1:>5}" for number in range(len(ranked))) + "  total"]
    for number, player in enumerate(ranked, start=1):
        row = points[player.name]
        cells = "".join("    -" if p is player else f"{row[p.name]:5.1f}" for p in ranked)
        label = f"{number} {player.name:20}{player.elo}"
        rows.append(f"{label:26}{cells}{sum(row.values()):7.1f}")
    return "\n".join(rows)


def write_atomically(path: Path, text: str) -> None:
    """Write a file beside its place and move it there, so that no half file is ever seen."""
    unfinished = path.with_name(path.name + ".unfinished")
    unfinished.write_text(text, encoding="utf-8", newline="\n")
    unfinished.replace(path)


def format_players() -> str:
    """Return the table of players, strongest first, as CSV text."""
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    path = league.calibration().map.path
    writer.writerow(["name", "elo", *path.model.parameters])
    for player in sorted(league.PLAYERS, key=lambda p: -p.elo):
        numbers = [f"{value:.4f}" for value in path.theta(player.elo)[0]]
        writer.writerow([player.name, player.elo, *numbers])
    return table.getvalue()


def format_readme(games: Sequence[str], engine_name: str, seed: int, setup: str) -> str:
    """Say how the sample was made, in Markdown."""
    digest = hashlib.sha256("".join(games).encode()).hexdigest()
    last_year = league.FIRST_YEAR + len(games) // len(league.pair_season(league.PLAYERS, 0)) - 1
    return f"""# Sample league

Simulated games between invented players of known strength. No game was played by a person, and no
name is that of a real player.

| | |
|---|---|
| made by | `scripts/make_sample.py`, seed {seed} |
| engine | {engine_name}, plan quick, set-up `{setup}` |
| agents | those of the calibration `{league.CALIBRATION}` |
| games | {len(games)}, the seasons {league.FIRST_YEAR} to {last_year}, each a single round robin |
| SHA-256 of `games.pgn` | `{digest}` |

`players.csv` has the truth that a rating should recover: each player's Elo, and the parameters of
the agent of that Elo. From the ninth move on a player chooses as that agent does; the first eight
moves a side, which count as book, are drawn alike for all. `evaluations` is the store with every
position behind the book, so that `milepost rate` needs no engine here.

In `games.pgn`, `[%eval]` is White's view of the position after the move: the score the engine gave
that move, without knowledge of repetitions. `#0` is a mate on the board. `[%clk]` is a simulated
clock, drawn at random and unrelated to the difficulty of the move. A side resigns when worse than
-5 pawns at two of its turns running. Games are adjudicated drawn after ply 70 when ten moves
running score within 0.2 pawns of equality, and at ply 90, where 1.5 pawns win; the `Termination`
tag says which games were adjudicated.

## Cross table

```
{format_cross_table(games)}
```
"""


def play_or_read(pairing: league.Pairing, engine_path: str, seed: int, work: Path) -> league.Played:
    """Play a game, or read it if it was played before."""
    kept = work / f"{seed}-{pairing.season}-{pairing.round}-{pairing.board}.json"
    if kept.exists():
        values = json.loads(kept.read_text(encoding="utf-8"))
        return league.Played(values["pgn"], values["evaluations"])
    played = league.simulate_game(pairing, engine_path=engine_path, seed=seed)
    values = {"pgn": played.pgn, "evaluations": played.evaluations}
    write_atomically(kept, json.dumps(values))
    return played


def write_store(folder: Path, played: Sequence[league.Played], engine_path: str) -> str:
    """Write all evaluations as one file of a new store; return the set-up's digest."""
    if folder.exists():
        shutil.rmtree(folder)
    store = EvaluationStore(folder, create=True)
    setup = engine_setup(engine_path, make_plan("quick"), {})
    store.add_setup(setup)
    rows = [row for game in played for row in game.evaluations]
    frame = pl.DataFrame(rows, schema=EVALUATIONS.dtypes)
    store.append(frame.unique(["position", "setup"], maintain_order=True))
    return setup.digest


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the sample as the command line asks."""
    parser = argparse.ArgumentParser(description="Simulate the bundled sample league.")
    parser.add_argument("--engine", help="UCI engine; else STOCKFISH_EXECUTABLE, PATH, Debian's")
    parser.add_argument("--seed", type=int, default=league.DEFAULT_SEED)
    parser.add_argument("--seasons", type=int, default=SEASONS, help="number of round robins")
    parser.add_argument("--out", type=Path, default=Path("src/milepost/data/sample"))
    parser.add_argument("--work", type=Path, default=Path("sample-work"), help="finished games")
    options = parser.parse_args(arguments)
    engine_path = find_engine(options.engine)
    if engine_path is None:
        parser.error("no engine found: name one with --engine or STOCKFISH_EXECUTABLE")

    pairings = [
        p for season in range(options.seasons) for p in league.pair_season(league.PLAYERS, season)
    ]
    options.work.mkdir(parents=True, exist_ok=True)
    count = len(pairings)
    played = []
    with ProcessPoolExecutor(WORKERS) as pool:
        # `map` keeps the order of the pairings, whichever worker finishes first.
        for game in pool.map(
            play_or_read, pairings, [engine_path] * count, [options.seed] * count,
            [options.work] * count,
        ):  # fmt: skip
            played.append(game)
            print(f"\r{len(played)}/{count} games", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)

    games = [each.pgn for each in played]
    options.out.mkdir(parents=True, exist_ok=True)
    setup = write_store(options.out / "evaluations", played, engine_path)
    readme = format_readme(games, read_engine_name(engine_path), options.seed, setup)
    write_atomically(options.out / "games.pgn", "".join(games))
    write_atomically(options.out / "players.csv", format_players())
    write_atomically(options.out / "README.md", readme)
    print(format_cross_table(games))
    return 0


if __name__ == "__main__":
    sys.exit(main())
