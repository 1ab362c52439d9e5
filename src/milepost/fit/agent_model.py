"""What to fit: the options of an agent, with those of its parameters that are given.

A `milepost.choice.ChoiceModel` says how an agent chooses; an `AgentModel` says the same in the
plain words and numbers of a user, leaves the scale to the unit of the decisions unless told
otherwise, and names what is given rather than fitted.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from milepost.choice.depths import GEOMETRIC, DepthScheme
from milepost.choice.model import FLAT, LAPSES, ChoiceModel
from milepost.choice.scale import LOG, PAWNS, RAW_UNITS, Scale
from milepost.errors import InputError

FIT = "fit"
"""In the place of a number: fit it."""


@dataclass(frozen=True)
class AgentModel:
    """An agent to be fitted: its curve, ratio and scale, and what is given of its numbers.

    Without anything it is the agent of Regan & Haworth 2011. Scale, cap and tie shift follow the
    unit of the decisions: pawns are put on the paper's log scale and capped, other units stay as
    they are.

    Examples
    --------
    >>> AgentModel(ratio="shares", c=1.0).fixed
    {'c': 1.0}
    >>> AgentModel(cap=2.0).choice_model().scale.cap
    2.0
    """

    curve: str = "invexp"
    """A curve of `milepost.choice.attraction.curves`: invexp, ipa, ipb, secha, sechb, or a mixture
    such as ``"invexp+ipb"``."""
    ratio: str = "powers"
    """``"powers"``, ``"shares"``, ``"product"`` or ``"blend"``."""
    difference: str | None = None
    """``"log"``, ``"raw"`` or ``"win-probability"``; None = log for pawns or where a constant is
    named, else raw."""
    constant: float | str | None = None
    """C of the log scale, the integral of ``dx / (C + |x|)``, in the unit of the values; ``"fit"``
    to fit it by likelihood; None = 1."""
    cap: float | None = None
    """Values are clipped so far under the best; 0 = not at all; None = 4 for pawns, else 0."""
    tie_shift: float | None = None
    """Scaled difference of later options equal to the best; None = 0.03 for pawns, else 0."""
    depths: DepthScheme | str | None = None
    """Depth-weighted agents: a scheme, or groups of depths as ``"1-2,3-4,10"``."""
    combine: str | None = None
    """How depths are combined: additive, averaged, geometric (default) or mixture."""
    utilities: tuple[str, ...] = ()
    """What else makes an option attractive: ``"loss"``, ``"first"``; see `ChoiceModel`."""
    lapse: float | str = 0.0
    """Share of lapses: 0 for none, another number as given, ``"fit"`` to fit it."""
    lapse_kernel: str = FLAT
    """What lapses choose from: ``"flat"`` or ``"shares"``."""
    s: float | None = None
    """Sensitivity, given; None = fitted."""
    c: float | None = None
    """Consistency, given; None = fitted."""
    kappa: float | None = None
    """κ of the ratio ``"blend"``, given; None = fitted."""

    def __post_init__(self) -> None:
        """Refuse what does not exist or would be ignored."""
        if isinstance(self.lapse, str) and self.lapse != FIT:
            raise InputError(f"the lapse is a share or 'fit', got {self.lapse!r}")
        if not isinstance(self.lapse, str) and not 0 <= self.lapse < 1:
            raise InputError(
                f"the lapse is a share from 0 to under 1, or 'fit', got {self.lapse!r}"
            )
        if self.lapse_kernel not in LAPSES[1:]:
            raise InputError(f"the lapse kernel is 'flat' or 'shares', got {self.lapse_kernel!r}")
        if self.lapse == 0 and self.lapse_kernel != FLAT:
            raise InputError("a lapse kernel goes with lapses: give their share, or 'fit'")
        if isinstance(self.constant, str) and self.constant != FIT:
            raise InputError(f"the constant is a number or 'fit', got {self.constant!r}")
        if self.constant is not None and self.difference not in {None, LOG}:
            raise InputError(f"the difference {self.difference!r} has no constant: it is the log's")
        if self.combine is not None and self.depths is None:
            raise InputError("depths are combined where there are some: name them")
        if isinstance(self.depths, DepthScheme) and self.combine not in {None, self.depths.combine}:
            raise InputError(f"the depths are combined as {self.depths.combine}: {self.combine!r}")
        self.choice_model().start(self.fixed)

    @property
    def fits_constant(self) -> bool:
        """Whether the constant of the log scale is to be fitted."""
        return self.constant == FIT

    @property
    def fixed(self) -> dict[str, float]:
        """The parameters that are given, by name."""
        given = {"s": self.s, "c": self.c, "kappa": self.kappa}
        fixed = {name: value for name, value in given.items() if value is not None}
        if not isinstance(self.lapse, str) and self.lapse > 0:
            fixed["lapse"] = float(self.lapse)
        return fixed

    def scale(self, *, in_pawns: bool = True) -> Scale:
        """Return how values of a unit become differences."""
        usual = PAWNS if in_pawns else RAW_UNITS
        difference = self.difference
        if difference is None:
            difference = usual.difference if self.constant is None else LOG
        constant = 1.0 if self.constant is None or isinstance(self.constant, str) else self.constant
        cap = usual.cap if self.cap is None else self.cap
        return Scale(
            difference,
            constant,
            None if cap in {0, math.inf} else cap,
            usual.tie_shift if self.tie_shift is None else self.tie_shift,
        )

    def choice_model(self, *, in_pawns: bool = True) -> ChoiceModel:
        """Return how the agent chooses among values of a unit."""
        return ChoiceModel(
            curve=self.curve,
            ratio=self.ratio,
            scale=self.scale(in_pawns=in_pawns),
            depths=self._scheme(),
            utilities=self.utilities,
            lapse=None if self.lapse == 0 else self.lapse_kernel,
        )

    def _scheme(self) -> DepthScheme | None:
        if not isinstance(self.depths, str):
            return self.depths
        groups: list[list[int]] = []
        for part in self.depths.split(","):
            span = re.fullmatch(r"\s*(\d+)(?:-(\d+))?\s*", part)
            if span is None:
                raise InputError(f"depths: expected groups as 1-2,3-4,10, got {self.depths!r}")
            first = int(span[1])
            groups.append(list(range(first, int(span[2] or first) + 1)))
        return DepthScheme.groups(groups, self.combine or GEOMETRIC)
