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

SCALE_DRIFT = 0.06
"""Standard deviation, in beta, by which the scale is uncertain after a unit of time; it grows with
the root of the time. PLACEHOLDER"""

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
    return SCALE_DRIFT * beta * math.sqrt(abs(elapsed))


def caution(elapsed: float) -> str:
    """Return a line of caution for a comparison over much time; empty for one over little."""
    if abs(elapsed) <= CAUTION_YEARS:
        return ""
    return (
        f"{abs(elapsed):.0f} years lie between them. Results alone hardly tie such times together: "
        "the level of an era rests on assumptions, and the chance allows for that only roughly."
    )
