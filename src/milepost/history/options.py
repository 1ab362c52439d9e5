"""The options of a fit, checked once."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from scipy.special import ndtri

from milepost.errors import InputError
from milepost.history.periods import checked_period
from milepost.history.records import Records
from milepost.history.solver.newton import Learning
from milepost.history.ttt.own_margins import DRAW_FORMS

MODELS = ("ttt", "ttt-d", "trueskill", "elo", "glicko2")
STAGES = ("converged", "filter")
FIRST_MOVER_LEARNED = ("learn", "learn-by-period")
ORDERS = ("given", "random")

_ALWAYS = ("model", "period", "mu")
_SKILLS = ("sigma", "beta", "tau")
_SWEEPS = ("newcomers", "stage", "tolerance", "max_sweeps", "workers")
_MARGINS = ("margin_mu", "margin_sigma", "margin_tau", "draw_form")
USED = {
    "ttt": (*_SKILLS, "draw", "first_mover", *_SWEEPS),
    "ttt-d": (*_SKILLS, "first_mover", *_SWEEPS, *_MARGINS),
    "trueskill": (*_SKILLS, "draw", "first_mover", "order", "seed"),
    "elo": ("draw", "first_mover"),
    "glicko2": ("draw", "first_mover"),
}
"""Which options each model uses, besides period and mu."""

MOST = 1e6
"""The largest sigma, tau and margin, in beta, and one by the smallest sigma. Beyond it rounding
swallows what a game says."""
MOST_OWN_MARGINS = 1e3
"""The same for ttt-d, whose moments of three numbers at once lose their digits earlier."""


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
    order: str = "given"
    seed: int | None = None

    def __post_init__(self) -> None:
        """Check every value that can be checked without the data."""
        _one_of("model", self.model, MODELS)
        _one_of("stage", self.stage, STAGES)
        _one_of("draw_form", self.draw_form, DRAW_FORMS)
        if self.newcomers is not None:
            _one_of("newcomers", self.newcomers, ("learn",))
        checked_period(self.period)
        self._check_numbers()
        if isinstance(self.draw, str):
            _one_of("draw", self.draw, ("share",))
        elif not (_finite(self.draw) and self.draw >= 0):
            raise InputError(f"expected a draw margin of zero or more, got {self.draw!r}")
        if isinstance(self.first_mover, str):
            _one_of("first_mover", self.first_mover, FIRST_MOVER_LEARNED)
        elif self.first_mover is not None and not _finite(self.first_mover):
            raise InputError(f"expected a finite advantage, got {self.first_mover!r}")
        if self.tolerance is not None and not (_finite(self.tolerance) and self.tolerance > 0):
            raise InputError(f"expected a positive tolerance, got {self.tolerance!r}")
        self._check_sizes()
        self._check_order()
        learned = isinstance(self.first_mover, str) or self.newcomers is not None
        if learned and (self.stage == "filter" or self.model not in ("ttt", "ttt-d")):
            raise InputError(
                "the first mover's advantage and the newcomers' level are learned from the whole "
                "history: that needs the model ttt or ttt-d and the stage converged"
            )

    def _check_numbers(self) -> None:
        for name in ("sigma", "beta", "margin_sigma"):
            if not (_finite(getattr(self, name)) and getattr(self, name) > 0):
                raise InputError(f"expected a positive {name}, got {getattr(self, name)!r}")
        for name in ("tau", "margin_tau"):
            if not (_finite(getattr(self, name)) and getattr(self, name) >= 0):
                raise InputError(f"expected a {name} of zero or more, got {getattr(self, name)!r}")
        for name in ("mu", "margin_mu"):
            if not _finite(getattr(self, name)):
                raise InputError(f"expected a finite {name}, got {getattr(self, name)!r}")
        if not (_whole(self.max_sweeps) and self.max_sweeps >= 1):
            raise InputError(f"expected at least one sweep, got max_sweeps={self.max_sweeps!r}")
        if not (_whole(self.workers) and self.workers in (1, 2)):
            raise InputError(f"expected 1 or 2 workers, got {self.workers!r}")

    def _check_sizes(self) -> None:
        """Refuse numbers so far from beta that floats do not hold what the games say."""
        if self.model in ("elo", "glicko2"):
            names: tuple[str, ...] = ()
        else:
            names = tuple(name for name in USED[self.model] if name in _SIZES)
        most = MOST_OWN_MARGINS if self.model == "ttt-d" else MOST
        for name in names:
            value = getattr(self, name)
            if not isinstance(value, str | None) and abs(value) > most * self.beta:
                raise InputError(
                    f"expected a {name} of at most {most:.0e} beta with the model {self.model}, "
                    f"got {value!r} (beta {self.beta!r})"
                )
        for name in ("sigma", "margin_sigma"):
            if name in names and getattr(self, name) < self.beta / MOST:
                raise InputError(
                    f"expected a {name} of at least {1.0 / MOST:.0e} beta, got "
                    f"{getattr(self, name)!r} (beta {self.beta!r})"
                )
        if not (1e-100 < self.beta < 1e100 and abs(self.mu) < 1e100):
            raise InputError(
                "expected a beta between 1e-100 and 1e100 and a mu below 1e100, whose squares are "
                f"finite floats; got {self.beta!r} and {self.mu!r}"
            )

    def _check_order(self) -> None:
        _one_of("order", self.order, ORDERS)
        if self.seed is not None and not (_whole(self.seed) and self.seed >= 0):
            raise InputError(f"expected a whole number of zero or more as seed, got {self.seed!r}")
        if self.order == "given":
            if self.seed is not None:
                raise InputError('a seed is for order="random"; the given order needs none')
            return
        if self.seed is None:
            raise InputError('order="random" needs a seed, so that it can be had again')
        if self.period == "game":
            raise InputError('with period="game" a period has one game, and no order to choose')

    def check_used(self) -> None:
        """Refuse values, other than the defaults, of options that the model does not use.

        Raises
        ------
        InputError
        """
        known = (*_ALWAYS, *USED[self.model])
        for each in fields(self):
            if each.name not in known and getattr(self, each.name) != each.default:
                # The filter is what trueskill is.
                if (self.model, each.name, self.stage) == ("trueskill", "stage", "filter"):
                    continue
                raise InputError(f"the option {each.name} means nothing to the model {self.model}")

    def check_movers(self, records: Records) -> None:
        """Refuse a first mover's advantage where no result says who moved first.

        Raises
        ------
        InputError
        """
        if self.first_mover not in (None, 0) and not records.mover.any():
            raise InputError(
                "no result says who moved first (first_mover 1 or 2), so a first mover's advantage "
                "cannot be used or learned"
            )

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


def named_options(**given: Any) -> Options:
    """Return options from their names.

    Raises
    ------
    InputError
        If there is none of a name, or a value cannot be used.
    """
    unknown = given.keys() - {each.name for each in fields(Options)}
    if unknown:
        raise InputError(f"a history has no option {', '.join(sorted(unknown))}")
    return Options(**given)


_SIZES = ("sigma", "tau", "draw", "first_mover", "margin_mu", "margin_sigma", "margin_tau")


def _finite(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond all floats
        return False


def _whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _one_of(name: str, value: object, known: tuple[str, ...]) -> None:
    if not isinstance(value, str) or value not in known:
        raise InputError(f"expected {name} to be one of {', '.join(known)}; got {value!r}")
