"""What a fit says, frozen: parameters with their uncertainty, projections, quality."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from milepost.choice.agent import Agent
from milepost.choice.model import ChoiceModel
from milepost.choice.projections import Projection
from milepost.choice.scale import LOG
from milepost.choice.spreads import Floats
from milepost.errors import InputError
from milepost.fit.quality import PercentileScore
from milepost.io.shown import Shown

FEW_GROUPS = 10
"""With fewer groups the spread between them is itself hardly known."""


@dataclass(frozen=True, eq=False)
class FitResult(Shown):
    """A fitted agent."""

    model: ChoiceModel
    """The model."""
    method: str
    """``"percentile"``, ``"likelihood"`` or ``"moments"``."""
    theta: Floats
    """Parameters on the working scale (see `ChoiceModel.parameters`)."""
    free: npt.NDArray[np.bool_]
    """Which of them were fitted; the others were given."""
    working_covariance: Floats
    """Covariance of the fitted ones, on the working scale; NaN where the data do not say."""
    covariance_kind: str
    """Where it comes from: ``"sandwich"``, ``"information"`` or ``"bootstrap"``."""
    n: int
    """Number of decisions."""
    n_groups: int
    """Number of groups (games)."""
    excluded: int
    """Decisions left out because the choice was outside the listed options."""
    projection: Projection
    """What the fitted agent projects for these decisions, beside what was chosen."""
    percentiles: PercentileScore
    """The percentile score at the fitted parameters."""
    converged: bool
    """Whether the search came to rest; see `message`."""
    evaluations: int
    """How often the model was evaluated on all decisions."""
    message: str
    """Why the search stopped."""
    options: int = 0
    """Options of all decisions."""
    clipped: int = 0
    """How many of them the cap moved closer to the best."""
    constant_interval: tuple[float, float] | None = None
    """95 % interval of the constant of the log scale, where that was fitted."""
    raw_log_likelihood: float | None = None
    """Log-likelihood with raw differences in place of the log scale, where its constant was
    fitted."""

    @property
    def agent(self) -> Agent:
        """The fitted agent."""
        return Agent.from_parameters(self.model, self.theta)

    @property
    def parameters(self) -> dict[str, float]:
        """The parameters as people read them."""
        return self.model.natural(self.theta)

    @property
    def s(self) -> float:
        """Sensitivity."""
        return float(np.exp(self.theta[0]))

    @property
    def c(self) -> float:
        """Consistency."""
        return float(np.exp(self.theta[1]))

    @property
    def lapse(self) -> float:
        """Lapse share."""
        return self.parameters.get("lapse", 0.0)

    @property
    def constant(self) -> float | None:
        """C of the log scale; None = the differences are taken otherwise."""
        return self.model.scale.constant if self.model.scale.difference == LOG else None

    @property
    def clipped_share(self) -> float:
        """Share of the options that the cap moved closer to the best."""
        return self.clipped / self.options if self.options else 0.0

    @property
    def fitted(self) -> tuple[str, ...]:
        """The names of the fitted parameters, on the working scale."""
        return tuple(n for n, f in zip(self.model.parameters, self.free, strict=True) if f)

    @property
    def covariance(self) -> Floats:
        """Covariance of (s, c), by the delta method; zeros for what was given, not fitted."""
        full = np.zeros((len(self.theta), len(self.theta)))
        full[np.ix_(self.free, self.free)] = self.working_covariance
        slope = np.exp(self.theta[:2])
        answer: Floats = full[:2, :2] * np.outer(slope, slope)
        return answer

    @property
    def standard_errors(self) -> dict[str, float]:
        """Standard errors of the fitted parameters, on the working scale."""
        return dict(zip(self.fitted, np.sqrt(np.diag(self.working_covariance)), strict=True))

    @property
    def depth_weight_errors(self) -> dict[str, float]:
        """Standard errors of the depth weights w1, w2, …, by the delta method; empty without."""
        scheme = self.model.depths
        if scheme is None:
            return {}
        at = self.model.curve_parameters
        places = np.arange(at, at + len(scheme.names))
        weights = scheme.weights(self.theta[places])
        matrix = scheme.matrix
        # d w_d / d φ_k = w_d (F_dk - Σ w F)
        slopes = weights[:, None] * (matrix - weights @ matrix)
        full = np.zeros((len(self.theta), len(self.theta)))
        full[np.ix_(self.free, self.free)] = self.working_covariance
        spread = full[np.ix_(places, places)]
        errors = np.sqrt(np.maximum(np.einsum("dk,kl,dl->d", slopes, spread, slopes), 0.0))
        return {f"w{d}": float(e) for d, e in zip(scheme.depths, errors, strict=True)}

    def interval(self, level: float = 0.95) -> dict[str, tuple[float, float]]:
        """Return intervals of the fitted parameters as people read them (s, c, lapse, …).

        Taken on the working scale, where estimates are close to normal, with Student's t for the
        number of groups, and carried over; they are not symmetric.
        """

        from scipy.special import stdtrit

        check_level(level)
        degrees = max(self.n_groups - int(self.free.sum()), 1)
        reach = float(stdtrit(degrees, 0.5 + level / 2))
        answer = {}
        for name, error in self.standard_errors.items():
            centre = self.theta[self.model.parameters.index(name)]
            low, high = centre - reach * error, centre + reach * error
            answer[plain_name(name)] = (natural_value(name, low), natural_value(name, high))
        return answer

    @property
    def mm_projected(self) -> float:
        """Projected match rate."""
        return self.projection.mm_projected

    @property
    def mm_actual(self) -> float:
        """Actual match rate."""
        return self.projection.mm_actual

    @property
    def ad_projected(self) -> float:
        """Projected scaled difference."""
        return self.projection.ad_projected

    @property
    def ad_actual(self) -> float:
        """Actual scaled difference."""
        return self.projection.ad_actual

    @property
    def qfit(self) -> float:
        """See `Projection.qfit`."""
        return self.projection.qfit

    @property
    def log_likelihood(self) -> float:
        """Log-likelihood of the choices at the fitted parameters."""
        return self.projection.log_likelihood

    def to_dict(self) -> dict[str, Any]:
        """Return one row of the fits table."""
        covariance = self.covariance
        row: dict[str, Any] = {
            "model": self.model.name,
            "method": self.method,
            "n": self.n,
            "groups": self.n_groups,
            "s": self.s,
            "c": self.c,
            "se_s": float(np.sqrt(covariance[0, 0])),
            "se_c": float(np.sqrt(covariance[1, 1])),
            "cov_sc": float(covariance[0, 1]),
        }
        bounds = self.interval()
        for name in ("s", "c", "lapse"):
            row[f"{name}_low"], row[f"{name}_high"] = bounds.get(name, (None, None))
        row |= {
            "lapse": self.lapse,
            "mm_projected": self.mm_projected,
            "mm_actual": self.mm_actual,
            "z_mm": self.projection.z_mm,
            "ad_projected": self.ad_projected,
            "ad_actual": self.ad_actual,
            "z_ad": self.projection.z_ad,
            "qfit": self.qfit,
            "percentile_rms": self.percentiles.rms,
            "percentile_chi_square": self.percentiles.chi_square,
            "percentile_degrees": self.percentiles.degrees,
            "log_likelihood": self.log_likelihood,
            "entropy": self.projection.entropy,
            "outside": self.projection.outside,
            "excluded": self.excluded,
            "covariance": self.covariance_kind,
            "converged": self.converged,
        }
        weights = {k: v for k, v in self.parameters.items() if k not in {"s", "c", "lapse"}}
        row["other_parameters"] = ", ".join(f"{k}={v:.6g}" for k, v in weights.items()) or None
        low, high = self.constant_interval or (None, None)
        row |= {
            "difference": self.model.scale.difference,
            "constant": self.constant,
            "constant_low": low,
            "constant_high": high,
            "options": self.options,
            "clipped": self.clipped,
        }
        return row

    def to_frame(self) -> pl.DataFrame:
        """Return the fit as a table of one row; see `milepost.tables.FITS`."""
        return pl.DataFrame([self.to_dict()])

    def __repr__(self) -> str:
        """Say in a line what was fitted."""
        size = f"{self.n:,} decisions, {self.n_groups:,} groups"
        state = "" if self.converged else ", NOT CONVERGED"
        return (
            f"FitResult(s={self.s:.4g}, c={self.c:.4g}; {self.model.name}, {self.method}, "
            f"{size}{state})"
        )

    def __str__(self) -> str:
        """Show parameters with 95 % intervals, projections and quality."""
        size = f"{self.n:,} decisions in {self.n_groups:,} groups"
        lines = [f"{self.model.name}, {self.method} fit of {size}"]
        if not self.converged:
            lines.append(f"NOT CONVERGED: {self.message}")
        bounds = self.interval()
        weight_errors = self.depth_weight_errors
        for name, value in self.parameters.items():
            if name in bounds:
                low, high = bounds[name]
                span = f"95 % {low:.4f} to {high:.4f}" if np.isfinite(low) else "not known"
                lines.append(f"  {name:8}{value:10.4f}   {span}")
            elif name in weight_errors:
                lines.append(f"  {name:8}{value:10.4f}   se {weight_errors[name]:.4f}")
            else:
                lines.append(f"  {name:8}{value:10.4f}")
        if self.constant_interval is not None and self.raw_log_likelihood is not None:
            low, high = self.constant_interval
            gain = self.log_likelihood - self.raw_log_likelihood
            lines.append(
                f"  {'C':8}{self.constant:10.4f}   95 % {low:.4g} to {high:.4g}; log-likelihood "
                f"{gain:+.1f} to raw differences"
            )
        if self.clipped:
            lines.append(f"  {clipping_text(self.clipped, self.options, self.model.scale.cap)}")
        if not np.isfinite(self.working_covariance).all():
            lines.append("  no interval: too few groups, or the data do not say")
        elif self.n_groups < FEW_GROUPS:
            lines.append(f"  only {self.n_groups} groups: the intervals are rough")
        if self.projection.outside or self.excluded:
            lines.append(
                f"  chosen outside the listed options: {self.projection.outside:,} kept as such, "
                f"{self.excluded:,} left out"
            )
        lines.append(str(self.projection))
        lines.append("z: for an agent given beforehand; fitted to these choices they are smaller")
        score = self.percentiles
        lines.append(
            f"percentile RMS {score.rms:.4f}, chi-square {score.chi_square:.1f} on "
            f"{score.degrees} degrees of freedom"
        )
        return "\n".join(lines)


def clipping_text(clipped: int, options: int, cap: float | None) -> str:
    """Return in words how many options a cap moved."""
    return (
        f"clipped {cap:g} under the best: {clipped:,} of {options:,} options "
        f"({100 * clipped / options:.1f} %)"
    )


def check_level(level: float) -> None:
    """Refuse a level that is no probability.

    Raises
    ------
    InputError
        If it is not between 0 and 1.
    """
    if not 0 < level < 1:
        raise InputError(f"a level lies between 0 and 1 (0.95, say), got {level}")


def plain_name(name: str) -> str:
    """Return the name of a working parameter as people read it: ln s is s."""
    for prefix in ("ln ", "logit "):
        if name.startswith(prefix) and "(" not in name and ":" not in name:
            return name[len(prefix) :]
    return name


def natural_value(name: str, value: float) -> float:
    """Return the value of a working parameter as people read it."""
    if plain_name(name) == name:
        return float(value)
    with np.errstate(over="ignore"):
        if name.startswith("logit "):
            return float(1 / (1 + np.exp(-value)))
        return float(np.exp(value))
