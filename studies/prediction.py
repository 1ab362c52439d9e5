"""Games from 2010 on, each month predicted from what came before only, beside other ratings.

Run it with ``python -m studies.prediction --work FOLDER``; it needs ``../shared/data`` and
says so if it is not there. What is in the folder is not computed again. ``--tune NAME`` searches
on from the numbers of a method, on games before 2010 only; ``--check`` compares the windowed
updates with full fits; ``--others`` runs other people's packages on a subsample; ``--draws``
compares the two forms of a draw on 2005-2009.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import polars as pl
from studies import prediction_others
from studies.otb_games import RESULTS, Floats, Games, by_month, read_games
from studies.prediction_methods import (
    TRAIN,
    Ours,
    descend,
    elo_ratings,
    glicko_ratings,
    joined_chances,
    linked_chances,
    own_chances,
    rating_chances,
    run_ours,
    training,
)
from studies.prediction_numbers import ELO_K, GLICKO, JOIN_WEIGHT, OURS
from studies.prediction_tables import OFFICIAL, print_tables, sums_by_month

TUNING_WINDOW = 6
"""Months smoothed again while numbers are searched: half of what the study does, for time."""
Chances = Callable[[Games], dict[str, Floats]]


def main() -> None:
    """Predict what is not in the folder yet, and print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--work", type=Path, default=Path("build/prediction"))
    parser.add_argument("--tune", choices=sorted(OURS))
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--others", action="store_true")
    parser.add_argument("--draws", action="store_true", help="the two forms of a draw, 2005-2009")
    arguments = parser.parse_args()
    if not RESULTS.exists():
        print(f"skipped: no {RESULTS.name}")
        return
    if arguments.tune:
        _tune(arguments.tune)
        return
    if arguments.draws:
        _draw_forms()
        return
    if arguments.others:
        prediction_others.main(read_games(2008, 2012))
        return
    if arguments.check:
        prediction_others.check_window(by_month(read_games(1970, 2006)), OURS["ttt"])
        return
    games = by_month(read_games(1970, 2023))
    arguments.work.mkdir(parents=True, exist_ok=True)
    table = pl.concat(_of_method(games, name, run, arguments.work) for name, run in _methods())
    print(f"{games.records.games:,} games, {games.records.players:,} players")
    print_tables(table)


def _methods() -> list[tuple[str, Chances]]:
    """Each run of a method, with all the rows of the tables that come from it."""
    found: list[tuple[str, Chances]] = [
        ("naive", _naive),
        ("official", _official),
        ("elo", lambda games: _rated("elo", games, *elo_ratings(games, **ELO_K))),
        ("glicko2", lambda games: _rated("glicko2", games, *glicko_ratings(games, **GLICKO))),
    ]
    for name, how in OURS.items():
        found.append((name, lambda games, name=name, how=how: _ours(games, name, how)))  # type: ignore[misc]
    return found


def _naive(games: Games) -> dict[str, Floats]:
    score = games.score[training(games)]
    shares = [float((score == s).mean()) for s in (1.0, 0.5, 0.0)]
    return {"naive (shares of 2000-2009)": np.tile(shares, (len(games.score), 1))}


def _official(games: Games) -> dict[str, Floats]:
    return {
        OFFICIAL: rating_chances(games, games.elo_1, games.elo_2, by_strength=False),
        f"{OFFICIAL}, by strength": rating_chances(
            games, games.elo_1, games.elo_2, by_strength=True
        ),
    }


def _rated(name: str, games: Games, one: Floats, two: Floats) -> dict[str, Floats]:
    return {
        name: rating_chances(games, one, two, by_strength=False),
        f"{name}, by strength": rating_chances(games, one, two, by_strength=True),
    }


def _ours(games: Games, name: str, how: Ours) -> dict[str, Floats]:
    found = run_ours(games, how)
    out = {name: own_chances(found)}
    if how.notes.get("link"):
        out[f"{name}, link refitted"] = linked_chances(
            games, found, own_margins=how.model == "ttt-d"
        )
    if how.notes.get("join"):
        out[f"{name}, with official Elo"] = joined_chances(games, found, JOIN_WEIGHT)
        # A weight so large that our means do not matter: only the margins are ours.
        out[f"official Elo with the margins of {name}"] = joined_chances(games, found, 1e4)
    return out


def _of_method(games: Games, name: str, run: Chances, work: Path) -> pl.DataFrame:
    """The sums of each month, read from the folder or computed."""
    digest = _digest(name)
    path = work / f"{name.replace(' ', '-').replace('+', 'and')}-{digest}.parquet"
    if path.exists():
        return pl.read_parquet(path)
    print(f"{name} …", file=sys.stderr, flush=True)
    begun = time.monotonic()
    chances = run(games)
    table = pl.concat(sums_by_month(games, row, p) for row, p in chances.items())
    partial = path.with_suffix(".partial")
    table.write_parquet(partial)
    partial.replace(path)
    print(f"{name}: {time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True)
    return table


def _digest(name: str) -> str:
    """What the results depend on, besides the code: the numbers and the games."""
    what = asdict(OURS[name]) if name in OURS else {"elo": ELO_K, "glicko2": GLICKO}.get(name, {})
    size = RESULTS.stat().st_size
    text = json.dumps([name, what, JOIN_WEIGHT, TRAIN, size], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:10]


def _draw_forms() -> None:
    """Print the log-loss of 2005-2009 by both forms of a draw, each with its own numbers."""
    games = by_month(read_games(1970, TRAIN[1]))
    late = games.known & (games.year >= 2005)
    column = np.where(games.score == 1.0, 0, np.where(games.score == 0.5, 1, 2))
    print("| 2005–2009 | main set | all games | drawn games of the main set |\n|---|---|---|---|")
    for name in ("ttt", "ttt-d", "ttt-d, two-factor"):
        chances = own_chances(run_ours(games, OURS[name]))
        logs = -np.log(np.maximum(chances[np.arange(len(column)), column], 1e-12))
        rated = late & games.rated
        drawn = rated & (games.score == 0.5)
        cells = [f"{logs[chosen].mean():.4f}" for chosen in (rated, late, drawn)]
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


def _tune(name: str) -> None:
    """Search the numbers of a method by its log-loss of 2000-2009, nothing later read."""
    games = by_month(read_games(1970, TRAIN[1]))
    rated, late = training(games), games.known & (games.year >= TRAIN[0])
    column = np.where(games.score == 1.0, 0, np.where(games.score == 0.5, 1, 2))
    rows = np.arange(len(column))
    how = OURS[name]
    how = replace(how, window=min(how.window, TUNING_WINDOW))

    def loss(numbers: dict[str, float]) -> float:
        # A newcomer's sd in known company is below the sigma of all newcomers.
        numbers = numbers | {"sd": min(numbers.get("sd", 0.0), 0.99 * numbers["sigma"])}
        chances = own_chances(run_ours(games, replace(how, numbers=numbers), tell=False))
        logs = -np.log(np.maximum(chances[rows, column], 1e-12))
        return float(logs[rated].mean() + logs[late].mean())

    names = [n for n in how.numbers if not n.startswith("elo_") and how.numbers[n] != 0.0]
    numbers, best = descend(loss, how.numbers, names)
    print(f"{name}: main set and all games, the sum of both log-losses: {best:.5f}")
    print(json.dumps({k: float(f"{v:.4g}") for k, v in numbers.items()}))


if __name__ == "__main__":
    main()
