"""Spreads: decisions with the worth of every option, which is all that the fits read.

Turns and evaluations go in. What is left out and what is marked is counted. The rules are those of
Regan & Haworth 2011: no book, no repeated positions, no turns with one legal move, none where one
side is more than three pawns ahead.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import polars as pl

from milepost.analysis.optionvalues import MATE_PAWNS, option_values
from milepost.analysis.premature import premature_draws
from milepost.analysis.store import KEY, EvaluationStore, choose_setup
from milepost.errors import InputError
from milepost.tables import EVALUATIONS, SPREADS, TURNS, as_frame

LIMIT_PAWNS = 3.0
"""Turns whose best move is worth more, for either side, are left out."""
FALL_PAWNS = 1.0
"""Down-weighting: so far beyond the limit a turn counts half."""
_WHOLE_FEN = r"^(\S+ \S+ \S+ \S+ \S+) \S+$"


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


def make_spreads(
    turns: Any,
    evaluations: EvaluationStore | Any,
    *,
    setup: str | None = None,
    limit_pawns: float = LIMIT_PAWNS,
    downweight: bool = False,
    mate_pawns: float = MATE_PAWNS,
    keep_book: bool = False,
    keep_repetitions: bool = False,
) -> Spreads:
    """Return the spreads of a turns table.

    Left out, in this order: book turns, repetitions, turns with one legal move, turns that were not
    analysed, and turns whose best move is worth more than the limit for either side. A flag that
    the table does not give counts as no. A played move outside the evaluated ones stays, with
    `chosen` null. Options and their order: see `milepost.analysis.optionvalues`; premature draws:
    see `milepost.analysis.premature`, which needs all turns of the games, book too, to see earlier
    positions.

    Parameters
    ----------
    turns
        A turns table (polars, pandas, Arrow); see `milepost.tables.TURNS`.
    evaluations
        A store, or a table of evaluations; see `milepost.tables.EVALUATIONS`.
    setup
        The set-up to use: its digest, or enough of its beginning. Not needed if there is only one.
    limit_pawns
        The limit; `math.inf` for none.
    downweight
        Keep the turns beyond the limit, with the weight 1 / (1 + x²), x = pawns beyond the limit:
        it leaves 1 without a kink, is 1/2 one pawn beyond, 1/5 two pawns, 1/10 three.
    mate_pawns
        What a mate is worth; see `milepost.analysis.optionvalues.pawns`.
    keep_book, keep_repetitions
        Keep those turns.

    Returns
    -------
    Spreads
        In the order of the turns.

    Raises
    ------
    InputError
        If there are several set-ups and none is named, or the named one is not there; if the limit
        is negative; if a turn's position is not a whole FEN.
    TableError
        If a table is not what it should be.
    """
    if not limit_pawns >= 0:
        raise InputError(f"the limit must be a number of pawns from 0, got {limit_pawns!r}")
    everything = TURNS.conform(turns).select(TURNS.names)
    counts = {"turns in": len(everything)}
    flags = {
        "book": None if keep_book else "book",
        "repetition": None if keep_repetitions else "repetition",
        "only move": "only_move",
    }
    frame = everything
    for name, column in flags.items():
        before = len(frame)
        if column is not None:
            frame = frame.filter(~pl.col(column).fill_null(False))
        counts[name] = before - len(frame)

    frame = frame.with_columns(_stored_positions(frame))
    chosen_setup, found = _read_evaluations(evaluations, setup, frame)
    frame = frame.hstack([_match(frame, found)])
    counts["not analysed"] = frame["evaluation"].null_count()
    frame = frame.filter(pl.col("evaluation").is_not_null())

    worth = option_values(found[frame["evaluation"]], mate_pawns=mate_pawns)
    frame = frame.hstack(worth).with_columns(_weight(limit_pawns).alias("weight"))
    beyond = pl.col("values").list.first().abs() > limit_pawns
    if downweight:
        counts["over the limit"] = 0
    else:
        before = len(frame)
        frame = frame.filter(~beyond)
        counts["over the limit"] = before - len(frame)
    frame = frame.with_columns(_place_of_played(frame))
    frame = frame.with_columns(premature_draws(everything, frame))
    counts["kept"] = len(frame)
    counts["outside the evaluated moves"] = frame["chosen"].null_count()
    counts["premature draws"] = int(frame["premature_draw"].sum())
    counts["shallower values lowered"] = int(frame["lowered"].sum())
    counts["down-weighted"] = len(frame.filter(beyond))
    return Spreads(SPREADS.conform(frame).select(SPREADS.names), counts, chosen_setup)


def _weight(limit_pawns: float) -> pl.Expr:
    """1 up to the limit, then falling."""
    if math.isinf(limit_pawns):
        return pl.lit(1.0)
    beyond = (pl.col("values").list.first().abs() - limit_pawns).clip(lower_bound=0.0) / FALL_PAWNS
    return 1.0 / (1.0 + beyond**2)


def _stored_positions(turns: pl.DataFrame) -> pl.Series:
    """As `milepost.analysis.store.stored_position`, for a whole column."""
    positions = turns["position"]
    wrong = positions.filter(~positions.str.contains(_WHOLE_FEN).fill_null(False))
    if len(wrong):
        raise InputError(f"not a whole FEN: {wrong[0]!r}")
    return positions.str.replace(_WHOLE_FEN, "${1} 1").alias("key")


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
) -> tuple[str, pl.DataFrame]:
    """Return the set-up's digest and the evaluations of these turns' positions, each once."""
    if isinstance(evaluations, EvaluationStore):
        stored = evaluations.query("SELECT DISTINCT setup FROM evaluations")["setup"].to_list()
        about = evaluations.known_setups()
        files = evaluations.files()
        rows = pl.scan_parquet(files) if files else EVALUATIONS.empty().lazy()
    else:
        table = EVALUATIONS.conform(as_frame(evaluations))
        stored = table["setup"].unique().to_list()
        about = {}
        rows = table.lazy()
    digest = choose_setup(stored, about, setup)
    wanted = turns.lazy().select(pl.col("key").alias("position")).unique()
    found = (
        rows.filter(pl.col("setup") == digest)
        .select(EVALUATIONS.names)
        .join(wanted, on="position", how="semi")
        .filter(pl.col("moves").list.len() > 0, pl.col("cp").list.len() > 0)
        .unique(KEY, keep="first", maintain_order=True)
        .collect()
    )
    return digest, found
