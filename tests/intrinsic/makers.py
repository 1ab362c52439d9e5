"""Simulated players: agents along a path, with form that changes from game to game."""

from __future__ import annotations

from functools import cache

import numpy as np

from milepost.choice import ChoiceModel, Spreads
from milepost.choice.evaluation.evaluate import ln_probabilities, prepare
from milepost.choice.evaluation.summaries import draw_choices
from milepost.choice.spreads import Floats, Ints
from milepost.intrinsic.calibration.paths import AgentPath, LinePath
from milepost.intrinsic.calibration.player_variation import PlayerVariation

PATH = LinePath(
    ChoiceModel(),
    np.array([np.log(0.16), -0.45, 0.53, 0.03]),
    np.diag([1e-4, 2e-4, 1e-4, 1e-4]),
    (1600.0, 2700.0),
)
"""About what the mileposts of 2011-2014 have."""
HONEST = PlayerVariation.assumed(mm_factor=1.0, ad_factor=1.0)
"""Players who are just agents."""
NO_MAP_ERROR = (np.array([0.0, 4000.0]), np.zeros(2))


def positions(count: int, rng: np.random.Generator) -> Spreads:
    """Decisions with 8 to 35 options whose worth falls off as in chess."""
    values = []
    for _ in range(count):
        size = int(rng.integers(8, 36))
        gaps = rng.exponential(0.12, size) * (1 + 0.15 * np.arange(size))
        values.append((rng.normal(0, 0.5) - np.cumsum(gaps) + gaps[0]).tolist())
    return Spreads.from_lists(values, [0] * count)


def play(
    spreads: Spreads, ratings: Floats, rng: np.random.Generator, path: AgentPath = PATH
) -> Spreads:
    """Let agents of given ratings, one a decision, choose."""
    logarithms = ln_probabilities(path.model, prepare(spreads, path.model), path.theta(ratings))
    chosen = np.empty(len(spreads), dtype=np.int64)
    draw_choices(spreads.offsets, np.exp(logarithms), rng.random(len(spreads)), chosen)
    return spreads.choosing(chosen)


@cache
def league(
    players: int,
    games: int,
    turns: int,
    *,
    players_sd: float = 0.0,
    form_sd: float = 0.0,
    seed: int = 1,
    low: float = 1650.0,
    high: float = 2650.0,
) -> tuple[Spreads, Ints, Floats]:
    """Every player plays some games of some turns; returns spreads, players and Elo a decision."""
    rng = np.random.default_rng(seed)
    elo = rng.uniform(low, high, players)
    strength = elo + rng.normal(0, players_sd, players) if players_sd else elo
    who = np.repeat(np.arange(players), games * turns)
    game = np.repeat(np.arange(players * games), turns)
    form = rng.normal(0, form_sd, players * games)[game] if form_sd else 0.0
    played = play(positions(len(who), rng), strength[who] + form, rng)
    spreads = Spreads.from_arrays(
        played.offsets, played.values, played.chosen, groups=game, rating=elo[who]
    )
    return spreads, who, elo[who]
