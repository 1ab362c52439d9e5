"""How a calibration that sees deeper would rate a rule that chooses moves; no game is played.

A rule gives every option of many decisions a probability. If moves were drawn from it, a rating
would be the Elo that makes the draws likeliest; with ever more draws it tends to the Elo θ that
maximises Σ p(option) ln p(option | θ). So the rating of a rule needs no draws, and has no noise
but that of the decisions it is asked about.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from milepost.choice.evaluation.evaluate import ln_probabilities, prepare
from milepost.choice.spreads import Floats, Spreads
from milepost.intrinsic.calibration.paths import AgentPath
from milepost.intrinsic.choosing.decided import mate_ladder
from milepost.intrinsic.choosing.playing import Rule, minded

SLIPS = (0.5, 1.0, 2.0, 3.0)
"""Pawns that a move gives away, or more."""
_FIRST, _LAST, _STEP = 900.0, 3600.0, 150.0
"""The Elos that are looked at; between them the likelihood is taken as a parabola."""


class Judge:
    """Rates rules on decisions whose deeper values are known."""

    def __init__(self, spreads: Spreads, path: AgentPath):
        """Work out what the agents of every Elo would do.

        Parameters
        ----------
        spreads
            The decisions, with the values that the judge sees.
        path
            The judge's agents.
        """
        self.spreads = spreads
        prepared = prepare(spreads, path.model)
        self.loss = np.where(np.isfinite(prepared.loss), prepared.loss, 0.0)
        self.elos = np.arange(_FIRST, _LAST + _STEP / 2, _STEP)
        table = [ln_probabilities(path.model, prepared, path.theta([elo])) for elo in self.elos]
        # An option that nobody ever chooses (padding) has no share in any rule.
        self._ln_p = np.maximum(np.stack(table), -700.0)

    def elo(self, probabilities: Floats) -> float:
        """Return the Elo that a rule shows; at an end of what is looked at, there or beyond.

        Parameters
        ----------
        probabilities
            Of every option, in the order of the decisions' options.
        """
        likelihood = self._ln_p @ probabilities
        top = int(np.argmax(likelihood))
        if top in (0, len(self.elos) - 1):
            return float(self.elos[top])
        before, at, after = likelihood[top - 1 : top + 2]
        return float(self.elos[top] + 0.5 * _STEP * (before - after) / (before - 2 * at + after))

    def agents(self, elo: float) -> Floats:
        """Return how the judge's own agents of one of `elos` choose: people, as the judge sees."""
        answer: Floats = np.exp(self._ln_p[int(np.argmin(np.abs(self.elos - elo)))])
        return answer

    def slips(self, probabilities: Floats, limits: Sequence[float] = SLIPS) -> Floats:
        """Return the share of decisions in which a rule gives away so many pawns or more."""
        shares = [probabilities[self.loss >= limit - 1e-9].sum() for limit in limits]
        return np.array(shares) / len(self.spreads)


def normalised(ln_p: Floats, spreads: Spreads, sharpness: npt.ArrayLike = 1.0) -> Floats:
    """Return probabilities in proportion to exp(sharpness × ln p), decision by decision.

    Parameters
    ----------
    ln_p
        Of every option.
    spreads
        The decisions.
    sharpness
        One for all decisions, or one each.
    """
    starts, counts = spreads.offsets[:-1], spreads.counts
    sharp = np.repeat(np.broadcast_to(sharpness, len(spreads)), counts) * ln_p
    shares = np.exp(sharp - np.repeat(np.maximum.reduceat(sharp, starts), counts))
    answer: Floats = shares / np.repeat(np.add.reduceat(shares, starts), counts)
    return answer


def played(ln_p: Floats, spreads: Spreads, rules: Sequence[Rule]) -> Floats:
    """Return how rules play many decisions; the agents' own figures are in `ln_p` already.

    Parameters
    ----------
    ln_p
        Of every option, as the agents of the rules choose.
    spreads
        The decisions, with the values that the player sees.
    rules
        One for all decisions, or one each.
    """
    sharpness = np.array([rule.sharpness for rule in rules])
    caution = np.array([rule.caution for rule in rules])
    both = np.broadcast_arrays(sharpness, caution, np.empty(len(spreads)))[:2]
    sharp, careful = (np.repeat(each, spreads.counts) for each in both)
    return normalised(sharp * ln_p - careful * minded(own_losses(spreads)), spreads)


def own_losses(spreads: Spreads) -> Floats:
    """Return what every option gives away by the values of the decisions, mates on the ladder."""
    values = mate_ladder(spreads.values)
    best = np.maximum.reduceat(values, spreads.offsets[:-1])
    answer: Floats = np.repeat(best, spreads.counts) - values
    return answer
