"""How a claim is judged: by one number with its error, and a rule that was fixed beforehand.

All rules look at the 95 % interval of the number. A claim *holds* if the whole interval lies where
the claim says, it *does not hold* if the whole interval lies where it says it does not, and else
there is too little data. The power is the probability that the rule says *holds* where the claim is
true in the size that it names.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy import stats

from milepost.papers.experiment import FAILS, HOLDS, TOO_LITTLE, Verdict
from milepost.papers.statistics import Estimate

Z = float(stats.norm.ppf(0.975))
"""Standard errors to either end of a 95 % interval."""


@dataclass(frozen=True)
class Above:
    """The number is greater than a limit."""

    limit: float = 0.0
    """The limit."""
    size: float = 0.0
    """A size that would matter, often the paper's own: an interval wholly below it refutes the
    claim unless it lies above the limit. It is also the truth that the power is reckoned for."""

    def judge(self, number: Estimate) -> Verdict:
        """Return the verdict."""
        low, high = interval(number)
        if low > self.limit:
            return HOLDS
        return FAILS if high < max(self.size, self.limit) else TOO_LITTLE

    def power(self, se: float) -> float:
        """Return the probability of *holds* if the truth is `size`."""
        return _tail((self.size - self.limit) / se - Z if se > 0 else math.inf)

    def p(self, number: Estimate) -> float:
        """Return the two-sided p-value of the limit; 1 on its wrong side."""
        return _two_sided(number, self.limit) if number.value > self.limit else 1.0

    def __str__(self) -> str:
        """Say it in words."""
        return f"over {self.limit:g}; {self.size:g} would matter"


@dataclass(frozen=True)
class Within:
    """The number lies between two limits: a claim that something is alike, small or near."""

    low: float
    """The lower limit; -inf for none."""
    high: float
    """The upper limit; inf for none."""

    def judge(self, number: Estimate) -> Verdict:
        """Return the verdict."""
        low, high = interval(number)
        if self.low <= low and high <= self.high:
            return HOLDS
        return FAILS if high < self.low or low > self.high else TOO_LITTLE

    def power(self, se: float) -> float:
        """Return the probability of *holds* if the truth is the middle (0 for one open end)."""
        if not se > 0:
            return 1.0
        middle = 0.5 * (self.low + self.high)
        truth = middle if math.isfinite(middle) else 0.0
        below = _tail((self.high - truth) / se - Z)
        above = _tail((truth - self.low) / se - Z)
        return max(0.0, below + above - 1.0)

    def p(self, number: Estimate) -> float:
        """Return the larger p-value of the two limits: that of the test for equivalence."""
        ends = [end for end in (self.low, self.high) if math.isfinite(end)]
        if not self.low <= number.value <= self.high:
            return 1.0
        return max(_two_sided(number, end) for end in ends)

    def __str__(self) -> str:
        """Say it in words."""
        if not math.isfinite(self.low):
            return f"at most {self.high:g}"
        return f"between {self.low:g} and {self.high:g}"


@dataclass(frozen=True)
class Outside:
    """The number lies beyond ± a limit: a claim that something is wide of the mark."""

    limit: float
    """The limit."""

    def judge(self, number: Estimate) -> Verdict:
        """Return the verdict."""
        low, high = interval(number)
        if low > self.limit or high < -self.limit:
            return HOLDS
        return FAILS if -self.limit <= low and high <= self.limit else TOO_LITTLE

    def power(self, se: float) -> float:
        """Return the probability of *holds* if the truth is twice the limit."""
        return _tail(self.limit / se - Z if se > 0 else math.inf)

    def p(self, number: Estimate) -> float:
        """Return the p-value of the nearer limit."""
        if abs(number.value) <= self.limit:
            return 1.0
        return _two_sided(number, math.copysign(self.limit, number.value))

    def __str__(self) -> str:
        """Say it in words."""
        return f"beyond ±{self.limit:g}"


Rule = Above | Within | Outside


def interval(number: Estimate) -> tuple[float, float]:
    """Return the ends of the 95 % interval."""
    return number.value - Z * number.se, number.value + Z * number.se


def _tail(z: float) -> float:
    return float(stats.norm.cdf(z))


def _two_sided(number: Estimate, at: float) -> float:
    return Estimate(number.value - at, number.se).p


def holm(p_values: list[float]) -> list[float]:
    """Return p-values adjusted for their number by Holm's method, in the order given."""
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for place, index in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - place) * p_values[index]))
        adjusted[index] = largest
    return adjusted
