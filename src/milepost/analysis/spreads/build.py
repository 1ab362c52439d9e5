"""Decisions: turns with the worth of every option, and of them the spreads that the fits read.

Turns and evaluations go in. What is left out and what is marked is counted. The rules are those of
Regan & Haworth 2011: no book, no repeated positions, no turns with one legal move, none where one
side is more than three pawns ahead.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import polars as pl

from milepost.analysis.engine.setup import choose_setup
from milepost.analysis.plans import ALL_MOVES_PLANS
from milepost.analysis.spreads.option_columns import add_option_columns
from milepost.analysis.spreads.option_values import MATE_PAWNS, option_values
from milepost.analysis.spreads.premature_draws import premature_draws
from milepost.analysis.spreads.score_doubts import score_doubts
from milepost.analysis.store.positions import (
    count_legal,
    is_legal,
    stored_positions,
    variant_exclusions,
)
from milepost.analysis.store.store import KEY, EvaluationStore
from milepost.errors import InputError
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
    others = [name for name in everything.columns if name not in TURNS.names]
    sieve = _Sieve(everything)
    everything = everything.with_columns(stored_positions(everything["position"]))
    everything = sieve.leave_out(
        everything, [*variant_exclusions(), ("without a position", pl.col("key").is_null())]
    )
    never = pl.lit(False)
    frame = sieve.leave_out(
        everything,
        [
            ("book", never if keep_book else pl.col("book").fill_null(False)),
            ("repetition", never if keep_repetitions else pl.col("repetition").fill_null(False)),
            ("only move", pl.col("only_move").fill_null(False)),
            ("without a played move", pl.col("played").fill_null("").str.len_bytes() == 0),
        ],
    )
    chosen_setup, plan, found = _read_evaluations(evaluations, setup, frame)
    if depth is not None:
        found = found.with_columns(pl.col("cp", "mate").list.head(depth))
    frame = frame.hstack([_match(frame, found)])
    frame = sieve.leave_out(frame, [(NOT_ANALYSED, pl.col("evaluation").is_null())])

    worth = option_values(found[frame["evaluation"]], mate_pawns=mate_pawns)
    frame = frame.hstack(worth).with_columns(_weight(limit_pawns).alias("weight"))
    frame = frame.with_columns(_place_of_played(frame))
    frame = sieve.leave_out(frame.with_columns(_illegal(frame)), [(_ILLEGAL, pl.col(_ILLEGAL))])
    frame = frame.with_columns(score_doubts(everything, frame))
    doubted = pl.col("score_doubt").fill_null(False)
    beyond = pl.col("values").list.first().abs() > limit_pawns
    frame = sieve.leave_out(frame, [("over the limit", never if downweight else beyond)])
    if not keep_score_doubts:
        frame = sieve.leave_out(frame, [(SCORE_DOUBTS, doubted)])
    frame = frame.with_columns(premature_draws(everything, frame))
    frame = frame.with_columns(_unlisted(frame, plan))
    frame = add_option_columns(frame, everything)
    counts = sieve.counts
    counts["kept"] = len(frame)
    counts["outside the evaluated moves"] = frame["chosen"].null_count()
    counts["with unlisted options"] = len(frame.filter(pl.col("unlisted") > 0))
    counts["premature draws"] = int(frame["premature_draw"].sum())
    counts[SCORE_DOUBTS] = counts.get(SCORE_DOUBTS, 0) + int(frame["score_doubt"].sum())
    counts["shallower values lowered"] = int(frame["lowered"].sum())
    counts["down-weighted"] = len(frame.filter(beyond))
    brought = [name for name in frame.columns if name.startswith((OPTION, CONTEXT))]
    table = DECISIONS.conform(frame).select(*DECISIONS.names, *brought, *others)
    return Decisions(table, sieve.left_out(), counts, chosen_setup, frame["moves"])


def _weight(limit_pawns: float) -> pl.Expr:
    """1 up to the limit, then falling."""
    if math.isinf(limit_pawns):
        return pl.lit(1.0)
    beyond = (pl.col("values").list.first().abs() - limit_pawns).clip(lower_bound=0.0) / FALL_PAWNS
    return 1.0 / (1.0 + beyond**2)


class _Sieve:
    """Leaves turns out for a reason; counts them, and keeps what was left out."""

    def __init__(self, turns: pl.DataFrame):
        self.counts = {"turns in": len(turns)}
        self._out = [turns.clear().with_columns(pl.lit("").alias("reason"))]

    def leave_out(self, frame: pl.DataFrame, tests: list[tuple[str, pl.Expr]]) -> pl.DataFrame:
        """Return the frame without the turns that a test takes in."""
        for name, test in tests:
            # What a test cannot tell of a turn is no reason to keep it.
            inside = frame.select(test.alias("out"))["out"].fill_null(True)
            if inside.len() == 1 and len(frame) != 1:  # a test that is the same for all turns
                inside = inside.new_from_index(0, len(frame))
            self.counts[name] = int(inside.sum())
            if self.counts[name]:
                self._out.append(frame.filter(inside).with_columns(pl.lit(name).alias("reason")))
                frame = frame.filter(~inside)
        return frame

    def left_out(self) -> pl.DataFrame:
        """Return the turns that were left out, in the order of the reasons."""
        columns = self._out[0].columns
        return pl.concat([frame.select(columns) for frame in self._out])


def _illegal(frame: pl.DataFrame) -> pl.Series:
    """Whether the played move cannot be played; those among the options need no second look."""
    rows = frame.select("key", "played", "chosen").iter_rows()
    found = [chosen is None and not is_legal(fen, played) for fen, played, chosen in rows]
    return pl.Series(_ILLEGAL, found, dtype=pl.Boolean)


def _unlisted(frame: pl.DataFrame, plan: str) -> pl.Series:
    """How many legal moves are not among the options."""
    if plan.startswith(_PLANS_OF_ALL_MOVES):
        return pl.Series("unlisted", [0], dtype=pl.Int32).new_from_index(0, len(frame))
    listed = frame["moves"].list.len().cast(pl.Int32)
    return (count_legal(frame["key"]) - listed).clip(lower_bound=0).fill_null(0).alias("unlisted")


def _place_of_played(frame: pl.DataFrame) -> pl.Series:
    """The index of the played move among the options; null = outside."""
    options = (
        frame.select("moves", "played")
        .with_row_index("row")
        .explode("moves")
        .with_columns(pl.int_range(pl.len()).over("row").alias("chosen"))
        .filter(pl.col("moves") == pl.col("played"))
        .unique("row", keep="first")
    )
    rows = frame.select("played").with_row_index("row")
    return rows.join(options.select("row", "chosen"), on="row", how="left", maintain_order="left")[
        "chosen"
    ]


def _match(turns: pl.DataFrame, found: pl.DataFrame) -> pl.Series:
    """The row of each turn's evaluation: the one for its played move, or else for any move."""
    numbered = found.select("position", "played").with_row_index("evaluation")
    for_any = numbered.filter(pl.col("played").is_null()).drop("played")
    for_played = numbered.filter(pl.col("played").is_not_null())
    wanted = turns.select(pl.col("key").alias("position"), "played")
    joined = wanted.join(
        for_played, on=["position", "played"], how="left", maintain_order="left"
    ).join(for_any, on="position", how="left", maintain_order="left", suffix="_for_any")
    return joined.select(pl.coalesce("evaluation", "evaluation_for_any").alias("evaluation"))[
        "evaluation"
    ]


def _read_evaluations(
    evaluations: EvaluationStore | Any, setup: str | None, turns: pl.DataFrame
) -> tuple[str, str, pl.DataFrame]:
    """Return the set-up's digest, its plan, and the evaluations of these turns, each once."""
    if isinstance(evaluations, EvaluationStore):
        digest = evaluations.pick_setup(setup)
        plan = str(evaluations.known_setups().get(digest, {}).get("plan", ""))
        found = evaluations.read(digest, positions=turns["key"])
    else:
        table = EVALUATIONS.conform(as_frame(evaluations)).select(EVALUATIONS.names)
        digest = choose_setup(table["setup"].unique().to_list(), {}, setup)
        plan = ""
        found = table.filter(
            pl.col("setup") == digest, pl.col("position").is_in(turns["key"].unique().implode())
        ).unique(KEY, keep="first", maintain_order=True)
    usable = found.filter(pl.col("moves").list.len() > 0, pl.col("cp").list.len() > 0)
    return digest, plan, usable
