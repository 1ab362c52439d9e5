"""Anderson's acceleration of a fixed-point iteration, for histories without a Newton step.

From the last few sweeps it guesses how the map acts along the directions that moved, and jumps to
where those directions would end (Anderson 1965; Walker and Ni 2011, type II). What plain sweeps are
slow at, the levels of weakly linked groups, are few directions, so a short memory is enough.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

MEMORY = 8
"""How many earlier sweeps are remembered."""


class Anderson:
    """The memory of the last sweeps."""

    def __init__(self) -> None:
        self._steps: list[Floats] = []
        self._results: list[Floats] = []
        self._size = np.inf

    def jump(self, before: Floats, after: Floats, scale: Floats) -> Floats:
        """Return where the sweeps seem to lead.

        Parameters
        ----------
        before, after
            The messages before and after the last sweep, as vectors.
        scale
            What one unit of each message weighs in the least squares.

        Returns
        -------
        array
            The guess; `after` itself where there is nothing to guess from.
        """
        step = after - before
        size = float(np.linalg.norm(step * scale))
        # A jump that led astray: forget what it was made from.
        if size > 10.0 * self._size:
            self._steps.clear()
            self._results.clear()
        self._size = size
        self._steps = [*self._steps[-MEMORY:], step]
        self._results = [*self._results[-MEMORY:], after]
        if len(self._steps) < 3 or not np.isfinite(size):
            return after
        steps = np.diff(np.array(self._steps), axis=0)
        results = np.diff(np.array(self._results), axis=0)
        share = np.linalg.lstsq((steps * scale).T, step * scale, rcond=1e-12)[0]
        return np.asarray(after - share @ results)
