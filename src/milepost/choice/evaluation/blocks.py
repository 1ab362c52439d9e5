"""ln p of every option of some decisions, with derivatives: proxies, ratio, lapses."""

from __future__ import annotations

import numpy as np

from milepost.choice.attraction import proxies
from milepost.choice.attraction.curves import curve_codes
from milepost.choice.depths import ADDITIVE, AVERAGED, MIXTURE
from milepost.choice.evaluation.prepared import Prepared
from milepost.choice.evaluation.summaries import mix_lapse
from milepost.choice.model import BLEND, FLAT, ChoiceModel
from milepost.choice.ratios.forms import SHARES, differentiate, ratio_code, solve_all, solve_blends
from milepost.choice.spreads import Floats, Ints

_MANY = 2
"""From so many utilities on it pays to take a direction first."""


def evaluate_block(
    model: ChoiceModel,
    prepared: Prepared,
    theta: Floats,
    first: int,
    last: int,
    along: Floats | None = None,
) -> tuple[Ints, Floats, Floats, Floats]:
    """Return bounds, ln p, p and the derivatives of ln p for some of the decisions.

    `along` gives directions in which the parameters move, as many rows as `theta`: then there is
    one derivative only, in that direction, and a model of many parameters costs no more than one of
    a few.
    """
    if along is None:
        return _all_derivatives(model, prepared, theta, first, last)
    mixes = model.depths is not None and model.depths.combine == MIXTURE
    if mixes or model.lapse is not None or len(model.utilities) < _MANY:
        bounds, ln_p, p, d_ln_p = _all_derivatives(model, prepared, theta, first, last)
        rows = along if len(along) == 1 else along[first:last]
        return bounds, ln_p, p, _times(d_ln_p, rows, bounds)[:, None]
    return _one_derivative(model, prepared, theta, first, last, along)


def _one_derivative(
    model: ChoiceModel, prepared: Prepared, theta: Floats, first: int, last: int, along: Floats
) -> tuple[Ints, Floats, Floats, Floats]:
    """Take the direction before the ratio is solved: one column instead of one a parameter."""
    spreads = prepared.spreads
    options = slice(int(spreads.offsets[first]), int(spreads.offsets[last]))
    bounds = spreads.offsets[first : last + 1] - options.start
    rows = theta if len(theta) == 1 else theta[first:last]
    ways = along if len(along) == 1 else along[first:last]
    size = options.stop - options.start
    few = model.utility_places.start
    z, ln_p, rate = np.empty(size), np.empty(size), np.empty(size)
    by_few = np.zeros((size, few))
    _attraction(model, prepared, options, bounds, rows, z, by_few)
    features, places = prepared.features[options], model.utility_places
    z += _times(features, rows[:, places], bounds)
    # The second column is for κ, whose derivative is known only when the ratio is solved.
    dz = np.zeros((size, 2))
    dz[:, 0] = _times(by_few, ways[:, :few], bounds)
    dz[:, 0] += _times(features, ways[:, places], bounds)
    if model.ratio != BLEND:
        p = _solve(model, bounds, rows, z, dz[:, :1], ln_p, rate)
        return bounds, ln_p, p, dz[:, :1]
    at = model.place("kappa")
    solve_blends(bounds, np.ascontiguousarray(rows[:, at]), z, dz, 1, ln_p, rate)
    p = np.exp(ln_p)
    differentiate(bounds, p, rate, dz)
    ends = np.stack([np.ones(len(ways)), ways[:, at]], axis=1)
    return bounds, ln_p, p, _times(dz, ends, bounds)[:, None]


def _all_derivatives(
    model: ChoiceModel, prepared: Prepared, theta: Floats, first: int, last: int
) -> tuple[Ints, Floats, Floats, Floats]:
    spreads = prepared.spreads
    low, high = int(spreads.offsets[first]), int(spreads.offsets[last])
    bounds = spreads.offsets[first : last + 1] - low
    rows = theta if len(theta) == 1 else theta[first:last]
    options = slice(low, high)
    scheme = model.depths
    curve = curve_codes(model.curve)
    ln_p = np.empty(high - low)
    rate = np.empty(high - low)
    z = np.empty(high - low)
    # Columns that no kernel fills, that of a lapse share, say 0.
    fills_all = scheme is None and theta.shape[1] == model.curve_parameters
    dz = (np.empty if fills_all else np.zeros)((high - low, theta.shape[1]))
    if scheme is not None and scheme.combine == MIXTURE:
        # Lapses of a mixture come from shares of the final depth.
        ln_p, dz = _mixture(model, prepared, rows, bounds, options)
        p = np.exp(ln_p)
        if model.lapse not in {None, FLAT}:
            final = np.ascontiguousarray(prepared.ln_depth_delta[options, -1])
            lapse_dz = np.zeros_like(dz)
            proxies.base(*curve, bounds, final, rows, z, lapse_dz)
            _add_utilities(model, prepared, options, bounds, rows, z, lapse_dz)
            _lapse(bounds, rows, ln_p, dz, z, lapse_dz)
            return bounds, ln_p, np.exp(ln_p), dz
    else:
        _attraction(model, prepared, options, bounds, rows, z, dz)
        _add_utilities(model, prepared, options, bounds, rows, z, dz)
        lapse_z = z.copy() if model.ratio == BLEND else z
        lapse_dz = dz.copy() if model.lapse not in {None, FLAT} else dz[:0]
        p = _solve(model, bounds, rows, z, dz, ln_p, rate)
        z = lapse_z
    if model.lapse is None:
        return bounds, ln_p, p, dz
    if model.lapse == FLAT:
        z = np.where(np.isfinite(prepared.delta[options]), 0.0, -np.inf)
        lapse_dz = np.zeros_like(dz)
    _lapse(bounds, rows, ln_p, dz, z, lapse_dz)
    return bounds, ln_p, np.exp(ln_p), dz


def _attraction(
    model: ChoiceModel,
    prepared: Prepared,
    options: slice,
    bounds: Ints,
    rows: Floats,
    z: Floats,
    dz: Floats,
) -> None:
    """Fill z = ln y by curve and depths, and its derivatives; mixtures of depths have none."""
    curve, scheme = curve_codes(model.curve), model.depths
    if scheme is None:
        proxies.base(*curve, bounds, prepared.ln_delta[options], rows, z, dz)
        return
    shape = (np.asarray(scheme.offsets), scheme.matrix, rows, z, dz)
    if scheme.combine == AVERAGED:
        proxies.averaged(*curve, bounds, prepared.depth_delta[options], *shape)
    else:
        additive = scheme.combine == ADDITIVE
        proxies.combined(additive, *curve, bounds, prepared.ln_depth_delta[options], *shape)


def _solve(
    model: ChoiceModel,
    bounds: Ints,
    theta: Floats,
    z: Floats,
    dz: Floats,
    ln_p: Floats,
    rate: Floats,
) -> Floats:
    """Fill ln p and turn dz into its derivatives; return p."""
    if model.ratio == BLEND:
        column = model.place("kappa")
        ln_kappa = np.ascontiguousarray(theta[:, column])
        solve_blends(bounds, ln_kappa, z, dz, column, ln_p, rate)
    else:
        solve_all(ratio_code(model.ratio), bounds, z, ln_p, rate)
    p: Floats = np.exp(ln_p)
    differentiate(bounds, p, rate, dz)
    return p


def _add_utilities(
    model: ChoiceModel,
    prepared: Prepared,
    options: slice,
    bounds: Ints,
    theta: Floats,
    z: Floats,
    dz: Floats,
) -> None:
    if model.utilities:
        features = prepared.features[options]
        places = model.utility_places
        z += _times(features, theta[:, places], bounds)
        dz[:, places] = features


def _times(features: Floats, parameters: Floats, bounds: Ints) -> Floats:
    """Σ parameter × feature of each option; one row of parameters for all, or one a decision."""
    if len(parameters) == 1:
        alike: Floats = features @ parameters[0]
        return alike
    rows = np.repeat(parameters, np.diff(bounds), axis=0)
    own: Floats = np.einsum("ik,ik->i", features, rows)
    return own


def _lapse(
    bounds: Ints, theta: Floats, ln_p: Floats, d_ln_p: Floats, z: Floats, dz: Floats
) -> None:
    """Mix, in place, with the distribution that lapses come from: shares of e^z."""
    ln_k, rate = np.empty_like(ln_p), np.empty_like(ln_p)
    solve_all(SHARES, bounds, z, ln_k, rate)
    differentiate(bounds, np.exp(ln_k), rate, dz)
    mix_lapse(bounds, np.ascontiguousarray(theta[:, -1]), ln_k, dz, ln_p, d_ln_p)


def _mixture(
    model: ChoiceModel, prepared: Prepared, theta: Floats, bounds: Ints, options: slice
) -> tuple[Floats, Floats]:
    """One agent a depth: p = Σ w_d p_d, with its derivatives."""
    scheme = model.depths
    assert scheme is not None
    at = model.curve_parameters
    numbers = len(scheme.names)
    weights = scheme.weights(theta[:, at : at + numbers])
    features = scheme.matrix
    counts = np.diff(bounds)
    size = int(bounds[-1])
    curve = curve_codes(model.curve)
    terms = np.empty((len(scheme.depths), size))
    slopes = np.zeros((len(scheme.depths), size, theta.shape[1]))
    rate = np.empty(size)
    z = np.empty(size)
    for d in range(len(scheme.depths)):
        ln_delta = np.ascontiguousarray(prepared.ln_depth_delta[options, d])
        proxies.base(*curve, bounds, ln_delta, theta, z, slopes[d])
        _add_utilities(model, prepared, options, bounds, theta, z, slopes[d])
        _solve(model, bounds, theta, z, slopes[d], terms[d], rate)
        share = weights[:, d] if len(weights) == 1 else np.repeat(weights[:, d], counts)
        with np.errstate(divide="ignore"):
            terms[d] += np.log(share)
        # d ln w_d / d φ_k = F_dk - Σ w F
        mean = weights @ features
        by_number = features[d] - mean
        slopes[d, :, at : at + numbers] += (
            by_number if len(by_number) == 1 else np.repeat(by_number, counts, axis=0)
        )
    top = terms.max(axis=0)
    safe = np.where(np.isfinite(top), top, 0.0)
    parts = np.exp(terms - safe)
    total = parts.sum(axis=0)
    with np.errstate(divide="ignore"):
        ln_p = safe + np.log(total)
    shares = parts / np.where(total > 0, total, 1.0)
    return ln_p, np.einsum("dn,dnk->nk", shares, slopes)
