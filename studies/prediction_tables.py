"""Sums by month of how well games were predicted, and the tables made of them."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import polars as pl
from studies.otb_games import Bools, Floats, Games

FIRST = 2010
SPANS = {
    "2010–2014": (2010, 2014),
    "2015–2019": (2015, 2019),
    "2020–2023": (2020, 2023),
    "all": (2010, 2023),
}
OFFICIAL = "official Elo"
BINS = 10
_SUMS = ("log_loss", "brier", "score_error")


def sets_of(games: Games) -> dict[str, Bools]:
    """The sets that are reported: see docs/prediction.md."""
    late = games.known & (games.year >= FIRST)
    printed = ~np.isnan(games.elo_1) & ~np.isnan(games.elo_2)
    some = late & printed & ~games.fast
    return {
        "main": games.rated & late,
        "100 earlier games": games.rated & late & (games.earlier >= 100),
        "fewer than 20 earlier games": some & (games.earlier < 20),
        "fast": late & printed & games.fast & (games.earlier >= 20),
        "every game with both Elos": late & printed,
        "every game": late,
    }


def sums_by_month(games: Games, name: str, chances: Floats) -> pl.DataFrame:
    """For each set and month the sums of log-loss, Brier score and squared error of the score.

    The main set also has calibration: for each outcome and tenth of predicted chance the number,
    the sum of predictions and what happened, with month = -1 - tenth.
    """
    column = np.where(games.score == 1.0, 0, np.where(games.score == 0.5, 1, 2))
    chance = np.maximum(chances[np.arange(len(column)), column], 1e-12)
    expected = chances[:, 0] + 0.5 * chances[:, 1]
    frame = pl.DataFrame({
        "month": games.month,
        "log_loss": -np.log(chance),
        "brier": ((chances - np.eye(3)[column]) ** 2).sum(axis=1),
        "score_error": (games.score - expected) ** 2,
    })  # fmt: skip
    tables = []
    for kind, chosen in sets_of(games).items():
        if OFFICIAL in name and kind == "every game":
            continue
        sums = frame.filter(pl.Series(chosen)).group_by("month")
        table = sums.agg(pl.len().cast(pl.Int64).alias("n"), *(pl.col(c).sum() for c in _SUMS))
        tables.append(_named(table.sort("month"), name, kind))
    main = sets_of(games)["main"]
    for place, outcome in enumerate(("win", "draw", "loss")):
        p, happened = chances[main, place], column[main] == place
        tables.append(_named(_tenths(p, happened), name, f"calibration {outcome}"))
    return pl.concat(tables)


def _tenths(p: Floats, happened: npt.NDArray[np.bool_]) -> pl.DataFrame:
    tenth = np.minimum((p * BINS).astype(np.int64), BINS - 1)
    return pl.DataFrame({
        "month": -1 - np.arange(BINS, dtype=np.int64),
        "n": np.bincount(tenth, minlength=BINS).astype(np.int64),
        "log_loss": np.bincount(tenth, p, minlength=BINS),
        "brier": np.bincount(tenth, happened, minlength=BINS),
        "score_error": np.zeros(BINS),
    })  # fmt: skip


def _named(table: pl.DataFrame, name: str, kind: str) -> pl.DataFrame:
    return table.select(pl.lit(name).alias("method"), pl.lit(kind).alias("set"), pl.all())


def print_tables(table: pl.DataFrame) -> None:
    """Print all tables as Markdown."""
    main = table.filter(pl.col("set") == "main")
    for what, title in (("log_loss", "Log-loss, nats"), ("brier", "Brier score")):
        print(f"\n{title}, main set\n")
        print("| method | " + " | ".join(SPANS) + " |\n" + "|---" * (len(SPANS) + 1) + "|")
        for name in _methods(main):
            means = [f"{_mean(_of(main, name), what, span):.4f}" for span in SPANS.values()]
            print(f"| {name} | " + " | ".join(means) + " |")
        counts = [f"{int(_span(_of(main, OFFICIAL), s)['n'].sum()):,}" for s in SPANS.values()]
        print("| games | " + " | ".join(counts) + " |")
    for what in ("log_loss", "score_error"):
        _print_differences(main, what)
    _print_years(main)
    _print_sets(table)
    _print_calibration(table)


def difference(one: pl.DataFrame, two: pl.DataFrame, what: str) -> tuple[float, float]:
    """Mean difference a game, and its standard error with games clustered by month."""
    both = one.join(two, on="month", suffix="_2").sort("month")
    n = both["n"].to_numpy()
    if not np.array_equal(n, both["n_2"].to_numpy()):
        raise ValueError("the two methods predicted different games")
    sums = both[what].to_numpy() - both[f"{what}_2"].to_numpy()
    mean = sums.sum() / n.sum()
    months = len(n)
    spread = float(((sums - n * mean) ** 2).sum()) * months / (months - 1)
    return float(mean), math.sqrt(spread) / float(n.sum())


def _print_differences(main: pl.DataFrame, what: str) -> None:
    print(f"\n{what} less that of {OFFICIAL}, in thousandths ± standard error (by month)\n")
    print("| method | " + " | ".join(SPANS) + " |\n" + "|---" * (len(SPANS) + 1) + "|")
    for name in _methods(main):
        if name == OFFICIAL:
            continue
        cells = []
        for span in SPANS.values():
            mean, error = difference(
                _span(_of(main, name), span), _span(_of(main, OFFICIAL), span), what
            )
            cells.append(f"{1000 * mean:+.1f} ± {1000 * error:.1f}")
        print(f"| {name} | " + " | ".join(cells) + " |")


def _print_years(main: pl.DataFrame) -> None:
    shown = [OFFICIAL, f"{OFFICIAL}, by strength", "ttt", "ttt-d"]
    print("\nLog-loss by year, main set\n")
    print("| year | games | " + " | ".join(shown) + " |\n" + "|---" * (len(shown) + 2) + "|")
    for year in range(FIRST, 2023):
        parts = [_of(main, name) for name in shown]
        count = int(_span(parts[0], (year, year))["n"].sum())
        means = [f"{_mean(part, 'log_loss', (year, year)):.4f}" for part in parts]
        print(f"| {year} | {count:,} | " + " | ".join(means) + " |")


def _print_sets(table: pl.DataFrame) -> None:
    kinds = [k for k in table["set"].unique(maintain_order=True) if not k.startswith("calib")]
    print("\nLog-loss by set of games, from 2010 on\n")
    print("| method | " + " | ".join(kinds) + " |\n" + "|---" * (len(kinds) + 1) + "|")
    for name in _methods(table):
        mine = table.filter(pl.col("method") == name)
        cells = []
        for kind in kinds:
            part = mine.filter(pl.col("set") == kind)
            empty = part.is_empty()
            cells.append("–" if empty else f"{_mean(part, 'log_loss', SPANS['all']):.4f}")
        print(f"| {name} | " + " | ".join(cells) + " |")
    first = table.filter(pl.col("method") == table["method"][0])
    counts = [f"{int(first.filter(pl.col('set') == k)['n'].sum()):,}" for k in kinds]
    print("| games | " + " | ".join(counts) + " |")


def _print_calibration(table: pl.DataFrame) -> None:
    print("\nCalibration, main set: predicted → happened, per cent (games)\n")
    for name in _methods(table):
        if name not in (OFFICIAL, "ttt", "ttt-d"):
            continue
        print(f"\n| {name} | win | draw | loss |\n|---|---|---|---|")
        for tenth in range(BINS):
            cells = []
            for outcome in ("win", "draw", "loss"):
                row = table.filter(
                    (pl.col("method") == name)
                    & (pl.col("set") == f"calibration {outcome}")
                    & (pl.col("month") == -1 - tenth)
                )
                n = int(row["n"][0])
                said, was = float(row["log_loss"][0]), float(row["brier"][0])
                cells.append(f"{100 * said / n:.1f} → {100 * was / n:.1f} ({n:,})" if n else "")
            print(f"| {10 * tenth}–{10 * tenth + 10} % | " + " | ".join(cells) + " |")


def _methods(table: pl.DataFrame) -> list[str]:
    return list(table["method"].unique(maintain_order=True))


def _of(table: pl.DataFrame, name: str) -> pl.DataFrame:
    return table.filter(pl.col("method") == name)


def _span(table: pl.DataFrame, span: tuple[int, int]) -> pl.DataFrame:
    return table.filter((pl.col("month") // 12).is_between(*span))


def _mean(table: pl.DataFrame, what: str, span: tuple[int, int]) -> float:
    part = _span(table, span)
    return float(part[what].sum()) / float(part["n"].sum())
