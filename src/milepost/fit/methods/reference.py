"""The one-parameter agents of 2009 and their posterior (Di Fatta, Haworth & Regan).

P(i) ∝ (v_max - v_i + K)^-c over the first `width` options, in raw units, c ≥ 0 the apparent
competence. This is an exponential family in c: the log-likelihood is concave, and
-d² ln L / dc² = Σ Var_c[ln(δ + K)] (`ipr_math`, section 9).

The posterior lives on a grid of c that starts wide with step 0.1 and narrows and refines as data
come in, as in the paper. Only sums over all decisions seen are kept at the grid points, so
sequential and batch updating agree; where the grid is refined, the sums of the earlier decisions
are worked out anew at the new points.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from milepost.choice.logarithms import exp
from milepost.choice.reference_agent import ReferenceAgent
from milepost.choice.spreads import Floats, Ints, Spreads
from milepost.errors import InputError
from milepost.fit.result import check_level
from milepost.io.shown import Shown
from milepost.kernels import kernel, vector_kernel

K = 0.1
WIDTH = 10
RANGE = (0.0, 10.0)
"""The uniform prior's range of c [the paper's widest results lie well inside]."""
FIRST_STEP = 0.1
_POINTS = 401
"""Grid points after a refinement."""
_REACH = 8.0
"""Standard deviations to either side that a refined grid keeps."""
_EDGE = 1e-6
"""A density at the end of the grid over this share of its greatest: the grid is too narrow."""
_MOST_REFINEMENTS = 60
_MOST_STEPS = 100
_SETTLED = 1e-9
"""A step of c that is none."""
_PRIOR_POINTS = 2001
"""Points at which a normal prior is given; between them it is interpolated."""
_LARGE = 1e200
"""A product that is larger than this has its logarithm taken: a decision adds a factor of ten."""
_COARSE = 8.0
"""The grid is refined when a standard deviation has fewer steps than this."""


@dataclass(frozen=True)
class Snapshot:
    """The posterior after some of the data."""

    decisions: int
    """Decisions seen so far."""
    mean: float
    """Posterior mean of c."""
    sd: float
    """Posterior standard deviation."""


@dataclass(frozen=True, eq=False)
class CompetencePosterior(Shown):
    """What is known of c; see `fit_reference`."""

    grid: Floats
    """Points of c."""
    density: Floats
    """Posterior density there (its trapezoidal integral is 1)."""
    n: int
    """Decisions seen."""
    outside: int
    """Choices outside the first `width` options, left out."""
    k: float
    """K of the agents."""
    width: int
    """How many of the options the agents look at."""
    prior_range: tuple[float, float]
    """The prior is uniform here (or was given as a density)."""
    snapshots: tuple[Snapshot, ...]
    """The posterior while data came in."""
    _data: tuple[Spreads, ...] = field(repr=False, default=())
    _prior: tuple[Floats, Floats] | None = field(repr=False, default=None)

    @property
    def mean(self) -> float:
        """Posterior mean."""
        return float(_integrate(self.grid, self.density * self.grid))

    @property
    def sd(self) -> float:
        """Posterior standard deviation."""
        spread = (self.grid - self.mean) ** 2
        return float(np.sqrt(_integrate(self.grid, self.density * spread)))

    def region(self, level: float = 0.95) -> tuple[float, float]:
        """Return the central region that holds c with this probability."""
        check_level(level)
        steps = np.diff(self.grid) * 0.5 * (self.density[1:] + self.density[:-1])
        below = np.concatenate([[0.0], np.cumsum(steps)])
        below /= below[-1]
        low, high = np.interp([0.5 - level / 2, 0.5 + level / 2], below, self.grid)
        return float(low), float(high)

    @property
    def edge_mass(self) -> float:
        """Posterior probability in the outermost steps: near 0 if the range is wide enough."""
        steps = np.diff(self.grid) * 0.5 * (self.density[1:] + self.density[:-1])
        return float(steps[0] + steps[-1])

    def update(self, spreads: Spreads, *, snapshot_every: int | None = None) -> CompetencePosterior:
        """Return the posterior after more decisions."""
        return _posterior(
            (*self._data, spreads),
            self.k,
            self.width,
            self.prior_range,
            self._prior,
            snapshot_every,
            self.snapshots,
            seen=len(self._data),
        )

    @property
    def agent(self) -> ReferenceAgent:
        """The agent of the posterior mean."""
        return ReferenceAgent(self.mean, self.k, self.width)

    def to_frame(self) -> pl.DataFrame:
        """Return the posterior as a table: c, density."""
        return pl.DataFrame({"c": self.grid, "density": self.density})

    def to_dict(self) -> dict[str, Any]:
        """Return one row of a table of fits."""
        low, high = self.region()
        return {
            "model": "reference agents (2009)",
            "n": self.n,
            "outside": self.outside,
            "c": self.mean,
            "sd": self.sd,
            "c_low": low,
            "c_high": high,
            "edge_mass": self.edge_mass,
        }

    def __repr__(self) -> str:
        """Say in a line what is known."""
        return f"CompetencePosterior({self})"

    def __str__(self) -> str:
        """Show mean, standard deviation and region."""
        low, high = self.region()
        return (
            f"apparent competence c = {self.mean:.4f}, sd {self.sd:.4f}, 95 % {low:.4f} to "
            f"{high:.4f}; {self.n:,} decisions, {self.outside:,} chosen outside the first "
            f"{self.width} options and left out"
        )


@dataclass(frozen=True)
class ReferenceModel:
    """What the one-parameter agents of 2009 look at, and what is known of c beforehand."""

    K: float = K
    """Keeps the best option's probability finite; in the unit of the values."""
    width: int = WIDTH
    """The agents look at the first so many options."""
    prior_range: tuple[float, float] = RANGE
    """c lies in this range."""
    prior: tuple[float, float] | None = None
    """Mean and standard deviation of a normal prior, cut to the range; None = uniform there."""

    def __post_init__(self) -> None:
        """Refuse impossible numbers."""
        if not 0 < self.K < np.inf or self.width < 2:
            raise InputError(
                f"K must be over 0 and the width at least 2, got {self.K} and {self.width}"
            )
        low, high = self.prior_range
        if not 0 <= low < high < np.inf:
            raise InputError(
                f"the range of c starts at 0 or above and has a width, got {self.prior_range}"
            )
        if self.prior is not None and not (np.isfinite(self.prior[0]) and self.prior[1] > 0):
            raise InputError(f"a prior of c is a mean and an sd over 0, got {self.prior}")

    def log_prior(self, grid: Floats) -> Floats:
        """Return the logarithm of the prior density of c, up to a constant."""
        if self.prior is None:
            return np.zeros(len(grid))
        answer: Floats = -0.5 * ((grid - self.prior[0]) / self.prior[1]) ** 2
        return answer

    def fit(self, spreads: Spreads) -> CompetencePosterior:
        """Return the posterior of c; see `fit_reference`."""
        prior = None
        if self.prior is not None:
            grid = np.linspace(*self.prior_range, _PRIOR_POINTS)
            density = self.log_prior(grid)
            prior = (grid, np.exp(density - density.max()))
        return fit_reference(
            spreads, K=self.K, width=self.width, prior_range=self.prior_range, prior=prior
        )


def fit_reference(
    spreads: Spreads,
    *,
    K: float = K,  # noqa: N803  (the paper's letter)
    width: int = WIDTH,
    prior_range: tuple[float, float] = RANGE,
    prior: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
    snapshot_every: int | None = None,
) -> CompetencePosterior:
    """Return the posterior of the apparent competence c of the 2009 agents.

    Parameters
    ----------
    spreads
        The decisions, in the order in which they come in. Weights raise a likelihood to a power.
    K
        Keeps the best option's probability finite; in the unit of the values.
    width
        The agents look at the first so many options. A choice outside them is left out and counted.
    prior_range
        The prior is uniform on this range of c, c ≥ 0.
    prior
        Another prior instead: points of c and its density there.
    snapshot_every
        Keep a snapshot each so many decisions [default: ten in all].

    Raises
    ------
    InputError
        If an option makes no sense.
    """
    if not K > 0 or width < 2:
        raise InputError(f"K must be over 0 and the width at least 2, got {K} and {width}")
    if snapshot_every is not None and snapshot_every < 1:
        raise InputError(f"snapshots come every so many decisions, from 1, got {snapshot_every}")
    given = None
    if prior is not None:
        given = (np.asarray(prior[0], dtype=np.float64), np.asarray(prior[1], dtype=np.float64))
        points, heights = given
        if points.ndim != 1 or points.shape != heights.shape or len(points) < 2:
            raise InputError("a prior needs rising points of c and a density at each")
        if (np.diff(points) <= 0).any() or (heights < 0).any() or not heights.any():
            raise InputError("a prior needs rising points of c and a density at each")
        prior_range = (float(points[0]), float(points[-1]))
    if not 0 <= prior_range[0] < prior_range[1] < np.inf:
        raise InputError(f"the range of c starts at 0 or above and has a width, got {prior_range}")
    return _posterior((spreads,), K, width, prior_range, given, snapshot_every, (), seen=0)


def likeliest_competence(
    spreads: Spreads,
    *,
    K: float = K,  # noqa: N803  (the paper's letter)
    width: int = WIDTH,
    prior_range: tuple[float, float] = RANGE,
) -> float:
    """Return the likeliest c in the range: where the posterior under a uniform prior is highest.

    A few Newton steps instead of a grid, for searches that need c alone, such as bootstraps: the
    log-likelihood is concave, its slope Σ (E_c[ln(δ + K)] - ln(δ + K) of the choice).
    """
    taken, _ = first_options(spreads, width)
    best = np.repeat(taken.values[taken.offsets[:-1]], taken.counts)
    ln_gap = np.log(best - taken.values + K)
    low, high = prior_range
    c = min(max(1.0, low), high)
    for _ in range(_MOST_STEPS):
        slope, bend = _slope_and_bend(taken.offsets, ln_gap, taken.chosen, taken.weights, c)
        if slope > 0.0:  # the likeliest lies above: c bounds it from below
            low = c
        else:
            high = c
        step = c + slope / bend if bend > 0.0 else math.inf
        new = step if low < step < high else 0.5 * (low + high)
        if abs(new - c) < _SETTLED:
            return float(new)
        c = new
    return float(c)


@kernel
def _slope_and_bend(
    offsets: Ints, ln_gap: Floats, chosen: Ints, weights: Floats, c: float
) -> tuple[float, float]:
    """The first derivative of the log-likelihood by c, and the negative of the second."""
    slope, bend = 0.0, 0.0
    for decision in range(len(offsets) - 1):
        start, stop = offsets[decision], offsets[decision + 1]
        total, first, second = 0.0, 0.0, 0.0
        for i in range(start, stop):
            x = ln_gap[i] - ln_gap[start]
            p = np.exp(-c * x)
            total += p
            first += p * x
            second += p * x * x
        mean = first / total
        slope += weights[decision] * (mean - (ln_gap[start + chosen[decision]] - ln_gap[start]))
        bend += weights[decision] * (second / total - mean * mean)
    return slope, bend


def _posterior(
    data: tuple[Spreads, ...],
    k: float,
    width: int,
    prior_range: tuple[float, float],
    prior: tuple[Floats, Floats] | None,
    snapshot_every: int | None,
    before: tuple[Snapshot, ...],
    *,
    seen: int,
) -> CompetencePosterior:
    taken = [first_options(each, width) for each in data]
    outside = sum(skipped for _, skipped in taken)
    blocks = _blocks([each for each, _ in taken], snapshot_every)
    old = _blocks([each for each, _ in taken[:seen]], None)
    grid = _wide_grid(prior_range)
    density = _density(grid, np.zeros(len(grid)), prior)
    done: list[Spreads] = []
    total = np.zeros(len(grid))
    snapshots = list(before)
    decisions = 0
    known = sum(len(each) for each in old)
    for block in blocks:
        total += log_likelihoods(block, k, grid)
        done.append(block)
        decisions += len(block)
        density = _density(grid, total, prior)
        for _ in range(_MOST_REFINEMENTS):
            better = _refined(grid, density, prior_range)
            if better is None:
                break
            grid = better
            total = np.sum([log_likelihoods(each, k, grid) for each in done], axis=0)
            density = _density(grid, total, prior)
        if decisions > known:
            mean = float(_integrate(grid, density * grid))
            sd = float(np.sqrt(_integrate(grid, density * (grid - mean) ** 2)))
            snapshots.append(Snapshot(decisions, mean, sd))
    return CompetencePosterior(
        grid, density, decisions, outside, k, width, prior_range, tuple(snapshots), data, prior
    )


def _wide_grid(bounds: tuple[float, float]) -> Floats:
    """The first grid: the whole range, with steps of 0.1 or less."""
    steps = max(round((bounds[1] - bounds[0]) / FIRST_STEP), 10)
    return np.linspace(bounds[0], bounds[1], steps + 1)


def first_options(spreads: Spreads, width: int) -> tuple[Spreads, int]:
    """Cut each decision to its first options; leave out choices beyond, and count them."""
    inside = spreads.chosen < width
    kept = spreads.take(inside)
    counts = np.minimum(kept.counts, width)
    offsets = np.concatenate([[0], np.cumsum(counts)])
    rows = np.repeat(kept.offsets[:-1] - offsets[:-1], counts) + np.arange(offsets[-1])
    # Padding is no option: at c = 0 even a gap without end would count.
    real = kept.values[rows] > -np.inf
    counts = np.add.reduceat(real, offsets[:-1]) if len(kept) else counts
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    values = kept.values[rows][real]
    cut = Spreads(offsets, values, kept.chosen, kept.groups, kept.weights)
    return cut, int((~inside).sum())


def _blocks(parts: list[Spreads], every: int | None) -> list[Spreads]:
    blocks = []
    for part in parts:
        step = every or max(1, -(-len(part) // 10))
        blocks += [
            part.take(np.arange(at, min(at + step, len(part)))) for at in range(0, len(part), step)
        ]
    return blocks


def log_likelihoods(spreads: Spreads, k: float, grid: Floats) -> Floats:
    """Return the log-likelihood of the choices at each c of the grid, whose steps are even."""
    best = np.repeat(spreads.values[spreads.offsets[:-1]], spreads.counts)
    ln_gap = np.log(best - spreads.values + k)
    answer = np.zeros(len(grid))
    _add_log_likelihoods(spreads.offsets, ln_gap, spreads.chosen, spreads.weights, grid, answer)
    return answer


@vector_kernel
def _add_log_likelihoods(
    offsets: Ints, ln_gap: Floats, chosen: Ints, weights: Floats, grid: Floats, answer: Floats
) -> None:
    """Add Σ weight × (ln of the chosen term - ln of the sum of all) at each c of an even grid.

    Along an even grid each term is that of the point before times one factor, so exp is needed
    twice an option; and ln of a product is taken for many decisions at once.
    """
    first, step = grid[0], grid[1] - grid[0]
    most_options = 0
    for decision in range(len(offsets) - 1):
        most_options = max(most_options, offsets[decision + 1] - offsets[decision])
    terms, factors = np.empty(most_options), np.empty(most_options)
    product = np.ones(len(grid))
    for decision in range(len(offsets) - 1):
        start = offsets[decision]
        others = offsets[decision + 1] - start - 1
        weight = weights[decision]
        # The best option has the smallest gap, so no term exceeds 1, and its own is 1.
        for i in range(others):
            gap = ln_gap[start + 1 + i] - ln_gap[start]
            terms[i], factors[i] = exp(-first * gap), exp(-step * gap)
        taken = weight * (ln_gap[start + chosen[decision]] - ln_gap[start])
        largest = 0.0
        for g in range(len(grid)):
            total = 1.0
            for i in range(others):
                total += terms[i]
                terms[i] *= factors[i]
            answer[g] -= grid[g] * taken
            if weight == 1.0:
                product[g] *= total
                largest = max(largest, product[g])
            else:
                answer[g] -= weight * math.log(total)
        if largest > _LARGE:
            for g in range(len(grid)):
                answer[g] -= math.log(product[g])
                product[g] = 1.0
    for g in range(len(grid)):
        answer[g] -= math.log(product[g])


def _density(grid: Floats, total: Floats, prior: tuple[Floats, Floats] | None) -> Floats:
    density = np.exp(total - total.max())
    if prior is not None:
        density = density * np.interp(grid, *prior)
    area = _integrate(grid, density)
    if not area > 0:
        raise InputError("the prior gives no weight to what the data say")
    answer: Floats = density / area
    return answer


def _refined(grid: Floats, density: Floats, bounds: tuple[float, float]) -> Floats | None:
    """Return a narrower, finer grid where the posterior has become too thin for this one.

    Where new data have drawn it to an end of a grid that was narrowed before, the grid grows there,
    by half its width, with the same step.
    """
    step = grid[1] - grid[0]
    edge = _EDGE * density.max()
    at_low = density[0] > edge and grid[0] > bounds[0]
    at_high = density[-1] > edge and grid[-1] < bounds[1]
    if at_low or at_high:
        more = 0.5 * (grid[-1] - grid[0])
        low = max(grid[0] - more, bounds[0]) if at_low else grid[0]
        high = min(grid[-1] + more, bounds[1]) if at_high else grid[-1]
        return np.linspace(low, high, max(round((high - low) / step), 2) + 1)
    mean = _integrate(grid, density * grid)
    sd = np.sqrt(max(_integrate(grid, density * (grid - mean) ** 2), 0.0))
    if sd >= _COARSE * step:
        return None
    # Where the posterior lies between two points its sd cannot be seen: take a step for it.
    reach = _REACH * max(sd, step / 2)
    low, high = max(mean - reach, bounds[0]), min(mean + reach, bounds[1])
    finer = np.linspace(low, high, _POINTS)
    return finer if finer[1] - finer[0] < 0.9 * step else None


def _integrate(grid: Floats, values: Floats) -> float:
    return float(np.trapezoid(values, grid))
