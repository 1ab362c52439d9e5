"""The champions' skill by results: figures that come with the package."""

from __future__ import annotations

import json
from dataclasses import dataclass

import polars as pl

from milepost.history.result import MOST_SD


@dataclass(frozen=True)
class Champions:
    """The champions' skill by results, as figures that come with the package."""

    curves: pl.DataFrame
    """The champions' curves, as charts take them: see `milepost.report.history.curves`."""
    best: pl.DataFrame
    """The highest peak of each of the best players: player, year, Elo, ±, games (of that year)."""
    games: int
    """How many results they rest on."""
    lines: tuple[str, ...]
    """How to read the Elos."""


def champions() -> Champions:
    """Return the champions' skill through time, in Elo: figures that come with the package.

    They are made by ``scripts/write_champions.py`` of a history of results over the board.
    """
    from importlib.resources import files

    from milepost.report.history.curves import pieces_of

    data = files("milepost") / "data"
    about = json.loads((data / "champions.json").read_text(encoding="utf-8"))
    table = pl.read_csv((data / "champions.csv").read_bytes())
    nothing = pl.lit(None, dtype=pl.Float64)
    curves = pieces_of(
        # A year of a few games is often a namesake's.
        table.filter(pl.col("player").is_in(about["champions"]) & (pl.col("games") >= 5)).select(
            "player", pl.col("year").cast(pl.Float64).alias("time"), "mean", "sd", "games",
            nothing.alias("margin_mean"), nothing.alias("margin_sd"),
        )
    )  # fmt: skip
    order = {name: place for place, name in enumerate(about["champions"])}
    curves = curves.sort(pl.col("player").replace_strict(order), "time")
    well_known = (pl.col("games") >= 20) & (pl.col("sd") <= MOST_SD * about["beta"])
    best = table.filter(well_known).sort("mean", descending=True).unique(
        "player", maintain_order=True
    )  # fmt: skip
    best = best.select(
        "player", "year", pl.col("mean").round(0).cast(pl.Int64).alias("Elo"),
        pl.col("sd").round(0).cast(pl.Int64).alias("±"), "games",
    )  # fmt: skip
    return Champions(curves, best, about["games"], tuple(about["scale"]))
