"""The evidence ratio: how much likelier the moves are with help from the menu than without.

    E_m = Σ_m w_m ∫ L_m(θ) π(θ) dθ / ∫ L_0(θ) π(θ) dθ

over the alternatives m of `milepost.fairplay.evidence.menu`, where θ is the player's strength,
known before the event with the uncertainty π, and every game has a strength θ_g about θ of its own:
real games vary more than agents' do. Both are integrated out above and below alike.

Half of E is this, the other half the ratio of plain counts of `milepost.fairplay.evidence.counts`.
Both are Bayes factors with everything fixed beforehand, and E, their mean, is therefore an
*e-value*: for honest players its mean is 1 at most, so that it exceeds x with a probability of 1/x
at most, however often one looks (Ville's inequality; Grünwald, de Heide & Koolen 2024, *Safe
testing*). That holds on average over π. The *worst-case ratio* has the greatest value of the
denominators over θ instead: it is smaller, and holds for a player of any strength.

Ratings and strengths stand on a grid about the rating; on that grid the model is exact, and
`milepost.fairplay.evidence.simulate` draws from just this model.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from milepost.choice.spreads import Floats, Ints
from milepost.errors import InputError
from milepost.fairplay.evidence import counts, menu
from milepost.fairplay.evidence.counts import FirstMoves
from milepost.fairplay.evidence.likelihoods import add_games
from milepost.fairplay.evidence.menu import Chances

NODES = np.arange(-1000.0, 1001.0, 50.0)
"""Strengths that are reckoned with, as distances from the middle of what is known beforehand."""
LEAST_SD = 60.0
"""No rating is known better than this: the grid is too coarse for less, and so is life."""
_LEAST_INFORMATION = 1e-12
_APART = np.abs(np.arange(len(NODES))[:, None] - np.arange(len(NODES)))
"""By how many nodes two of them are apart."""


@dataclass(frozen=True, eq=False)
class Turns:
    """What does not depend on the choices: the turns of one performance, game after game."""

    starts: Ints
    """Game g has the turns ``starts[g]`` to ``starts[g + 1]``."""
    chances: Chances
    """When help may come."""
    prior: Floats
    """Logarithm of the probability of each node of strength, before the event."""
    mixing: Floats
    """For each game, the probability of its own strength (columns) given the player's (rows)."""

    def __len__(self) -> int:
        """Return the number of turns."""
        return int(self.starts[-1])

    @property
    def games(self) -> int:
        """How many games there are."""
        return len(self.starts) - 1


@dataclass(frozen=True, eq=False)
class Chosen:
    """What was chosen, turn by turn."""

    ln_p: Floats
    """Logarithm of its probability for an agent at each node of strength, turns × nodes."""
    helped: Floats
    """Its probability for each assistant, assistants × turns."""
    hit: Floats | None = None
    """1 where it is the judge's first move; None = first moves are not counted."""
    first: FirstMoves | None = None
    """How likely that was."""


def strength_prior(sd: float) -> Floats:
    """Return the logarithms of the nodes' probabilities for a rating that is known up to `sd`."""
    ln = -0.5 * (NODES / max(sd, LEAST_SD)) ** 2
    answer: Floats = ln - log_sum(ln)
    return answer


def game_mixing(information: Floats, dispersion: float, game_sd: float = 0.0) -> Floats:
    """Return how each game's own strength lies about the player's.

    A game's score varies φ times as much as agents' does: Var(U/I) = φ/I = 1/I + τ², so that a
    strength of its own with τ² = (φ - 1)/I (and form besides) has the same effect.

    Parameters
    ----------
    information
        About the rating, of each game.
    dispersion
        φ of player-games.
    game_sd
        Form beyond φ, in rating points.
    """
    spare = max(dispersion - 1.0, 0.0)
    tau = np.sqrt(spare / np.maximum(information, _LEAST_INFORMATION) + game_sd**2)
    # Beyond the grid there is nothing; half of it is far enough for any game.
    tau = np.clip(tau, LEAST_SD, 0.4 * NODES[-1])
    # The nodes are evenly spaced, so there are no more distances than nodes.
    near = np.exp(-0.5 * ((NODES - NODES[0]) / tau[:, None]) ** 2)
    table = np.take(near, _APART, axis=1)
    answer: Floats = table / table.sum(axis=2, keepdims=True)
    return answer


def log_sum(values: npt.ArrayLike, axis: int | None = None) -> Any:
    """Return ln Σ e^value over all values, or along an axis; of nothing but -inf it is -inf.

    Evidence takes it hundreds of times of a few numbers, for which SciPy's is slow to begin.
    """
    terms = np.asarray(values, dtype=np.float64)
    if axis is None:
        greatest = float(terms.max())
        greatest = greatest if math.isfinite(greatest) else 0.0
        whole = float(np.exp(terms - greatest).sum())
        return math.log(whole) + greatest if whole != 0.0 else -math.inf
    top = terms.max(axis=axis, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        total = np.log(np.exp(terms - top).sum(axis=axis))
    return total + top.squeeze(axis)


@dataclass(frozen=True, eq=False)
class Evidence:
    """The likelihoods of all games so far: what is carried forward from round to round."""

    helped: Floats
    """Logarithm of the likelihood, schedules × assistants × shares × nodes."""
    alone: Floats
    """The same without help, by node."""
    prior: Floats
    """What was known before the event."""
    weights: Floats
    """Of the menu."""
    counted: Floats | None = None
    """Logarithm of the likelihood of the count of first moves by node: as it is, then each tilt."""

    @cached_property
    def _ln_helped(self) -> Floats:
        """Logarithm of the probability of the choices for each alternative."""
        answer: Floats = log_sum(self.prior + self.helped, axis=-1)
        return answer

    @cached_property
    def ln_alternatives(self) -> Floats:
        """Logarithm of the ratio of each alternative, schedules × assistants × shares."""
        return self._ln_helped - self.ln_alone

    @cached_property
    def ln_menu(self) -> float:
        """Logarithm of the ratio of the whole menu."""
        return float(log_sum(np.log(self.weights) + self.ln_alternatives))

    @cached_property
    def ln_counts(self) -> float | None:
        """Logarithm of the count ratio; None = first moves are not counted."""
        if self.counted is None:
            return None
        alone, *tilted = log_sum(self.prior + self.counted, axis=-1)
        return float(log_sum(tilted) - np.log(len(tilted)) - alone)

    @cached_property
    def ln_e(self) -> float:
        """Logarithm of the evidence ratio."""
        return _with_counts(self.ln_menu, self.ln_counts)

    @cached_property
    def ln_e_worst(self) -> float:
        """Logarithm of the worst-case ratio: each part by its own greatest denominator."""
        above = log_sum(np.log(self.weights) + self._ln_helped)
        of_menu = float(above - self.alone.max())
        if self.counted is None:
            return of_menu
        tilted = log_sum(self.prior + self.counted[1:]) - np.log(len(counts.TILTS))
        return _with_counts(of_menu, float(tilted - self.counted[0].max()))

    @cached_property
    def ln_alone(self) -> float:
        """Logarithm of the probability of the choices for an honest player."""
        return float(log_sum(self.prior + self.alone))


def _with_counts(of_menu: float, of_counts: float | None) -> float:
    if of_counts is None:
        return of_menu
    parts = [np.log1p(-counts.WEIGHT) + of_menu, np.log(counts.WEIGHT) + of_counts]
    return float(log_sum(parts))


def gather(turns: Turns, chosen: Chosen, games: int | None = None) -> Evidence:
    """Return the evidence of all games, or of the first few.

    Raises
    ------
    InputError
        If the parts do not fit together.
    """
    if chosen.ln_p.shape != (len(turns), len(NODES)) or chosen.helped.shape[1] != len(turns):
        raise InputError("the choices do not fit the turns")
    return _of_games(turns, chosen, 0, turns.games if games is None else games)


def after_each_game(turns: Turns, chosen: Chosen) -> list[Evidence]:
    """Return the evidence after each game, carried forward: the last one is that of all games."""
    answer: list[Evidence] = []
    so_far = nothing_yet(turns, chosen)
    for game in range(turns.games):
        so_far = joined(so_far, one_game(turns, chosen, game))
        answer.append(so_far)
    return answer


def nothing_yet(turns: Turns, chosen: Chosen) -> Evidence:
    """Return the evidence before the first game."""
    table = menu.weights(chosen.helped.shape[0] - len(menu.HELPERS))
    return Evidence(
        helped=np.zeros((*table.shape, len(NODES))),
        alone=np.zeros(len(NODES)),
        prior=turns.prior,
        weights=table,
        counted=None if chosen.first is None else np.zeros((1 + len(counts.TILTS), len(NODES))),
    )


def joined(before: Evidence, more: Evidence, sign: float = 1.0) -> Evidence:
    """Return the evidence of both; with a sign of -1 that of the first without the second."""
    counted = None
    if before.counted is not None and more.counted is not None:
        counted = before.counted + sign * more.counted
    return Evidence(
        helped=before.helped + sign * more.helped,
        alone=before.alone + sign * more.alone,
        prior=before.prior,
        weights=before.weights,
        counted=counted,
    )


def one_game(turns: Turns, chosen: Chosen, game: int) -> Evidence:
    """Return the evidence of one game by itself."""
    return _of_games(turns, chosen, game, game + 1)


def _of_games(turns: Turns, chosen: Chosen, first: int, last: int) -> Evidence:
    """The evidence of some games that follow one another."""
    answer = nothing_yet(turns, chosen)
    when = turns.chances
    starts, mixing = turns.starts[first : last + 1], turns.mixing[first:last]
    add_games(
        starts, chosen.ln_p, chosen.helped, when.difficult, when.behind, when.stake, mixing,
        np.array(menu.SHARES), menu.WITHIN_GAME, answer.helped, answer.alone,
    )  # fmt: skip
    if chosen.first is None or chosen.hit is None or first == last:
        return answer
    counted = chosen.first.likelihoods(chosen.hit, mixing, first, last)
    return replace(answer, counted=counted.sum(axis=0))


@dataclass(frozen=True)
class ShareOfTurns:
    """How many turns may have come from an assistant, if every turn is alike."""

    assistant: str
    """Who."""
    share: float
    """The likeliest share."""
    low: float
    """Lower end of its 95 % interval."""
    high: float
    """Upper end."""


_SHARE_GRID = np.concatenate([[0.0], np.linspace(0.01, 0.99, 99)])
_DROP = 1.920729
"""Half the 95 % point of chi-square with one degree of freedom."""


def shares_of_turns(turns: Turns, chosen: Chosen, names: list[str]) -> list[ShareOfTurns]:
    """Return the likeliest share of turns for each assistant, with its likelihood interval.

    The player's strength and that of the games are integrated out.
    """
    answer = []
    for k, name in enumerate(names):
        ln = _share_likelihood(turns, chosen.ln_p, chosen.helped[k])
        inside = _SHARE_GRID[ln >= ln.max() - _DROP]
        answer.append(
            ShareOfTurns(name, float(_SHARE_GRID[ln.argmax()]), float(inside[0]), float(inside[-1]))
        )
    return answer


def _share_likelihood(turns: Turns, ln_p: Floats, helped: Floats) -> Floats:
    answer = np.zeros((len(_SHARE_GRID), len(NODES)))
    for game in range(turns.games):
        at = slice(int(turns.starts[game]), int(turns.starts[game + 1]))
        p, e = np.exp(ln_p[at]), helped[at]
        for row, q in enumerate(_SHARE_GRID):
            ln_g = np.log((1 - q) * p + q * e[:, None]).sum(axis=0)
            top = ln_g.max()
            answer[row] += np.log(turns.mixing[game] @ np.exp(ln_g - top)) + top
    total: Floats = log_sum(turns.prior + answer, axis=1)
    return total


def without_each_turn(turns: Turns, chosen: Chosen) -> Floats:
    """Return what each turn adds to ln E: that of all turns less that without it."""
    games = [one_game(turns, chosen, game) for game in range(turns.games)]
    whole = nothing_yet(turns, chosen)
    for each in games:
        whole = joined(whole, each)
    answer = np.empty(len(turns))
    for game in range(turns.games):
        first, last = int(turns.starts[game]), int(turns.starts[game + 1])
        others = joined(whole, games[game], -1.0)
        for t in range(first, last):
            keep = np.array([row for row in range(first, last) if row != t], dtype=np.int64)
            left = joined(others, _some_turns(turns, chosen, game, keep))
            answer[t] = whole.ln_e - left.ln_e
    return answer


def _some_turns(turns: Turns, chosen: Chosen, game: int, rows: Ints) -> Evidence:
    """The evidence of some turns of a game; nothing at all where none is left."""
    if not len(rows):
        return nothing_yet(turns, chosen)
    starts = np.array([0, len(rows)])
    part = Turns(
        starts,
        Chances(
            turns.chances.difficult[rows], turns.chances.behind[rows], turns.chances.stake[rows]
        ),
        turns.prior,
        turns.mixing[game : game + 1],
    )
    some = Chosen(chosen.ln_p[rows], chosen.helped[:, rows])
    if chosen.first is not None and chosen.hit is not None:
        some = replace(
            some, hit=chosen.hit[rows], first=FirstMoves(chosen.first.chance[rows], starts)
        )
    return one_game(part, some, 0)
