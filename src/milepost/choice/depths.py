"""Depth-weighted agents: choosers who see partly what shallower searches see.

The 2011 paper's outlook: an option tempts by what it looks worth at every depth of search, weighted
by w_d ≥ 0, Σ w_d = 1. Four ways to combine, with δ_d the difference to the best at depth d:

===========  ==========================  ====================================================
additive     y = Σ w_d g(δ_d)            the paper's; a move refuted deeper keeps its share
averaged     y = g(Σ w_d δ_d)            differences averaged before the curve
geometric    ln y = Σ w_d ln g(δ_d)      logarithms averaged
mixture      p = Σ w_d p(δ_d)            one agent a depth, drawn anew for each decision
===========  ==========================  ====================================================

The weights are a softmax of a few numbers φ: ln w_d = o_d + Σ_k F_dk φ_k + constant. Groups of
depths, a curve over depth and free weights differ only in the matrix F and the offsets o.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from milepost.choice.spreads import Floats
from milepost.errors import InputError

ADDITIVE = "additive"
AVERAGED = "averaged"
GEOMETRIC = "geometric"
MIXTURE = "mixture"
COMBINATIONS = (ADDITIVE, AVERAGED, GEOMETRIC, MIXTURE)


@dataclass(frozen=True)
class DepthScheme:
    """Which depths count, how they are combined, and how few numbers give the weights."""

    depths: tuple[int, ...]
    """The depths that count, rising."""
    combine: str
    """``"additive"``, ``"averaged"``, ``"geometric"`` or ``"mixture"``."""
    names: tuple[str, ...]
    """The names of the numbers φ."""
    features: tuple[tuple[float, ...], ...]
    """F: one row a depth, one column a number."""
    offsets: tuple[float, ...]
    """o: one a depth."""

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        if self.combine not in COMBINATIONS:
            raise InputError(
                f"depths are combined as one of {', '.join(COMBINATIONS)}, got {self.combine!r}"
            )
        if not self.depths or list(self.depths) != sorted(set(self.depths)):
            raise InputError(f"depths must rise, got {self.depths}")

    @classmethod
    def groups(cls, groups: Sequence[Sequence[int] | int], combine: str = GEOMETRIC) -> DepthScheme:
        """Make a scheme with one weight a group of depths, shared evenly within the group.

        The weights are softmax(φ_1, …, φ_(G-1), 0) of the G groups: φ is the logarithm of a group's
        weight over that of the last group.
        """
        members = [(g,) if isinstance(g, int) else tuple(g) for g in groups]
        if not members or any(not group for group in members):
            raise InputError("each group needs a depth")
        depths = tuple(depth for group in members for depth in group)
        features, offsets = [], []
        for place, group in enumerate(members):
            row = [0.0] * (len(members) - 1)
            if place < len(members) - 1:
                row[place] = 1.0
            for _ in group:
                features.append(tuple(row))
                offsets.append(-float(np.log(len(group))))
        names = tuple(f"ln w({_span(group)})/w({_span(members[-1])})" for group in members[:-1])
        return cls(depths, combine, names, tuple(features), tuple(offsets))

    @classmethod
    def free(cls, depths: Sequence[int], combine: str = GEOMETRIC) -> DepthScheme:
        """Make a scheme with a weight of its own for each depth."""
        return cls.groups(list(depths), combine)

    @classmethod
    def curve(cls, depths: Sequence[int], combine: str = GEOMETRIC, degree: int = 2) -> DepthScheme:
        """Make a scheme whose ln w is a polynomial in depth, x = (d - last) / (last - first)."""
        if degree < 1 or len(depths) < 2:
            raise InputError("a curve of weights needs a degree from 1 and at least two depths")
        x = (np.asarray(depths, dtype=float) - depths[-1]) / (depths[-1] - depths[0])
        features = tuple(tuple(float(v**k) for k in range(1, degree + 1)) for v in x)
        names = tuple(f"ln w: x^{k}" for k in range(1, degree + 1))
        return cls(tuple(depths), combine, names, features, (0.0,) * len(depths))

    @classmethod
    def ends(cls, depths: Sequence[int], combine: str = GEOMETRIC) -> DepthScheme:
        """Make a scheme with three numbers: the first depth, the last depth, a slope between.

        ln w = φ_1 [first] + φ_2 [last] + φ_3 x, x from 0 at the second depth to 1 at the last but
        one (and on in step).
        """
        if len(depths) < 4:
            raise InputError("a scheme of ends needs at least four depths")
        middle = np.arange(-1.0, len(depths) - 1) / (len(depths) - 3)
        features = [
            (float(at == 0), float(at == len(depths) - 1), float(x) if at else 0.0)
            for at, x in enumerate(middle)
        ]
        names = ("ln w: first", "ln w: last", "ln w: slope")
        return cls(tuple(depths), combine, names, tuple(features), (0.0,) * len(depths))

    def weights(self, phi: Floats) -> Floats:
        """Return the weights of the depths for each row of φ (or for one)."""
        logits = np.asarray(self.offsets) + np.atleast_2d(phi) @ self.matrix.T
        shares = np.exp(logits - logits.max(axis=1, keepdims=True))
        answer: Floats = shares / shares.sum(axis=1, keepdims=True)
        return answer if np.ndim(phi) > 1 else answer[0]

    @property
    def matrix(self) -> Floats:
        """F as an array."""
        return np.asarray(self.features, dtype=np.float64).reshape(
            len(self.depths), len(self.names)
        )


def _span(group: Sequence[int]) -> str:
    return str(group[0]) if len(group) == 1 else f"{group[0]}-{group[-1]}"
