"""Maps between ratings and agents, and how each reads a rating off decisions.

=============  ====================================================================================
line           2011: c on a line, ln s on a line over the mileposts; the Elo whose (s, c) bring the
               percentiles of the choices nearest to even
error          2012: (s, c) fitted freely; the error AE_e that this agent is expected to make on a
               fixed reference set of decisions, linear in Elo
joint          ln s, c and a share of lapses are smooth in Elo, fitted to all turns at once by
               likelihood; the likeliest Elo
joint-groups   the same, with values by depth, in groups of depths whose weights move with Elo
joint-depths   the same with the recommended model: all depths, weights of three numbers
joint-columns  the same with what kind of move each option is, and with terms for the opening, the
               endgame and the worth of the position; see `milepost.intrinsic.calibration.columns`
=============  ====================================================================================
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from milepost.choice.columns import missing_columns
from milepost.choice.evaluation.evaluate import evaluate, prepare
from milepost.choice.model import FLAT, ChoiceModel
from milepost.choice.spreads import Floats, Spreads
from milepost.errors import InputError
from milepost.fit.agent import fit_model
from milepost.fit.cohorts import CohortFits, fit_cohorts
from milepost.fit.comparison.candidates import recommended, standard_candidates
from milepost.fit.methods.smooth import SmoothFit, fit_smooth
from milepost.intrinsic.calibration.columns import RATING_DEGREES, UTILITIES
from milepost.intrinsic.calibration.paths import AgentPath, LinePath, PolynomialPath

LINE, ERROR = "line", "error"
JOINT, GROUPS, DEPTHS, COLUMNS = "joint", "joint-groups", "joint-depths", "joint-columns"
KINDS = (LINE, ERROR, JOINT, GROUPS, DEPTHS, COLUMNS)
CENTRE, UNIT = 2100.0, 500.0
MILEPOST = 100
"""Turns are gathered to the nearest multiple of this Elo."""
LEAST_TURNS = 150
"""A milepost needs so many turns for a fit of its own."""
REFERENCE_TURNS = 500
"""Decisions of the fixed reference set."""


@dataclass(frozen=True, eq=False)
class RatingMap:
    """A map: its agents by rating, and how it reads a rating off decisions."""

    kind: str
    """One of `KINDS`."""
    path: AgentPath
    """The agent of each rating."""
    error_line: tuple[float, float] | None = None
    """``error``: AE_e = first + second × (Elo - centre) / unit."""
    reference: Spreads | None = None
    """``error``: the fixed reference set."""
    smooth: SmoothFit | None = None
    """The fit behind a joint map: the next one may set out from it."""

    @property
    def reading(self) -> str:
        """How a rating is read off: by likelihood, percentile or error."""
        return {LINE: "percentile", ERROR: "error"}.get(self.kind, "likelihood")


def mileposts(spreads: Spreads, *, least: int = LEAST_TURNS) -> dict[float, Spreads]:
    """Return the decisions by milepost: the nearest hundred of the chooser's Elo.

    Raises
    ------
    InputError
        If fewer than three mileposts have enough decisions.
    """
    if spreads.rating is None or not np.isfinite(spreads.rating).all():
        raise InputError("mileposts need the rating of every chooser")
    near = np.round(spreads.rating / MILEPOST) * MILEPOST
    found = {
        float(level): spreads.take(near == level)
        for level in np.unique(near)
        if (near == level).sum() >= least
    }
    if len(found) < 3:
        raise InputError(
            f"{len(found)} mileposts have {least} turns or more: a map of ratings needs three"
        )
    return found


def fit_map(
    kind: str,
    spreads: Spreads,
    *,
    cohorts: CohortFits | None = None,
    reference: Spreads | None = None,
    start: RatingMap | None = None,
    covariance: bool = True,
    least: int = LEAST_TURNS,
) -> RatingMap:
    """Fit a map to decisions of players whose ratings are known.

    Parameters
    ----------
    kind
        One of `KINDS`.
    spreads
        The decisions, with ratings.
    cohorts
        The fits of the mileposts of these decisions, if they are there already.
    reference
        The fixed reference set, for ``error`` [default: every so-manieth of the decisions].
    start
        A map of the same kind to set out from.
    covariance
        Whether to work out the covariance of the coefficients.
    least
        A milepost needs so many turns for a fit of its own.

    Raises
    ------
    InputError
        If the kind is not known, or the decisions do not allow it.
    """
    if kind not in KINDS:
        raise InputError(f"there is no map {kind!r}; there are {', '.join(KINDS)}")
    if kind in {LINE, ERROR}:
        fits = cohorts or fit_cohorts(mileposts(spreads, least=least))
        if kind == LINE:
            return RatingMap(LINE, _line_path(fits, np.log([each.s for each in fits.on_line])))
        return _error_map(fits, reference or reference_set(spreads))
    model, degree = _joint_model(kind, spreads)
    beta = start.smooth.beta if start is not None and start.smooth is not None else None
    fit = fit_smooth(
        spreads,
        model,
        degree=degree,
        centre=CENTRE,
        unit=UNIT,
        start=beta,
        covariance=covariance,
    )
    return RatingMap(kind, PolynomialPath.of(fit), smooth=fit)


def reference_set(spreads: Spreads, size: int = REFERENCE_TURNS) -> Spreads:
    """Return a fixed part of the decisions, evenly taken."""
    rows = np.unique(np.linspace(0, len(spreads) - 1, min(size, len(spreads))).astype(np.int64))
    return spreads.take(rows)


def expected_error(reference: Spreads, model: ChoiceModel, theta: Floats) -> tuple[float, Floats]:
    """Return AE_e of an agent on a reference set, and its derivatives by the parameters."""
    said = evaluate(model, prepare(reference, model), theta)
    share = reference.weights / reference.weights.sum()
    return float(share @ said.error), share @ said.d_error


def read_error(spreads: Spreads, found: RatingMap) -> tuple[float, float]:
    """Return the rating of decisions by the error of their freely fitted agent, and its error."""
    assert found.error_line is not None
    assert found.reference is not None
    fit = fit_model(spreads, found.path.model)
    error, slopes = expected_error(found.reference, found.path.model, fit.theta)
    start, slope = found.error_line
    variance = float(slopes @ fit.working_covariance @ slopes)
    rating = CENTRE + UNIT * (error - start) / slope
    return rating, float(np.sqrt(max(variance, 0.0))) * abs(UNIT / slope)


def _joint_model(kind: str, spreads: Spreads) -> tuple[ChoiceModel, int | Mapping[str, int]]:
    if kind == JOINT:
        return ChoiceModel(lapse=FLAT), {"ln s": 2, "ln c": 1, "logit lapse": 1}
    if len(spreads.depths) < 4:
        raise InputError(f"{kind} needs the values of at least four depths")
    if kind == GROUPS:
        return standard_candidates(spreads)["powers, geometric groups, lapses"].model, 1
    candidate = recommended(spreads.depths)
    assert not isinstance(candidate.degree, int)
    if kind == DEPTHS:
        return candidate.model, dict(candidate.degree)
    missing = missing_columns(UTILITIES, spreads)
    if missing:
        raise InputError(f"{kind} needs the columns {', '.join(missing)} of the options")
    model = replace(candidate.model, utilities=UTILITIES)
    degrees = dict.fromkeys(UTILITIES, 0) | dict(candidate.degree) | RATING_DEGREES
    return model, degrees


def _line_path(fits: CohortFits, ln_s: Floats) -> LinePath:
    """ln s on a weighted line over the mileposts, beside the line of c."""
    x = (fits.levels - CENTRE) / UNIT
    variance = np.array([each.covariance[0, 0] / each.s**2 for each in fits.on_line])
    if not (np.isfinite(variance).all() and (variance > 0).all()):
        variance = np.ones(len(x))
    design = np.stack([np.ones(len(x)), x], axis=1)
    cross = np.linalg.inv(design.T @ (design / variance[:, None]))
    line = cross @ (design.T @ (ln_s / variance))
    excess = float((((ln_s - design @ line) ** 2) / variance).sum()) / max(len(x) - 2, 1)
    intercept, slope = fits.line
    # c = a + b Elo in units of x: the same line with its other origin.
    turn = np.array([[1.0, CENTRE], [0.0, UNIT]])
    covariance = np.zeros((4, 4))
    covariance[:2, :2] = cross * max(excess, 1.0)
    covariance[2:, 2:] = turn @ fits.line_covariance @ turn.T
    coefficients = np.array([*line, intercept + slope * CENTRE, slope * UNIT])
    ends = (float(fits.levels.min()), float(fits.levels.max()))
    return LinePath(fits.on_line[0].model, coefficients, covariance, ends, CENTRE, UNIT)


def _error_map(fits: CohortFits, reference: Spreads) -> RatingMap:
    """AE_e of the freely fitted agents, on a line over Elo; the agents: c on its line, s to fit."""

    from scipy.optimize import brentq

    model = fits.free[0].model
    x = (fits.levels - CENTRE) / UNIT
    errors = np.array([expected_error(reference, model, each.theta)[0] for each in fits.free])
    weight = np.array([each.n for each in fits.free], dtype=np.float64)
    slope, start = np.polynomial.polynomial.polyfit(x, errors, 1, w=np.sqrt(weight))[::-1]
    if not slope < 0:
        raise InputError("the expected error does not fall with Elo here: no map can be read off")
    ln_s = []
    for level, place in zip(fits.levels, x, strict=True):
        ln_c = np.log(fits.line[0] + fits.line[1] * level)
        wanted = max(start + slope * place, 1e-4)

        def gap(value: float, wanted: float = wanted, ln_c: float = ln_c) -> float:
            return expected_error(reference, model, np.array([value, ln_c]))[0] - wanted

        low, high = np.log(1e-4), np.log(10.0)
        ln_s.append(float(brentq(gap, low, high)) if gap(low) < 0 < gap(high) else np.nan)
    if not np.isfinite(ln_s).all():
        raise InputError("no agent makes the errors that the line of errors asks for")
    path = _line_path(fits, np.array(ln_s))
    return RatingMap(ERROR, path, (float(start), float(slope)), reference)


def map_to_dict(found: RatingMap) -> dict[str, Any]:
    """Return a map as plain values, for JSON."""
    values: dict[str, Any] = {"kind": found.kind, "path": found.path.to_dict()}
    if found.error_line is not None and found.reference is not None:
        values["error_line"] = list(found.error_line)
        offsets = found.reference.offsets
        values["reference"] = [
            [round(float(v), 4) for v in found.reference.values[a:b]] for a, b in pairwise(offsets)
        ]
    return values


def map_from_dict(values: Mapping[str, Any]) -> RatingMap:
    """Make a map of what `map_to_dict` gave.

    Raises
    ------
    InputError
        If it is none.
    """
    from milepost.intrinsic.calibration.paths import path_from_dict

    try:
        kind, path = values["kind"], path_from_dict(values["path"])
        if kind not in KINDS:
            raise InputError(f"there is no map of the kind {kind!r}")
        if kind != ERROR:
            return RatingMap(kind, path)
        start, slope = (float(each) for each in values["error_line"])
        lists = values["reference"]
        reference = Spreads.from_lists(lists, [0] * len(lists))
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"this is no map of ratings: {error}") from error
    return RatingMap(kind, path, (start, slope), reference)
