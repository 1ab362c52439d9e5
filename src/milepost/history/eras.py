"""How far the scale itself is to be trusted between distant times.

Results see differences within a time only: how the level of everybody then compares with the level
of everybody later hangs on what is assumed about newcomers, drift and draws. A history states the
uncertainty that is left once its settings are taken as true; here is what the settings themselves
leave open, from histories of the same games under different ones.
"""

from __future__ import annotations

import math

CAUTION_YEARS = 10.0
"""Comparisons over more time than this (in years, for dates) carry a caution."""

SCALE_DRIFT_A_YEAR = 0.009
SCALE_DRIFT_A_ROOT = 0.06
"""By how much settings disagree about the change of level between two times, as a standard
deviation in beta: the smaller of 0.009 a year and 0.06 times the root of the years. From histories
of 3.19 million games of chess under 18 settings, half the weight on those with a learned level of
newcomers and half on those with a fixed one (``python -m studies.era_spread``; the table is in
docs/history.md)."""

LEAST_CHANCE = 0.01
"""Over such times no chance is told to be nearer to 0 or 1 than this."""

LOGISTIC_BETA = 400.0 * 1.702 / (math.log(10.0) * math.sqrt(2.0))
"""The beta whose difference of two performances comes nearest to Elo's logistic of scale 400."""


def scale_sd(beta: float, elapsed: float) -> float:
    """Return by how much the scale is uncertain between two times, as a standard deviation.

    Parameters
    ----------
    beta
        The model's beta, which it is proportional to.
    elapsed
        The time between, in years for dates.
    """
    years = abs(elapsed)
    return beta * min(SCALE_DRIFT_A_YEAR * years, SCALE_DRIFT_A_ROOT * math.sqrt(years))


def caution(elapsed: float) -> str:
    """Return a line of caution for a comparison over much time; empty for one over little."""
    if abs(elapsed) <= CAUTION_YEARS:
        return ""
    return (
        f"{abs(elapsed):.0f} years lie between them. Results alone hardly tie such times together: "
        "the level of an era rests on assumptions, and the chance allows for that only roughly."
    )
