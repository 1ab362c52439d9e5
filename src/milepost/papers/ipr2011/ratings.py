"""How many players are rated over 2700, year by year (2011 paper, introduction)."""

from __future__ import annotations

import numpy as np
import polars as pl

from milepost.papers.charts import points
from milepost.papers.experiment import FAILS, HOLDS, TOO_LITTLE, Finding, Outcome, experiment
from milepost.papers.folder import Folder

LIMIT = 2700
STRONG = 2500
EARLY, LATE = (1971, 1979), (2009, 2011)
_FEWEST_YEARS = 3


@experiment("2011-over-2700", paper="2011", title="Players rated over 2700 by year")
def over_2700(folder: Folder) -> Outcome:
    """Count players over 2700 at the end of each year, beside all players over 2500."""
    ratings = pl.read_parquet(folder.path("fide", "fide_ratings.parquet"))
    table = count_players(ratings)
    shown = table.rename({"year": "Year", f"over {LIMIT}": f"Players over {LIMIT}"})
    return Outcome(
        data="the last rating of each year in fide/fide_ratings.parquet",
        n=int(table["rated"].sum()),
        unit="ratings",
        findings=count_findings(table),
        tables={"Players": table},
        charts={
            f"Players over {LIMIT}": points(
                shown, "Year", f"Players over {LIMIT}", zero=True, line=True
            )
        },
        notes=(
            "players who stopped playing keep their last rating in some lists",
            "that play at a given Elo is the same is what 2011-inflation tests; counts cannot",
        ),
    )


def count_players(ratings: pl.DataFrame) -> pl.DataFrame:
    """Return, for each year, how many players there are, and how many over two limits.

    Parameters
    ----------
    ratings
        With `pid`, `year`, and `last`, the last rating of the year.
    """
    return (
        ratings.drop_nulls("last")
        .group_by("year")
        .agg(
            pl.col("pid").n_unique().alias("rated"),
            (pl.col("last") >= STRONG).sum().alias(f"over {STRONG}"),
            (pl.col("last") >= LIMIT).sum().alias(f"over {LIMIT}"),
            pl.col("last").max().alias("highest"),
        )
        .sort("year")
    )


def count_findings(table: pl.DataFrame) -> tuple[Finding, Finding]:
    """Judge the growth at the top, and whether it is more than that of strong players at large."""
    grown = "players over 2700 grew from one or two in the 1970s to dozens by 2011"
    pool = "the top grew with the pool of strong players, not faster"
    early, late = (table.filter(pl.col("year").is_between(*years)) for years in (EARLY, LATE))
    if len(early) < _FEWEST_YEARS or len(late) < 1:
        few = f"{len(early)} early and {len(late)} late years"
        return Finding(grown, few, TOO_LITTLE), Finding(pool, few, TOO_LITTLE)
    counts = [each[f"over {LIMIT}"].to_numpy() for each in (early, late)]
    first, last = counts[0].max(), counts[1].mean()
    growth = Finding(
        grown,
        f"at most {first} a year in {EARLY[0]}-{EARLY[1]}, {last:.0f} a year in "
        f"{LATE[0]}-{LATE[1]}",
        HOLDS if first <= 3 and last >= 24 else FAILS,
    )
    # Shares of those over 2500, with Poisson errors: lists share players, so these are too small.
    middle = table.filter(pl.col("year").is_between(1990, 1999))
    if not len(middle):
        return growth, Finding(pool, "no years of the 1990s", TOO_LITTLE)
    shares, errors = [], []
    for part in (middle, late):
        top, strong = (float(part[f"over {each}"].to_numpy().mean()) for each in (LIMIT, STRONG))
        shares.append(top / strong)
        errors.append(np.sqrt(max(top, 1.0)) / strong)
    apart = (shares[1] - shares[0]) / float(np.hypot(*errors))
    return growth, Finding(
        pool,
        f"of those over {STRONG}, {100 * shares[0]:.1f} ± {100 * errors[0]:.1f} % stood over "
        f"{LIMIT} in the 1990s, {100 * shares[1]:.1f} ± {100 * errors[1]:.1f} % in "
        f"{LATE[0]}-{LATE[1]} (z {apart:.1f})",
        HOLDS if abs(apart) < 2 else FAILS,
    )
