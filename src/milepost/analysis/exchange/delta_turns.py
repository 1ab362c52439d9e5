"""The turns of a delta log, from evaluations and back; its text: `exchange.delta_text`.

A turn of a delta log holds the worth of the best move and how much less the others are worth. Each
move has one value, that of its greatest depth, lowered as in the spreads where a shallower one
would stand above a deeper one. On the way back positions are found, moves named, both looked at.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import chess
import polars as pl

from milepost.analysis.engine.search_output import Value
from milepost.analysis.exchange.rows import Refused
from milepost.analysis.spreads.option_values import option_values
from milepost.analysis.store.positions import UNNAMED_MOVE, position_problem, stored_position
from milepost.errors import InputError
from milepost.tables import EVALUATIONS, TURNS

UCI_MOVE = re.compile(r"[a-h][1-8][a-h][1-8][qrbn]?|0000")
WIDTH = 10
"""Moves listed for each turn."""


@dataclass(frozen=True)
class DeltaTurn:
    """One turn of a delta log."""

    engine_move: str
    """The engine's move."""
    value: Value
    """What it is worth for the mover."""
    deltas_cp: tuple[int, ...]
    """How many centipawns less each listed move is worth; the first is 0."""
    played: str | None = None
    """The played move; `None` = nobody played."""
    chosen: int | None = None
    """Its place among those listed; `None` = outside, or nobody played."""
    outside_cp: int | None = None
    """The delta of a played move outside; `None` = not known, or not outside."""
    moves: tuple[str, ...] = ()
    """The names of those listed; empty = not given."""
    position: str | None = None
    """The position as FEN; `None` = not given."""
    depth: int | None = None
    """The greatest depth; `None` = not given."""
    line: int | None = None
    """The line of the file on which the turn ends."""
    number: int | None = field(default=None, compare=False)
    """Its place among the turns of the file, from 0, those that were refused counted."""


def delta_turns(
    evaluations: Any, *, width: int | None = WIDTH, turns: Any = None
) -> list[DeltaTurn]:
    """Return evaluations as the turns of a delta log.

    Parameters
    ----------
    evaluations
        A table of evaluations, of one set-up; see `milepost.tables.EVALUATIONS`.
    width
        How many moves are listed for each; `None` = all of them.
    turns
        A turns table: return these turns, as far as they were analysed, with the moves played in
        them. Without it each evaluation is returned, with the played move if it has one.

    Raises
    ------
    InputError
        If the width is not at least 1.
    """
    if width is not None and width < 1:
        raise InputError(f"the width must be at least 1, got {width}")
    frame = EVALUATIONS.conform(evaluations).filter(
        pl.col("moves").list.len() > 0, pl.col("cp").list.len() > 0
    )
    worth = option_values(frame)
    found: dict[tuple[str, str | None], tuple[list[str], list[int], int]] = {}
    for position, played, depth, moves, values in zip(
        frame["position"],
        frame["played"],
        frame["cp"].list.len(),
        worth["moves"],
        worth["values"],
        strict=True,
    ):
        cents = [round(value * 100) for value in values]
        found.setdefault((position, played), (list(moves), cents, depth))
    if turns is None:
        asked = [(position, position, played) for position, played in found]
    else:
        asked = [
            (fen, stored_position(fen), played)
            for fen, played in TURNS.conform(turns).select("position", "played").iter_rows()
        ]
    entries = []
    for fen, position, played in asked:
        evaluation = found.get((position, played)) or found.get((position, None))
        if evaluation is not None:
            entries.append(_entry(fen, played, *evaluation, width))
    return entries


def _entry(
    fen: str, played: str | None, moves: list[str], cents: list[int], depth: int, width: int | None
) -> DeltaTurn:
    listed = len(moves) if width is None else min(width, len(moves))
    deltas = [cents[0] - value for value in cents]
    place = moves.index(played) if played in moves else None
    inside = place is not None and place < listed
    return DeltaTurn(
        engine_move=moves[0],
        value=Value.of_cents(cents[0]),
        deltas_cp=tuple(deltas[:listed]),
        played=played,
        chosen=place if inside else None,
        outside_cp=None if inside or place is None else deltas[place],
        moves=tuple(moves[:listed]),
        position=fen,
        depth=depth,
    )


def delta_evaluations(
    entries: Sequence[DeltaTurn], setup: str, refused: list[Refused], *, turns: Any = None
) -> pl.DataFrame:
    """Return the turns of a delta log as evaluations.

    Moves without a name cannot be stored: of a turn without a ``Moves`` line only the engine's and
    the played one are. Values stand at the turn's depth, or at depth 1 if it is not given; at other
    depths there are none.

    Parameters
    ----------
    entries
        What `milepost.analysis.exchange.delta_text.read_delta_log` returned.
    setup
        The digest of the set-up.
    refused
        What is refused is added to it. Those in it already, which the log's reader has refused,
        count as turns of the log.
    turns
        A turns table with the positions, in the order of the log: one row for each turn of the log,
        or more if they are as many without the book, or without all turns that are not analysed
        (book, repetitions, only moves).

    Raises
    ------
    InputError
        If `turns` are not as many as those of the log.
    """
    places = None if turns is None else _places(TURNS.conform(turns), len(entries) + len(refused))
    rows = []
    for entry in entries:
        try:
            if places is not None and entry.number is not None:
                entry = _placed(entry, *places[entry.number])  # noqa: PLW2901 - the same turn
            rows.append(_row(_resolved(entry), setup))
        except InputError as error:
            refused.append(Refused(entry.line or 0, str(error)))
    return pl.DataFrame(rows, schema=EVALUATIONS.dtypes)


def _places(turns: pl.DataFrame, wanted: int) -> list[tuple[str | None, str | None]]:
    """Return position and played move of those turns that the log is about."""
    flags = [pl.col(name).fill_null(False) for name in ("book", "repetition", "only_move")]
    choices = [turns, turns.filter(~flags[0]), turns.filter(~pl.any_horizontal(flags))]
    for choice in choices:
        if len(choice) == wanted:
            return choice.select("position", "played").rows()
    raise InputError(
        f"the log has {wanted:,} turns, the games {len(choices[0]):,}, {len(choices[1]):,} without "
        f"the book, {len(choices[2]):,} without repetitions and only moves too: none as many"
    )


def _placed(entry: DeltaTurn, position: str | None, played: str | None) -> DeltaTurn:
    """Give a turn its position; what the log says of it must be true there."""
    if position is None:
        raise InputError("the turn of the table has no position")
    if entry.position is not None and stored_position(entry.position) != stored_position(position):
        raise InputError("the turn of the table has another position")
    placed = _resolved(replace(entry, position=position))
    if placed.played not in (None, played):
        raise InputError(f"{placed.played} was played in the log, {played} in the table")
    return placed


def _resolved(entry: DeltaTurn) -> DeltaTurn:
    """Name all moves in UCI notation; they must be legal."""
    if entry.position is None:
        raise InputError("the turn has no position: say in which games it was played")
    problem = position_problem(entry.position)
    if problem is not None:
        raise InputError(problem)
    board = chess.Board(entry.position)
    resolved = replace(
        entry,
        engine_move=_uci(board, entry.engine_move),
        played=None if entry.played is None else _uci(board, entry.played),
        moves=tuple(_uci(board, move) for move in entry.moves),
    )
    check_moves(resolved)
    return resolved


def _uci(board: chess.Board, text: str) -> str:
    if text == UNNAMED_MOVE:
        return text
    try:
        if not UCI_MOVE.fullmatch(text):
            return board.parse_san(text.replace("0-0", "O-O").replace("O-0", "O-O")).uci()
        move = chess.Move.from_uci(text)
    except ValueError:
        move = chess.Move.null()
    if not board.is_legal(move):
        raise InputError(f"{text} is not a legal move there")
    return move.uci()


def _row(entry: DeltaTurn, setup: str) -> dict[str, Any]:
    assert entry.position is not None
    names = dict(enumerate(entry.moves)) or {0: entry.engine_move}
    if entry.played is not None and entry.chosen is not None:
        names[entry.chosen] = entry.played
    listed = [(name, entry.deltas_cp[place]) for place, name in sorted(names.items())]
    if entry.played is not None and entry.outside_cp is not None:
        listed.append((entry.played, entry.outside_cp))
    top = entry.value.cents
    values = [Value.of_cents(top - delta) for _, delta in listed]
    empty: list[list[int | None]] = [[None] * len(listed)] * ((entry.depth or 1) - 1)
    return {
        "position": stored_position(entry.position),
        "played": entry.played,
        "setup": setup,
        "moves": [name for name, _ in listed],
        "cp": [*empty, [value.cp for value in values]],
        "mate": [*empty, [value.mate for value in values]],
        "nodes": None,
    }


def check_moves(entry: DeltaTurn) -> None:
    """Raise `InputError` unless names, places and stars tell the same story."""
    if (entry.played == entry.engine_move) != (entry.chosen == 0):
        raise InputError("the first * and the engine's move must be the played move, or neither")
    moves = entry.moves
    if not moves:
        return
    if len(moves) != len(entry.deltas_cp) or len(set(moves)) < len(moves):
        raise InputError(f"{len(entry.deltas_cp)} deltas want as many different moves")
    if moves[0] != entry.engine_move:
        raise InputError("the engine's move must be listed first")
    if entry.chosen != (moves.index(entry.played) if entry.played in moves else None):
        raise InputError("the * must stand at the played move")
