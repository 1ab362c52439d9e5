"""How much reasonable settings of a history disagree about the level of an era.

Run it with ``python -m studies.era_spread``; it needs ``../shared/data``, takes about half an hour
on two cores, and keeps each setting's levels in ``build/era_spread``, so that a second run goes on.
The table it prints stands in docs/history.md; `milepost.history.eras` has the law read off it.

The level of a year is the mean skill of thirty players: those of the highest means in that year
under the settings for chess, among players with 60 games by then. They are the same for all
settings. What settings disagree about is the change of that level between two years.
"""

from __future__ import annotations

import itertools
import json
import sys
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from studies.otb_games import RESULTS, read_games

from milepost.history import TTT, TTTD, SkippedResultsWarning, Sweeping, fit_history

YEARS = range(1880, 2021, 10)
TOP, LEAST_GAMES = 30, 60
KEPT = Path("build/era_spread")
# The margin of the table in docs/history.md: learned on all games it is nearly the same.
CHESS, OWN_MARGINS = replace(TTT.for_chess(), draw=360.0), TTTD.for_chess()
ASKED = (
    ("Carlsen, Magnus", 2014, "Capablanca, Jose Raul", 1921),
    ("Fischer, Robert James", 1972, "Kasparov, Gary", 1991),
    ("Karpov, Anatoly", 2001, "Karpov, Anatoly", 1975),
)


def everything(games: pl.DataFrame) -> pl.DataFrame:
    """All games."""
    return games


def slow(games: pl.DataFrame) -> pl.DataFrame:
    """Without fast games."""
    return games.filter(~pl.col("fast"))


def masters(games: pl.DataFrame) -> pl.DataFrame:
    """Without games of a player below 2200, where ratings are printed."""
    return games.filter(pl.col(f"elo_{side}").fill_null(2200) >= 2200 for side in (1, 2))


def regulars(games: pl.DataFrame) -> pl.DataFrame:
    """Without players of fewer than 30 games."""
    names = pl.concat([games["player_1"], games["player_2"].alias("player_1")])
    known = names.value_counts().filter(pl.col("count") >= 30)["player_1"].implode()
    return games.filter(pl.col(f"player_{side}").is_in(known) for side in (1, 2))


Choice = Callable[[pl.DataFrame], pl.DataFrame]
LEARNED: dict[str, tuple[TTT | TTTD, Choice]] = {
    "for chess": (CHESS, everything),
    "tau 60": (replace(CHESS, tau=60.0), everything),
    "tau 100": (replace(CHESS, tau=100.0), everything),
    "sigma 400": (replace(CHESS, sigma=400.0), everything),
    "sigma 640": (replace(CHESS, sigma=640.0), everything),
    "margin from the share of draws": (replace(CHESS, draw="share"), everything),
    "no first mover": (replace(CHESS, first_mover=None), everything),
    "without fast games": (CHESS, slow),
    "masters only": (CHESS, masters),
    "players of 30 games": (CHESS, regulars),
    "own draw margins": (OWN_MARGINS, everything),
}
FIXED = {
    f"{name}, newcomers fixed": (replace(model, newcomers=None), choice)
    for name, (model, choice) in LEARNED.items()
    if name not in ("tau 60", "tau 100", "no first mover", "without fast games", "sigma 400")
} | {"plain": (TTT(draw="share"), everything)}


def main() -> None:
    """Fit what is missing; print the table."""
    if not RESULTS.exists():
        print(f"skipped: no {RESULTS.name}")
        return
    warnings.simplefilter("ignore", SkippedResultsWarning)
    KEPT.mkdir(parents=True, exist_ok=True)
    games = read_games(1850, 2023)
    settings = LEARNED | FIXED
    levels = {name: _levels(name, *setting, games) for name, setting in settings.items()}
    print("| setting | evidence | 1900 | 1930 | 1950 | 1970 | 1990 | 2010 |", end="")
    print("".join(f" {a.split(',')[0]} {t} − {b.split(',')[0]} {u} |" for a, t, b, u in ASKED))
    print("|---" * (8 + len(ASKED)) + "|")
    for name, found in levels.items():
        shown = [found["level"][str(year)] for year in (1900, 1930, 1950, 1970, 1990, 2010)]
        apart = [f"{value - found['level']['2010']:.0f}" for value in shown]
        asked = [f"{mean:.0f} ± {sd:.0f}" for mean, sd in found["asked"]]
        print(f"| {name} | {found['evidence']:.4f} | {' | '.join([*apart, *asked])} |")
    print("\n| years apart | all, halves | learned only | the law |\n|---|---|---|---|")
    for years, (both, learned) in _spread(levels).items():
        law = min(0.009 * years, 0.06 * years**0.5)
        print(f"| {years} | {both:.2f} | {learned:.2f} | {law:.2f} |")


def _levels(
    name: str, model: TTT | TTTD, choice: Choice, games: pl.DataFrame
) -> dict[str, Any]:  # fmt: skip
    """The level of each year under a setting, in points; fitted once and kept."""
    kept = KEPT / f"{name.replace(' ', '_').replace(',', '')}.json"
    if kept.exists():
        found: dict[str, Any] = json.loads(kept.read_text(encoding="utf-8"))
        return found
    history = fit_history(choice(games), model, sweeping=Sweeping(tolerance=1.0, workers=2))
    curves = history.curves.filter(pl.col("time").is_in(list(YEARS)))
    tops = KEPT / "top_players.json"
    if not tops.exists():
        so_far = history.curves.sort("player", "time").with_columns(
            so_far=pl.col("games").cum_sum().over("player")
        )
        known = so_far.filter(pl.col("so_far") >= LEAST_GAMES).sort("mean", descending=True)
        top = {y: known.filter(time=y)["player"].head(TOP).to_list() for y in YEARS}
        tops.write_text(json.dumps(top), encoding="utf-8")
    top = json.loads(tops.read_text(encoding="utf-8"))
    level = {
        str(y): curves.filter(pl.col("time") == y, pl.col("player").is_in(top[str(y)]))[
            "mean"
        ].mean()
        for y in YEARS
    }
    answers = [history.compare(a, b, t, u).difference for a, t, b, u in ASKED]
    found = {
        "evidence": history.log_evidence / history.games,
        "level": level,
        "asked": [(answer.mean, answer.sd) for answer in answers],
    }
    kept.write_text(json.dumps(found), encoding="utf-8")
    print(name, f"{found['evidence']:.5f}", file=sys.stderr, flush=True)
    return found


def _spread(levels: dict[str, dict[str, Any]]) -> dict[int, tuple[float, float]]:
    """By years apart: the sd over settings, in beta, as a root mean square over pairs of years."""
    weights = {name: 0.5 / len(LEARNED) for name in LEARNED}
    both = weights | {name: 0.5 / len(FIXED) for name in FIXED}
    found: dict[int, list[tuple[float, float]]] = {}
    for early, late in itertools.combinations(YEARS, 2):
        change = {
            n: (level["level"][str(late)] - level["level"][str(early)]) / CHESS.beta
            for n, level in levels.items()
        }
        sds = (_sd(change, both), _sd(change, weights))
        found.setdefault(late - early, []).append(sds)
    squares = {years: np.square(np.array(sds)).mean(axis=0) for years, sds in found.items()}
    return {years: tuple(np.sqrt(mean).tolist()) for years, mean in sorted(squares.items())}


def _sd(values: dict[str, float], weights: dict[str, float]) -> float:
    chosen = np.array([values[name] for name in weights])
    weight = np.array(list(weights.values()))
    mean = np.average(chosen, weights=weight)
    return float(np.sqrt(np.average((chosen - mean) ** 2, weights=weight)))


if __name__ == "__main__":
    main()
