"""How careful strong players are, for the playing map of quick.

Quick plays as its calibrated agents choose, and those slip about as often as people do up to 2200.
Above, they lose two pawns more often: people seem to look twice at what can be lost at once. So
caution (`milepost.intrinsic.choosing.playing`) begins there and rises along a line in Elo. Its
slope is the one that makes people's own moves most probable, each rule taken with the agent that
the calibration rates at just the rule's Elo. Where the likelihood gains too little to tell it from
chance, there is no caution.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import milepost as mp
from milepost.choice.evaluation.evaluate import ln_probabilities, prepare
from milepost.choice.spreads import Floats, Spreads
from milepost.intrinsic.calibration.paths import AgentPath
from milepost.intrinsic.choosing.judge import SLIPS, Judge, own_losses, played
from milepost.intrinsic.choosing.playing import Rule

STRONG_EVENTS = ("2779_4th_sinquefield_cup_2016__saint_louis_usa.pgn",)
"""Of part *estimate*; there are few random turns of players above 2700."""
FROM = 2200.0
"""Where caution begins: up to here people slip by two pawns as often as the agents do."""
SLOPES = np.linspace(0.0, 0.8, 9).round(2)
"""What is tried: the caution at the end of the map."""
ENOUGH = 1.92
"""Nats that a slope must gain: half the 95 % point of χ² with one degree of freedom."""
_HALVINGS = 10


def strong_turns(data: Path, store: Path) -> Spreads:
    """Return the decisions of strong events that the store holds at depth 10."""
    parts = []
    for name in STRONG_EVENTS:
        turns, _ = mp.read_turns(data / "events" / name)
        parts.append(mp.decisions(turns, store, plan="quick").table)
    table = pl.concat(parts, how="diagonal_relaxed").filter(pl.col("mover_elo").is_not_null())
    return replace(Spreads.from_table(table), places=None)


def caution_at(elo: float, end: float, slope: float) -> float:
    """Return the caution of an Elo: none up to `FROM`, `slope` at the end of the map."""
    return slope * float(np.clip((elo - FROM) / (end - FROM), 0.0, 1.0))


def careful_rules(
    judge: Judge, people: Sequence[Spreads], path: AgentPath, targets: Sequence[float]
) -> tuple[list[tuple[float, Rule]], dict[str, Any]]:
    """Return the rules of quick, and how the likelihood of people's moves chose their caution.

    Parameters
    ----------
    judge
        Rates the rules, on the decisions that the map is made of.
    people
        People's decisions, with their ratings.
    path
        The agents of the calibration.
    targets
        The Elos of the map, rising.
    """
    end = targets[-1]
    strong = []
    for spreads in people:
        assert spreads.rating is not None
        strong.append(spreads.take((spreads.rating > FROM) & (spreads.rating <= end)))
    tried: list[tuple[float, list[tuple[float, Rule]], float]] = []
    told = []
    for slope in map(float, SLOPES):
        rules = [
            (target, _rated_at(judge, path, target, caution_at(target, end, slope)))
            for target in targets
        ]
        ln_p, slips = _likelihood(strong, path, rules)
        tried.append((ln_p, rules, slope))
        told.append({"slope": slope, "gain": round(ln_p - tried[0][0], 2), "slips": slips})
        sys.stdout.write(f"  caution {told[-1]}\n")
    best = max(tried, key=lambda each: each[0])
    if best[0] - tried[0][0] < ENOUGH:
        best = tried[0]
    about = {
        "from": FROM,
        "slope": best[2],
        "turns": sum(len(each) for each in strong),
        "people": _slips_of_people(strong),
        "tried": told,
    }
    return best[1], about


def _rated_at(judge: Judge, path: AgentPath, target: float, caution: float) -> Rule:
    """Find the agent that the judge rates at an Elo when it plays with this caution."""
    if not caution:
        return Rule(target)
    prepared = prepare(judge.spreads, path.model)
    low, high = target - 400.0, target + 50.0
    for _ in range(_HALVINGS):
        rule = Rule((low + high) / 2, caution=caution)
        ln_p = ln_probabilities(path.model, prepared, path.theta([rule.agent]))
        if judge.elo(played(ln_p, judge.spreads, [rule])) < target:
            low = rule.agent
        else:
            high = rule.agent
    return Rule((low + high) / 2, caution=caution)


def _likelihood(
    people: Sequence[Spreads], path: AgentPath, rules: Sequence[tuple[float, Rule]]
) -> tuple[float, list[float]]:
    """How probable rules of the movers' Elos make their moves, and how often the rules slip."""
    elos = [target for target, _ in rules]
    agents, cautions = ([getattr(rule, name) for _, rule in rules] for name in ("agent", "caution"))
    total, slips = 0.0, np.zeros(len(SLIPS))
    for spreads in people:
        assert spreads.rating is not None
        theirs = [
            Rule(agent, caution=caution)
            for agent, caution in zip(
                np.interp(spreads.rating, elos, agents),
                np.interp(spreads.rating, elos, cautions),
                strict=True,
            )
        ]
        ln_p = ln_probabilities(
            path.model, prepare(spreads, path.model), path.theta([each.agent for each in theirs])
        )
        shares = played(ln_p, spreads, theirs)
        total += float(np.log(shares[spreads.offsets[:-1] + spreads.chosen]).sum())
        loss = own_losses(spreads)
        slips += [float(shares[loss >= limit - 1e-9].sum()) for limit in SLIPS]
    return total, [round(float(each), 1) for each in slips]


def _slips_of_people(people: Sequence[Spreads]) -> list[int]:
    counts = np.zeros(len(SLIPS), dtype=np.int64)
    for spreads in people:
        loss: Floats = own_losses(spreads)[spreads.offsets[:-1] + spreads.chosen]
        counts += [int((loss >= limit - 1e-9).sum()) for limit in SLIPS]
    return [int(each) for each in counts]
