"""How many players are rated over 2700, year by year (2011 paper, section 7)."""

from __future__ import annotations

import polars as pl

from milepost.papers.charts import points
from milepost.papers.experiment import FAILS, HOLDS, Finding, Outcome, experiment
from milepost.papers.folder import Folder
from milepost.papers.ledger.answers import decide, too_little

LIMIT = 2700
STRONG = 2500
EARLY, LATE = (1971, 1979), (2001, 2010)
_MANY = 30
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


def count_findings(table: pl.DataFrame) -> tuple[Finding, ...]:
    """Judge what the paper says of the players over 2700; facts of lists, without errors."""
    keys = ("2011-two-players", "2011-none-1981", "2011-thirty")
    over = dict(table.select("year", f"over {LIMIT}").iter_rows())
    early = {year: over[year] for year in range(EARLY[0], EARLY[1] + 1) if year in over}
    late = {year: over[year] for year in range(LATE[0], LATE[1] + 1) if year in over}
    if len(early) < _FEWEST_YEARS or len(late) < _FEWEST_YEARS:
        few = f"{len(early)} early and {len(late)} late years"
        return tuple(too_little(key, few, unit="years") for key in keys)
    without = [year for year in range(1976, 1982) if over.get(year) == 0]
    many = sum(number >= _MANY for number in late.values())
    return (
        decide(
            keys[0],
            f"at most {max(early.values())} at the end of a year of {EARLY[0]}-{EARLY[1]}",
            HOLDS if max(early.values()) <= 2 else FAILS,
        ),
        decide(
            keys[1],
            f"none at the end of {', '.join(map(str, without)) or 'no year of 1976-1981'}",
            HOLDS if without else FAILS,
        ),
        decide(
            keys[2],
            f"{_MANY} or more in {many} of {len(late)} years: "
            + ", ".join(f"{year} {number}" for year, number in late.items()),
            HOLDS if many >= 6 else FAILS,
        ),
    )
