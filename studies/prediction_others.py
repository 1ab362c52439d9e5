"""Other people's packages on a subsample, and the windowed updates beside full fits.

The subsample: games of 2008-2012 between players of Elo 2650 and more. Each half-year from 2010 on
every method is fitted to all its earlier games; a player's strength is that of his or her last
game. Margin, lead and spread of one link (`studies.outcome_links`) are fitted to the predictions
of 2010, and 2011-2012 count. Every method thus has the same games, and the same three numbers.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable

import numpy as np
import polars as pl
from scipy.special import ndtr
from studies.otb_games import Bools, Floats, Games
from studies.outcome_links import fit_link
from studies.prediction_methods import Ours

from milepost.history import TTT, fit_history
from milepost.history.prediction.forward import _log_probabilities, predict_forward
from milepost.history.ttt.from_model import fresh_state
from milepost.history.ttt.state import TTTState

Strengths = Callable[[pl.DataFrame], dict[str, float]]
SIGMA, BETA, TAU, MARGIN, LEAD = 100.0, 200.0, 25.0, 150.0, 40.0
"""For us, kickscore and trueskillthroughtime alike: points; tau a year."""
SWEEPS = 25
"""Full sweeps over all months before the one predicted, for the check."""


def ours(games: pl.DataFrame) -> dict[str, float]:
    """Return the last means of `milepost.history.fit_history`."""
    model = TTT(sigma=SIGMA, beta=BETA, tau=TAU, draw=MARGIN, first_mover=LEAD)
    history = fit_history(games, model, period="month")
    last = history.curves.group_by("player", maintain_order=True).last()
    return dict(zip(last["player"], last["mean"], strict=True))


def whole_history(games: pl.DataFrame) -> dict[str, float]:
    """Return the last ratings of the package whr, with its default drift."""
    import whr

    base = whr.Base(w2=30.0)
    day = (games["time"].dt.year() * 12 + games["time"].dt.month()) * 30
    who = {1.0: "B", 0.5: "D", 0.0: "W"}
    # Its Black is the player with the handicap: here the first mover.
    base.create_games(
        [
            [one, two, who[score], int(when), LEAD]
            for one, two, score, when in zip(
                games["player_1"], games["player_2"], games["score"], day, strict=True
            )
        ]
    )
    base.iterate(60)
    return {name: rows[-1][1] for name, rows in base.get_ordered_ratings()}


def kick(games: pl.DataFrame) -> dict[str, float]:
    """Return the last means of the package kickscore, the same model as ours."""
    import kickscore

    scale = math.sqrt(2.0) * BETA
    clock = _clock(games)
    model = kickscore.TernaryModel(margin=MARGIN / scale, obs_type="probit")
    names = sorted(set(games["player_1"]) | set(games["player_2"]))
    first, last = _times(games, clock)
    for name in names:
        kernel = kickscore.kernel.Wiener(
            var=(TAU / scale) ** 2, t0=first[name], var_t0=(SIGMA / scale) ** 2
        )
        model.add_item(name, kernel=kernel)
    constant = kickscore.kernel.Constant(var=(LEAD / scale) ** 2)
    model.add_item("first mover", kernel=constant)
    rows = zip(games["player_1"], games["player_2"], games["score"], clock, strict=True)
    for one, two, score, when in rows:
        if score == 0.0:
            model.observe([two], [one, "first mover"], t=float(when))
        else:
            model.observe([one, "first mover"], [two], t=float(when), tie=score == 0.5)
    model.fit(max_iter=20)
    return {
        name: float(model.item[name].predict(np.array([last[name]]))[0][0]) * scale
        for name in names
    }


def through_time(games: pl.DataFrame) -> dict[str, float]:
    """Return the last means of the package trueskillthroughtime; it knows no first mover."""
    import trueskillthroughtime as ttt

    clock = _clock(games)
    sides = [[[one], [two]] for one, two in zip(games["player_1"], games["player_2"], strict=True)]
    results = [[s, 1.0 - s] for s in games["score"]]
    share = 2.0 * float(ndtr(MARGIN / (math.sqrt(2.0) * BETA))) - 1.0
    history = ttt.History(
        sides, results, [round(12 * t) for t in clock], sigma=SIGMA, beta=BETA,
        gamma=TAU / math.sqrt(12.0), p_draw=share,
    )  # fmt: skip
    history.convergence(epsilon=0.1, iterations=5, verbose=False)
    return {name: float(curve[-1][1].mu) for name, curve in history.learning_curves().items()}


def main(frame: pl.DataFrame) -> None:
    """Fit each half-year, and print the log-loss of 2011-2012."""
    games = frame.filter(
        (pl.col("elo_1") >= 2650) & (pl.col("elo_2") >= 2650) & pl.col("known") & ~pl.col("fast")
    )
    half = (games["time"].dt.year() * 2 + (games["time"].dt.month() - 1) // 6).rename("half")
    games = games.with_columns(half)
    print(f"{games.height:,} games between players of 2650 and more, 2008–2012")
    print("| method | log-loss 2011–2012 | games | seconds for 6 fits |\n|---|---|---|---|")
    methods: dict[str, Strengths | None] = {
        "official Elo": None, "milepost ttt": ours, "whr": whole_history, "kickscore": kick,
        "trueskillthroughtime": through_time,
    }  # fmt: skip
    for name, strengths in methods.items():
        begun = time.monotonic()
        table = pl.concat(
            _predicted(games, number, strengths) for number in range(2010 * 2, 2013 * 2)
        )
        seconds = time.monotonic() - begun
        early = table.filter(pl.col("half") < 2011 * 2)
        late = table.filter(pl.col("half") >= 2011 * 2)
        link = fit_link(*(early[c].to_numpy() for c in ("one", "two", "score")))
        one, two = late["one"].to_numpy(), late["two"].to_numpy()
        chances = link(one, two, np.zeros(len(one)), None)
        column = np.where(late["score"] == 1.0, 0, np.where(late["score"] == 0.5, 1, 2))
        loss = -float(np.log(chances[np.arange(len(column)), column]).mean())
        print(f"| {name} | {loss:.4f} | {late.height:,} | {seconds:.0f} |", flush=True)


def _predicted(games: pl.DataFrame, number: int, strengths: Strengths | None) -> pl.DataFrame:
    past = games.filter(pl.col("half") < number)
    now = games.filter(pl.col("half") == number)
    counts = pl.concat([past["player_1"], past["player_2"]]).value_counts()
    known = counts.filter(pl.col("count") >= 10)["player_1"].implode()
    now = now.filter(pl.col("player_1").is_in(known) & pl.col("player_2").is_in(known))
    if strengths is None:
        one, two = now["elo_1"], now["elo_2"]
    else:
        print(f"   {number // 2}, half {number % 2 + 1}", file=sys.stderr, flush=True)
        found = strengths(past.drop("half"))
        one = now["player_1"].replace_strict(found, return_dtype=pl.Float64)
        two = now["player_2"].replace_strict(found, return_dtype=pl.Float64)
    return pl.DataFrame({"one": one, "two": two, "score": now["score"], "half": now["half"]})


def check_window(games: Games, how: Ours) -> None:
    """Print the log-loss of some months by windows of several lengths, and after full sweeps."""
    n, records = how.numbers, games.records
    model = TTT(
        stage="filter", beta=n["beta"], tau=n["tau"], sigma=n["sigma"], first_mover=n["lead"],
        draw=n["draw"],
    )  # fmt: skip
    months = [int(np.searchsorted(records.clock, year)) for year in (2003.5, 2006.5)]
    rated = games.rated
    print(
        "| log-loss of the main set | " + " | ".join(str(records.label[m]) for m in months) + " |"
    )
    print("|---" * (len(months) + 1) + "|")
    start = int(np.searchsorted(records.clock, 1998.0))
    for window in (0, 3, 12, 36):
        logs = predict_forward(fresh_state(records, model), window=window, start=start)
        cells = [f"{_month_loss(games, logs, rated, m):.5f}" for m in months]
        print(f"| window {window} | " + " | ".join(cells) + " |", flush=True)
    cells = []
    for month in months:
        state = fresh_state(records, model)
        assert isinstance(state, TTTState)
        before = np.zeros(records.nodes)
        change = math.inf
        for _ in range(SWEEPS):
            state.forward(0, month)
            state.backward(0, month)
            known = state.chains.belief[: int(records.node_start[month])]
            mean = known[:, 1] / known[:, 0]
            change = float(np.abs(mean - before[: len(mean)]).max())
            before[: len(mean)] = mean
        logs = _predict_from(state, month)
        cells.append(f"{_month_loss(games, logs, rated, month):.5f} ({change:.2g})")
    print(f"| {SWEEPS} full sweeps (last change, points) | " + " | ".join(cells) + " |")


def _predict_from(state: TTTState, month: int) -> Floats:
    """Predict one month from a state that was swept up to it."""
    out = np.full(state.records.games, np.nan)
    state.forward(month, month + 1, since=0)
    _log_probabilities(state, state.chains.forward, None, month, out)
    return out


def _month_loss(games: Games, logs: Floats, rated: Bools, month: int) -> float:
    begin, end = games.records.game_start[month : month + 2]
    return -float(logs[begin:end][rated[begin:end]].mean())


def _clock(games: pl.DataFrame) -> Floats:
    months = games["time"].dt.year() * 12 + games["time"].dt.month() - 1
    return np.asarray(months.to_numpy() / 12.0)


def _times(games: pl.DataFrame, clock: Floats) -> tuple[dict[str, float], dict[str, float]]:
    first: dict[str, float] = {}
    last: dict[str, float] = {}
    for one, two, when in zip(games["player_1"], games["player_2"], clock, strict=True):
        for name in (one, two):
            first.setdefault(name, float(when))
            last[name] = float(when)
    return first, last
