"""Decisions: turns with the worth of every option, and of them the spreads that the fits read.

Turns and evaluations go in. What is left out and what is marked is counted. The rules are those of
Regan & Haworth 2011: no book, no repeated positions, no turns with one legal move, none where one
side is more than three pawns ahead.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from milepost.analysis.engine.setup import choose_setup
from milepost.analysis.plans import ALL_MOVES_PLANS
from milepost.analysis.spreads.game_order import GameOrder
from milepost.analysis.spreads.option_columns import columns_of_options, moves_before
from milepost.analysis.spreads.option_values import (
    MATE_PAWNS,
    Options,
    WrittenOptions,
    order_options,
)
from milepost.analysis.spreads.premature_draws import premature_draws, premature_draws_in_order
from milepost.analysis.spreads.score_doubts import score_doubts, score_doubts_in_order
from milepost.analysis.store.lists import KEY, Evaluated, match_turns
from milepost.analysis.store.positions import (
    count_legal,
    is_legal,
    stored_positions,
    variant_exclusions,
)
from milepost.analysis.store.store import EvaluationStore
from milepost.errors import InputError
from milepost.io.arrow_buffers import Longs
from milepost.tables import CONTEXT, DECISIONS, EVALUATIONS, OPTION, SPREADS, TURNS, as_frame

LIMIT_PAWNS = 3.0
"""Turns whose best move is worth more, for either side, are left out."""
NOT_ANALYSED = "not analysed"
"""The reason for which turns are left out that the store does not hold."""
SCORE_DOUBTS = "possible errors of the game score"
"""Under this name they are counted, left out or kept."""
LEFT_OUT_WORDS = {
    "book": "opening moves",
    "repetition": "repeated positions",
    "only move": "forced moves",
    "over the limit": "in decided positions",
}
"""Why turns are left out, as people say it; other reasons are told as they are."""
_ILLEGAL = "with an illegal played move"
FALL_PAWNS = 1.0
"""Down-weighting: so far beyond the limit a turn counts half."""
_PLANS_OF_ALL_MOVES = tuple(f"{name} " for name in ALL_MOVES_PLANS)
"""How the texts of plans begin that list every legal move; an evaluation that does not is an error
there."""

_Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Spreads:
    """Spreads, and what became of the turns."""

    table: pl.DataFrame
    """See `milepost.tables.SPREADS`."""
    counts: dict[str, int]
    """In this order: turns in; those left out, each under its first reason; kept; and the marks,
    which are counts among the kept ones."""
    setup: str
    """Digest of the set-up whose evaluations were used."""


@dataclass(frozen=True)
class Decisions:
    """Decisions, and what became of the turns."""

    table: pl.DataFrame
    """See `milepost.tables.DECISIONS`; columns of the turns that it does not know are kept."""
    left_out: pl.DataFrame
    """The turns that were left out, with the columns of the turns and `reason`, the first one."""
    counts: dict[str, int]
    """See `Spreads.counts`."""
    setup: str
    """Digest of the set-up whose evaluations were used."""
    moves: pl.Series
    """The moves that the options of each decision are, in the order of its values."""


def make_spreads(turns: Any, evaluations: EvaluationStore | Any, **options: Any) -> Spreads:
    """Return the spreads of a turns table; options as for `make_decisions`."""
    decisions = make_decisions(turns, evaluations, **options)
    brought = [name for name in decisions.table.columns if name.startswith((OPTION, CONTEXT))]
    table = decisions.table.select(*SPREADS.names, *brought)
    return Spreads(table, decisions.counts, decisions.setup)


def make_decisions(
    turns: Any,
    evaluations: EvaluationStore | Any,
    *,
    setup: str | None = None,
    depth: int | None = None,
    limit_pawns: float = LIMIT_PAWNS,
    downweight: bool = False,
    mate_pawns: float = MATE_PAWNS,
    keep_book: bool = False,
    keep_repetitions: bool = False,
    keep_score_doubts: bool = True,
) -> Decisions:
    """Return the decisions of a turns table.

    Left out, in this order: turns of Chess960 and of other variants, turns without a position, book
    turns, repetitions, turns with one legal move, turns without a played move, turns that were not
    analysed, turns whose played move is not legal, and turns whose best move is worth more than the
    limit for either side, and, if so asked, possible errors of the game score. A flag that the
    table does not give counts as no. A legal played move outside the evaluated ones stays, with
    `chosen` null. Options and their order: see `milepost.analysis.spreads.option_values`; premature
    draws: see `milepost.analysis.spreads.premature_draws`, which needs all turns of the games, book
    too, to see earlier positions; possible errors of the score: see
    `milepost.analysis.spreads.score_doubts`, which looks at the turns over the limit too.

    Parameters
    ----------
    turns
        A turns table (polars, pandas, Arrow); see `milepost.tables.TURNS`.
    evaluations
        A store, or a table of evaluations; see `milepost.tables.EVALUATIONS`.
    setup
        The set-up to use: its digest, or enough of its beginning. Not needed if there is only one.
    depth
        Take only so many depths of each evaluation, as if the search had ended there; among equal
        moves the deeper search's order stays [default: all].
    limit_pawns
        The limit; `math.inf` for none.
    downweight
        Keep the turns beyond the limit, with the weight 1 / (1 + x²), x = pawns beyond the limit:
        it leaves 1 without a kink, is 1/2 one pawn beyond, 1/5 two pawns, 1/10 three.
    mate_pawns
        What a mate is worth; see `milepost.analysis.spreads.option_values.pawns`.
    keep_book, keep_repetitions, keep_score_doubts
        Keep those turns.

    Returns
    -------
    Decisions
        In the order of the turns.

    Raises
    ------
    InputError
        If there are several set-ups and none is named, or the named one is not there; if the limit
        is negative.
    TableError
        If a table is not what it should be.
    """
    if not limit_pawns >= 0:
        raise InputError(f"the limit must be a number of pawns from 0, got {limit_pawns!r}")
    everything = TURNS.conform(turns)
    keys = stored_positions(everything["position"])
    never = pl.lit(False)
    of_chess = [*variant_exclusions(), ("without a position", pl.col("key").is_null())]
    of_decisions = [
        ("book", never if keep_book else pl.col("book").fill_null(False)),
        ("repetition", never if keep_repetitions else pl.col("repetition").fill_null(False)),
        ("only move", pl.col("only_move").fill_null(False)),
        ("without a played move", pl.col("played").fill_null("").str.len_bytes() == 0),
    ]
    judged = _judge(everything.with_columns(keys), [*of_chess, *of_decisions])
    sieve = _Sieve(everything)
    for name, _ in of_chess:
        sieve.leave_out(name, judged[name][sieve.rows])
    games = _Games(everything, sieve.rows)
    for name, _ in of_decisions:
        sieve.leave_out(name, judged[name][sieve.rows])

    digest, plan, evaluated, matched = _find_evaluations(
        evaluations, setup, keys.gather(sieve.rows), everything["played"].gather(sieve.rows)
    )
    matched = matched[sieve.leave_out(NOT_ANALYSED, matched < 0)]
    played = everything["played"].gather(sieve.rows)
    options = order_options(evaluated, matched, played=played, depth=depth, mate_pawns=mate_pawns)
    outside = _illegal(options.chosen, keys, sieve.rows, played)
    turns_kept = np.flatnonzero(sieve.leave_out(_ILLEGAL, outside))
    doubt = games.score_doubts(sieve.rows, options, turns_kept)
    beyond = np.abs(options.best[turns_kept]) > limit_pawns
    kept = sieve.leave_out("over the limit", beyond & (not downweight))
    if not keep_score_doubts:
        turns_kept, doubt, beyond = turns_kept[kept], doubt.filter(kept), beyond[kept]
        kept = sieve.leave_out(SCORE_DOUBTS, doubt.fill_null(False).to_numpy())
    turns_kept, doubt, beyond = turns_kept[kept], doubt.filter(kept), beyond[kept]

    written = options.write(turns_kept)
    others = [name for name in everything.columns if name not in TURNS.names]
    wanted = [name for name in everything.columns if name in DECISIONS.names or name in others]
    chosen = pl.Series("chosen", options.chosen[turns_kept], dtype=pl.Int32)
    chosen = chosen.set(chosen < 0, None)
    lowered = options.lowered[turns_kept]
    position = everything["position"].gather(sieve.rows)
    described = columns_of_options(position, written, *games.moves_before(sieve.rows))
    frame = everything.select(wanted)[sieve.rows].with_columns(
        written.values,
        written.shallow,
        written.depth_values,
        chosen,
        _weights(options.best[turns_kept], limit_pawns),
        doubt,
        games.premature_draws(sieve.rows, written),
        _unlisted(keys, sieve.rows, written.moves, plan),
        *described,
    )
    counts = sieve.counts
    counts["kept"] = len(frame)
    counts["outside the evaluated moves"] = chosen.null_count()
    counts["with unlisted options"] = int((frame["unlisted"] > 0).sum())
    counts["premature draws"] = int(frame["premature_draw"].sum())
    counts[SCORE_DOUBTS] = counts.get(SCORE_DOUBTS, 0) + int(doubt.sum())
    counts["shallower values lowered"] = int(lowered.sum())
    counts["down-weighted"] = int(beyond.sum())
    brought = [column.name for column in described]
    brought += [name for name in others if name.startswith((OPTION, CONTEXT))]
    table = DECISIONS.conform(frame).select(*DECISIONS.names, *brought, *others)
    return Decisions(table, sieve.left_out(), counts, digest, written.moves)


def _judge(turns: pl.DataFrame, tests: list[tuple[str, pl.Expr]]) -> dict[str, _Flags]:
    """Return which turns each test takes in; what it cannot tell is no reason to keep one."""
    found = turns.select(test.fill_null(True).alias(name) for name, test in tests)
    return {name: found[name].to_numpy() for name, _ in tests}


class _Sieve:
    """Leaves turns out for a reason; counts them, and keeps what was left out."""

    def __init__(self, turns: pl.DataFrame):
        self.counts = {"turns in": len(turns)}
        self.rows = np.arange(len(turns))
        """The rows of the turns that are left."""
        self._turns = turns
        self._out: list[tuple[str, Longs]] = []

    def leave_out(self, name: str, out: _Flags) -> _Flags:
        """Leave out some of those that are left; return which ones stay."""
        self.counts[name] = int(out.sum())
        if self.counts[name]:
            self._out.append((name, self.rows[out]))
            self.rows = self.rows[~out]
        return ~out

    def left_out(self) -> pl.DataFrame:
        """Return the turns that were left out, in the order of the reasons."""
        rows = np.concatenate([np.empty(0, dtype=np.int64), *(rows for _, rows in self._out)])
        numbers = np.repeat(np.arange(len(self._out)), [len(rows) for _, rows in self._out])
        reasons = pl.Series("reason", [name for name, _ in self._out], dtype=pl.String)
        return self._turns[rows].with_columns(reasons.gather(numbers))


class _Games:
    """What is told of a turn by the other turns of its game, book and repetitions too."""

    def __init__(self, everything: pl.DataFrame, rows: Longs):
        whole = len(rows) == len(everything)
        self._turns = everything if whole else everything[rows]
        self._rows = None if whole else rows
        self._order = GameOrder.of(self._turns)

    def _places(self, rows: Longs) -> Longs:
        return rows if self._rows is None else np.searchsorted(self._rows, rows)

    def _about(self, rows: Longs) -> pl.DataFrame:
        return self._turns.select("game_id", "ply", "position")[self._places(rows)]

    def score_doubts(self, rows: Longs, options: Options, turns: Longs) -> pl.Series:
        """Return which of the evaluated turns may be errors of the game score."""
        if self._order is None:
            values = options.write(turns).values
            chosen = pl.Series("chosen", options.chosen[turns])
            about = self._about(rows).with_columns(values, chosen.set(chosen < 0, None))
            return score_doubts(self._turns, about)
        only_move = self._turns["only_move"].fill_null(False).to_numpy()
        return score_doubts_in_order(
            self._order, only_move, self._places(rows), options.best[turns], options.worth[turns]
        )

    def premature_draws(self, rows: Longs, options: WrittenOptions) -> pl.Series:
        """Return which of the turns have a premature draw among their options."""
        if self._order is None:
            about = self._about(rows).with_columns(options.moves, options.values)
            return premature_draws(self._turns, about)
        return premature_draws_in_order(
            self._order, self._turns["position"], self._places(rows), options
        )

    def moves_before(self, rows: Longs) -> tuple[pl.Series, pl.Series]:
        """Return the opponent's last move before each turn, and one's own before that."""
        if self._order is None:
            return moves_before(self._about(rows), self._turns)
        places = self._places(rows)
        last, own = (pl.Series(self._order.before(plies)[places]) for plies in (1, 2))
        played = self._turns["played"]
        return played.gather(last.set(last < 0, None)), played.gather(own.set(own < 0, None))


def _weights(best: npt.NDArray[np.float64], limit_pawns: float) -> pl.Series:
    """1 up to the limit, then falling."""
    beyond = np.maximum(np.abs(best) - limit_pawns, 0.0) / FALL_PAWNS
    return pl.Series("weight", 1.0 / (1.0 + beyond**2))


def _illegal(chosen: Longs, positions: pl.Series, rows: Longs, played: pl.Series) -> _Flags:
    """Whether the played move cannot be played; those among the options need no second look."""
    illegal = np.zeros(len(chosen), dtype=np.bool_)
    for turn in np.flatnonzero(chosen < 0).tolist():
        illegal[turn] = not is_legal(positions[int(rows[turn])], played[turn])
    return illegal


def _unlisted(positions: pl.Series, rows: Longs, moves: pl.Series, plan: str) -> pl.Series:
    """How many legal moves are not among the options."""
    if plan.startswith(_PLANS_OF_ALL_MOVES):
        return pl.Series("unlisted", np.zeros(len(moves), dtype=np.int32))
    listed = moves.list.len().cast(pl.Int32)
    legal = count_legal(positions.gather(rows))
    return (legal - listed).clip(lower_bound=0).fill_null(0).alias("unlisted")


def _find_evaluations(
    evaluations: EvaluationStore | Any, setup: str | None, positions: pl.Series, played: pl.Series
) -> tuple[str, str, Evaluated, Longs]:
    """Return the set-up's digest, its plan, evaluations, and the one of each turn (-1 = none)."""
    if isinstance(evaluations, EvaluationStore):
        digest = evaluations.pick_setup(setup)
        plan = str(evaluations.known_setups().get(digest, {}).get("plan", ""))
        return digest, plan, *evaluations.find(digest, positions, played)
    table = EVALUATIONS.conform(as_frame(evaluations)).select(EVALUATIONS.names)
    digest = choose_setup(table["setup"].unique().to_list(), {}, setup)
    found = table.filter(
        pl.col("setup") == digest, pl.col("position").is_in(positions.unique().implode())
    ).unique(KEY, keep="first", maintain_order=True)
    evaluated = Evaluated.of_frame(found)
    keys = found.select("position", "played").with_row_index("evaluation")
    return digest, "", evaluated, match_turns(keys, evaluated.usable(), positions, played)
