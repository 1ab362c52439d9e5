"""The options of a history that takes move evidence beside results."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real

from milepost.errors import InputError

ERAS = ("walk", "constant", "given")
CALIBRATION, LEARN = "calibration", "learn"


@dataclass(frozen=True, kw_only=True)
class Moves:
    """How move evidence enters a history: moves = era + slope × (skill − mu) + the player + noise.

    >>> Moves(era_drift=10.0).slope
    'learn'
    """

    slope: str | float = LEARN
    """Elo of move quality for a point of skill; ``"learn"``: by evidence."""
    spread: str | float = CALIBRATION
    """How players of equal skill differ in their moves, for life, in Elo: ``"calibration"`` (as the
    sites say), ``"learn"`` (by evidence; needs 100 players with two games or more) or a number."""
    form: str | float = CALIBRATION
    """How one player's games differ beyond the dispersion that games have anyway, in Elo; as
    `spread`."""
    era: str = "walk"
    """``"walk"``: the level of moves at equal skill is a random walk through time, and so the level
    of the pool is what moves say; ``"constant"``: one number, and the level stays where results and
    newcomers put it; ``"given"``: it is `era_level`."""
    era_drift: str | float = 25.0
    """Standard deviation that a unit of time adds to the era, in Elo; ``"learn"``: by evidence."""
    era_level: float | None = None
    """The Elo of a player whose skill is mu, where the era is given."""

    def __post_init__(self) -> None:
        """Check the values."""
        _number_or("slope", self.slope, (LEARN,), positive=True)
        _number_or("spread", self.spread, (CALIBRATION, LEARN))
        _number_or("form", self.form, (CALIBRATION, LEARN))
        _number_or("era_drift", self.era_drift, (LEARN,), positive=True)
        if self.era not in ERAS:
            raise InputError(f"expected era to be one of {', '.join(ERAS)}; got {self.era!r}")
        if (self.era == "given") != (self.era_level is not None):
            raise InputError('an era_level goes with era="given", and only with it')
        if self.era_level is not None:
            _number_or("era_level", self.era_level, (), signed=True)


def _number_or(
    name: str, value: object, words: tuple[str, ...], *, positive: bool = False,
    signed: bool = False,
) -> None:  # fmt: skip
    if isinstance(value, str) and value in words:
        return
    number = isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
    if number and (signed or float(value) > 0 or (float(value) == 0 and not positive)):  # type: ignore[arg-type]
        return
    kind = "a number" if signed else "a positive number" if positive else "a number of 0 or more"
    raise InputError(f"expected {', '.join([*words, kind])} as {name}, got {value!r}")
