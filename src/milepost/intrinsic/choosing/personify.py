"""Fit one person's agent: the Elo of their moves, and what they do otherwise than others of it.

The Elo is the likeliest one along the calibration's path. The shift of the parameters is fitted on
top, shrunk towards none (`milepost.fit.methods.shifted`). Whether it says anything is told by games
that were held out: the gain in log-likelihood a turn over the population's agent of the same Elo,
with an interval that resamples games. The Elo has the interval that a rating of these turns has
(`milepost.intrinsic.rating.interval`). Where the interval reaches 0, no style was found, and the
shift is left at none.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from milepost.choice.evaluation.evaluate import evaluate, prepare
from milepost.choice.spreads import Floats, Spreads
from milepost.errors import TooFewGamesError
from milepost.fit.methods.shifted import fit_shift
from milepost.intrinsic.calibration.calibration import Calibration
from milepost.intrinsic.choosing.personal import PersonalAgent
from milepost.intrinsic.rating.interval import estimate
from milepost.intrinsic.rating.likelihood_grid import climb
from milepost.io.progress import Progress, Report

LEAST_GAMES = 20
"""With fewer games nobody's style can be told."""
PRIOR_SD = 0.15
"""σ of a shift: players of equal Elo differ by about so much in ln s."""
FOLDS = 5
_RESAMPLES = 2_000
_STEP = 20.0
"""The Elo is looked for in steps of this, then in steps of one."""


@dataclass(frozen=True, eq=False)
class Personified:
    """What was found of a person."""

    agent: PersonalAgent
    """The agent."""
    found: bool
    """Whether a style was found: the held-out gain lies above 0."""
    gain: tuple[float, float, float]
    """Held-out gain of the shift, nats a turn: mean, and its 95 % interval."""
    elo: float
    """Of the moves."""
    elo_interval: tuple[float, float]
    """Its 95 % interval, how well these games were played; infinite = no bound."""
    turns: int
    """How many."""
    games: int
    """How many."""
    range: tuple[float, float] = (0.0, float("inf"))
    """Of the calibration: an Elo at its end may lie beyond it."""
    games_read: int | None = None
    """Their games that were read, also those without a turn that counts; None = not known."""

    @property
    def gain_shares(self) -> tuple[float, float, float]:
        """The gain as people read it: by what share their held-out moves become more probable.

        0.02 = 2 % more probable in the (geometric) mean; mean, and its 95 % interval.
        """
        mean, low, high = (float(np.expm1(nats)) for nats in self.gain)
        return mean, low, high


def personify(
    spreads: Spreads,
    calibration: Calibration,
    *,
    least_games: int = LEAST_GAMES,
    sd: float = PRIOR_SD,
    seed: int = 2011,
    progress: Report | None = None,
) -> Personified:
    """Fit a person's agent to their turns, grouped by game.

    Parameters
    ----------
    spreads
        The turns.
    calibration
        For the set-up of their evaluations.
    least_games
        Fewer are refused.
    sd
        Standard deviation of the shift a priori.
    seed
        Of the interval's resampling.
    progress
        Called with the fits done.

    Raises
    ------
    TooFewGamesError
        If there are too few games.
    """
    games = np.unique(spreads.groups)
    refuse_few(len(games), least_games)
    path = calibration.map.path
    model = path.model
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(games))
    fold_of = np.empty(len(games), dtype=np.int64)
    fold_of[order] = np.arange(len(games)) % FOLDS
    fold = fold_of[np.searchsorted(games, spreads.groups)]
    gains = np.zeros(len(spreads))
    for number in range(FOLDS):
        _tell(progress, number)
        train, rest = spreads.take(fold != number), spreads.take(fold == number)
        theta = path.theta(_likeliest_elo(train, calibration))
        shift = fit_shift(train, model, theta, sd).values
        prepared = prepare(rest, model)
        with_style = evaluate(model, prepared, theta + shift).ln_chosen
        gains[fold == number] = with_style - evaluate(model, prepared, theta).ln_chosen
    mean, low, high = _interval(gains, np.searchsorted(games, spreads.groups), len(games), rng)
    _tell(progress, FOLDS)
    elo = _likeliest_elo(spreads, calibration)
    rated = estimate(climb(spreads, path), calibration.variation, calibration.map_error)
    shift = fit_shift(spreads, model, path.theta(elo), sd).values
    agent = PersonalAgent(
        elo=elo,
        setup=calibration.setup,
        setup_text=calibration.setup_text,
        calibration=calibration.name,
        shift=shift if low > 0 else np.zeros(len(model.parameters)),
        parameters=model.parameters,
        gain={"mean": mean, "low": low, "high": high},
        counts={"turns": len(spreads), "games": len(games)},
        elo_interval=(rated.low, rated.high),
    )
    return Personified(
        agent=agent,
        found=low > 0,
        gain=(mean, low, high),
        elo=elo,
        elo_interval=agent.elo_interval,
        turns=len(spreads),
        games=len(games),
        range=calibration.range,
    )


def _tell(progress: Report | None, fits: int) -> None:
    if progress is not None:
        progress(Progress(fits, FOLDS + 1))


def refuse_few(games: int, least_games: int) -> None:
    """Raise a `TooFewGamesError` if there are too few games with turns to fit a person to."""
    if games < least_games:
        unit = "game" if games == 1 else "games"
        raise TooFewGamesError(
            f"{games} {unit}: an agent of a person needs {least_games}, and more are better"
        )


def _likeliest_elo(spreads: Spreads, calibration: Calibration) -> float:
    """The likeliest Elo along the path, within its range."""
    path = calibration.map.path
    prepared = prepare(spreads, path.model)
    low, high = calibration.range

    def likelihood(elo: float) -> float:
        said = evaluate(path.model, prepared, path.theta(elo))
        return float(spreads.weights @ said.ln_chosen)

    coarse = np.append(np.arange(low, high, 5 * _STEP), high)
    at = float(coarse[int(np.argmax([likelihood(elo) for elo in coarse]))])
    for step in (_STEP, 4.0):
        near = np.clip(at + step * np.arange(-5, 6), low, high)
        at = float(near[int(np.argmax([likelihood(elo) for elo in near]))])
    return at


def _interval(
    gains: Floats, game: npt.NDArray[np.intp], games: int, rng: np.random.Generator
) -> tuple[float, float, float]:
    """Mean and 95 % interval of a gain a turn, resampling games."""
    sums = np.bincount(game, weights=gains, minlength=games)
    counts = np.bincount(game, minlength=games)
    drawn = rng.integers(0, games, size=(_RESAMPLES, games))
    means = sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return float(gains.mean()), float(low), float(high)
