"""The models of a history, each a small dataclass that holds its own options and no others.

Whatever else wants to know which options a model has (the command line, saved histories, the
tuning) asks the dataclass for its fields. All numbers are rating points unless said otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from numbers import Integral, Real
from typing import Any, ClassVar, Self, TypeAlias

from milepost.errors import InputError

STAGES = ("converged", "filter")
LEARNED_ADVANTAGES = ("learn", "learn-by-period")
DRAW_FORMS = ("between", "two-factor")
ORDERS = ("given", "random")

MOST = 1e6
"""The largest sigma, tau and margin, in beta, and one by the smallest sigma. Beyond it rounding
swallows what a game says."""
MOST_OWN_MARGINS = 1e3
"""The same for `TTTD`, whose moments of three numbers at once lose their digits earlier."""

# What the tuning asks of a field: whether it may be varied, and in which way a number is searched.
_FIXED = {"vary": False}
_SIGNED = {"signed": True}
_WORD = {"word": True}


@dataclass(frozen=True, kw_only=True)
class _GaussianSkill:
    """What all models share whose skills are Gaussian beliefs."""

    name: ClassVar[str]
    _most: ClassVar[float] = MOST

    beta: float = 480.0
    """Standard deviation of a performance around the skill."""
    tau: float = 60.0
    """Standard deviation that a unit of time (a year, for dates) adds to a skill."""
    sigma: float = 400.0
    """Standard deviation of a newcomer's skill."""
    mu: float = field(default=1200.0, metadata=_FIXED)
    """Mean of a newcomer's skill. Skills are relative: it moves all curves alike."""

    def _check_skill(self) -> None:
        _positive("beta", self.beta)
        _positive("sigma", self.sigma)
        _zero_or_more("tau", self.tau)
        _finite("mu", self.mu)
        if not (1e-100 < self.beta < 1e100 and abs(self.mu) < 1e100):
            raise InputError(
                "expected a beta between 1e-100 and 1e100 and a mu below 1e100, whose squares are "
                f"finite floats; got {self.beta!r} and {self.mu!r}"
            )
        self._check_size("tau", self.tau)
        self._check_width("sigma", self.sigma)

    def _check_size(self, name: str, value: object) -> None:
        """Refuse a number so far above beta that floats do not hold what the games say."""
        if _is_number(value) and abs(value) > self._most * self.beta:  # type: ignore[arg-type]
            raise InputError(
                f"expected a {name} of at most {self._most:.0e} beta with the model {self.name}, "
                f"got {value!r} (beta {self.beta!r})"
            )

    def _check_width(self, name: str, value: float) -> None:
        """Refuse a standard deviation too far from beta, above or below."""
        self._check_size(name, value)
        if value < self.beta / MOST:
            raise InputError(
                f"expected a {name} of at least {1.0 / MOST:.0e} beta, got {value!r} "
                f"(beta {self.beta!r})"
            )


@dataclass(frozen=True, kw_only=True)
class _Smoothed(_GaussianSkill):
    """What the models share that look back from the future."""

    first_mover: str | float | None = field(default=None, metadata=_SIGNED)
    """The first mover's advantage in points; ``"learn"`` for one number, ``"learn-by-period"`` for
    a path through time (a random walk of beta / 48 a unit of time); `None` for none. Learned by
    maximum evidence with a prior N(0, beta²)."""
    newcomers: str | None = field(default=None, metadata=_WORD)
    """``"learn"``: the mean of newcomers' skills, by the period they appear in, is a random walk of
    sigma / 20 a unit of time that begins at `mu`, learned by maximum evidence; `None`: it is always
    `mu`."""
    stage: str = field(default="converged", metadata=_FIXED)
    """``"converged"``, or ``"filter"``: one pass forward, nothing from the future."""

    @property
    def learns(self) -> bool:
        """Whether something beside the skills is learned from the whole history."""
        return isinstance(self.first_mover, str) or self.newcomers is not None

    def _check_smoothed(self) -> None:
        self._check_skill()
        _check_advantage(self.first_mover, LEARNED_ADVANTAGES)
        self._check_size("first_mover", self.first_mover)
        if self.newcomers is not None:
            _one_of("newcomers", self.newcomers, ("learn",))
        _one_of("stage", self.stage, STAGES)
        if self.learns and self.stage == "filter":
            raise InputError(
                "the first mover's advantage and the newcomers' level are learned from the whole "
                "history: that needs the stage converged"
            )


@dataclass(frozen=True, kw_only=True)
class TTT(_Smoothed):
    """TrueSkill Through Time: one draw margin for all (Dangauthier et al. 2007).

    >>> TTT(beta=300.0, tau=40.0).sigma
    400.0
    """

    name: ClassVar[str] = "ttt"

    draw: str | float = "auto"
    """The draw margin in points; ``"share"``: it follows from the share of draws, as between equal
    sides; ``"learn"``: by maximum evidence; ``"auto"``: learned in a converged history, from the
    share where nothing may be known from the future (the stage ``"filter"``, predictions)."""

    @property
    def learns(self) -> bool:
        """Whether something beside the skills is learned from the whole history."""
        return super().learns or self.draw == "learn"

    @property
    def learns_margin(self) -> bool:
        """Whether a converged history learns the draw margin."""
        return self.draw in ("auto", "learn") and self.stage == "converged"

    @classmethod
    def for_chess(cls) -> Self:
        """Return the numbers that explain results over the board best: see docs/history.md.

        Round numbers near the best evidence on 3.19 million games of 1850-2023, with beta fixed.
        The draw margin is learned: 360 points there, more among grandmasters, less among others.
        """
        return cls(first_mover=90.0, newcomers="learn", sigma=500.0, tau=80.0)

    def __post_init__(self) -> None:
        """Check every value that can be checked without the data."""
        self._check_smoothed()
        _check_draw(self.draw, ("share", "auto", "learn"))
        self._check_size("draw", self.draw)
        if self.draw == "learn" and self.stage == "filter":
            raise InputError(
                "the draw margin is learned from the whole history: that needs the stage converged"
            )


@dataclass(frozen=True, kw_only=True)
class TTTD(_Smoothed):
    """TrueSkill Through Time with a draw margin of each player's own, which drifts too."""

    name: ClassVar[str] = "ttt-d"
    _most: ClassVar[float] = MOST_OWN_MARGINS

    margin_mu: float = 300.0
    """Mean of a newcomer's draw margin."""
    margin_sigma: float = 100.0
    """Standard deviation of a newcomer's draw margin."""
    margin_tau: float = 10.0
    """Standard deviation that a unit of time adds to a draw margin."""
    draw_form: str = field(default="between", metadata=_WORD)
    """``"between"`` (exact; better by evidence) or ``"two-factor"`` (the authors')."""

    @classmethod
    def for_chess(cls) -> Self:
        """Return numbers for results over the board, as `TTT.for_chess` has them."""
        return cls(
            first_mover=90.0, newcomers="learn", sigma=500.0, tau=80.0, margin_mu=250.0,
            margin_sigma=140.0, margin_tau=25.0,
        )  # fmt: skip

    def __post_init__(self) -> None:
        """Check every value that can be checked without the data."""
        self._check_smoothed()
        _finite("margin_mu", self.margin_mu)
        _positive("margin_sigma", self.margin_sigma)
        _zero_or_more("margin_tau", self.margin_tau)
        self._check_size("margin_mu", self.margin_mu)
        self._check_width("margin_sigma", self.margin_sigma)
        self._check_size("margin_tau", self.margin_tau)
        _one_of("draw_form", self.draw_form, DRAW_FORMS)


@dataclass(frozen=True, kw_only=True)
class Forecast(TTTD):
    """What was known at each time, for predictions: own draw margins, and newcomers by company.

    One pass forward; after each period the last `window` units of time are smoothed again, nothing
    by the future. A newcomer's prior follows the players met in the first period, once it is over,
    and skills drift faster at first. The numbers are those that predicted games of chess best
    (docs/prediction.md; tuned on games before 2010, by month).
    """

    name: ClassVar[str] = "forecast"

    beta: float = 300.0
    tau: float = 30.0
    sigma: float = 400.0
    margin_mu: float = 158.0
    margin_sigma: float = 88.0
    margin_tau: float = 16.5
    stage: str = field(default="filter", metadata=_FIXED)
    slope: float = 0.62
    """By how much a newcomer is better for each point that the company is better."""
    behind: float = 132.0
    """By how much a newcomer is weaker than company of the level mu."""
    company_sd: float = 340.0
    """Standard deviation of a newcomer's skill, given the company; below sigma."""
    factor: float = 12.8
    """How much faster a newcomer's skill drifts at first: 1 + factor times as much variance."""
    years: float = 4.5
    """In how much time that excess falls by a factor of e."""
    window: float = 1.0
    """How much time is smoothed again after each period; 0 = none."""

    @classmethod
    def for_chess(cls) -> Self:
        """Return the numbers of the study, with the first mover's advantage."""
        return cls(first_mover=62.0)

    def __post_init__(self) -> None:
        """Check every value that can be checked without the data."""
        super().__post_init__()
        for option in ("slope", "behind"):
            _finite(option, getattr(self, option))
        for option in ("company_sd", "years"):
            _positive(option, getattr(self, option))
        for option in ("factor", "window"):
            _zero_or_more(option, getattr(self, option))
        if not self.company_sd < self.sigma:
            raise InputError(
                f"expected a company_sd below sigma {self.sigma:g}, got {self.company_sd:g}"
            )
        if self.stage != "filter":
            raise InputError("a forecast goes forward in time: its stage is filter")


@dataclass(frozen=True, kw_only=True)
class TrueSkill(_GaussianSkill):
    """The TrueSkill filter: one pass forward, game by game (Herbrich, Minka & Graepel 2006)."""

    name: ClassVar[str] = "trueskill"

    draw: str | float = "share"
    """The draw margin in points; ``"share"``: it follows from the share of draws."""
    first_mover: float | None = field(default=None, metadata=_SIGNED)
    """The first mover's advantage in points; `None` for none."""
    order: str = "given"
    """The answer depends on it: ``"given"`` (by time, then as in the table), or ``"random"``, the
    games of each period shuffled."""
    seed: int | None = None
    """What the random order is drawn from."""

    def __post_init__(self) -> None:
        """Check every value that can be checked without the data."""
        self._check_skill()
        _check_draw(self.draw)
        self._check_size("draw", self.draw)
        _check_advantage(self.first_mover, ())
        self._check_size("first_mover", self.first_mover)
        _one_of("order", self.order, ORDERS)
        if self.seed is not None and not (_is_whole(self.seed) and self.seed >= 0):
            raise InputError(f"expected a whole number of zero or more as seed, got {self.seed!r}")
        if self.order == "given" and self.seed is not None:
            raise InputError('a seed is for order="random"; the given order needs none')
        if self.order == "random" and self.seed is None:
            raise InputError('order="random" needs a seed, so that it can be had again')


@dataclass(frozen=True, kw_only=True)
class _Ratings:
    """What the models share that define an expected score and no draw."""

    name: ClassVar[str]

    mu: float = 1200.0
    """The rating that a player begins with."""
    draw: str | float = "share"
    """The draw margin of predictions, in points; ``"share"``: the one under which the ratings
    before each game give the share of draws on average."""
    first_mover: float | None = None
    """The first mover's advantage in points; `None` for none."""

    def __post_init__(self) -> None:
        """Check every value that can be checked without the data."""
        _finite("mu", self.mu)
        if not abs(self.mu) < 1e100:
            raise InputError(f"expected a mu below 1e100, got {self.mu!r}")
        _check_draw(self.draw)
        _check_advantage(self.first_mover, ())


@dataclass(frozen=True, kw_only=True)
class Elo(_Ratings):
    """Elo's ratings, K = 20 and scale 400, for comparison."""

    name: ClassVar[str] = "elo"


@dataclass(frozen=True, kw_only=True)
class Glicko2(_Ratings):
    """Glickman's ratings with deviation 350, volatility 0.06 and tau 0.5, for comparison.

    A first mover's advantage counts in predictions only: Glickman's updates know none.
    """

    name: ClassVar[str] = "glicko2"


Model: TypeAlias = TTT | TTTD | TrueSkill | Elo | Glicko2
Smoothed: TypeAlias = TTT | TTTD
"""Models that learn from the future, and can be tuned."""
MODELS: Mapping[str, type[Model]] = {
    model.name: model for model in (TTT, TTTD, Forecast, TrueSkill, Elo, Glicko2)
}
"""The models by the names that commands and files use."""


def options_of(model: type[Model] | Model) -> tuple[str, ...]:
    """Return the names of a model's options."""
    return tuple(option.name for option in fields(model))


def model_type(name: str) -> type[Model]:
    """Return the model of a name.

    Raises
    ------
    InputError
        If there is none.
    """
    if name not in MODELS:
        raise InputError(f"expected one of {', '.join(MODELS)} as the model; got {name!r}")
    return MODELS[name]


def make_model(name: str, **options: Any) -> Model:
    """Return a model from its name and options.

    Raises
    ------
    InputError
        If there is no such model, it has no such option, or a value cannot be used.
    """
    kind = model_type(name)
    for option in options:
        check_option(kind, option)
    return kind(**options)


def check_option(model: type[Model] | Model, option: str) -> None:
    """Refuse an option that a model does not have.

    Raises
    ------
    InputError
        If it has none of that name; the message lists those it has.
    """
    known = options_of(model)
    if option not in known:
        raise InputError(
            f"the model {model.name} has no option {option}; its options are {', '.join(known)}"
        )


def described(model: Model) -> dict[str, Any]:
    """Return a model's name and options, for files."""
    return {"model": model.name, **asdict(model)}


def checked_model(model: object) -> Model:
    """Return a model as it is.

    Raises
    ------
    InputError
        If it is none.
    """
    if isinstance(model, TTT | TTTD | TrueSkill | Elo | Glicko2):
        return model
    raise InputError(f"expected a model such as TTT(beta=480.0), got {model!r}")


def _is_number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, Real):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond all floats
        return False


def _is_whole(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _finite(name: str, value: Any) -> None:
    if not _is_number(value):
        raise InputError(f"expected a finite {name}, got {value!r}")


def _positive(name: str, value: Any) -> None:
    if not (_is_number(value) and value > 0):
        raise InputError(f"expected a positive {name}, got {value!r}")


def _zero_or_more(name: str, value: Any) -> None:
    if not (_is_number(value) and value >= 0):
        raise InputError(f"expected a {name} of zero or more, got {value!r}")


def _check_draw(draw: Any, words: tuple[str, ...] = ("share",)) -> None:
    if isinstance(draw, str):
        if draw not in words:
            raise InputError(f"expected {', '.join(words)} or a number as draw, got {draw!r}")
    elif not (_is_number(draw) and draw >= 0):
        raise InputError(f"expected a draw margin of zero or more, got {draw!r}")


def _check_advantage(first_mover: Any, words: tuple[str, ...]) -> None:
    if isinstance(first_mover, str):
        if first_mover not in words:
            known = ", ".join([*words, "a number"])
            raise InputError(f"expected {known} or none as first_mover, got {first_mover!r}")
    elif first_mover is not None and not _is_number(first_mover):
        raise InputError(f"expected a finite advantage, got {first_mover!r}")


def _one_of(name: str, value: object, known: tuple[str, ...]) -> None:
    if not isinstance(value, str) or value not in known:
        raise InputError(f"expected {name} to be one of {', '.join(known)}; got {value!r}")
