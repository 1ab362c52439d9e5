"""A shift of an agent's parameters, shrunk towards none: one chooser beside many.

The parameters are θ₀ + δ, θ₀ known from others, δ ~ N(0, σ²) a priori: the mode of the posterior. A
chooser of whom little is known stays near θ₀.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from milepost.choice.evaluation.evaluate import evaluate, prepare
from milepost.choice.model import ChoiceModel
from milepost.choice.spreads import Floats, Spreads
from milepost.errors import InputError
from milepost.fit.search import minimise

_MOST_ITERATIONS = 100


@dataclass(frozen=True, eq=False)
class Shift:
    """A shift of working parameters."""

    values: Floats
    """δ."""
    log_likelihood: float
    """Of the decisions it was fitted to, without the prior."""
    converged: bool
    """Whether the search came to rest."""


def fit_shift(spreads: Spreads, model: ChoiceModel, theta: Floats, sd: float) -> Shift:
    """Fit a shift to decisions.

    Parameters
    ----------
    spreads
        The decisions.
    model
        The model.
    theta
        θ₀, the working parameters that the shift is added to.
    sd
        σ, the standard deviation of the shift of each parameter a priori.

    Raises
    ------
    InputError
        If σ is not over 0, or there are no decisions.
    """
    if not sd > 0 or not len(spreads):
        raise InputError("a shift needs decisions, and a standard deviation over 0")
    prepared = prepare(spreads, model)
    weights = spreads.weights
    total = float(weights.sum())
    start = np.zeros(len(model.parameters))
    base = np.asarray(theta, dtype=np.float64).reshape(-1)

    seen: dict[bytes, tuple[float, Floats, Floats]] = {}

    def terms(delta: Floats) -> tuple[float, Floats, Floats]:
        key = delta.tobytes()
        if key not in seen:
            seen.clear()
            seen[key] = work_out(delta)
        return seen[key]

    def work_out(delta: Floats) -> tuple[float, Floats, Floats]:
        said = evaluate(model, prepared, base + delta)
        score = said.d_ln_chosen
        loss = -float(weights @ said.ln_chosen) + 0.5 * float(delta @ delta) / sd**2
        slope = -(weights @ score) + delta / sd**2
        # Outer products of the scores (Berndt, Hall, Hall & Hausman 1974), and the prior's own.
        curve = score.T @ (score * weights[:, None]) + np.eye(len(delta)) / sd**2
        return loss / total, slope / total, curve / total

    found = minimise(terms, start, gtol=1e-6, most=_MOST_ITERATIONS)
    _, slope, _ = terms(found.x)
    said = evaluate(model, prepared, base + found.x)
    return Shift(found.x, float(weights @ said.ln_chosen), bool(np.abs(slope).max() < 1e-4))
