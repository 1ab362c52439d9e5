"""The matrix of a Newton step as kernels: its products, and the lives that precondition it.

See `milepost.history.solver.conjugate`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from milepost.history.numerics.lanes import Index
from milepost.history.records import Floats, Ints
from milepost.history.ttt.graph import Indices, Longs, Signs
from milepost.kernels import fused_kernel, gather_kernel, inner_kernel, kernel, vector_kernel


class Lives(NamedTuple):
    """The lives as the preconditioner solves them.

    No step of it asks whether there is a neighbour in time, which nobody could foresee: where there
    is none, the node itself stands there, and counts for nothing.
    """

    past: Indices
    """For each node, the player's node before it."""
    future: Indices
    """For each node, the player's node after it."""
    inverse: Floats
    """For each node, one over the pivot."""
    factor: Floats
    """For each node, what the node before it passes on."""
    ahead: Floats
    """For each node, what it passes on to the node after it."""
    next_link: Floats
    """For each node, the precision of the drift to the node after it."""


@vector_kernel
def _new_direction(
    z: Floats, share: float, direction: Floats, image: Floats, begin: int, end: int
) -> None:
    for node in range(begin, end):
        direction[node] = z[node] + share * direction[node]
        image[node] = 0.0


@inner_kernel
def _pull_apart(
    first: Indices, second: Indices, curvature: Floats, direction: Floats, image: Floats,
    game: Index, lead: float,
) -> tuple[float, float]:  # fmt: skip
    """Add what a game pulls its nodes by; return this force, and its part of the square."""
    i, j = first[game], second[game]
    apart = direction[i] - direction[j] + lead
    force = curvature[game] * apart
    image[i] += force
    image[j] -= force
    return force, force * apart


@fused_kernel
def product_of_games(
    first: Indices, second: Indices, mover: Signs, game_start: Longs, node_start: Longs, begin: int,
    end: int, curvature: Floats, z: Floats, share: float, lead: Floats, leading: bool,
    direction: Floats, image: Floats, lead_image: Floats,
) -> float:  # fmt: skip
    """Make z + share * direction the new direction; write what the games of some periods do to it.

    Returns the games' part of its square in H.
    """
    _new_direction(z, share, direction, image, node_start[begin], node_start[end])
    # Two sums in turn: one would have to wait for the game before.
    square, other = 0.0, 0.0
    if not leading:
        low, high = game_start[begin], game_start[end]
        for place in range(low, high - 1, 2):
            # Not signed: see `Indices`.
            game = np.uint64(place)
            _, part = _pull_apart(first, second, curvature, direction, image, game, 0.0)
            square += part
            game = np.uint64(place + 1)
            _, part = _pull_apart(first, second, curvature, direction, image, game, 0.0)
            other += part
        if (high - low) % 2:
            game = np.uint64(high - 1)
            square += _pull_apart(first, second, curvature, direction, image, game, 0.0)[1]
        return square + other
    for period in range(begin, end):
        total = 0.0
        for place in range(game_start[period], game_start[period + 1]):
            game = np.uint64(place)
            ahead = lead[period] * mover[game]
            force, part = _pull_apart(first, second, curvature, direction, image, game, ahead)
            square += part
            total += force * mover[game]
        lead_image[period] = total
    return square


@gather_kernel
def product_of_lives(
    spans: Longs, past: Indices, future: Indices, link: Floats, next_link: Floats, prior: float,
    direction: Floats, image: Floats,
) -> float:  # fmt: skip
    """Add what drift and priors make of the direction; return their part of its square in H."""
    square = 0.0
    for span in range(len(spans)):
        for place in range(spans[span, 0], spans[span, 1]):
            node = np.uint64(place)
            before, after = np.uint64(past[node]), np.uint64(future[node])
            here = direction[node]
            # A newcomer stands before himself: nothing lies between, and his prior holds him.
            apart = here - direction[before]
            force = link[node] * apart
            hold = prior * here if before == node else 0.0
            image[node] += force + hold + next_link[node] * (here - direction[after])
            square += force * apart + hold * here
    return square


@kernel
def product_of_level(
    previous: Ints, node_start: Longs, prior: float, direction: Floats, level: Floats,
    image: Floats, level_image: Floats,
) -> float:  # fmt: skip
    """What newcomers and their level do to each other; returns the mixed part of the square."""
    mixed = 0.0
    for period in range(len(level)):
        for node in range(node_start[period], node_start[period + 1]):
            if previous[node] < 0:
                image[node] -= prior * level[period]
                level_image[period] -= prior * direction[node]
                mixed -= 2.0 * prior * level[period] * direction[node]
    return mixed


@kernel
def factorise(
    spans: Longs, previous: Ints, following: Ints, degree: Floats, link: Floats, prior: float,
    lives: Lives,
) -> None:  # fmt: skip
    """LDL' of the lives' tridiagonal blocks, in the form of a filter: nothing cancels."""
    past, future, inverse, factor, ahead, next_link = lives
    for span in range(len(spans)):
        for node in range(spans[span, 0], spans[span, 1]):
            before = previous[node]
            # `inverse` holds what is known so far until its node is followed.
            if before < 0:
                past[node], factor[node] = node, 0.0
                known = degree[node] + prior
            else:
                past[node] = before
                pivot = 1.0 / (inverse[before] + link[node])
                factor[node] = link[node] * pivot
                known = degree[node] + factor[node] * inverse[before]
                inverse[before] = pivot
                future[before], ahead[before] = node, factor[node]
                next_link[before] = link[node]
            inverse[node] = known
    for span in range(len(spans)):
        for node in range(spans[span, 0], spans[span, 1]):
            if following[node] < 0:
                inverse[node] = 1.0 / inverse[node]
                future[node], ahead[node], next_link[node] = node, 0.0, 0.0


_BLOCK = 512
"""So many nodes are gone through at once: their numbers stay in the nearest cache."""


@vector_kernel
def _go(
    length: float, direction: Floats, image: Floats, x: Floats, residual: Floats, begin: int,
    end: int,
) -> None:  # fmt: skip
    for node in range(begin, end):
        x[node] += length * direction[node]
        residual[node] -= length * image[node]


@vector_kernel
def _sum_of_products(a: Floats, b: Floats, begin: int, end: int) -> float:
    total = 0.0
    for node in range(begin, end):
        total += a[node] * b[node]
    return total


@fused_kernel
def advance(
    spans: Longs, lives: Lives, length: float, direction: Floats, image: Floats, x: Floats,
    residual: Floats, z: Floats,
) -> float:  # fmt: skip
    """Go `length` along the direction, and precondition the residual; return its size."""
    past, future, inverse, factor, ahead, _ = lives
    # forward along the lives
    for span in range(len(spans)):
        for begin in range(spans[span, 0], spans[span, 1], _BLOCK):
            end = min(begin + _BLOCK, spans[span, 1])
            _go(length, direction, image, x, residual, begin, end)
            for place in range(begin, end):
                node = np.uint64(place)
                z[node] = residual[node] + factor[node] * z[past[node]]
    # and back
    size = 0.0
    for span in range(len(spans) - 1, -1, -1):
        for end in range(spans[span, 1], spans[span, 0], -_BLOCK):
            begin = max(end - _BLOCK, spans[span, 0])
            for place in range(end - 1, begin - 1, -1):
                node = np.uint64(place)
                z[node] = z[node] * inverse[node] + ahead[node] * z[future[node]]
            size += _sum_of_products(residual, z, begin, end)
    return size


@kernel
def clear(rows: Floats, begin: int, end: int) -> None:
    """Let the columns from `begin` up to `end` be 0."""
    rows[:, begin:end] = 0.0


_SIZE = np.int64(2**63 - 1)
"""All bits of a number but its sign."""


@kernel
def largest_size(words: Longs) -> np.int64:
    """Return the bits of the largest of all sizes, of the bits of numbers.

    Without their signs they stand in the order of the numbers, and NaN above all. Whole numbers are
    compared in vectors, which floats with a NaN among them are not.
    """
    found = np.int64(0)
    for place in range(len(words)):
        found = max(found, words[place] & _SIZE)
    return found
