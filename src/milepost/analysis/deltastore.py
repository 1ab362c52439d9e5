"""The turns of a delta log as evaluations: positions found, moves named, both looked at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import chess
import polars as pl

from milepost.analysis.deltalog import UCI_MOVE, check_moves
from milepost.analysis.deltaturns import DeltaTurn, cents_value, value_cents
from milepost.analysis.importrows import Refused
from milepost.analysis.positions import UNNAMED_MOVE, position_problem, stored_position
from milepost.errors import InputError
from milepost.tables import EVALUATIONS, TURNS


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
        What `milepost.analysis.deltalog.read_delta_log` returned.
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
        raise InputError("the turn has no position: say in which games it was played (--turns)")
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
    top = value_cents(entry.value)
    values = [cents_value(top - delta) for _, delta in listed]
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
