"""The options of a fit, checked once."""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy.special import ndtri

from milepost.errors import InputError
from milepost.history.newton import Learning
from milepost.history.records import Records
from milepost.history.ttt_d import DRAW_FORMS

MODELS = ("ttt", "ttt-d", "trueskill", "elo", "glicko2")
STAGES = ("converged", "filter")
FIRST_MOVER_LEARNED = ("learn", "learn-by-period")


@dataclass(frozen=True)
class Options:
    """Everything that `milepost.history.fit` is told; see there."""

    model: str = "ttt"
    period: str | float = "year"
    mu: float = 1200.0
    sigma: float = 400.0
    beta: float = 480.0
    tau: float = 60.0
    draw: str | float = "share"
    first_mover: str | float | None = None
    newcomers: str | None = None
    margin_mu: float = 300.0
    margin_sigma: float = 100.0
    margin_tau: float = 10.0
    draw_form: str = "between"
    stage: str = "converged"
    tolerance: float | None = None
    max_sweeps: int = 200
    workers: int = 1

    def __post_init__(self) -> None:
        """Check every value that can be checked without the data."""
        _one_of("model", self.model, MODELS)
        _one_of("stage", self.stage, STAGES)
        _one_of("draw_form", self.draw_form, DRAW_FORMS)
        if self.newcomers is not None:
            _one_of("newcomers", self.newcomers, ("learn",))
        self._check_numbers()
        if isinstance(self.draw, str):
            _one_of("draw", self.draw, ("share",))
        elif not (math.isfinite(self.draw) and self.draw >= 0):
            raise InputError(f"expected a draw margin of zero or more, got {self.draw!r}")
        if isinstance(self.first_mover, str):
            _one_of("first_mover", self.first_mover, FIRST_MOVER_LEARNED)
        elif self.first_mover is not None and not math.isfinite(self.first_mover):
            raise InputError(f"expected a finite advantage, got {self.first_mover!r}")
        if self.tolerance is not None and not self.tolerance > 0:
            raise InputError(f"expected a positive tolerance, got {self.tolerance!r}")
        learned = isinstance(self.first_mover, str) or self.newcomers is not None
        if learned and (self.stage == "filter" or self.model not in ("ttt", "ttt-d")):
            raise InputError(
                "the first mover's advantage and the newcomers' level are learned from the whole "
                "history: that needs the model ttt or ttt-d and the stage converged"
            )

    def _check_numbers(self) -> None:
        for name in ("sigma", "beta", "margin_sigma"):
            if not (math.isfinite(getattr(self, name)) and getattr(self, name) > 0):
                raise InputError(f"expected a positive {name}, got {getattr(self, name)!r}")
        for name in ("tau", "margin_tau"):
            if not (math.isfinite(getattr(self, name)) and getattr(self, name) >= 0):
                raise InputError(f"expected a {name} of zero or more, got {getattr(self, name)!r}")
        for name in ("mu", "margin_mu"):
            if not math.isfinite(getattr(self, name)):
                raise InputError(f"expected a finite {name}, got {getattr(self, name)!r}")

    @property
    def distance(self) -> float:
        """The tolerance in points: 0.0002 beta (about 0.1 on the Elo scale) unless given."""
        return 2e-4 * self.beta if self.tolerance is None else self.tolerance

    @property
    def learning(self) -> Learning:
        """What is learned beside the skills, with its priors, all proportional to the scale."""
        by_period = self.first_mover == "learn-by-period"
        constant = self.first_mover == "learn"
        return Learning(
            level_drift=(self.sigma / 20.0) ** 2 if self.newcomers else 0.0,
            advantage="by-period" if by_period else "constant" if constant else None,
            advantage_drift=(self.beta / 48.0) ** 2,
            advantage_prior=self.beta**2,
        )

    def margin(self, records: Records) -> float:
        """Return the common draw margin.

        From a share p of draws it is sqrt(2) beta Phi^-1((1 + p) / 2). With draws only, half a
        game is taken to be decided, for the margin would be infinite.

        Raises
        ------
        InputError
            If there are draws and the margin is zero: they would be impossible.
        """
        if isinstance(self.draw, str):
            share = min(records.draw_share, 1.0 - 0.5 / records.games)
            return float(math.sqrt(2.0) * self.beta * ndtri(0.5 * (1.0 + share)))
        if self.draw == 0 and self.model != "ttt-d" and records.drawn.any():
            raise InputError("the results hold draws, so the draw margin cannot be 0")
        return float(self.draw)


def _one_of(name: str, value: object, known: tuple[str, ...]) -> None:
    if value not in known:
        raise InputError(f"expected {name} to be one of {', '.join(known)}; got {value!r}")
