"""From a model's options to the state that is swept: the numbers, the margin, what is learned."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtri

from milepost.errors import InputError
from milepost.history.models import TTT, TTTD, Model, Smoothed, TrueSkill
from milepost.history.records import Records
from milepost.history.solver.newton import Learning
from milepost.history.ttt.evidence import ttt_d_log_evidence, ttt_log_evidence
from milepost.history.ttt.own_margins import MarginModel, TTTDState, ttt_d_state
from milepost.history.ttt.state import SkillModel, TTTState, ttt_state


def fresh_state(records: Records, model: TTT | TTTD | TrueSkill) -> TTTState | TTTDState:
    """Return the state of a model before its first sweep.

    What is learned begins at 0: the newcomers' level at `mu`, the first mover without advantage.
    """
    level = np.zeros(records.periods)
    given = model.first_mover
    lead = 0.0 if given is None or isinstance(given, str) else float(given)
    advantage = np.full(records.periods, lead)
    if isinstance(model, TTTD):
        numbers = MarginModel(
            model.sigma, model.beta, model.tau, 0.0, model.margin_mu, model.margin_sigma,
            model.margin_tau, model.draw_form,
        )  # fmt: skip
        return ttt_d_state(records, numbers, level=level, advantage=advantage)
    margin = common_margin(records, model)
    return ttt_state(
        records, SkillModel(model.sigma, model.beta, model.tau, margin), level=level,
        advantage=advantage,
    )  # fmt: skip


def common_margin(records: Records, model: TTT | TrueSkill) -> float:
    """Return the common draw margin.

    From a share p of draws it is sqrt(2) beta Phi^-1((1 + p) / 2). With draws only, half a game is
    taken to be decided, for the margin would be infinite.

    Raises
    ------
    InputError
        If there are draws and the margin is zero: they would be impossible.
    """
    if isinstance(model.draw, str):
        share = min(records.draw_share, 1.0 - 0.5 / records.games)
        return float(math.sqrt(2.0) * model.beta * ndtri(0.5 * (1.0 + share)))
    if model.draw == 0 and records.drawn.any():
        raise InputError("the results hold draws, so the draw margin cannot be 0")
    return float(model.draw)


def learning_of(model: Smoothed) -> Learning:
    """Return what is learned beside the skills, with its priors, all proportional to the scale."""
    paths = {"learn": "constant", "learn-by-period": "by-period"}
    advantage = paths.get(model.first_mover) if isinstance(model.first_mover, str) else None
    return Learning(
        level_drift=(model.sigma / 20.0) ** 2 if model.newcomers else 0.0,
        advantage=advantage,
        advantage_drift=(model.beta / 48.0) ** 2,
        advantage_prior=model.beta**2,
    )


def state_log_evidence(state: TTTState | TTTDState) -> float:
    """Return the log evidence of a state at its fixed point, in nats."""
    if isinstance(state, TTTDState):
        return float(ttt_d_log_evidence(state))
    return float(ttt_log_evidence(state))


def check_movers(records: Records, model: Model) -> None:
    """Refuse a first mover's advantage where no result says who moved first.

    Raises
    ------
    InputError
    """
    if model.first_mover not in (None, 0) and not records.mover.any():
        raise InputError(
            "no result says who moved first (first_mover 1 or 2), so a first mover's advantage "
            "cannot be used or learned"
        )
