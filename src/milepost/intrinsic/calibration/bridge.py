"""Carry a calibration over to another engine set-up, without games of rated players.

Both set-ups have evaluated the same positions. The known calibration says how its agents choose
there; agents of the new set-up are sought who choose as nearly alike as they can, along Elo. So the
new path inherits the known one's Elo scale, its errors and its faults. What it cannot inherit is
measured: how far the choices differ, how much a turn still says about Elo, and what the new path
reads where the known agents choose.

That is right where the new values are the known ones made coarser or a little finer: another plan
of the same engine. The values of *another engine* err in ways of their own. Agents that were fitted
to one engine follow its errors; players follow neither's. So a player agrees with the other engine
better than the agents do, and would be read far too high (748 ± 257 Elo on 229 turns with Ethereal
12). There the new agents are those of the known path, on a scale on which they are as uncertain
(equal mean entropy): right if the new values are as good as the known ones, which no position can
tell without players.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from milepost.choice.columns import depends_on_values
from milepost.choice.depths import DepthScheme
from milepost.choice.evaluation.evaluate import evaluate, ln_probabilities, prepare
from milepost.choice.model import ChoiceModel
from milepost.choice.spreads import Floats, Ints, Spreads
from milepost.errors import InputError
from milepost.fit.methods.distilled import Distillation, Distilled, distil
from milepost.fit.uncertainty.covariance import group_sums
from milepost.intrinsic.calibration.build import error_of_map
from milepost.intrinsic.calibration.calibration import Calibration
from milepost.intrinsic.calibration.maps import RatingMap
from milepost.intrinsic.calibration.paths import PolynomialPath
from milepost.intrinsic.rating.likelihood_grid import RUNGS, greatest
from milepost.intrinsic.rating.splines import EvenSpline
from milepost.io.progress import Progress, Report

Bools = npt.NDArray[np.bool_]
GRID = 9
"""Ratings at which choices are compared, from end to end of the known calibration."""
LEAST_POSITIONS = 100
"""With fewer positions no bridge is built."""
_NEAR = 25.0
"""Elo over which the slope of a log-likelihood is taken."""
_ENDS = ("ln w: first", "ln w: last", "ln w: slope")
_STEPS = 3


@dataclass(frozen=True, eq=False)
class SamePositions:
    """The same positions as two set-ups value them."""

    known: Spreads
    """With the values of the set-up whose calibration is known."""
    new: Spreads
    """With the values of the other one; the same decisions in the same order."""
    match: Ints
    """For each option of `new`, which option of `known` it is."""

    def __post_init__(self) -> None:
        """Refuse options that do not fit."""
        if not np.array_equal(self.known.counts, self.new.counts):
            raise InputError("the two set-ups do not have the same options in every position")


def build_bridge(
    known: Calibration,
    positions: SamePositions,
    *,
    name: str,
    setup: str,
    setup_text: str,
    same_engine: bool = True,
    made: Mapping[str, Any] | None = None,
    progress: Report | None = None,
) -> Calibration:
    """Distil the agents of a known calibration onto another set-up.

    Coefficients of what the values do not enter are carried over; all others are fitted. The
    covariance has the known path's (by the delta method) and that of the positions, by game.

    Parameters
    ----------
    known
        The calibration to carry over.
    positions
        Positions that both set-ups have evaluated.
    name, setup, setup_text
        Name of the new calibration, digest and words of its set-up.
    same_engine
        Whether both set-ups are plans of one engine and net; otherwise the new agents are not those
        who choose alike, but those who are as uncertain.
    made
        Provenance for the file.
    progress
        Called with the steps done.

    Raises
    ------
    InputError
        If the known map reads no likelihood, depths do not fit, or there are too few positions.
    """
    path = known.map.path
    if not isinstance(path, PolynomialPath):
        raise InputError(f"the map {known.map.kind} of {known.name} cannot be carried over")
    if len(positions.new) < LEAST_POSITIONS:
        raise InputError(
            f"{len(positions.new)} positions are usable under both set-ups: a bridge needs "
            f"{LEAST_POSITIONS}"
        )

    def tell(what: str, done: int) -> None:
        if progress is not None:
            progress(Progress(done, _STEPS, what))

    tell("choices of the known agents", 0)
    ratings = np.linspace(*path.range, GRID)
    model = bridged_model(path.model, positions.new.depths)
    path = _with_room(path)
    targets = _choices(path, positions, ratings)
    tell("distillation", 1)
    if same_engine:
        bridged = _distilled(path, model, positions, ratings, targets)
    else:
        bridged = _as_uncertain(path, model, positions, ratings)
    tell("accuracy", 2)
    table = compare_paths(path, bridged, positions, ratings, targets)
    elo, errors = error_of_map(positions.new, bridged)
    # Agents of one engine are no players on another: what is read off their choices is no error.
    bias = np.interp(elo, ratings, table["bias"].to_numpy()) if same_engine else 0.0
    kept = table if same_engine else table.select("elo", "divergence", "stated")
    return replace(
        known,
        name=name,
        setup=setup,
        setup_text=setup_text,
        map=RatingMap(known.map.kind, bridged),
        map_error=(elo, np.hypot(errors, bias)),
        mileposts=pl.DataFrame(),
        tried=pl.DataFrame({"map": [known.map.kind], "admitted": [known.admitted]}),
        gate=pl.DataFrame(),
        counts={"positions": len(positions.new), "games": positions.new.number_of_groups},
        notes=_notes(known, table, same_engine=same_engine),
        made={**(made or {}), "bridge": {"from": known.name, "table": kept.to_dicts()}},
    )


def _distilled(
    path: PolynomialPath,
    model: ChoiceModel,
    positions: SamePositions,
    ratings: Floats,
    targets: list[Floats],
) -> PolynomialPath:
    """The path whose agents choose most nearly as the known ones."""
    task = Distillation(
        model,
        prepare(positions.new, model),
        (ratings - path.centre) / path.unit,
        path.degrees,
        _fitted(path),
    )
    learnt = distil(task, targets, path.coefficients)
    covariance = _covariance(path, positions, ratings, task, targets, learnt)
    return replace(path, model=model, coefficients=learnt.beta, covariance=covariance)


def _as_uncertain(
    path: PolynomialPath, model: ChoiceModel, positions: SamePositions, ratings: Floats
) -> PolynomialPath:
    """The same path on another scale: ln s moved so that mean entropies are equal at every Elo."""
    from scipy.optimize import brentq

    before, after = prepare(positions.known, path.model), prepare(positions.new, model)
    weights = positions.new.weights / positions.new.weights.sum()
    shifts, variances = [], []
    for rating in ratings:
        theta = path.theta(rating)[0]
        known = evaluate(path.model, before, theta).entropy

        def gap(shift: float, theta: Floats = theta, known: Floats = known) -> Floats:
            moved = theta.copy()
            moved[0] += shift
            answer: Floats = evaluate(model, after, moved).entropy - known
            return answer

        shift = float(brentq(lambda x, gap=gap: float(weights @ gap(x)), -4.0, 4.0, xtol=1e-6))
        slope = float(weights @ (gap(shift + 0.05) - gap(shift - 0.05))) / 0.1
        sums = group_sums((weights * gap(shift))[:, None], positions.new.groups)
        shifts.append(shift)
        variances.append(float((sums**2).sum()) / slope**2)
    x = (ratings - path.centre) / path.unit
    degree = path.degrees[0]
    coefficients = path.coefficients.copy()
    coefficients[: degree + 1] += np.polynomial.polynomial.polyfit(x, shifts, degree)
    covariance = path.covariance.copy()
    covariance[0, 0] += float(np.mean(variances))
    return replace(path, model=model, coefficients=coefficients, covariance=covariance)


def bridged_model(model: ChoiceModel, depths: tuple[int, ...]) -> ChoiceModel:
    """Return the model for values at other depths: the same weights of three numbers.

    Raises
    ------
    InputError
        If its weights are of another kind, or there are too few depths.
    """
    scheme = model.depths
    if scheme is None or scheme.depths == depths:
        return model
    if scheme.names != _ENDS:
        raise InputError(f"the depth weights of {model.name} cannot be remade for {depths}")
    return replace(model, depths=DepthScheme.ends(depths, scheme.combine))


def _with_room(path: PolynomialPath) -> PolynomialPath:
    """The same path, with a square for what is a line in the rating and depends on values.

    What is a line with one set-up need not be one with another: with lines alone a bridge to a
    shallower search reads up to 86 Elo off in the middle and at the ends.
    """
    fitted = _depend_on_values(path.model)
    degrees = tuple(
        degree + int(degree == 1 and moves)
        for degree, moves in zip(path.degrees, fitted, strict=True)
    )
    old = np.cumsum([0, *(degree + 1 for degree in path.degrees)])
    new = np.cumsum([0, *(degree + 1 for degree in degrees)])
    at = np.concatenate(
        [np.arange(a, a + d + 1) for a, d in zip(new[:-1], path.degrees, strict=True)]
    )
    coefficients = np.zeros(new[-1])
    coefficients[at] = path.coefficients[: old[-1]]
    covariance = np.zeros((new[-1], new[-1]))
    covariance[np.ix_(at, at)] = path.covariance
    return replace(path, degrees=degrees, coefficients=coefficients, covariance=covariance)


def _depend_on_values(model: ChoiceModel) -> Bools:
    """Which parameters the values have a say in: all but those of columns that options bring."""
    fitted = [name not in model.utilities or depends_on_values(name) for name in model.parameters]
    return np.array(fitted)


def _fitted(path: PolynomialPath) -> Bools:
    return np.repeat(_depend_on_values(path.model), np.asarray(path.degrees) + 1)


def _choices(path: PolynomialPath, positions: SamePositions, ratings: Floats) -> list[Floats]:
    """What the known agents choose at each rating, by option of the new spreads."""
    prepared = prepare(positions.known, path.model)
    return [
        np.exp(ln_probabilities(path.model, prepared, path.theta(rating)))[positions.match]
        for rating in ratings
    ]


def _covariance(
    path: PolynomialPath,
    positions: SamePositions,
    ratings: Floats,
    task: Distillation,
    targets: list[Floats],
    learnt: Distilled,
) -> Floats:
    """J V Jᵀ of the known path's V, and what the choice of positions adds.

    The new coefficients solve G(new, known) = 0, so J = -(dG/dnew)⁻¹ dG/dknown.
    """
    free, size = task.free, len(learnt.beta)
    answer = np.zeros((size, size))
    jacobian = np.eye(size)
    jacobian[free] = 0.0  # what is free follows the known path; what is not is the known path
    for place in np.flatnonzero(np.diag(path.covariance) > 0):
        step = 1e-3 * max(float(np.sqrt(path.covariance[place, place])), 1e-3)
        slopes = []
        for sign in (1.0, -1.0):
            moved = path.coefficients.copy()
            moved[place] += sign * step
            choices = _choices(replace(path, coefficients=moved), positions, ratings)
            beta = np.where(free, learnt.beta, moved)
            slopes.append(task.gradient(beta, choices))
        jacobian[free, place] = -learnt.bread @ (slopes[0] - slopes[1]) / (2 * step)
    answer[np.ix_(free, free)] = learnt.covariance
    total: Floats = jacobian @ path.covariance @ jacobian.T + answer
    return total


def compare_paths(
    known: PolynomialPath,
    new: PolynomialPath,
    positions: SamePositions,
    ratings: Floats,
    targets: list[Floats] | None = None,
) -> pl.DataFrame:
    """Return, by Elo, how the new path does where agents of the known one choose.

    Nothing is drawn: every choice counts with its probability.

    Returns
    -------
    polars.DataFrame
        `elo`; `divergence` of the choices in nats a turn; `bias`, what the new path reads less the
        Elo; `information`, what a turn tells about Elo as a share of what it tells with the known
        set-up, the reading's real variance counted (J²/V); `stated`, the same as the new path
        itself has it.
    """
    choices = _choices(known, positions, ratings) if targets is None else targets
    before = prepare(positions.known, known.model)
    after = prepare(positions.new, new.model)
    weights = positions.new.weights
    each = np.repeat(weights, positions.new.counts)

    def ln_p(rating: float) -> Floats:
        # What is never chosen has no logarithm; where both say so it adds nothing.
        return np.maximum(ln_probabilities(new.model, after, new.theta(rating)), -700.0)

    ladder = np.stack([np.stack(choices) @ (each * ln_p(float(rung))) for rung in RUNGS], axis=1)
    rows = []
    for row, (rating, q) in enumerate(zip(ratings, choices, strict=True)):
        reading = greatest(EvenSpline(RUNGS, ladder[row]))
        low, here, high = (ln_p(at) for at in (reading - _NEAR, reading, reading + _NEAR))
        score = (high - low) / (2 * _NEAR)
        bend = -float((each * q) @ (high - 2 * here + low)) / _NEAR**2
        starts = positions.new.offsets[:-1]
        mean = np.add.reduceat(q * score, starts)
        variance = float(weights**2 @ (np.add.reduceat(q * score**2, starts) - mean**2))
        with np.errstate(divide="ignore", invalid="ignore"):
            entropy = np.where(q > 0, q * np.log(q), 0.0)
        apart = float(each @ (entropy - q * ln_p(float(rating)))) / float(weights.sum())
        full = _information(known, before, float(rating))
        rows.append(
            {
                "elo": float(rating),
                "divergence": apart,
                "bias": reading - float(rating),
                "information": bend**2 / variance / full,
                "stated": _information(new, after, float(rating)) / full,
            }
        )
    return pl.DataFrame(rows)


def _information(path: PolynomialPath, prepared: Any, rating: float) -> float:
    said = evaluate(
        path.model, prepared, path.theta(rating), information=True, along=path.slope(rating)
    )
    return float(prepared.spreads.weights @ said.information[:, 0, 0])


def _notes(known: Calibration, table: pl.DataFrame, *, same_engine: bool) -> tuple[str, ...]:
    bias, kept, apart = (table[name].to_numpy() for name in ("bias", "information", "divergence"))
    origin = (
        f"a bridge from {known.name}: its agents distilled onto this set-up, without games of "
        "rated players"
    )
    accuracy = (
        f"where its agents choose, this map reads {bias.min():+.0f} to {bias.max():+.0f} Elo off, "
        f"and a turn tells {kept.mean():.0%} of what it tells there (divergence "
        f"{apart.mean():.3f} nats a turn)"
    )
    if not same_engine:
        origin = (
            f"a bridge from {known.name} to another engine: its agents on a scale on which they "
            "are as uncertain, without games of rated players; right if this engine's values are "
            "as good, which was not tested: expect an error of 100 Elo or more"
        )
        accuracy = f"its choices differ by {apart.mean():.3f} nats a turn from those of that engine"
    borrowed = f"how players vary is borrowed from {known.name}"
    return (origin, accuracy, borrowed, *(f"{known.name}: {note}" for note in known.notes))
