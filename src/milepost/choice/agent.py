"""The fallible agent: a choice model with its numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from milepost.choice.depths import DepthScheme
from milepost.choice.evaluation.evaluate import Evaluated, evaluate, ln_probabilities, prepare
from milepost.choice.evaluation.summaries import draw_choices
from milepost.choice.model import FLAT, ChoiceModel
from milepost.choice.projections import Projection, project
from milepost.choice.scale import CAP, LOG, TIE_SHIFT, Scale
from milepost.choice.spreads import Floats, Spreads
from milepost.errors import InputError


@dataclass(frozen=True)
class Agent:
    """A chooser of sensitivity s and consistency c (Regan & Haworth 2011).

    A smaller s tells small differences apart; a larger c shuns large ones more.

    Examples
    --------
    >>> spreads = Spreads.from_lists([[0.3, 0.1, -0.5], [0.0, 0.0]], [0, 1])
    >>> Agent(s=0.1, c=0.5).probabilities(spreads).round(3)
    array([0.721, 0.242, 0.038, 0.606, 0.394])
    """

    s: float
    """Sensitivity, on the scale of the differences."""
    c: float
    """Consistency."""
    curve: str = "invexp"
    """See `milepost.choice.attraction.curves`."""
    ratio: str = "powers"
    """See `milepost.choice.ratios.forms`."""
    difference: str = LOG
    """``"log"``, ``"raw"`` or ``"win-probability"``."""
    tie_shift: float = TIE_SHIFT
    """Scaled difference of later options that equal the best."""
    cap: float | None = CAP
    """Values are clipped so far under the best."""
    constant: float = 1.0
    """C of the log scale."""
    lapse: float = 0.0
    """Share of decisions in which the choice comes from elsewhere."""
    lapse_kernel: str = FLAT
    """From where: ``"flat"`` or ``"shares"``."""
    depths: DepthScheme | None = None
    """How several depths count; None = the final values alone."""
    depth_numbers: tuple[float, ...] = ()
    """The numbers φ of the depth weights."""
    utilities: tuple[tuple[str, float], ...] = ()
    """Names and parameters of what else counts; see `ChoiceModel.utilities`."""
    kappa: float | None = None
    """κ of the blend of shares and powers."""
    mix: float | None = None
    """Share m of the first curve of a mixture."""
    mix_scale: float | None = None
    """Factor k of s in the second one."""

    def __post_init__(self) -> None:
        """Refuse impossible numbers."""
        if not (0 < self.s < np.inf and 0 < self.c < np.inf):
            raise InputError(f"s and c must be over 0, got s={self.s}, c={self.c}")
        if not 0 <= self.lapse < 1:
            raise InputError(f"the lapse share must be from 0 to under 1, got {self.lapse}")
        wanted = len(self.depths.names) if self.depths is not None else 0
        if len(self.depth_numbers) != wanted:
            raise InputError(
                f"the depth weights need {wanted} numbers, got {len(self.depth_numbers)}"
            )
        self.model  # noqa: B018  (refuses what does not exist)

    @classmethod
    def from_parameters(cls, model: ChoiceModel, theta: Floats) -> Agent:
        """Make the agent of a model with these working parameters."""
        values = model.natural(theta)
        at = model.curve_parameters
        numbers = theta[at : at + len(model.depths.names)] if model.depths is not None else ()
        return cls(
            s=values["s"],
            c=values["c"],
            curve=model.curve,
            ratio=model.ratio,
            difference=model.scale.difference,
            tie_shift=model.scale.tie_shift,
            cap=model.scale.cap,
            constant=model.scale.constant,
            lapse=values.get("lapse", 0.0),
            lapse_kernel=model.lapse or FLAT,
            depths=model.depths,
            depth_numbers=tuple(map(float, numbers)),
            utilities=tuple((name, values[name]) for name in model.utilities),
            kappa=values.get("kappa"),
            mix=values.get("m"),
            mix_scale=values.get("k"),
        )

    @property
    def model(self) -> ChoiceModel:
        """The model behind it."""
        return ChoiceModel(
            curve=self.curve,
            ratio=self.ratio,
            scale=Scale(self.difference, self.constant, self.cap, self.tie_shift),
            depths=self.depths,
            utilities=tuple(name for name, _ in self.utilities),
            lapse=self.lapse_kernel if self.lapse > 0 else None,
        )

    @property
    def parameters(self) -> Floats:
        """Its numbers on the working scale of the model."""
        model = self.model
        given = {"s": self.s, "c": self.c, **dict(self.utilities)}
        if self.kappa is not None:
            given["kappa"] = self.kappa
        if self.mix is not None:
            given["m"] = self.mix
        if self.mix_scale is not None:
            given["k"] = self.mix_scale
        if self.lapse > 0:
            given["lapse"] = self.lapse
        theta = model.start(given)
        at = model.curve_parameters
        theta[at : at + len(self.depth_numbers)] = self.depth_numbers
        return theta

    def probabilities(self, spreads: Spreads) -> Floats:
        """Return the probability of every option, in the order and with the offsets as given."""
        model = self.model
        ln_p = ln_probabilities(model, prepare(spreads, model), self.parameters)
        return spreads.as_given(np.exp(ln_p))

    def evaluate(self, spreads: Spreads) -> Evaluated:
        """Return what the agent says of each decision: chosen option, entropy, expected error."""
        model = self.model
        return evaluate(model, prepare(spreads, model), self.parameters)

    def project(self, spreads: Spreads) -> Projection:
        """Return what the agent would do on these decisions, beside what was done."""
        model = self.model
        return project(model, prepare(spreads, model), self.parameters)

    def simulate(self, spreads: Spreads, rng: np.random.Generator) -> Spreads:
        """Return the same decisions, chosen by the agent."""
        model = self.model
        p = np.exp(ln_probabilities(model, prepare(spreads, model), self.parameters))
        chosen = np.empty(len(spreads), dtype=np.int64)
        draw_choices(spreads.offsets, p, rng.random(len(spreads)), chosen)
        return spreads.choosing(chosen)
