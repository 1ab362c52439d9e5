"""What move evidence and a history of results say about each other, by restricted likelihood.

Given the results, a player's skill x at a node is Gaussian: mean m, covariance C along his life. So
the sites y of a player are Gaussian too,

    y = A_period + slope (x − mu) + u + e,   Cov = slope² C + r² 1 1' + diag(v),

with u his lasting offset and v the variance of turns and form. The era A is a random walk with a
diffuse start and is integrated out, so that variances are not learned too small (REML: Patterson &
Thompson 1971, Biometrika 58, 545). The difference between the joint evidence and that of the
results is the logarithm of this density (docs/joint.md).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from milepost.history.joint.observations import Observations
from milepost.history.joint.options import CALIBRATION, LEARN, Moves
from milepost.history.records import Floats, Records
from milepost.history.solver.convergence import ConvergenceWarning
from milepost.history.ttt.graph import Chains

CONSTANT_DRIFT = 1e-3
"""A constant era is a walk of so little a year, in Elo: nothing over any history."""
_STARTS = {"slope": 0.5, "spread": 120.0, "form": 120.0, "era_drift": 15.0}


@dataclass(frozen=True)
class Learned:
    """The numbers of the joint model."""

    slope: float
    """Elo a point."""
    slope_se: float
    """Its standard error; 0 = given."""
    spread: float
    """r, Elo."""
    spread_se: float
    """Its standard error; 0 = given."""
    form: float
    """f, Elo."""
    form_se: float
    """Its standard error; 0 = given."""
    era_drift: float
    """Elo that a unit of time adds to the era."""
    era: Floats
    """For each period, the era: Elo of a skill of mu."""
    era_by_slope: Floats
    """Its derivative by the slope: about minus the mean skill (from mu) of the period's sites."""
    log_density: float
    """ln p(sites | results), the era integrated out (up to its diffuse start)."""


@dataclass(frozen=True)
class _Blocks:
    """Players with equally many sites, so that their matrices are worked on together."""

    sites: np.ndarray
    """Players × sites: places among the observations."""
    covariance: np.ndarray
    """Players × sites × sites: of the skills, given the results."""


def learn(observed: Observations, records: Records, known: Known, options: Moves) -> Learned:
    """Return slope, spread, form and era.

    Parameters
    ----------
    observed
        The sites.
    records
        The games of the history.
    known
        What results alone say about the skills.
    options
        What is given, and what is learned.

    Warns
    -----
    ConvergenceWarning
        If the search does not come to rest.
    """
    clock = records.clock
    mean, blocks = known.mean[observed.node], _blocks(observed, known)
    if options.era == "given":
        assert options.era_level is not None
        held = np.full(records.periods, float(options.era_level))
    else:
        held = None
    given = {
        "slope": options.slope,
        "spread": observed.spread if options.spread == CALIBRATION else options.spread,
        "form": observed.form if options.form == CALIBRATION else options.form,
        "era_drift": CONSTANT_DRIFT if options.era == "constant" else options.era_drift,
    }
    values = {
        name: _STARTS[name] if value == LEARN else float(np.nan_to_num(float(value)))
        for name, value in given.items()
    }
    free = [name for name, value in given.items() if value == LEARN]
    if held is not None and "era_drift" in free:
        free.remove("era_drift")

    def density(numbers: Floats) -> float:
        now = values | {name: float(np.exp(each)) for name, each in zip(free, numbers, strict=True)}
        return _density(observed, mean, blocks, clock, held, now)[0]

    errors = dict.fromkeys(values, 0.0)
    if free:
        best, covariance = _maximum(density, np.log([values[name] for name in free]))
        for place, name in enumerate(free):
            values[name] = float(np.exp(best[place]))
            errors[name] = values[name] * float(np.sqrt(max(covariance[place, place], 0.0)))
    total, era = _density(observed, mean, blocks, clock, held, values)
    ends = [
        _density(observed, mean, blocks, clock, held, values | {"slope": each * values["slope"]})[1]
        for each in (0.99, 1.01)
    ]
    by_slope = (ends[1] - ends[0]) / (0.02 * values["slope"])
    return Learned(
        values["slope"], errors["slope"], values["spread"], errors["spread"], values["form"],
        errors["form"], values["era_drift"], era, by_slope, total,
    )  # fmt: skip


def _maximum(function: Callable[[Floats], float], start: Floats) -> tuple[Floats, Floats]:
    """Return the greatest place of a function of few logarithms, and the inverse curvature."""
    limits = [(np.log(1e-3), np.log(2000.0))] * len(start)
    found = minimize(
        lambda at: -function(at), start, method="Nelder-Mead", bounds=limits,
        options={"xatol": 1e-4, "fatol": 1e-4, "maxiter": 400 * len(start)},
    )  # fmt: skip
    if not found.success:
        warnings.warn(
            f"what the move evidence says about its own numbers was not found: {found.message}",
            ConvergenceWarning,
            stacklevel=6,
        )
    best, step, count = found.x, 0.02, len(start)
    curvature = np.empty((count, count))
    for i in range(count):
        for j in range(i + 1):
            one, two = step * np.eye(count)[i], step * np.eye(count)[j]
            value = (
                function(best + one + two) - function(best + one - two)
                - function(best - one + two) + function(best - one - two)
            ) / (4.0 * step**2)  # fmt: skip
            curvature[i, j] = curvature[j, i] = -value
    # A number that the data cannot tell (a spread near zero) has no curvature of its own.
    inverse = np.linalg.pinv(curvature, hermitian=True)
    return np.asarray(best, dtype=np.float64), np.asarray(inverse, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Known:
    """What results alone say about the skill at every node."""

    mean: Floats
    """Its mean, counted from mu."""
    variance: Floats
    """Its variance."""
    tie: Floats
    """Along a life, the sum of the logarithms of the gains: Cov(x_s, x_t) for s before t is
    exp(tie_t − tie_s) Var(x_t); see `milepost.history.beliefs.Lives.covariance`."""


def known_of(records: Records, chains: Chains, drift: float) -> Known:
    """Return what the messages of a history say at its nodes."""
    belief = chains.belief
    past = belief[:, 0] - chains.backward[:, 0]
    has = records.previous >= 0
    gain = np.zeros(records.nodes)
    before = 1.0 / past[records.previous[has]]
    gain[has] = np.log(before / (before + drift * records.elapsed[has]))
    order = np.lexsort((records.node_period, records.node_player))
    tie = np.empty(records.nodes)
    tie[order] = np.cumsum(gain[order])
    return Known(belief[:, 1] / belief[:, 0], 1.0 / belief[:, 0], tie)


def _blocks(observed: Observations, known: Known) -> list[_Blocks]:
    """The sites by player, with the covariances of their skills."""
    order = np.lexsort((observed.period, observed.player))
    player = observed.player[order]
    starts = np.flatnonzero(np.diff(player, prepend=-1))
    counts = np.diff(np.append(starts, len(order)))
    blocks = []
    for count in np.unique(counts):
        sites = order[starts[counts == count][:, None] + np.arange(count)]
        nodes = observed.node[sites]
        tie, variance = known.tie[nodes], known.variance[nodes]
        later = np.maximum(np.arange(count)[:, None], np.arange(count))
        gains = np.exp(-np.abs(tie[:, :, None] - tie[:, None, :]))
        blocks.append(_Blocks(sites, gains * variance[:, later]))
    return blocks


def _density(
    observed: Observations, mean: Floats, blocks: list[_Blocks], clock: Floats,
    held: Floats | None, now: dict[str, float],
) -> tuple[float, Floats]:  # fmt: skip
    """Return ln p(sites | results) and the era by period."""
    variance = observed.variance(now["form"])
    apart = observed.site - now["slope"] * mean
    if held is not None:
        apart = apart - held[observed.period]
    there, place = np.unique(observed.period, return_inverse=True)
    count = len(there)
    precision, pull = np.zeros((count, count)), np.zeros(count)
    total = 0.0
    for block in blocks:
        size = block.sites.shape[1]
        matrix = now["slope"] ** 2 * block.covariance + now["spread"] ** 2
        matrix[:, np.arange(size), np.arange(size)] += variance[block.sites]
        inverse = np.linalg.inv(matrix)
        left = apart[block.sites]
        pulled = np.einsum("pij,pj->pi", inverse, left)
        total -= 0.5 * (
            float(np.sum(left * pulled)) + float(np.sum(np.linalg.slogdet(matrix)[1]))
            + left.size * np.log(2.0 * np.pi)
        )  # fmt: skip
        cells = place[block.sites]
        np.add.at(pull, cells, pulled)
        np.add.at(precision, (cells[:, :, None], cells[:, None, :]), inverse)
    if held is not None:
        return total, held
    # The walk between the periods that have sites, by its start and its steps: these are far apart
    # in size, and each is known in its own unit.
    links = 1.0 / (now["era_drift"] ** 2 * np.maximum(np.diff(clock[there]), 1e-9))
    steps = np.tril(np.ones((count, count)))
    square = steps.T @ precision @ steps + np.diag(np.append(0.0, links))
    unit = 1.0 / np.sqrt(np.diag(square))
    scaled = unit[:, None] * square * unit
    right = unit * (steps.T @ pull)
    solved = np.linalg.solve(scaled, right)
    total += 0.5 * float(right @ solved)
    total += float(np.sum(np.log(unit))) - 0.5 * float(np.linalg.slogdet(scaled)[1])
    total += 0.5 * float(np.sum(np.log(links))) + 0.5 * np.log(2.0 * np.pi)
    era = steps @ (unit * solved)
    return total, np.interp(clock, clock[there], era)
