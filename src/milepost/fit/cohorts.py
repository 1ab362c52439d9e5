"""Fits of several cohorts, with c on a line: the paper's c_fit, then s_fit.

Regan & Haworth 2011, section 6: free fits of (s, c) per milepost; a line through the c of the
mileposts; and s fitted again with c given by the line.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from milepost.choice.model import ChoiceModel
from milepost.choice.spreads import Floats, Spreads
from milepost.errors import InputError
from milepost.fit.agent import fit_model
from milepost.fit.result import FitResult
from milepost.io.shown import Shown


@dataclass(frozen=True, eq=False)
class CohortFits(Shown):
    """Free fits of cohorts, the line of their c, and fits of s on the line."""

    levels: Floats
    """Where each cohort stands (its Elo)."""
    free: tuple[FitResult, ...]
    """Fits of s and c."""
    line: tuple[float, float]
    """c = line[0] + line[1] × level, fitted with the inverse variances of c as weights."""
    line_covariance: Floats
    """Its covariance, raised by the scatter of c about the line where that is larger."""
    on_line: tuple[FitResult, ...]
    """Fits of s with c on the line."""
    left_out: tuple[tuple[str, str], ...] = ()
    """Cohorts that were too small, with the reason."""

    def __repr__(self) -> str:
        """Say where the line lies."""
        intercept, slope = self.line
        return f"CohortFits({len(self.levels)} cohorts, c = {intercept:.4f} + {slope:.3e} x level)"

    def to_frame(self) -> pl.DataFrame:
        """Return the paper's table, with mm, ad and Qfit at (s_fit, c_fit)."""
        rows = []
        for level, free, fixed in zip(self.levels, self.free, self.on_line, strict=True):
            errors = np.sqrt(np.diag(free.covariance))
            rows.append(
                {
                    "level": float(level),
                    "n": free.n,
                    "s": free.s,
                    "se_s": float(errors[0]),
                    "c": free.c,
                    "se_c": float(errors[1]),
                    "c_fit": fixed.c,
                    "s_fit": fixed.s,
                    "se_s_fit": float(np.sqrt(fixed.covariance[0, 0])),
                    "mm_projected": fixed.mm_projected,
                    "mm_actual": fixed.mm_actual,
                    "ad_projected": fixed.ad_projected,
                    "ad_actual": fixed.ad_actual,
                    "qfit": fixed.qfit,
                    "percentile_rms": fixed.percentiles.rms,
                    "converged": free.converged and fixed.converged,
                }
            )
        return pl.DataFrame(rows)


def fit_cohorts(
    cohorts: Mapping[float, Spreads],
    model: ChoiceModel | None = None,
    *,
    method: str = "percentile",
    line: tuple[float, float] | None = None,
    fixed: Mapping[str, float] | None = None,
) -> CohortFits:
    """Fit each cohort freely, then with c on a line.

    Parameters
    ----------
    cohorts
        Decisions by level (Elo).
    model
        The model [default: powers, inverse exponential].
    method
        See `milepost.fit.fit_agent`.
    line
        A line to use (intercept, slope), such as that of a reference period [default: fitted here].
    fixed
        Other parameters that are given.

    Raises
    ------
    InputError
        If there are fewer than two cohorts and no line, or the line falls to 0.
    """
    chosen = model or ChoiceModel()
    given = dict(fixed or {})
    levels = np.array(sorted(cohorts), dtype=np.float64)
    if line is None and len(levels) < 2:
        raise InputError("a line needs at least two cohorts")
    free = tuple(
        fit_model(cohorts[level], chosen, method=method, fixed=given) for level in sorted(cohorts)
    )
    covariance = np.full((2, 2), np.nan)
    if line is None:
        line, covariance = _weighted_line(
            levels,
            np.array([each.c for each in free]),
            np.array([each.covariance[1, 1] for each in free]),
        )
    on_line = []
    for level in sorted(cohorts):
        c = line[0] + line[1] * level
        if not c > 0:
            raise InputError(f"the line gives c = {c:.3f} at {level:g}: it must stay over 0")
        on_line.append(fit_model(cohorts[level], chosen, method=method, fixed={**given, "c": c}))
    return CohortFits(levels, free, line, covariance, tuple(on_line))


def _weighted_line(
    levels: Floats, values: Floats, variances: Floats
) -> tuple[tuple[float, float], Floats]:
    """Weighted least squares; its covariance grows with the scatter beyond the stated variances."""
    if not (np.isfinite(variances).all() and (variances > 0).all()):
        variances = np.full(len(values), 1.0)
    # Centred, so that the two normal equations hardly touch each other.
    middle = levels.mean()
    design = np.stack([np.ones(len(levels)), levels - middle], axis=1)
    weight = 1.0 / variances
    cross = np.linalg.inv(design.T @ (design * weight[:, None]))
    coefficients = cross @ (design.T @ (weight * values))
    residuals = values - design @ coefficients
    excess = max(1.0, float((weight * residuals**2).sum()) / max(len(levels) - 2, 1))
    back = np.array([[1.0, -middle], [0.0, 1.0]])
    intercept, slope = back @ coefficients
    covariance: Floats = back @ (cross * excess) @ back.T
    return (float(intercept), float(slope)), covariance
