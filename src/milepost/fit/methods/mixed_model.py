"""Variance components by restricted maximum likelihood: units within two crossed factors.

Unit g has a value y and an information I (the weight of evidence behind it), belongs to one level
of each of two factors, which may be nested or crossed, and has covariates x:

    y = x'γ + a(second factor) + b(first factor) + f + e,   Var e = φ / I,

with a, b and f independent, normal, of mean 0. So φ says how much more a unit varies than its
information states, and the variance of f what remains however large its information is. The
covariance is V = D + Z S Z' with D diagonal; the determinant and the quadratic forms follow from
the Schur complement onto the factor of fewer levels (Searle, Casella & McCulloch 1992, ch. 6 and
8), so that thousands of units cost a millisecond. Variances may be 0: there the likelihood is
defined, and the answer is that there is nothing to see, with an upper bound from the profile.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from milepost.choice.spreads import Floats, Ints
from milepost.errors import InputError

DISPERSION, UNIT, FIRST, SECOND = "dispersion", "unit", "first", "second"
COMPONENTS = (DISPERSION, UNIT, FIRST, SECOND)
"""φ, and the variances of units, of the first and of the second factor."""
_LEAST_DISPERSION = 1e-4
_NOTHING = 1e-7
"""A variance that is so small a part of the others' is 0."""
_GRID = 25
"""Points of a profile."""
_FAR = 3.0
"""A profile reaches so many times as far down as the interval's drop."""


@dataclass(frozen=True)
class Component:
    """A number that was estimated, with how well it is known."""

    value: float
    """The estimate."""
    low: float = 0.0
    """Lower end of its 95 % interval."""
    high: float = float("inf")
    """Upper end; inf = the data set no bound."""
    se: float = float("nan")
    """Standard error by leaving out parts of the data; NaN = not known."""
    expected: float = float("nan")
    """What to reckon with: the root of its mean square over the profile likelihood, for the
    estimate may be 0 by chance; NaN = the estimate."""

    @property
    def used(self) -> float:
        """What an interval reckons with."""
        return self.expected if np.isfinite(self.expected) else self.value

    def __str__(self) -> str:
        """Say it with its interval."""
        digits = 0 if abs(self.value) >= 10 or abs(self.high) >= 100 else 2
        high = "no bound" if not np.isfinite(self.high) else f"{self.high:.{digits}f}"
        return f"{self.value:.{digits}f} ({self.low:.{digits}f} to {high})"


@dataclass(frozen=True, eq=False)
class Units:
    """What the model is fitted to: one entry a unit."""

    values: Floats
    """y."""
    information: Floats
    """I, over 0."""
    first: Ints
    """Level of the first factor (a player)."""
    second: Ints
    """Level of the second factor (an event)."""
    covariates: Floats
    """x, units × coefficients; a column of ones is not added."""

    def __post_init__(self) -> None:
        """Refuse what cannot be fitted."""
        count = len(self.values)
        if not count or self.covariates.shape[0] != count:
            raise InputError("a mixed model needs units, and covariates of each")
        if not (np.isfinite(self.values).all() and (self.information > 0).all()):
            raise InputError("a mixed model needs finite values, and information over 0")

    def __len__(self) -> int:
        """Return the number of units."""
        return len(self.values)

    def take(self, rows: Any) -> Units:
        """Return some of the units."""
        return Units(
            self.values[rows], self.information[rows], self.first[rows], self.second[rows],
            self.covariates[rows],
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class MixedFit:
    """The likeliest components, and the coefficients of the covariates given them."""

    components: dict[str, float]
    """φ and the variances."""
    deviance: float
    """Minus twice the restricted log-likelihood, up to a constant."""
    coefficients: Floats
    """γ."""
    covariance: Floats
    """Of γ, given the components."""
    converged: bool
    """Whether the search came to rest."""


@dataclass(frozen=True, eq=False)
class _Solved:
    """What the deviance and its derivatives are made of; M = 1 + S½Z'D⁻¹ZS½."""

    deviance: float
    coefficients: Floats
    inner: Floats
    """X'V⁻¹X."""
    weight: Floats
    """D⁻¹."""
    sds: Floats
    """Of the two factors."""
    block: Floats
    """The diagonal block of M, of the factor with more levels."""
    ratio: Floats
    """That block's inverse times the block beside it."""
    schur_inverse: Floats
    solved: Floats
    """V⁻¹ times the values and the covariates."""


class MixedModel:
    """The restricted likelihood of units, as a function of the components."""

    def __init__(self, units: Units, *, restricted: bool = True):
        """Prepare the sums; `restricted` = False gives plain maximum likelihood."""
        self.units = units
        self.restricted = restricted
        sizes = []
        codes = []
        for levels in (units.first, units.second):
            names, code = np.unique(levels, return_inverse=True)
            codes.append(code.ravel())
            sizes.append(len(names))
        # The factor with more levels is eliminated first, its block being diagonal.
        self._many, self._few = (0, 1) if sizes[0] >= sizes[1] else (1, 0)
        self._codes, self._sizes = codes, sizes
        self._columns = np.column_stack([units.values, units.covariates])
        pairs = codes[self._many].astype(np.int64) * sizes[self._few] + codes[self._few]
        self._pair, self._cells = pairs, sizes[0] * sizes[1]

    @property
    def levels(self) -> tuple[int, int]:
        """How many levels the factors have."""
        return self._sizes[0], self._sizes[1]

    @cached_property
    def scale(self) -> float:
        """Weighted mean square of the values about the covariates: φ if there is nothing else."""
        root = np.sqrt(self.units.information)[:, None]
        x, y = self.units.covariates * root, self.units.values * root[:, 0]
        gap = y - x @ np.linalg.lstsq(x, y, rcond=None)[0]
        return float(max(gap @ gap / max(len(y) - x.shape[1], 1), 1e-12))

    @cached_property
    def unit(self) -> float:
        """A natural step for variances."""
        return self.scale / float(np.mean(self.units.information))

    def deviance(self, components: dict[str, float]) -> float:
        """Return minus twice the (restricted) log-likelihood, up to a constant."""
        return self._solve(components).deviance

    def slope(self, components: dict[str, float]) -> tuple[float, dict[str, float]]:
        """Return the deviance and its derivatives by the components; variances must be over 0.

        With P = V⁻¹ - V⁻¹X(X'V⁻¹X)⁻¹X'V⁻¹ (V⁻¹ for plain maximum likelihood) the derivative is
        tr(P ∂V) - r'V⁻¹ ∂V V⁻¹r; the traces of the factors follow from S½Z'V⁻¹ZS½ = 1 - M⁻¹.
        """
        at = self._solve(components)
        many, few = self._many, self._few
        # The diagonal of M⁻¹, and its entries between the levels that a unit belongs to.
        passed = at.ratio @ at.schur_inverse
        inner_many = 1.0 / at.block + np.einsum("mf,mf->m", passed, at.ratio)
        inner_few = np.diag(at.schur_inverse)
        code_many, code_few = self._codes[many], self._codes[few]
        pair = -passed[code_many, code_few]
        pulled = (
            at.sds[many] ** 2 * inner_many[code_many]
            + at.sds[few] ** 2 * inner_few[code_few]
            + 2 * at.sds[many] * at.sds[few] * pair
        )
        leverage = at.weight - at.weight**2 * pulled
        solved = at.solved[:, 1:]
        residual = at.solved[:, 0] - solved @ at.coefficients
        inverse = np.linalg.inv(at.inner)
        traces = {UNIT: leverage.sum(), DISPERSION: (leverage / self.units.information).sum()}
        names = (FIRST, SECOND)
        for place, diagonal in ((many, inner_many), (few, inner_few)):
            traces[names[place]] = (1.0 - diagonal).sum() / at.sds[place] ** 2
        answer = {}
        for name in COMPONENTS:
            if name in {UNIT, DISPERSION}:
                share = (
                    1.0 / self.units.information if name == DISPERSION else np.ones(len(residual))
                )
                square = (share * residual**2).sum()
                cross = solved.T @ (solved * share[:, None])
            else:
                code, size = (self._codes[names.index(name)], self._sizes[names.index(name)])
                square = (np.bincount(code, weights=residual, minlength=size) ** 2).sum()
                sums = self._sum(code, solved, size)
                cross = sums.T @ sums
            slope = float(traces[name] - square)
            if self.restricted:
                slope -= float(np.einsum("ij,ji->", inverse, cross))
            answer[name] = slope
        return at.deviance, answer

    def _solve(self, components: dict[str, float]) -> _Solved:
        from scipy.linalg import cho_factor, cho_solve

        columns, codes = self._columns, self._codes
        diagonal = components[DISPERSION] / self.units.information + components[UNIT]
        weight = 1.0 / diagonal
        sds = np.sqrt([max(components[FIRST], 0.0), max(components[SECOND], 0.0)])
        many, few = self._many, self._few
        weighted = weight[:, None] * columns
        sums = [self._sum(code, weighted, self._sizes[at]) for at, code in enumerate(codes)]
        totals = [
            np.bincount(code, weights=weight, minlength=self._sizes[at])
            for at, code in enumerate(codes)
        ]
        block = 1.0 + sds[many] ** 2 * totals[many]
        cross = sds[0] * sds[1] * np.bincount(self._pair, weights=weight, minlength=self._cells)
        between = cross.reshape(self._sizes[many], self._sizes[few])
        ratio = between / block[:, None]
        right_many, right_few = sds[many] * sums[many], sds[few] * sums[few]
        right_few = right_few - ratio.T @ right_many
        schur = np.diag(1.0 + sds[few] ** 2 * totals[few]) - between.T @ ratio
        factor = cho_factor(schur, lower=True)
        answer_few = cho_solve(factor, right_few)
        answer_many = right_many / block[:, None] - ratio @ answer_few
        back = sds[many] * answer_many[codes[many]] + sds[few] * answer_few[codes[few]]
        solved = weighted - weight[:, None] * back
        quadratic = columns.T @ solved
        inner = quadratic[1:, 1:]
        coefficients: Floats = np.linalg.solve(inner, quadratic[1:, 0])
        logdet = float(np.log(diagonal).sum() + np.log(block).sum())
        logdet += 2 * float(np.log(np.diag(factor[0])).sum())
        deviance = logdet + float(quadratic[0, 0] - quadratic[0, 1:] @ coefficients)
        if self.restricted:
            deviance += float(np.linalg.slogdet(inner)[1])
        return _Solved(
            deviance, coefficients, inner, weight, sds, block, ratio,
            cho_solve(factor, np.eye(len(schur))), solved,
        )  # fmt: skip

    @staticmethod
    def _sum(codes: Ints, rows: Floats, count: int) -> Floats:
        return np.stack(
            [np.bincount(codes, weights=column, minlength=count) for column in rows.T], axis=1
        )

    def fit(
        self,
        fixed: dict[str, float] | None = None,
        starts: list[dict[str, float]] | None = None,
    ) -> MixedFit:
        """Return the likeliest components.

        Parameters
        ----------
        fixed
            Components that are given.
        starts
            Where to begin [default: three places]; the best end counts.
        """

        from scipy.optimize import minimize

        given = dict(fixed or {})
        free = [name for name in COMPONENTS if name not in given]
        steps = np.array([self.scale if name == DISPERSION else self.unit for name in free])
        floor = _NOTHING * self.unit

        def components(point: Floats) -> dict[str, float]:
            return {**dict(zip(free, (point * steps).tolist(), strict=True)), **given}

        def objective(point: Floats) -> tuple[float, Floats]:
            here = components(point)
            deviance, slopes = self.slope({name: max(x, floor) for name, x in here.items()})
            return deviance, np.array([slopes[name] for name in free]) * steps

        if not free:
            return self._result(given, converged=True)
        least = np.array([_LEAST_DISPERSION if name == DISPERSION else _NOTHING for name in free])
        best = None
        for start in starts or self._starts():
            point = np.array([start[name] for name in free]) / steps
            result = minimize(
                objective, np.maximum(point, least), jac=True, method="L-BFGS-B",
                bounds=[(low, None) for low in least],
                options={"ftol": 1e-11, "gtol": 1e-5, "maxiter": 300},
            )  # fmt: skip
            if best is None or result.fun < best.fun:
                best = result
        assert best is not None
        at = components(best.x)
        for name in (UNIT, FIRST, SECOND):
            at[name] = 0.0 if at[name] <= 2 * floor else at[name]
        # A flat end stops with "abnormal": the place is as good as the arithmetic allows.
        return self._result(at, converged=bool(best.status in {0, 2}))

    def _starts(self) -> list[dict[str, float]]:
        shares = ((0.8, 0.05, 0.05, 0.05), (0.5, 0.02, 0.3, 0.1), (0.5, 0.3, 0.02, 0.3))
        return [
            {DISPERSION: phi * self.scale, UNIT: unit * self.unit, FIRST: first * self.unit,
             SECOND: second * self.unit}
            for phi, unit, first, second in shares
        ]  # fmt: skip

    def _result(self, components: dict[str, float], *, converged: bool) -> MixedFit:
        at = self._solve(components)
        ordered = {name: components[name] for name in COMPONENTS}
        covariance: Floats = np.linalg.inv(at.inner).astype(np.float64)
        return MixedFit(ordered, at.deviance, at.coefficients, covariance, converged)

    def profile(
        self,
        fit: MixedFit,
        name: str,
        fixed: dict[str, float] | None = None,
        *,
        level: float = 0.95,
    ) -> Component:
        """Return a component with its profile-likelihood interval.

        φ is given as it is, a variance as its root: a standard deviation.

        Parameters
        ----------
        fit
            The likeliest components.
        name
            Which one.
        fixed
            Other components that were given in that fit.
        level
            Probability of the interval.
        """

        from scipy.interpolate import PchipInterpolator
        from scipy.special import chdtri

        limit = float(chdtri(1, 1 - level))
        given = dict(fixed or {})
        rooted = name != DISPERSION
        best = fit.components[name]
        top = float(np.sqrt(best)) if rooted else best
        start = dict(fit.components)

        def drop(value: float) -> float:
            here = value**2 if rooted else value
            other = self.fit({**given, name: here}, starts=[start])
            start.update(other.components)
            return max(other.deviance - fit.deviance, 0.0)

        step = float(np.sqrt(self.unit)) / 4 if rooted else top / 4
        high = self._reach(drop, top, step, limit)
        if rooted:
            low = 0.0
        else:
            start = dict(fit.components)
            low = top - step
            while low > 0.05 * top and drop(low) < _FAR * limit:
                low -= step / 2
            low = max(low, 0.05 * top)
        start = dict(fit.components)
        above = np.linspace(top, high, _GRID // 2 + 1)
        below = np.linspace(top, low, _GRID // 2 + 1) if top > low else np.array([top])
        up = np.array([0.0, *(drop(value) for value in above[1:])])
        start = dict(fit.components)
        down = np.array([0.0, *(drop(value) for value in below[1:])])
        values = np.concatenate([below[:0:-1], above])
        drops = np.concatenate([down[:0:-1], up])
        fine = np.linspace(values[0], values[-1], 2001)
        smooth = np.maximum(PchipInterpolator(values, drops)(fine), 0.0)
        inside = fine[smooth <= limit]
        likelihood = np.exp(-0.5 * smooth)
        square = float((likelihood @ fine**2) / likelihood.sum())
        return Component(
            value=top,
            low=float(inside[0]),
            high=float(inside[-1]) if inside[-1] < fine[-1] else float("inf"),
            expected=float(np.sqrt(square)),
        )

    @staticmethod
    def _reach(drop: Any, top: float, step: float, limit: float) -> float:
        """Where the profile has fallen far, or where it is clear that it never does."""
        high = top + step
        for _ in range(12):
            if drop(high) >= _FAR * limit:
                break
            step *= 1.6
            high += step
        return high
