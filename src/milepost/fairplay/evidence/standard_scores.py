"""Standard scores of a performance: match rate, error and likelihood, together and honestly.

For every turn three figures are compared with what an agent of the player's own rating would have:
whether the best option was taken (*match*), how much was lost on the scale of differences
(*error*, counted so that less is more), and how likely the choice was (*likelihood*). Their sums
are correlated by more than a half, so they are never added up as if they were independent: with V
their covariance and d the way in which help would move them, the one test that a small share of
help moves most is

    z = d' V⁻¹ S / √(d' V⁻¹ d),        V = Φ^½ C Φ^½ + σ² g g',

where C is the agents' covariance, Φ how much more real games vary (one number a figure), g the
derivative of the sums by the rating, and σ how far honest players, and whole events, lie off their
rating. S is centred by what honest players show. This is the locally best one-sided test of a
normal mean (Cox & Hinkley 1974, ch. 4).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ndtr, ndtri

from milepost.choice.evaluation.evaluate import Prepared, probabilities_nearby
from milepost.choice.spreads import Floats, Ints
from milepost.intrinsic.calibration.paths import AgentPath
from milepost.intrinsic.calibration.player_variation import OwnAgents, own_agents
from milepost.kernels import kernel

FIGURES = ("match", "error", "likelihood")
"""The three figures; all rise with skill."""
STEP = 25.0
"""Derivatives by the rating are taken over so many points to either side."""
_LEAST_LN = -50.0


@dataclass(frozen=True, eq=False)
class TurnScores:
    """The three figures of every turn, beside what agents of the player's own rating have."""

    offsets: Ints
    """Turn t has the options ``offsets[t]`` to ``offsets[t + 1]``."""
    delta: Floats
    """Scaled difference of every option to the best."""
    ln_p: Floats
    """Logarithm of the probability of every option for an agent of the player's own rating."""
    probabilities: Floats
    """The probability."""
    chosen: Floats
    """The figures of the chosen option, turns × 3."""
    expected: Floats
    """Expected, turns × 3."""
    covariance: Floats
    """Of one turn's figures, turns × 3 × 3."""
    slope: Floats
    """Derivative of the expected figures by the rating, turns × 3."""
    error: Floats
    """The expected scaled error: how hard the turn is for this rating."""

    @cached_property
    def options(self) -> Floats:
        """The figures of every option, options × 3."""
        first = np.zeros(len(self.delta))
        first[self.offsets[:-1]] = 1.0
        return np.stack([first, -self.delta, self.ln_p], axis=1)


def turn_scores(
    prepared: Prepared, path: AgentPath, own: Floats, agents: OwnAgents | None = None
) -> TurnScores:
    """Work the figures out.

    Parameters
    ----------
    prepared
        The decisions, prepared for the path's model.
    path
        The agents.
    own
        The player's rating, for each decision.
    agents
        What they said of just this, probabilities included, if they were asked; best with those of
        agents `STEP` points above and below.
    """
    spreads = prepared.spreads
    if agents is None:
        agents = own_agents(prepared, path, own, probabilities=True)
    p = agents.said.probabilities
    with np.errstate(divide="ignore"):
        ln_p = np.maximum(np.log(p), _LEAST_LN)
    above, below = (
        agents.nearby[step]
        if step in agents.nearby
        else probabilities_nearby(
            path.model, prepared, path.theta(agents.ratings + step)[agents.which], agents.roots
        )
        for step in (STEP, -STEP)
    )
    turns = len(spreads)
    chosen, expected, slope = (np.empty((turns, 3)) for _ in range(3))
    covariance = np.empty((turns, 3, 3))
    delta = prepared.finite_delta
    _fill_figures(
        spreads.offsets, spreads.chosen, delta, ln_p, p, above, below, 2 * STEP,
        chosen, expected, covariance, slope,
    )  # fmt: skip
    return TurnScores(
        offsets=spreads.offsets,
        delta=delta,
        ln_p=ln_p,
        probabilities=p,
        chosen=chosen,
        expected=expected,
        covariance=covariance,
        slope=slope,
        error=agents.said.error,
    )


@kernel
def _fill_figures(
    offsets: Ints,
    choices: Ints,
    delta: Floats,
    ln_p: Floats,
    p: Floats,
    above: Floats,
    below: Floats,
    apart: float,
    chosen: Floats,
    expected: Floats,
    covariance: Floats,
    slope: Floats,
) -> None:
    """Fill the figures of each turn: (first or not, -δ, ln p), as `TurnScores` has them."""
    for turn in range(len(offsets) - 1):
        first, last = offsets[turn], offsets[turn + 1]
        at = first + choices[turn]
        chosen[turn, 0] = 1.0 if choices[turn] == 0 else 0.0
        chosen[turn, 1], chosen[turn, 2] = -delta[at], ln_p[at]
        error, likelihood, error_moves, likelihood_moves = 0.0, 0.0, 0.0, 0.0
        for i in range(first, last):
            move = (above[i] - below[i]) / apart
            error -= p[i] * delta[i]
            likelihood += p[i] * ln_p[i]
            error_moves -= move * delta[i]
            likelihood_moves += move * ln_p[i]
        best = p[first]
        expected[turn, 0], expected[turn, 1], expected[turn, 2] = best, error, likelihood
        slope[turn, 0] = (above[first] - below[first]) / apart
        slope[turn, 1], slope[turn, 2] = error_moves, likelihood_moves
        # Deviations of the other options from the expected match are all -p of the first.
        matches, match_error, match_likelihood = 0.0, 0.0, 0.0
        errors, both, likelihoods = 0.0, 0.0, 0.0
        for i in range(first, last):
            hit = (1.0 if i == first else 0.0) - best
            lost, surprise = -delta[i] - error, ln_p[i] - likelihood
            matches += p[i] * hit * hit
            match_error += p[i] * hit * lost
            match_likelihood += p[i] * hit * surprise
            errors += p[i] * lost * lost
            both += p[i] * lost * surprise
            likelihoods += p[i] * surprise * surprise
        covariance[turn, 0, 0] = matches
        covariance[turn, 0, 1] = covariance[turn, 1, 0] = match_error
        covariance[turn, 0, 2] = covariance[turn, 2, 0] = match_likelihood
        covariance[turn, 1, 1] = errors
        covariance[turn, 1, 2] = covariance[turn, 2, 1] = both
        covariance[turn, 2, 2] = likelihoods


def towards_help(scores: TurnScores, helped: Floats) -> Floats:
    """Return by how much each turn's expected figures move if it is helped, turns × 3.

    Parameters
    ----------
    scores
        The figures.
    helped
        Probability of every option for the assistant.
    """
    starts = scores.offsets[:-1]
    with_help = np.stack(
        [
            helped[starts],
            -np.add.reduceat(helped * scores.delta, starts),
            np.add.reduceat(helped * scores.ln_p, starts),
        ],
        axis=1,
    )
    answer: Floats = with_help - scores.expected
    return answer


@dataclass(frozen=True, eq=False)
class HonestVariation:
    """How honest players' figures vary about those of agents of their rating."""

    bias: Floats
    """What a turn's figures exceed the agents' by in the mean."""
    dispersion: Floats
    """By how much more the figures of games vary than agents'."""
    sd: float
    """How far players, events and the map are off, in rating points."""


@dataclass(frozen=True, eq=False)
class Scored:
    """The standard scores of one performance."""

    raw: Floats
    """z of the three figures, as if players were agents."""
    adjusted: Floats
    """z of the three figures among honest players."""
    correlation: Floats
    """Their correlation among honest players, 3 × 3."""
    combined: float
    """The one test."""
    weights: Floats
    """What it makes of the centred sums."""
    shift: float
    """By how much z moves if every turn is helped."""

    @property
    def p(self) -> float:
        """Probability that an honest player does as well or better, by the normal law."""
        return float(ndtr(-self.combined))

    def power(self, share: float, false_alarms: float) -> float:
        """Return the probability to notice a share of helped turns, by the normal law."""
        return float(ndtr(ndtri(false_alarms) + share * self.shift))


def score(
    scores: TurnScores, direction: Floats, honest: HonestVariation, rows: Ints | slice
) -> Scored:
    """Return the standard scores of some turns, all of one performance.

    Parameters
    ----------
    scores, direction
        The figures of all turns, and where help moves them.
    honest
        How honest players vary.
    rows
        The turns.
    """
    apart = scores.chosen[rows] - scores.expected[rows]
    count = len(apart)
    return score_sums(
        apart.sum(axis=0),
        count,
        scores.covariance[rows].sum(axis=0),
        scores.slope[rows].sum(axis=0),
        direction[rows].sum(axis=0),
        honest,
    )


def score_sums(
    sums: Floats,
    turns: int,
    covariance: Floats,
    slope: Floats,
    direction: Floats,
    honest: HonestVariation,
) -> Scored:
    """Return the standard scores, given the sums over the turns."""
    variance = honest_covariance(covariance, slope, honest)
    own = np.maximum(np.diag(covariance), 1e-12)
    sd = np.sqrt(np.maximum(np.diag(variance), 1e-12))
    centred = sums - turns * honest.bias
    # Turns where nothing can be chosen between leave V singular: a ridge far below its smallest.
    ridge = variance + 1e-9 * np.diag(sd**2)
    weights = np.asarray(np.linalg.solve(ridge, direction), dtype=np.float64)
    scale = float(np.sqrt(np.maximum(weights @ variance @ weights, 1e-12)))
    return Scored(
        raw=sums / np.sqrt(own),
        adjusted=centred / sd,
        correlation=variance / np.outer(sd, sd),
        combined=float(weights @ centred) / scale,
        weights=weights / scale,
        shift=float(weights @ direction) / scale,
    )


def honest_covariance(covariance: Floats, slope: Floats, honest: HonestVariation) -> Floats:
    """Return V: agents' covariance, stretched as real games vary, and what ratings are off by."""
    stretch = np.sqrt(honest.dispersion)
    answer: Floats = covariance * np.outer(stretch, stretch) + honest.sd**2 * np.outer(slope, slope)
    return answer


def within_performances(
    sums: Floats, covariance: Floats, turns: Floats, performances: Ints
) -> Floats:
    """Return by how much more the figures of player-games vary than agents', within performances.

    Σ over performances of the squared deviations of a game's sums from what the performance's mean
    rate a turn makes of it, over its expectation for agents.

    Parameters
    ----------
    sums, covariance, turns
        Of each player-game: figures less expected ones, the agents' covariance, turns.
    performances
        Which performance it belongs to.
    """
    above, below = np.zeros(3), np.zeros(3)
    for performance in np.unique(performances):
        rows = np.flatnonzero(performances == performance)
        if len(rows) < 2:
            continue
        share = turns[rows] / turns[rows].sum()
        apart = sums[rows] - share[:, None] * sums[rows].sum(axis=0)
        own = np.diagonal(covariance[rows], axis1=1, axis2=2)
        above += (apart**2).sum(axis=0)
        # Var(S_g - w_g ΣS) = (1 - 2 w_g) C_g + w_g² ΣC.
        below += ((1 - 2 * share)[:, None] * own + share[:, None] ** 2 * own.sum(axis=0)).sum(
            axis=0
        )
    answer: Floats = above / below
    return answer


def correlation_text(correlation: Floats, names: Sequence[str] = FIGURES) -> str:
    """Return the correlations in words."""
    pairs = [(0, 1), (0, 2), (1, 2)]
    return ", ".join(f"{names[i]} and {names[j]} {correlation[i, j]:.2f}" for i, j in pairs)
