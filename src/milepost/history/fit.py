"""From results to a history: one function over all models, its update, and honest prediction."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
from scipy.special import ndtr

from milepost.errors import InputError
from milepost.history.baselines.histories import fit_elo, fit_glicko2
from milepost.history.beliefs import lives_of
from milepost.history.joint.join import Joined, join
from milepost.history.joint.options import Moves
from milepost.history.models import (
    TTT,
    TTTD,
    Elo,
    Forecast,
    Glicko2,
    Model,
    TrueSkill,
    checked_model,
)
from milepost.history.periods import checked_period, clock_of
from milepost.history.prediction.company import forecast_history
from milepost.history.prediction.forward import (
    filter_log_evidence,
    log_loss_by_period,
    predict_forward,
)
from milepost.history.records import Floats, Records, read_records
from milepost.history.result import History, Kept
from milepost.history.scales import with_printed_elos
from milepost.history.solver.convergence import (
    Convergence,
    ConvergenceWarning,
)
from milepost.history.sweeping import Sweeping
from milepost.history.teams.fit import fit_teams
from milepost.history.teams.game import Game
from milepost.history.teams.graph import share_of_ties
from milepost.history.teams.rate import draw_margin
from milepost.history.ttt.from_model import (
    check_movers,
    fresh_state,
    state_log_evidence,
)
from milepost.history.ttt.learned_margin import converge_model
from milepost.history.ttt.own_margins import TTTDState
from milepost.history.ttt.state import TTTState
from milepost.io.progress import Report
from milepost.tables import CURVES, RESULTS

_KEPT_COLUMNS = [
    "time", "player_1", "player_2", "score", "first_mover", "weight", "event", "elo_1", "elo_2",
]  # fmt: skip

_Gaussian = TTT | TTTD | TrueSkill


def fit_history(
    results: Any,
    model: Model | None = None,
    *,
    period: str | float = "year",
    sweeping: Sweeping | None = None,
    names: Mapping[str, str] | None = None,
    moves: Any = None,
    joining: Moves | None = None,
    progress: Report | None = None,
) -> History:
    """Fit every player's skill over time.

    Parameters
    ----------
    results
        The results table, or any frame with its columns (time, player_1, player_2, score and, as
        wanted, first_mover, weight, event). A weight k of 1 or more counts a game k times; one
        below 1 takes its message to the power k (then the evidence is approximate). Or a sequence
        of `milepost.history.Game`, for teams and more than two sides (without times, each game is
        a step of its own, whatever the period).
    model
        `TTT` (TrueSkill Through Time; the default), `TTTD` (draw margins of the players' own),
        `TrueSkill` (the filter), `Elo` or `Glicko2`, each with its options.
    period
        ``"year"``, ``"month"``, ``"day"``, ``"event"``, ``"game"`` (each game a step of its own),
        or a length in the unit of the times. For dates that is years, and the blocks are of
        365.2425 days each, counted from 1970-01-01 and shown by their first day: 1.0 is no calendar
        year. A skill is constant in a period. With ``"game"`` the clock of a player ticks once for
        each of his own games, and what is known holds until his next one.
    sweeping
        How near to the fixed point to go; `None` = the defaults of `Sweeping`. Models that make one
        pass refuse it; with the stage ``"filter"`` it makes no difference.
    names
        Players' names as written, by the keys that the results have; `None` = they are taken from
        the columns name_1 and name_2 if there are such.
    moves
        Move evidence: a table of sites (`milepost.tables.SITES`), or one with the columns player,
        time, mean and sd. The history is then a joint one, on the scale of the moves too; without a
        model it learns the level of newcomers. For `TTT` and `TTTD` alone.
    joining
        How move evidence enters; `None` = the defaults of `Moves`.
    progress
        Called after every sweep with a `milepost.history.Sweep`.

    Returns
    -------
    History

    Raises
    ------
    InputError
        If the model or the data cannot be used. A first mover's advantage is refused if no result
        says who moved first. Games of teams are fitted by `TTT` and `TrueSkill`, without a first
        mover, a learned level, a random order and a second worker.

    Warns
    -----
    SkippedResultsWarning
        If rows were left out.
    ConvergenceWarning
        If the fixed point was not reached, or a number of the answer is not finite. As
        `FarRatingsWarning` where ratings run away.
    MovesWarning
        If move evidence was left out, or is not what it should be.

    References
    ----------
    Dangauthier, Herbrich, Minka & Graepel (2007), TrueSkill Through Time. NIPS 20.
    """
    if model is None:
        model = TTT() if moves is None else TTT(newcomers="learn")
    model = checked_model(model)
    checked_period(period)
    _check_joining(results, model, moves, joining)
    if sweeping is not None and not isinstance(model, TTT | TTTD):
        raise InputError(
            f"the model {model.name} makes one pass: tolerance, max_sweeps and workers mean "
            "nothing to it"
        )
    sweeping = Sweeping() if sweeping is None else sweeping
    if _are_games(results):
        return _fit_games(results, model, period, sweeping, progress)
    table = RESULTS.conform(results)
    known = names_of(table) if names is None else dict(names)
    frame = table.select(_KEPT_COLUMNS)
    records = _records(frame, model, period)
    if isinstance(model, Elo):
        found = fit_elo(records, model)
    elif isinstance(model, Glicko2):
        found = fit_glicko2(records, model)
    else:
        joint = None if moves is None else (moves, Moves() if joining is None else joining)
        found = _fit_two(records, frame, model, sweeping, progress, None, joint)
    curves = with_printed_elos(found.curves, records, frame)
    return _bounded(replace(found, names=known, curves=curves))


def _check_joining(results: Any, model: Model, moves: Any, joining: Moves | None) -> None:
    if moves is None:
        if joining is not None:
            raise InputError("options of move evidence go with move evidence: there is none")
        return
    if _are_games(results) or not isinstance(model, TTT | TTTD) or model.stage == "filter":
        raise InputError(
            "move evidence is joined to converged histories of ttt and ttt-d between two players "
            f"alone, not to {'games of teams' if _are_games(results) else model.name}"
        )


def names_of(results: pl.DataFrame) -> dict[str, str]:
    """Return players' names as written, by their keys, where a table of results has them.

    Of several spellings the one with most games counts. Keys that are names as written are left
    out.
    """
    written = {"name_1", "name_2"} & set(results.columns)
    if len(written) < 2 or all(results[name].null_count() == len(results) for name in written):
        return {}
    sides = [
        results.select(key=f"player_{side}", name=pl.col(f"name_{side}").cast(pl.String))
        for side in (1, 2)
    ]
    counts = pl.concat(sides).drop_nulls().group_by("key", "name").len()
    counts = counts.sort("key", "len", "name", descending=[False, True, False])
    first = counts.unique("key", keep="first", maintain_order=True)
    return dict(first.filter(pl.col("key") != pl.col("name")).select("key", "name").iter_rows())


def update_history(history: History, more: Any) -> History:
    """Return a history with more results, started from the old one's messages.

    The answer is that of a fresh fit to all results, within the tolerance; `skipped` counts the
    rows left out then and now.

    Raises
    ------
    InputError
        If the history does not keep its results (elo, glicko2 and games of teams), or the times of
        one are dates and those of the other numbers.
    """
    if not history.scale.own:
        raise InputError(
            f"this history is shown on the scale {history.scale.name}: update the one it was "
            "made from"
        )
    kept, model = history._kept, history.model
    if kept is None or not isinstance(model, _Gaussian):
        raise InputError(
            "this history does not keep its results, so it cannot be updated (those of elo, "
            "glicko2 and games of teams never do): fit all results anew"
        )
    table = RESULTS.conform(more)
    extra = table.select(_KEPT_COLUMNS)
    # In the order of the records, so that an old game's number is its row; a random order is drawn
    # anew, from the results as they were given.
    shuffled = isinstance(model, TrueSkill) and model.order == "random"
    # One that an earlier version saved has no Elos.
    results = RESULTS.conform(kept.results).select(_KEPT_COLUMNS)
    old = results[np.sort(kept.row) if shuffled else kept.row]
    if len(extra) and old["time"].dtype.is_temporal() != extra["time"].dtype.is_temporal():
        raise InputError(
            f"the new results do not fit the old ones: their times are {extra['time'].dtype}, "
            f"those of the old ones {old['time'].dtype}; expected both dates or both numbers"
        )
    try:
        frame = pl.concat([old, extra], how="vertical_relaxed")
    except pl.exceptions.PolarsError as error:
        raise InputError(f"the new results do not fit the old ones: {error}") from error
    records = _records(frame, model, history.period)
    joint = None
    if history.moves is not None:
        if history.moves.sites is None:
            raise InputError("this joint history does not keep its sites: fit all results anew")
        joint = (history.moves.sites, history.moves.options)
    # The messages of a joint history hold its sites: results are begun afresh there.
    message = kept.message if joint is None else None
    found = _fit_two(records, frame, model, history.sweeping, None, (history, message), joint)
    return _bounded(
        replace(
            found,
            curves=with_printed_elos(found.curves, records, frame),
            skipped=dict(Counter(history.skipped) + Counter(found.skipped)),
            names={**names_of(table), **history.names},
        )
    )


def prequential(
    results: Any, model: Model | None = None, *, period: str | float = "year",
    window: int | None = None, rounds: int = 1, start: Any = None,
) -> tuple[pl.DataFrame, pl.Series]:  # fmt: skip
    """Predict each period from what came before it only.

    Parameters
    ----------
    results, period
        As for `fit_history`, two players a game.
    model
        `TTT`, `TTTD`, `TrueSkill` or `Forecast`. Nothing is learned here: give numbers learned on
        earlier data. A draw margin from the share of draws would know the future; give that too.
    window, rounds
        After each period the last `window` periods (`None` = 3; `Forecast`: its own window) are
        smoothed again by `rounds` sweeps; 0 = the filter alone, and all that `TrueSkill` has.
    start
        From which time on to smooth (before it, the filter): saves time if only later predictions
        are wanted.

    Returns
    -------
    (polars.DataFrame, polars.Series)
        For each period its time, games and mean log-loss in nats; and for each row of the results
        the log probability of what happened (null for rows left out).

    Raises
    ------
    InputError
        If the model or the data cannot be used.
    """
    model = TTT() if model is None else checked_model(model)
    if not isinstance(model, _Gaussian):
        raise InputError(
            f"milepost.history.baselines.{model.name}.run_{model.name} returns the ratings before "
            "each game: prequential is for TTT, TTTD and TrueSkill"
        )
    if not isinstance(model, TrueSkill) and model.learns:
        raise InputError(
            "the first mover's advantage and the newcomers' level are learned from the whole "
            "history: a prediction needs them as numbers"
        )
    asked = window
    if window is None:
        window = 0 if isinstance(model, TrueSkill) else 3
    if isinstance(model, TrueSkill) and window != 0:
        raise InputError(f"trueskill smooths nothing: expected a window of 0, got {window!r}")
    frame = RESULTS.conform(results).select(_KEPT_COLUMNS)
    records = _records(frame, model, checked_period(period))
    first = 0
    if start is not None:
        first = int(np.searchsorted(records.asked_clock, clock_of(start, period)))
    if isinstance(model, Forecast):
        seen = forecast_history(records, model, window=asked, rounds=rounds, start=first)
        logs = seen.log_probability
    else:
        state = fresh_state(records, model)
        logs = predict_forward(state, window=window, rounds=rounds, start=first)
    by_row = np.full(frame.height, np.nan)
    by_row[records.row] = logs
    return log_loss_by_period(records, logs), pl.Series("log_probability", by_row).fill_nan(None)


def _are_games(results: Any) -> bool:
    return (
        isinstance(results, Sequence)
        and not isinstance(results, str)
        and all(isinstance(item, Game) for item in results)
    )


def _records(frame: pl.DataFrame, model: Model, period: str | float) -> Records:
    shuffle = None
    if isinstance(model, TrueSkill) and model.order == "random":
        if period == "game":
            raise InputError('with period="game" a period has one game, and no order to choose')
        shuffle = np.random.default_rng(model.seed)
    records = read_records(frame, period=period, shuffle=shuffle)
    check_movers(records, model)
    return records


def _fit_two(
    records: Records, frame: pl.DataFrame, model: _Gaussian, sweeping: Sweeping,
    progress: Report | None, warm: tuple[History, Floats | None] | None,
    joint: tuple[Any, Moves] | None = None,
) -> History:  # fmt: skip
    if isinstance(model, Forecast):
        seen = forecast_history(records, model, progress=progress)
        ended = Convergence(True, 1, 0.0, 0)
        return _only_finite(
            _history(seen.state, frame, model, sweeping, ended, seen.log_evidence, pace=seen.pace)
        )
    state = fresh_state(records, model)
    joined = None
    if isinstance(model, TrueSkill) or model.stage == "filter":
        improper = state.forward(0, records.periods)
        ended = Convergence(True, 1, 0.0, improper)
        evidence = filter_log_evidence(state)
    else:
        if warm is not None and warm[1] is not None:
            _warm_start(state, records, warm[0], warm[1])
        ended = converge_model(state, model, sweeping, progress)
        evidence = state_log_evidence(state)
        if joint is not None:
            joined = join(state, *joint, model, sweeping, progress=progress)
            ended = replace(joined.ended, converged=ended.converged and joined.ended.converged)
    return _only_finite(_history(state, frame, model, sweeping, ended, evidence, joined))


_FAR = 30.0
"""So many beta from a newcomer's mean a skill says nothing: to lose has the probability 1e-99."""
_FAR_POINTS = 10_000.0
"""The same for models without a beta."""


class FarRatingsWarning(ConvergenceWarning):
    """Ratings run away: the results, or the model's options, set no bound to them."""


def _bounded(history: History) -> History:
    """Tell where ratings run away; step by step ratings that do so have not converged."""
    model = history.model
    gaussian = isinstance(model, _Gaussian)
    far = _FAR * model.beta if isinstance(model, _Gaussian) else _FAR_POINTS
    distance = np.abs(history.curves["mean"].to_numpy() - model.mu).max(initial=0.0)
    if not distance > far:
        return history
    mend = (
        f"give a smaller sigma than {model.sigma:g} (beta is {model.beta:g})"
        if isinstance(model, _Gaussian)
        else "give a shorter period: with many games a period its steps grow without bound"
    )
    warnings.warn(
        f"ratings go up to {distance:,.0f} points from a newcomer's: the model {model.name} sets "
        f"them no bound here; {mend}",
        FarRatingsWarning,
        stacklevel=3,
    )
    return history if gaussian else replace(history, converged=False)


def _only_finite(history: History) -> History:
    """A history with a number that is none has not converged, whatever the sweeps say."""
    columns = ["mean", "sd"] + ["margin_mean", "margin_sd"] * (history._margins is not None)
    finite = history.curves.select(pl.col(columns).is_finite().all()).row(0)
    if all(finite) and np.isfinite(history.log_evidence):
        return history
    warnings.warn(
        "some numbers of the history are not finite: its options are too far from each other",
        ConvergenceWarning,
        stacklevel=4,
    )
    return replace(history, converged=False)


def _warm_start(
    state: TTTState | TTTDState, records: Records, before: History, message: Floats
) -> None:
    """Give the old games their old messages, and the beliefs what follows from them."""
    old = records.row < len(message)
    state.message[old] = message[records.row[old]]
    paths = before.paths
    clock = paths["clock"].to_numpy()
    place = np.clip(
        np.searchsorted(clock, records.asked_clock, side="right") - 1, 0, len(clock) - 1
    )
    state.level[:] = paths["newcomer_mean"].to_numpy()[place] - before.model.mu
    state.advantage[:] = paths["first_mover"].to_numpy()[place]
    state.gather_messages()


def _history(
    state: TTTState | TTTDState, frame: pl.DataFrame, model: _Gaussian, sweeping: Sweeping,
    ended: Convergence, evidence: float, joined: Joined | None = None,
    pace: Floats | None = None,
) -> History:  # fmt: skip
    records = state.records
    skill = lives_of(records, state.chains, offset=model.mu, drift=model.tau**2, pace=pace)
    margins = None
    if isinstance(state, TTTDState):
        margins = lives_of(
            records, state.margins, offset=0.0, drift=state.model.margin_tau**2, pace=pace
        )
    return History(
        curves=_curves(state, model.mu, joined),
        log_evidence=float(evidence),
        converged=ended.converged,
        sweeps=ended.sweeps,
        remaining_error=ended.remaining_error,
        model=model,
        period=records.period,
        games=records.games,
        players=records.players,
        draw_margin=float("nan") if isinstance(state, TTTDState) else state.model.margin,
        paths=pl.DataFrame({
            "time": records.label,
            "clock": records.asked_clock,
            "newcomer_mean": model.mu + state.level,
            "first_mover": state.advantage,
        }),
        skipped=dict(records.skipped),
        draw_share=records.draw_share,
        apart=records.apart,
        improper=ended.skipped,
        sweeping=sweeping,
        moves=None if joined is None else joined.fit,
        _skill=skill,
        _margins=margins,
        _kept=Kept(frame, records.row, state.message),
    )  # fmt: skip


def _curves(state: TTTState | TTTDState, mu: float, joined: Joined | None) -> pl.DataFrame:
    records = state.records
    order = records.by_player
    belief = state.chains.belief[order]
    columns = {
        "player": records.names.gather(records.node_player[order]),
        "time": records.label.gather(records.node_period[order]),
        "mean": mu + belief[:, 1] / belief[:, 0],
        "sd": 1.0 / np.sqrt(belief[:, 0]),
        "games": records.node_games[order],
    }
    if isinstance(state, TTTDState):
        margin = state.margins.belief[order]
        columns["margin_mean"] = margin[:, 1] / margin[:, 0]
        columns["margin_sd"] = 1.0 / np.sqrt(margin[:, 0])
    frame = pl.DataFrame(columns)
    if joined is not None:
        frame = pl.concat([frame, joined.columns[order]], how="horizontal")
    return CURVES.conform(frame)


def _fit_games(
    games: Sequence[Game], model: Model, period: str | float, sweeping: Sweeping,
    progress: Report | None,
) -> History:  # fmt: skip
    """Hand games of teams to the general graph."""
    if not isinstance(model, TTT | TrueSkill):
        raise InputError(f"games of teams are fitted by ttt or trueskill, not {model.name}")
    if model.first_mover is not None or (isinstance(model, TTT) and model.newcomers is not None):
        raise InputError("games of teams know no first mover and no newcomers' level")
    if not games:
        raise InputError("there are no games")
    if (isinstance(model, TrueSkill) and model.order != "given") or sweeping.workers != 1:
        raise InputError("games of teams are taken in their order, by one worker")
    draw: Any = model.draw
    if draw == "learn":
        raise InputError("games of teams have a margin that is given or follows from the share")
    draw = "share" if draw == "auto" else draw
    if not isinstance(draw, str):
        # The same margin between two single players.
        draw = 2.0 * float(ndtr(draw / (np.sqrt(2.0) * model.beta))) - 1.0
    fitted = fit_teams(
        games, mu=model.mu, sigma=model.sigma, beta=model.beta, tau=model.tau, draw=draw,
        period=period,
        stage="filter" if isinstance(model, TrueSkill) else model.stage,  # type: ignore[arg-type]
        tolerance=sweeping.distance(model.beta), max_sweeps=sweeping.max_sweeps,
        progress=progress,
    )  # fmt: skip
    labels = fitted.curves.select("time").with_columns(clock=fitted.lives.clock)
    labels = labels.unique(subset="clock", keep="first").sort("clock")
    found = History(
        curves=fitted.curves,
        log_evidence=fitted.log_evidence,
        converged=fitted.converged,
        sweeps=fitted.sweeps,
        remaining_error=fitted.remaining_error,
        model=model,
        period=period,
        games=len(games),
        players=fitted.curves["player"].n_unique(),
        draw_margin=draw_margin(fitted.draw_probability, 2, model.beta),
        paths=labels.with_columns(newcomer_mean=pl.lit(model.mu), first_mover=pl.lit(0.0)),
        draw_share=share_of_ties(games),
        sweeping=sweeping,
        _skill=fitted.lives,
    )
    return _only_finite(found)
