"""The published tables of 2009, as they were printed, for comparison alone.

Those of 2011 are the mileposts of the calibration `rybka3-d13`.
"""

from __future__ import annotations

from functools import cache
from importlib import resources

import polars as pl

_FILE = "agents2009.csv"


@cache
def _every() -> pl.DataFrame:
    text = resources.files("milepost.data.calibrations").joinpath(_FILE).read_bytes()
    return pl.read_csv(text)


def published_agents(table: str) -> pl.DataFrame:
    """Return a table of Di Fatta, Haworth & Regan 2009.

    Parameters
    ----------
    table
        ``"I+II"`` (games and c by band of Elo) or ``"III"`` (those who won, drew and lost).
    """
    return _every().filter(pl.col("table") == table)
