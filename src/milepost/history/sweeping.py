"""How long a history is swept: numerical controls, which are no options of a model."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral, Real

from milepost.errors import InputError


@dataclass(frozen=True, kw_only=True)
class Sweeping:
    """When a history is near enough to its fixed point, and with how many threads it gets there."""

    tolerance: float | None = None
    """The largest estimated distance to the fixed point, in points; `None` = 0.0002 beta (about 0.1
    on the Elo scale)."""
    max_sweeps: int = 200
    """Sweeps after which to stop all the same, with a warning."""
    workers: int = 1
    """How many threads, each with a slice of time; the answer is the same within the tolerance."""

    def __post_init__(self) -> None:
        """Check the numbers."""
        if self.tolerance is not None and not (
            _is_of(self.tolerance, Real) and math.isfinite(self.tolerance) and self.tolerance > 0
        ):
            raise InputError(f"expected a positive tolerance, got {self.tolerance!r}")
        if not (_is_of(self.max_sweeps, Integral) and self.max_sweeps >= 1):
            raise InputError(f"expected at least one sweep, got max_sweeps={self.max_sweeps!r}")
        if not (_is_of(self.workers, Integral) and self.workers >= 1):
            raise InputError(f"expected at least one worker, got {self.workers!r}")

    def distance(self, beta: float) -> float:
        """Return the tolerance in points for a model's beta."""
        return 2e-4 * beta if self.tolerance is None else self.tolerance


def _is_of(value: object, kind: type) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)
