"""Move evidence joined to a history of results: learn, tell the skills, sweep again.

1. The history of results is at its fixed point. 2. Slope, spread, form and era are learned from it
and the sites (`milepost.history.joint.learning`). 3. Sites become observations of the skills,
tempered so that a player's lasting offset counts once. 4. Sweeps go on from the fixed point of the
results, with the era in the Newton steps.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from milepost.history.beliefs import lives_of
from milepost.history.joint.learning import Learned, known_of, learn
from milepost.history.joint.moves_fit import MovesFit
from milepost.history.joint.observations import (
    FAR,
    FarSitesWarning,
    MovesWarning,
    Observations,
    observe,
    tempered,
)
from milepost.history.joint.options import Moves
from milepost.history.joint.variance import level_covariance
from milepost.history.models import Smoothed
from milepost.history.records import Floats
from milepost.history.solver.conjugate import path_links
from milepost.history.solver.convergence import Convergence, converge, linear_model_of
from milepost.history.sweeping import Sweeping
from milepost.history.ttt.from_model import learning_of, state_log_evidence
from milepost.history.ttt.own_margins import TTTDState
from milepost.history.ttt.state import TTTState
from milepost.history.ttt.told import Told, pass_on
from milepost.io.progress import Report


@dataclass(frozen=True, eq=False)
class Joined:
    """A history after move evidence was joined to it."""

    fit: MovesFit
    """What was learned."""
    ended: Convergence
    """How the sweeps ended."""
    columns: pl.DataFrame
    """For each node: intrinsic_mean, intrinsic_sd, moves_n, moves_site, moves_sd."""


def join(
    state: TTTState | TTTDState, sites: Any, options: Moves, model: Smoothed, sweeping: Sweeping,
    *, progress: Report | None = None,
) -> Joined:  # fmt: skip
    """Join move evidence to a state at the fixed point of its results; the state is changed.

    Raises
    ------
    InputError
        If the sites cannot be used.

    Warns
    -----
    MovesWarning
        If the era is constant, sites were left out, were taken far from where they should have
        been, or were made by different designs.
    """
    records = state.records
    observed = observe(sites, records, options)
    if options.era == "constant":
        warnings.warn(
            "with a constant era the level stays where results and newcomers put it: move evidence "
            "does not pin it",
            MovesWarning,
            stacklevel=4,
        )
    results_only = lives_of(records, state.chains, offset=model.mu, drift=model.tau**2)
    known = known_of(records, state.chains, model.tau**2)
    learned = learn(observed, records, known, options)
    variance = tempered(observed.variance(learned.form), observed.player, learned.spread)
    evidence = state_log_evidence(state)
    state.told = _told(observed, learned, variance, state, era_known=options.era == "given")
    pass_on(state.told, state.chains.belief)
    learning = learning_of(model)
    ended = converge(
        state, tolerance=sweeping.distance(model.beta), max_sweeps=sweeping.max_sweeps,
        learning=learning, progress=progress, workers=sweeping.workers,
    )  # fmt: skip
    told = state.told
    slope = learned.slope
    era = slope * told.era
    gained = state_log_evidence(state) - evidence + _constants(observed, variance, era)
    information = np.asarray(
        np.bincount(observed.period, weights=1.0 / variance, minlength=records.periods),
        dtype=np.float64,
    )
    levels = slope**2 * level_covariance(
        linear_model_of(state, learning).system, records, information,
        (learned.era_drift / slope) ** 2,
    )  # fmt: skip
    intrinsic, sd = _intrinsic(state, learned, era, levels)
    far = int(np.sum(np.abs(observed.reference - intrinsic[observed.node]) > FAR))
    if far:
        warnings.warn(
            f"{far:,} of {len(observed):,} sites were taken more than {FAR:.0f} Elo from what the "
            "history expects of the player: take the sites again with it as their reference",
            FarSitesWarning,
            stacklevel=4,
        )
    fit = MovesFit(
        slope=slope, slope_se=learned.slope_se, spread=learned.spread,
        spread_se=learned.spread_se, form=learned.form, form_se=learned.form_se,
        era_drift=learned.era_drift, mu=model.mu,
        era=_era_table(state, observed, era, levels, information).with_columns(
            era_by_slope=pl.Series(learned.era_by_slope)
        ),
        covariance=levels, log_evidence=gained, log_density=learned.log_density,
        used=len(observed), turns=int(observed.n.sum()), left_out=dict(observed.left_out),
        designs=dict(observed.designs), far=far, options=options, sites=sites,
        results_only=results_only,
    )  # fmt: skip
    return Joined(fit, ended, _columns(state, observed, variance, intrinsic, sd))


def _told(
    observed: Observations, learned: Learned, variance: Floats, state: TTTState | TTTDState, *,
    era_known: bool,
) -> Told:  # fmt: skip
    records, slope = state.records, learned.slope
    each = slope**2 / variance
    precision = np.asarray(
        np.bincount(observed.node, weights=each, minlength=records.nodes), dtype=np.float64
    )
    total = np.bincount(
        observed.node, weights=each * observed.site / slope, minlength=records.nodes
    )
    value = np.divide(total, precision, out=np.zeros(records.nodes), where=precision > 0.0)
    return Told(
        precision=precision,
        value=value,
        period=records.node_period,
        era=learned.era / slope,
        era_link=path_links(np.diff(records.clock), (learned.era_drift / slope) ** 2),
        learned=not era_known,
        unit=slope,
    )


def _constants(observed: Observations, variance: Floats, era: Floats) -> float:
    """What the sites add to the evidence beside their messages to the skills."""
    apart = observed.site - era[observed.period]
    return float(np.sum(-0.5 * np.log(2.0 * np.pi * variance) - 0.5 * apart**2 / variance))


def _intrinsic(
    state: TTTState | TTTDState, learned: Learned, era: Floats, levels: Floats
) -> tuple[Floats, Floats]:
    belief, period = state.chains.belief, state.records.node_period
    skill, slope = belief[:, 1] / belief[:, 0], learned.slope
    lever = learned.slope_se * (skill + learned.era_by_slope[period])
    variance = slope**2 / belief[:, 0] + np.diag(levels)[period] + lever**2
    return era[period] + slope * skill, np.sqrt(variance)


def _era_table(
    state: TTTState | TTTDState, observed: Observations, era: Floats, levels: Floats,
    information: Floats,
) -> pl.DataFrame:  # fmt: skip
    records = state.records
    sums = np.bincount(observed.period, weights=observed.n, minlength=records.periods)
    return pl.DataFrame({
        "time": records.label,
        "clock": records.asked_clock,
        "era": era,
        "sd": np.sqrt(np.diag(levels)),
        "information": information,
        "players": np.bincount(observed.period, minlength=records.periods),
        "turns": sums.astype(np.int64),
    })  # fmt: skip


def _columns(
    state: TTTState | TTTDState, observed: Observations, variance: Floats, intrinsic: Floats,
    sd: Floats,
) -> pl.DataFrame:  # fmt: skip
    nodes = state.records.nodes
    weight = np.bincount(observed.node, weights=1.0 / variance, minlength=nodes)
    total = np.bincount(observed.node, weights=observed.site / variance, minlength=nodes)
    there = weight > 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        site, own = total / weight, 1.0 / np.sqrt(weight)
    turns = np.bincount(observed.node, weights=observed.n, minlength=nodes).astype(np.int64)
    return pl.DataFrame({
        "intrinsic_mean": intrinsic,
        "intrinsic_sd": sd,
        "moves_n": pl.Series(turns).set(pl.Series(~there), None),
        "moves_site": pl.Series(site).set(pl.Series(~there), None),
        "moves_sd": pl.Series(own).set(pl.Series(~there), None),
    })  # fmt: skip
