"""Cubic splines through evenly spaced points, many rows at once.

The spline is that of `scipy.interpolate.CubicSpline` (not-a-knot ends: the first two pieces are one
cubic, and so are the last two). It is here because all ratings need one, and loading SciPy for it
takes longer than rating a tournament.
"""

from __future__ import annotations

from functools import cache, lru_cache

import numpy as np
import numpy.typing as npt

from milepost.kernels import vector_kernel

Floats = npt.NDArray[np.float64]


class EvenSpline:
    """A spline through points at even distances, or one through each row of a table."""

    def __init__(self, x: Floats, y: Floats):
        """Lay it through `y` (rows × points, or points alone) at `x`, at least four points."""
        self.x = x
        step = float(x[1] - x[0])
        slopes = y @ _slope_matrix(len(x)).T / step
        rise = (y[..., 1:] - y[..., :-1]) / step
        bend = (slopes[..., :-1] + slopes[..., 1:] - 2.0 * rise) / step
        # Of (x - knot)³ down to the constant: pieces last, as the points are.
        self.c = np.stack([
            bend / step, (rise - slopes[..., :-1]) / step - bend, slopes[..., :-1], y[..., :-1]
        ])  # fmt: skip

    def pieces(self, at: npt.ArrayLike) -> tuple[npt.NDArray[np.int64], Floats]:
        """Return the piece in which each place lies, and how far from its beginning."""
        places = np.asarray(at, dtype=np.float64)
        step = self.x[1] - self.x[0]
        piece = np.clip(((places - self.x[0]) / step).astype(np.int64), 0, len(self.x) - 2)
        return piece, places - self.x[piece]

    def __call__(self, at: npt.ArrayLike) -> Floats:
        """Return the values at some places: of each row, if there are rows."""
        piece, over = self.pieces(at)
        cubic, square, line, value = self.c[..., piece]
        answer: Floats = ((cubic * over + square) * over + line) * over + value
        return answer

    def slope(self, at: npt.ArrayLike) -> Floats:
        """Return the derivatives at some places."""
        piece, over = self.pieces(at)
        cubic, square, line, _ = self.c[..., piece]
        answer: Floats = (3.0 * cubic * over + 2.0 * square) * over + line
        return answer

    def of_rows(self, at: Floats) -> Floats:
        """Return the value of each row at a place of its own."""
        piece, over = self.pieces(at)
        cubic, square, line, value = self.c[:, np.arange(len(at)), piece]
        answer: Floats = ((cubic * over + square) * over + line) * over + value
        return answer

    def slope_of_rows(self, at: Floats) -> Floats:
        """Return the derivative of each row at a place of its own."""
        piece, over = self.pieces(at)
        cubic, square, line, _ = self.c[:, np.arange(len(at)), piece]
        answer: Floats = (3.0 * cubic * over + 2.0 * square) * over + line
        return answer


@lru_cache(maxsize=8)
def _unit_spline(first: float, step: float, count: int) -> EvenSpline:
    """The splines through 1 at one point and 0 at all others, a row each."""
    places = np.asarray(first + step * np.arange(count), dtype=np.float64)
    return EvenSpline(places, np.eye(count))


def value_shares(x: Floats, at: npt.ArrayLike) -> Floats:
    """Return by what the points of a spline are multiplied for its values, places × points.

    A spline is linear in its points: where many rows are asked at the same places, one product of
    matrices says it all, and no row needs pieces of its own.
    """
    shares: Floats = _unit_spline(float(x[0]), float(x[1] - x[0]), len(x))(at).T
    return shares


def values_of_rows(table: Floats, rows: npt.NDArray[np.int64], shares: Floats) -> Floats:
    """Return the values of the splines through some rows of a table, rows × places.

    As ``table[rows] @ shares.T`` with `value_shares`; but the library for products of matrices
    would start threads for it, and these take longer to meet than the product does.
    """
    answer = np.zeros((len(rows), len(shares)))
    _add_products(table, rows, np.ascontiguousarray(shares.T), answer)
    return answer


@vector_kernel
def _add_products(
    table: Floats, rows: npt.NDArray[np.int64], shares: Floats, answer: Floats
) -> None:
    for t in range(len(rows)):
        for k in range(len(shares)):
            value = table[rows[t], k]
            for n in range(shares.shape[1]):
                answer[t, n] += value * shares[k, n]


def slope_shares_at(x: Floats, at: float) -> Floats:
    """As `slope_shares`, of one place, where nothing else would take as long."""
    first, step = float(x[0]), float(x[1] - x[0])
    piece = min(max(int((at - first) / step), 0), len(x) - 2)
    over = at - float(x[piece])
    cubic, square, line, _ = _unit_spline(first, step, len(x)).c[..., piece]
    answer: Floats = (3.0 * cubic * over + 2.0 * square) * over + line
    return answer


def slope_shares(x: Floats, at: npt.ArrayLike) -> Floats:
    """Return by what the points of a spline are multiplied for its slopes, places × points."""
    shares: Floats = _unit_spline(float(x[0]), float(x[1] - x[0]), len(x)).slope(at).T
    return shares


@cache
def _slope_matrix(count: int) -> Floats:
    """What makes the slopes of values at points 0, 1, 2, …: the third derivative never jumps."""
    left, right = np.zeros((2, count, count))
    for i in range(1, count - 1):
        left[i, i - 1 : i + 2] = 1.0, 4.0, 1.0
        right[i, i - 1], right[i, i + 1] = -3.0, 3.0
    # Not-a-knot: one cubic through the first three points, and one through the last three.
    left[0, :3] = 1.0, 0.0, -1.0
    right[0, :3] = -2.0, 4.0, -2.0
    left[-1, -3:] = 1.0, 0.0, -1.0
    right[-1, -3:] = -2.0, 4.0, -2.0
    return np.asarray(np.linalg.solve(left, right), dtype=np.float64)
