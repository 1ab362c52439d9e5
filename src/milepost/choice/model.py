"""A choice model: everything about an agent but its numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from milepost.choice.attraction.curves import NO_CURVE, curve_codes
from milepost.choice.depths import DepthScheme
from milepost.choice.ratios.forms import ratio_code
from milepost.choice.scale import Scale
from milepost.choice.spreads import Floats
from milepost.errors import InputError

FLAT = "flat"
LAPSES = (None, FLAT, "shares")
BLEND = "blend"
_WORKING = {
    "s": "ln s",
    "c": "ln c",
    "m": "logit m",
    "k": "ln k",
    "kappa": "ln kappa",
    "lapse": "logit lapse",
}
_NAMED = 3
"""So many utilities are named one by one; of more only the number is told."""
S, C = 0, 1
"""Where ln s and ln c stand among the parameters."""


@dataclass(frozen=True)
class ChoiceModel:
    """Curve, ratio, scale, depths and lapses: all combinations work.

    Fits move on the working scale θ: ln s, ln c; logit m and ln k of a mixture of curves; the
    numbers φ of the depth weights; logit of the lapse share.
    """

    curve: str = "invexp"
    """A curve of `milepost.choice.attraction.curves`, or a mixture such as ``"invexp+ipb"``."""
    ratio: str = "powers"
    """``"powers"``, ``"shares"``, ``"product"``, or ``"blend"`` with a fitted κ."""
    scale: Scale = field(default_factory=Scale)
    """How values become differences."""
    depths: DepthScheme | None = None
    """How several depths count; None = the final values alone."""
    utilities: tuple[str, ...] = ()
    """What else makes an option attractive, each with a parameter b: b × column is added to ln y.
    Columns, or products of two, by name; see `milepost.choice.columns`."""
    lapse: str | None = None
    """From what a lapse chooses: ``"flat"``, ``"shares"`` of the same curve; None = no lapses."""

    def __post_init__(self) -> None:
        """Refuse what does not exist."""
        curve_codes(self.curve)
        ratio_code(self.ratio)
        if self.lapse not in LAPSES:
            raise InputError(f"the lapse is 'flat', 'shares' or None, got {self.lapse!r}")
        parts = [part for name in self.utilities for part in name.split("*")]
        if not all(parts) or len(set(self.utilities)) < len(self.utilities):
            raise InputError(f"utilities are names of columns, each once, got {self.utilities}")

    @property
    def mixes_curves(self) -> bool:
        """Whether the curve is a mixture of two."""
        return curve_codes(self.curve)[1] != NO_CURVE

    @property
    def curve_parameters(self) -> int:
        """How many parameters the curve has."""
        return 4 if self.mixes_curves else 2

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the parameters on the working scale, in their order."""
        names = ["ln s", "ln c"]
        if self.mixes_curves:
            names += ["logit m", "ln k"]
        if self.depths is not None:
            names += self.depths.names
        names += self.utilities
        if self.ratio == BLEND:
            names.append("ln kappa")
        if self.lapse is not None:
            names.append("logit lapse")
        return tuple(names)

    @property
    def utility_places(self) -> slice:
        """Where the parameters of the utilities stand."""
        start = self.curve_parameters
        start += 0 if self.depths is None else len(self.depths.names)
        return slice(start, start + len(self.utilities))

    @property
    def name(self) -> str:
        """A short name for tables."""
        parts = [self.ratio, self.curve]
        if self.scale.difference != "log":
            parts.append(self.scale.difference)
        if self.depths is not None:
            parts.append(f"{self.depths.combine}[{len(self.depths.depths)}]")
        few = len(self.utilities) <= _NAMED
        parts += [f"+{name}" for name in self.utilities] if few else [f"+{len(self.utilities)}"]
        if self.lapse is not None:
            parts.append(f"{self.lapse} lapse")
        return " ".join(parts)

    def to_dict(self) -> dict[str, Any]:
        """Return the model as plain values, for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> ChoiceModel:
        """Make a model of what `to_dict` gave.

        Raises
        ------
        InputError
            If a value is missing, unknown or not possible.
        """
        try:
            given = dict(values)
            depths = given.pop("depths")
            if depths is not None:
                depths = DepthScheme(
                    tuple(depths["depths"]),
                    depths["combine"],
                    tuple(depths["names"]),
                    tuple(tuple(row) for row in depths["features"]),
                    tuple(depths["offsets"]),
                )
            scale = Scale(**given.pop("scale"))
            utilities = tuple(given.pop("utilities"))
            return cls(scale=scale, depths=depths, utilities=utilities, **given)
        except (KeyError, TypeError) as error:
            raise InputError(f"this is no description of a choice model: {error}") from error

    def natural(self, theta: Floats) -> dict[str, float]:
        """Return the parameters as people read them: s, c, m, k, w(d), lapse."""
        values = {"s": float(np.exp(theta[S])), "c": float(np.exp(theta[C]))}
        if self.mixes_curves:
            values["m"] = _share(theta[2])
            values["k"] = float(np.exp(theta[3]))
        if self.depths is not None:
            at = self.curve_parameters
            weights = self.depths.weights(theta[at : at + len(self.depths.names)])
            for depth, weight in zip(self.depths.depths, weights, strict=True):
                values[f"w{depth}"] = float(weight)
        for name in self.utilities:
            values[name] = float(theta[self.place(name)])
        if self.ratio == BLEND:
            values["kappa"] = float(np.exp(theta[self.place("kappa")]))
        if self.lapse is not None:
            values["lapse"] = _share(theta[-1])
        return values

    def start(self, given: Mapping[str, float] | None = None) -> Floats:
        """Return the working parameters from which fits set out, some of them given by name.

        Names: s, c, m, k, lapse (as people read them), or a name of `parameters`.
        """
        theta = np.zeros(len(self.parameters))
        theta[S], theta[C] = np.log(0.1), np.log(0.5)
        if self.mixes_curves:
            first, second = self.curve.split("+")
            theta[3] = np.log(3.0) if first == second else 0.0
        if self.lapse is not None:
            theta[-1] = _logit(0.02)
        for name, value in (given or {}).items():
            theta[self.place(name)] = self.working(name, value)
        return theta

    def place(self, name: str) -> int:
        """Return where a parameter stands.

        Raises
        ------
        InputError
            If the model has no such parameter.
        """
        full = _WORKING.get(name, name)
        if full not in self.parameters:
            raise InputError(f"{self.name} has no parameter {name!r}, but {self.parameters}")
        return self.parameters.index(full)

    def working(self, name: str, value: float) -> float:
        """Return a parameter given as people read it on the working scale.

        Raises
        ------
        InputError
            If the value is not possible.
        """
        if name in {"s", "c", "k", "kappa"}:
            if not 0 < value < np.inf:
                raise InputError(f"{name} must be over 0, got {value}")
            return float(np.log(value))
        if name in {"m", "lapse"}:
            if not 0 <= value < 1:
                raise InputError(f"{name} must be a share from 0 to under 1, got {value}")
            return _logit(value)
        return float(value)


def _share(logit: float) -> float:
    return float(1.0 / (1.0 + np.exp(-logit)))


def _logit(share: float) -> float:
    # A share of 0 stays a finite number: e^-80 is nothing beside a probability.
    return float(np.log(share / (1.0 - share))) if share > 0 else -80.0
