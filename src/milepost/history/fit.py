"""From results to a history: the one public function over all models."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from scipy.special import ndtr

from milepost.errors import InputError
from milepost.history.baselines.histories import fit_elo, fit_glicko2
from milepost.history.beliefs import lives_of
from milepost.history.options import Options, named_options
from milepost.history.periods import clock_of
from milepost.history.prediction.forward import (
    filter_log_evidence,
    log_loss_by_period,
    predict_forward,
)
from milepost.history.records import Floats, Records, read_records
from milepost.history.result import History
from milepost.history.solver.convergence import (
    Convergence,
    ConvergenceWarning,
    converge,
)
from milepost.history.teams.fit import fit_teams
from milepost.history.teams.game import Game
from milepost.history.teams.rate import draw_margin
from milepost.history.ttt.evidence import ttt_d_log_evidence, ttt_log_evidence
from milepost.history.ttt.own_margins import MarginModel, TTTDState, ttt_d_state
from milepost.history.ttt.state import SkillModel, TTTState, ttt_state
from milepost.io.progress import Report
from milepost.tables import CURVES, RESULTS

_KEPT_COLUMNS = ["time", "player_1", "player_2", "score", "first_mover", "weight", "event"]


@dataclass(frozen=True)
class Kept:
    """What a later update starts from."""

    results: pl.DataFrame
    """The results as given."""
    row: Any
    """For each game of the records, its row there."""
    message: Floats | None
    """The games' messages at the end; `None` = start afresh."""


def fit(
    results: Any,
    model: str = "ttt",
    *,
    period: str | float = "year",
    mu: float = 1200.0,
    sigma: float = 400.0,
    beta: float = 480.0,
    tau: float = 60.0,
    draw: str | float = "share",
    first_mover: str | float | None = None,
    newcomers: str | None = None,
    margin_mu: float = 300.0,
    margin_sigma: float = 100.0,
    margin_tau: float = 10.0,
    draw_form: str = "between",
    stage: str = "converged",
    tolerance: float | None = None,
    max_sweeps: int = 200,
    progress: Report | None = None,
    workers: int = 1,
    order: str = "given",
    seed: int | None = None,
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
        ``"ttt"`` (TrueSkill Through Time), ``"ttt-d"`` (draw margins of the players' own),
        ``"trueskill"`` (the filter), ``"elo"`` or ``"glicko2"``.
    period
        ``"year"``, ``"month"``, ``"day"``, ``"event"``, ``"game"`` (each game a step of its own),
        or a length in the unit of the times. For dates that is years, and the blocks are of
        365.2425 days each, counted from 1970-01-01 and shown by their first day: 1.0 is no calendar
        year. A skill is constant in a period. With ``"game"`` the clock of a player ticks once for
        each of his own games, and what is known holds until his next one.
    mu, sigma
        Mean and standard deviation of a newcomer's skill.
    beta
        Standard deviation of a performance around the skill.
    tau
        Standard deviation that a unit of time (a year, for dates) adds to a skill.
    draw
        ``"share"``: the draw margin follows from the share of draws; or the margin in points.
    first_mover
        The first mover's advantage in points; ``"learn"`` for one number, ``"learn-by-period"`` for
        a path through time (a random walk of beta / 48 a unit of time); `None` for none. Learned
        by maximum evidence with a prior N(0, beta²). Refused if no result says who moved first.
    newcomers
        ``"learn"``: the mean of newcomers' skills, by the period they appear in, is a random walk
        of sigma / 20 a unit of time that begins at `mu`, learned by maximum evidence.
    margin_mu, margin_sigma, margin_tau
        The same as mu, sigma, tau for the players' own draw margins (``"ttt-d"``).
    draw_form
        ``"between"`` (exact; better by evidence) or ``"two-factor"`` (the authors').
    stage
        ``"converged"``, or ``"filter"``: one pass forward, nothing from the future.
    tolerance
        The largest estimated distance to the fixed point, in points; `None` = 0.0002 beta.
    max_sweeps
        Sweeps after which to stop all the same, with a warning.
    progress
        Called after every sweep with a `milepost.history.solver.convergence.Sweep`.
    workers
        1 or 2 threads; the answer is the same within the tolerance.
    order, seed
        Of ``"trueskill"``, whose answer depends on it: ``"given"`` (by time, then as in the table)
        or ``"random"``, the games of each period shuffled by the seed.

    Returns
    -------
    History

    Raises
    ------
    InputError
        If an option or the data cannot be used, or the model does not use an option that was given
        (other than its default). Games of teams use mu, sigma, beta, tau, draw, period, stage,
        tolerance and max_sweeps. With the stage ``"filter"`` nothing is swept, so tolerance,
        max_sweeps and workers make no difference.

    Warns
    -----
    SkippedResultsWarning
        If rows were left out.
    ConvergenceWarning
        If the fixed point was not reached, or a number of the answer is not finite.

    References
    ----------
    Dangauthier, Herbrich, Minka & Graepel (2007), TrueSkill Through Time. NIPS 20.
    """
    options = Options(
        model, period, mu, sigma, beta, tau, draw, first_mover, newcomers, margin_mu, margin_sigma,
        margin_tau, draw_form, stage, tolerance, max_sweeps, workers, order, seed,
    )  # fmt: skip
    options.check_used()
    if _are_games(results):
        return _fit_games(results, options, progress)
    frame = RESULTS.conform(results).select(_KEPT_COLUMNS)
    records = _records(frame, options)
    if model == "elo":
        return fit_elo(records, options)
    if model == "glicko2":
        return fit_glicko2(records, options)
    return _fit_two(records, frame, options, progress, None)


def update(history: History, more: Any) -> History:
    """Return a history with more results: see `History.update`."""
    kept = history._kept
    if kept is None:
        raise InputError(
            "this history does not keep its results, so it cannot be updated (those of elo, "
            "glicko2 and games of teams never do): fit all results anew"
        )
    options = history.options
    if options.model not in ("ttt", "ttt-d", "trueskill"):
        raise InputError(f"a history of the model {options.model} cannot be updated: fit it anew")
    extra = RESULTS.conform(more).select(_KEPT_COLUMNS)
    # In the order of the records, so that an old game's number is its row; a random order is drawn
    # anew, from the results as they were given.
    old = kept.results[np.sort(kept.row) if options.order == "random" else kept.row]
    if len(extra) and old["time"].dtype.is_temporal() != extra["time"].dtype.is_temporal():
        raise InputError(
            f"the new results do not fit the old ones: their times are {extra['time'].dtype}, "
            f"those of the old ones {old['time'].dtype}; expected both dates or both numbers"
        )
    try:
        frame = pl.concat([old, extra], how="vertical_relaxed")
    except pl.exceptions.PolarsError as error:
        raise InputError(f"the new results do not fit the old ones: {error}") from error
    records = _records(frame, options)
    found = _fit_two(records, frame, options, None, (history, kept.message))
    return replace(found, skipped=dict(Counter(history.skipped) + Counter(found.skipped)))


def prequential(
    results: Any, model: str = "ttt", *, window: int | None = None, rounds: int = 1,
    start: Any = None, **options: Any,
) -> tuple[pl.DataFrame, pl.Series]:  # fmt: skip
    """Predict each period from what came before it only.

    Parameters
    ----------
    results
        As for `fit`, two players a game.
    model
        ``"ttt"``, ``"ttt-d"`` or ``"trueskill"`` (the filter).
    window, rounds
        After each period the last `window` periods (`None` = 3) are smoothed again by `rounds`
        sweeps; 0 = the filter alone, and all that trueskill has.
    start
        From which time on to smooth (before it, the filter): saves time if only later predictions
        are wanted.
    **options
        Other options of `fit`. Nothing is learned here: give numbers learned on earlier data. A
        draw margin from the share of draws would know the future; give that too.

    Returns
    -------
    (polars.DataFrame, polars.Series)
        For each period its time, games and mean log-loss in nats; and for each row of the results
        the log probability of what happened (null for rows left out).

    Raises
    ------
    InputError
        If an option or the data cannot be used, or the model is elo or glicko2.
    """
    if model in ("elo", "glicko2"):
        raise InputError(
            f"milepost.history.{model}.run_{model} returns the ratings before each game: "
            "prequential is for ttt, ttt-d and trueskill"
        )
    if "stage" in options:
        raise InputError("prequential has no option stage: it goes forward")
    chosen = named_options(model=model, stage="filter", **options)
    chosen.check_used()
    if window is None:
        window = 0 if model == "trueskill" else 3
    if model == "trueskill" and window != 0:
        raise InputError(f"trueskill smooths nothing: expected a window of 0, got {window!r}")
    frame = RESULTS.conform(results).select(_KEPT_COLUMNS)
    records = _records(frame, chosen)
    state = _fresh_state(records, chosen)
    first = 0
    if start is not None:
        first = int(np.searchsorted(records.asked_clock, clock_of(start, chosen.period)))
    logs = predict_forward(state, window=window, rounds=rounds, start=first)
    by_row = np.full(frame.height, np.nan)
    by_row[records.row] = logs
    return log_loss_by_period(state, logs), pl.Series("log_probability", by_row).fill_nan(None)


def _are_games(results: Any) -> bool:
    return (
        isinstance(results, Sequence)
        and not isinstance(results, str)
        and all(isinstance(item, Game) for item in results)
    )


def _records(frame: pl.DataFrame, options: Options) -> Records:
    shuffle = np.random.default_rng(options.seed) if options.order == "random" else None
    records = read_records(frame, period=options.period, shuffle=shuffle)
    options.check_movers(records)
    return records


def _fresh_state(records: Records, options: Options) -> TTTState | TTTDState:
    level = np.zeros(records.periods)
    given = options.first_mover
    lead = float(given) if isinstance(given, int | float) else 0.0
    advantage = np.full(records.periods, lead)
    if options.model == "ttt-d":
        numbers = MarginModel(
            options.sigma, options.beta, options.tau, 0.0, options.margin_mu, options.margin_sigma,
            options.margin_tau, options.draw_form,
        )  # fmt: skip
        return ttt_d_state(records, numbers, level=level, advantage=advantage)
    numbers_of_skill = SkillModel(options.sigma, options.beta, options.tau, options.margin(records))
    return ttt_state(records, numbers_of_skill, level=level, advantage=advantage)


def _fit_two(
    records: Records, frame: pl.DataFrame, options: Options, progress: Report | None,
    warm: tuple[History, Floats | None] | None,
) -> History:  # fmt: skip
    state = _fresh_state(records, options)
    if options.stage == "filter" or options.model == "trueskill":
        improper = state.forward(0, records.periods)
        ended = Convergence(True, 1, 0.0, improper)
        evidence = filter_log_evidence(state)
    else:
        if warm is not None and warm[1] is not None:
            _warm_start(state, records, warm[0], warm[1])
        ended = converge(
            state, tolerance=options.distance, max_sweeps=options.max_sweeps,
            learning=options.learning, progress=progress, workers=options.workers,
        )  # fmt: skip
        evidence = (
            ttt_d_log_evidence(state) if isinstance(state, TTTDState) else ttt_log_evidence(state)
        )
    return _only_finite(_history(state, frame, options, ended, evidence))


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
    state.level[:] = paths["newcomer_mean"].to_numpy()[place] - before.options.mu
    state.advantage[:] = paths["first_mover"].to_numpy()[place]
    state.gather_messages()


def _history(
    state: TTTState | TTTDState, frame: pl.DataFrame, options: Options, ended: Convergence,
    evidence: float,
) -> History:  # fmt: skip
    records = state.records
    skill = lives_of(records, state.chains, offset=options.mu, drift=options.tau**2)
    margins = None
    if isinstance(state, TTTDState):
        margins = lives_of(records, state.margins, offset=0.0, drift=options.margin_tau**2)
    return History(
        curves=_curves(state, options),
        log_evidence=float(evidence),
        converged=ended.converged,
        sweeps=ended.sweeps,
        remaining_error=ended.remaining_error,
        options=options,
        games=records.games,
        players=records.players,
        draw_margin=float("nan") if isinstance(state, TTTDState) else state.model.margin,
        paths=pl.DataFrame({
            "time": records.label,
            "clock": records.asked_clock,
            "newcomer_mean": options.mu + state.level,
            "first_mover": state.advantage,
        }),
        skipped=dict(records.skipped),
        improper=ended.skipped,
        _skill=skill,
        _margins=margins,
        _kept=Kept(frame, records.row, state.message),
    )  # fmt: skip


def _curves(state: TTTState | TTTDState, options: Options) -> pl.DataFrame:
    records = state.records
    order = np.lexsort((records.node_period, records.node_player))
    belief = state.chains.belief[order]
    columns = {
        "player": records.names.gather(records.node_player[order]),
        "time": records.label.gather(records.node_period[order]),
        "mean": options.mu + belief[:, 1] / belief[:, 0],
        "sd": 1.0 / np.sqrt(belief[:, 0]),
        "games": records.node_games[order],
    }
    if isinstance(state, TTTDState):
        margin = state.margins.belief[order]
        columns["margin_mean"] = margin[:, 1] / margin[:, 0]
        columns["margin_sd"] = 1.0 / np.sqrt(margin[:, 0])
    return CURVES.conform(pl.DataFrame(columns))


def _fit_games(games: Sequence[Game], options: Options, progress: Report | None) -> History:
    """Hand games of teams to the general graph."""
    if options.model not in ("ttt", "trueskill"):
        raise InputError(f"games of teams are fitted by ttt or trueskill, not {options.model}")
    if options.first_mover is not None or options.newcomers is not None:
        raise InputError("games of teams know no first mover and no newcomers' level")
    if not games:
        raise InputError("there are no games")
    if options.order != "given" or options.workers != 1:
        raise InputError("games of teams are taken in their order, by one worker")
    draw: Any = options.draw
    if not isinstance(draw, str):
        # The same margin between two single players.
        draw = 2.0 * float(ndtr(draw / (np.sqrt(2.0) * options.beta))) - 1.0
    fitted = fit_teams(
        games, mu=options.mu, sigma=options.sigma, beta=options.beta, tau=options.tau, draw=draw,
        period=options.period,
        stage="filter" if options.model == "trueskill" else options.stage,  # type: ignore[arg-type]
        tolerance=options.distance, max_sweeps=options.max_sweeps,
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
        options=options,
        games=len(games),
        players=fitted.curves["player"].n_unique(),
        draw_margin=draw_margin(fitted.draw_probability, 2, options.beta),
        paths=labels.with_columns(newcomer_mean=pl.lit(options.mu), first_mover=pl.lit(0.0)),
        _skill=fitted.lives,
    )
    return _only_finite(found)
