"""The second part of the preconditioner: whole eras at once.

Results tie the level of everybody in a period to that of the next one loosely, and an observation
ties it to the era, which may go the other way. Such common moves are slow work for a preconditioner
that looks at one life at a time. Here they are solved exactly among themselves: one shift of all
nodes of a period, its newcomers' level and its era, three unknowns a period, whose equations are
Z'HZ with the columns of Z constant on periods. Added to the first part, it is a two-level
preconditioner (Toselli & Widlund 2005, "Domain Decomposition Methods", section 2.7). Games see
differences within a period alone: they do not enter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_factor, cho_solve

from milepost.history.records import Floats
from milepost.history.ttt.graph import Graph
from milepost.history.ttt.told import Told


@dataclass(frozen=True)
class Coarse:
    """The equations of common moves, factorised."""

    starts: npt.NDArray[np.int64]
    """Where each period's nodes begin."""
    counts: npt.NDArray[np.int64]
    """How many nodes each period has."""
    active: npt.NDArray[np.bool_]
    """Which of shift, level and era (for each period) are unknowns."""
    scale: Floats
    """What the active unknowns are counted in."""
    factor: Any
    """Cholesky factor of the scaled equations."""

    def add(self, residual: Floats, z: Floats, path_residual: Floats, path_z: Floats) -> float:
        """Add the solution to `z`; return residual times it."""
        periods = len(self.starts)
        right = np.concatenate([
            np.add.reduceat(residual, self.starts), path_residual[:periods],
            path_residual[2 * periods :],
        ])[self.active]  # fmt: skip
        solved = np.zeros(3 * periods)
        solved[self.active] = self.scale * cho_solve(self.factor, self.scale * right)
        z += np.repeat(solved[:periods], self.counts)
        path_z[:periods] = solved[periods : 2 * periods]
        path_z[2 * periods :] = solved[2 * periods :]
        return float(np.sum(right * solved[self.active]))


def coarse_of(
    graph: Graph, link: Floats, prior: float, told: Told, newcomers: Floats, level_link: Floats,
    levelling: bool,
) -> Coarse:  # fmt: skip
    """Return the equations of common moves.

    Parameters
    ----------
    graph, link, prior, told
        As in `milepost.history.solver.conjugate.System`.
    newcomers, level_link, levelling
        As in `milepost.history.solver.conjugate.Paths`.
    """
    periods = len(newcomers)
    matrix = np.zeros((3, periods, 3, periods))
    here, past = told.period, graph.previous
    # the lives: links between a player's periods, and the priors of newcomers
    has = past >= 0
    ends = here[past[has]].astype(np.int64) * periods + here[has]
    across = np.bincount(ends, weights=link[has], minlength=periods**2).reshape(periods, periods)
    matrix[0, :, 0, :] = np.diag(across.sum(axis=0) + across.sum(axis=1)) - across - across.T
    diagonal = np.arange(periods)
    matrix[0, diagonal, 0, diagonal] += newcomers * prior
    matrix[0, diagonal, 1, diagonal] = matrix[1, diagonal, 0, diagonal] = -newcomers * prior
    matrix[1, :, 1, :] = np.diag(newcomers * prior) + _walk(level_link)
    # what is told
    total = told.by_period(told.precision)
    for one in (0, 2):
        for two in (0, 2):
            matrix[one, diagonal, two, diagonal] += total
    matrix[2, :, 2, :] += _walk(told.era_link)
    active = np.ones((3, periods), dtype=np.bool_)
    active[1] = levelling
    active[1, 0] = False
    active[2] = told.learned
    chosen = active.ravel()
    square = matrix.reshape(3 * periods, 3 * periods)[np.ix_(chosen, chosen)]
    scale = 1.0 / np.sqrt(np.diag(square))
    # Rounding may leave the softest mode without its last digit: 1e-13 keeps the factor real.
    scaled = scale[:, None] * square * scale + 1e-13 * np.eye(len(scale))
    return Coarse(
        graph.node_start[:-1], np.diff(graph.node_start), chosen, scale,
        cho_factor(scaled, lower=True),
    )  # fmt: skip


def _walk(link: Floats) -> Floats:
    matrix = np.zeros((len(link) + 1, len(link) + 1))
    place = np.arange(len(link))
    matrix[place, place] += link
    matrix[place + 1, place + 1] += link
    matrix[place, place + 1] -= link
    matrix[place + 1, place] -= link
    return matrix
