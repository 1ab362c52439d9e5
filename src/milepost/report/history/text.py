"""What a history is, in lines for people."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from milepost.history.draw_share import naive_log_evidence
from milepost.history.models import TTT, TTTD, TrueSkill, options_of

if TYPE_CHECKING:
    from milepost.history.models import Model
    from milepost.history.result import History


def history_lines(history: History, *, said: Sequence[str] = (), chess: bool = False) -> list[str]:
    """Return what was fitted, how well it explains the results, and what was learned.

    Parameters
    ----------
    history
        The history.
    said
        What was decided about the results.
    chess
        Whether the numbers that nobody gave are those for chess.
    """
    model = history.model
    what = f"{history.games:,} games, {history.players:,} players, {history.nodes:,} nodes"
    lines = [f"{model.name}, period {history.period}: {what} (a player in a period)"]
    lines += [f"  {line}" for line in said]
    if isinstance(model, TTT | TTTD):
        if chess:
            lines.append(f"  with the numbers for chess: {_numbers(model)}")
        lines += _about_sweeps(history, filtered=model.stage == "filter")
    if isinstance(model, TrueSkill) and model.order == "random":
        lines.append(f"  the games of each period in random order, seed {model.seed}")
    lines += _about_evidence(history)
    if caution := groups_caution(history):
        lines.append(f"  caution: {caution}")
    if not math.isnan(history.draw_margin):
        lines.append(f"  draw margin {history.draw_margin:.1f} points")
    if model.first_mover is not None:
        lead = history.paths["first_mover"]
        ends = f"{lead[0]:.1f}" if lead.n_unique() == 1 else f"{lead[0]:.1f} to {lead[-1]:.1f}"
        lines.append(f"  first mover's advantage {ends} points")
    if isinstance(model, TTT | TTTD) and model.newcomers is not None:
        level = history.paths["newcomer_mean"]
        lines.append(f"  newcomers' mean {level[0]:.1f} to {level[-1]:.1f} points")
    if history.moves is not None:
        lines.append("joint with move evidence:")
        lines += [f"  {line}" for line in repr(history.moves).splitlines()]
        if isinstance(model, TTT | TTTD):
            rule = "learned" if model.newcomers is not None else "fixed"
            lines.append(f"  newcomers' level {rule}; with an era this hardly matters")
    return lines


def _numbers(model: Model) -> str:
    values = {
        name: getattr(model, name) for name in options_of(model) if name not in ("mu", "stage")
    }
    return ", ".join(
        f"{name} {value:g}" if isinstance(value, float) else f"{name} {value or 'none'}"
        for name, value in values.items()
    )


def _about_sweeps(history: History, *, filtered: bool) -> list[str]:
    if filtered:
        return ["  the filter: one pass forward"]
    state = "converged" if history.converged else "NOT CONVERGED"
    left = f"remaining error about {history.remaining_error:.2g} points"
    lines = [f"  {history.sweeps} sweeps, {state}; {left}"]
    if history.improper:
        lines.append(f"  {history.improper:,} updates were left out in the last sweep")
    return lines


def _about_evidence(history: History) -> list[str]:
    share = history.draw_share
    naive = naive_log_evidence(share)
    alone = f"the draw share of {100 * share:.1f} % alone: {naive:.4f}"
    if math.isnan(history.log_evidence):
        return [f"  the model {history.model.name} has no evidence; {alone} nats a game"]
    evidence = history.log_evidence / history.games
    lines = [f"  evidence {evidence:.4f} nats a game; {alone}"]
    caution = evidence_caution(history)
    return [*lines, f"  caution: {caution}"] if caution else lines


def groups_caution(history: History, least: float = 0.0) -> str:
    """Return a line of caution if more than this share of players never met the others.

    Not even by way of third players, that is.
    """
    if not history.apart or history.apart <= least * history.players:
        return ""
    return (
        f"{history.apart:,} of {history.players:,} players are linked with the largest group by no "
        "chain of games: results do not say how strong they are beside it"
    )


def evidence_caution(history: History) -> str:
    """Return a line of caution if a history explains less than the share of draws; else empty."""
    share = history.draw_share
    if math.isnan(history.log_evidence) or math.isnan(share) or not history.games:
        return ""
    evidence, naive = history.log_evidence / history.games, naive_log_evidence(share)
    if evidence >= naive:
        return ""
    return (
        "this history explains less than the share of draws alone does "
        f"({evidence:.4f} against {naive:.4f} nats a game): its answers say little. There may be "
        "too few games for each player, or the settings do not suit them (milepost tune)"
    )
