"""The methods of `studies.prediction`: strengths before each month, and what they say.

The numbers stand in `studies.prediction_numbers`, found on games before 2010.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from studies.otb_games import Floats, Games
from studies.outcome_links import fit_link

from milepost.history.baselines.elo import run_elo
from milepost.history.baselines.glicko2 import run_glicko2
from milepost.history.models import TTT, TTTD
from milepost.history.prediction.forward import Forecast, forecast
from milepost.history.prediction.newcomers import Company, faster_newcomers
from milepost.history.ttt.from_model import fresh_state
from milepost.io.progress import Progress, Report

TRAIN = (2000, 2009)
"""The years whose predictions links are fitted to."""
SMOOTH_FROM = 1998.0
"""Before it the filter is enough: there are few games, and none of them is predicted."""


@dataclass(frozen=True)
class Ours:
    """One way of running our models forward."""

    numbers: dict[str, float]
    """beta, tau, sigma, lead; draw or margin_mu, margin_sigma, margin_tau; and for newcomers slope,
    behind, sd (their company), factor, years (their faster drift)."""
    model: str = "ttt"
    """ttt or ttt-d."""
    form: str = "between"
    """The form of a draw in ttt-d."""
    window: int = 12
    """How many months are smoothed again after each month; 0 = the filter."""
    first_elo: bool = False
    """Whether the printed Elo of a newcomer's first month is his or her prior mean."""
    notes: dict[str, Any] = field(default_factory=dict)
    """What else decides the outcome: part of the digest."""


def run_ours(games: Games, how: Ours, *, tell: bool = True) -> Forecast:
    """Predict every month from those before it."""
    n = how.numbers
    records = games.records
    if "factor" in n:
        records = faster_newcomers(records, factor=n["factor"], years=n["years"])
    numbers: dict[str, Any] = {name: n[name] for name in ("beta", "tau", "sigma")}
    numbers |= {"first_mover": n["lead"], "stage": "filter"}
    model: TTT | TTTD
    if how.model == "ttt-d":
        margins: dict[str, Any] = {k: n[k] for k in ("margin_mu", "margin_sigma", "margin_tau")}
        model = TTTD(**numbers, **margins, draw_form=how.form)
    else:
        model = TTT(**numbers, draw=n["draw"])
    company = None
    if "slope" in n:
        company = Company(slope=n["slope"], behind=n["behind"], sd=n["sd"])
    told = _first_elos(games, how) if how.first_elo else None
    return forecast(
        fresh_state(records, model), window=how.window, company=company, told=told,
        start=int(np.searchsorted(records.clock, SMOOTH_FROM)),
        progress=_teller(games) if tell else None,
    )  # fmt: skip


def own_chances(found: Forecast) -> Floats:
    """The model's own chances, a row (win, draw, loss) for each game."""
    return np.stack([found.win, found.draw, found.loss], axis=1)


def linked_chances(games: Games, found: Forecast, *, own_margins: bool) -> Floats:
    """The chances by a link fitted anew to the predictions of 2000-2009."""
    variance = found.sd_1**2 + found.sd_2**2
    own = np.stack([found.margin_1, found.margin_2]) if own_margins else None
    fitted = training(games)
    link = fit_link(
        found.mean_1[fitted], found.mean_2[fitted], games.score[fitted], by_strength=True,
        variance=variance[fitted], own=None if own is None else own[:, fitted],
    )  # fmt: skip
    return link(found.mean_1, found.mean_2, variance, own)


def training(games: Games) -> Any:
    """Which games of the main set links are fitted to."""
    return games.rated & (games.year >= TRAIN[0]) & (games.year <= TRAIN[1])


def joined_chances(games: Games, found: Forecast, weight: float) -> Floats:
    """Official Elo and our means together: means plus `weight` times the printed Elo."""
    one = found.mean_1 + weight * np.nan_to_num(games.elo_1 - 2300.0)
    two = found.mean_2 + weight * np.nan_to_num(games.elo_2 - 2300.0)
    fitted = training(games)
    own = np.stack([found.margin_1, found.margin_2])
    link = fit_link(
        one[fitted], two[fitted], games.score[fitted], by_strength=True, own=own[:, fitted]
    )
    return link(one, two, np.zeros(len(one)), own)


def rating_chances(games: Games, one: Floats, two: Floats, *, by_strength: bool) -> Floats:
    """The chances of a method that has a rating for each player and nothing else."""
    fitted = training(games)
    link = fit_link(one[fitted], two[fitted], games.score[fitted], by_strength=by_strength)
    return link(np.nan_to_num(one), np.nan_to_num(two), np.zeros(len(one)), None)


def elo_ratings(games: Games, *, k: float, provisional_k: float) -> tuple[Floats, Floats]:
    """Both players' Elo at the start of the month, computed from these games alone."""
    player = games.records.node_player
    run = run_elo(
        player[games.node_1], player[games.node_2], games.score, k=k, provisional_k=provisional_k,
        advantage=35.0,
    )  # fmt: skip
    return _at_start(games, run.rating_1, run.rating_2)


def glicko_ratings(games: Games, *, volatility: float, deviation: float) -> tuple[Floats, Floats]:
    """Both players' Glicko-2 rating at the start of the month; the difference shrunk by g."""
    player = games.records.node_player
    run = run_glicko2(
        player[games.node_1], player[games.node_2], games.score, games.month,
        volatility=volatility, deviation=deviation,
    )  # fmt: skip
    middle = 0.5 * (run.rating_1 + run.rating_2)
    return middle + 0.5 * run.difference, middle - 0.5 * run.difference


def _at_start(games: Games, one: Floats, two: Floats) -> tuple[Floats, Floats]:
    """What a player had before the month's first game, for all games of the month."""
    start = np.empty(games.records.nodes)
    nodes = np.stack([games.node_1, games.node_2], axis=1).ravel()
    # Of several values for one node the last written stays: backwards, the first game's.
    start[nodes[::-1]] = np.stack([one, two], axis=1).ravel()[::-1]
    return start[games.node_1], start[games.node_2]


def _first_elos(games: Games, how: Ours) -> Floats:
    """What the printed Elo of a newcomer's first month says about his or her skill."""
    records, n = games.records, how.numbers
    printed = np.full(records.nodes, np.nan)
    for node, elo in ((games.node_1, games.elo_1), (games.node_2, games.elo_2)):
        has = ~np.isnan(elo)
        printed[node[has]] = elo[has]
    told = np.zeros((records.nodes, 2))
    new = (records.previous < 0) & ~np.isnan(printed)
    told[new, 0] = n["elo_sd"] ** -2 - n["sigma"] ** -2
    told[new, 1] = n["elo_sd"] ** -2 * n["elo_slope"] * (printed[new] - n["elo_zero"])
    return told


def _teller(games: Games) -> Report:
    clock = games.records.clock

    def tell(news: Progress) -> None:
        done = int(news.done)
        if done % 24 == 0 and clock[done - 1] >= SMOOTH_FROM:
            print(f"   {clock[done - 1]:.0f}", end="", file=sys.stderr, flush=True)
        if done == len(clock):
            print(file=sys.stderr)

    return tell


def descend(
    loss: Callable[[dict[str, float]], float], numbers: dict[str, float], names: list[str], *,
    rounds: int = 2, step: float = 0.25,
) -> tuple[dict[str, float], float]:  # fmt: skip
    """Search one number after the other in its logarithm, with steps that shrink."""
    best, steps = loss(numbers), dict.fromkeys(names, step)
    for _ in range(rounds):
        for name in names:
            for sign in (1.0, -1.0):
                tried = numbers | {name: numbers[name] * float(np.exp(sign * steps[name]))}
                value = loss(tried)
                if value < best - 1e-5:
                    best, numbers = value, tried
                    print(f"{best:.5f}  {name} = {tried[name]:.4g}", file=sys.stderr, flush=True)
                    break
            else:
                steps[name] *= 0.5
    return numbers, best


def without(how: Ours, *names: str, **changes: Any) -> Ours:
    """The same way with some numbers left out or changed."""
    numbers = {k: v for k, v in how.numbers.items() if k not in names}
    return replace(how, numbers=numbers | changes)
