"""The options of one position, as a decision about to be made: nothing has been played yet.

The same values, order and columns as `milepost.analysis.spreads.build` gives a turn of a game, with
one thing that a turn of a played game does not need: a move that ends the game as a draw by the
third repetition or the fifty-move rule is worth nothing to either side, and one that lets the other
side end it so is worth nothing more than that. The engine, which sees a position without its
history, cannot know that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import chess
import numpy as np
import numpy.typing as npt
import polars as pl

from milepost.analysis.engine.search_output import Value
from milepost.analysis.plans import Evaluation
from milepost.analysis.run.run import evaluation_row
from milepost.analysis.spreads.bare_king import is_bare, king_room
from milepost.analysis.spreads.known_endings import KnownEnding, known_ending
from milepost.analysis.spreads.option_columns import KINDS_OF_MOVE, describe_moves, turn_columns
from milepost.analysis.spreads.option_values import option_values
from milepost.tables import CONTEXT

_Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PositionOptions:
    """The moves of a position with all that an agent may know of them."""

    moves: tuple[str, ...]
    """In UCI notation, best first; see `milepost.analysis.spreads.option_values`."""
    values: _Floats
    """In pawns, for the mover."""
    depth_values: _Floats
    """One row a move, one column a depth; NaN = not known."""
    columns: Mapping[str, _Floats]
    """What kind of move each is."""
    context: Mapping[str, float]
    """What is known of the turn."""
    scores: tuple[Value, ...]
    """The engine's own value of each move: centipawns or a mate."""
    room: _Floats | None = None
    """Against a bare king, what each move leaves it: `milepost.analysis.spreads.bare_king`."""
    ending: KnownEnding | None = None
    """In an ending that people learn, where each move leads to."""


def position_options(
    board: chess.Board, evaluation: Evaluation, *, draws_count: bool = True
) -> PositionOptions:
    """Return the options of a position that was evaluated.

    Parameters
    ----------
    board
        The position, with the moves that led to it, as far as they are known.
    evaluation
        Of the position; every move that it lists is an option.
    draws_count
        Whether moves that complete a third repetition or fifty moves are worth nothing, and moves
        that let the other side do so no more than that.
    """
    row = pl.DataFrame(
        [evaluation_row(board.fen(), None, "", evaluation)],
        schema_overrides={
            "cp": pl.List(pl.List(pl.Int32)),
            "mate": pl.List(pl.List(pl.Int16)),
            "played": pl.String,
        },
    )
    worth = option_values(row).row(0, named=True)
    moves = tuple(worth["moves"])
    values = np.array(worth["values"], dtype=np.float64)
    by_depth = np.array(worth["depth_values"], dtype=np.float64).T.copy()
    scores = [evaluation.values[evaluation.deepest[move], move] for move in moves]
    ending = known_ending(board, moves)
    if draws_count:
        drawn = drawing_moves(board, moves)
        for place in (*drawn, *letting_draw(board, moves)):
            if place in drawn or values[place] > 0:
                values[place] = 0.0
                by_depth[place] = 0.0
                scores[place] = Value(0, None)
                if ending is not None:
                    ending.away[place] = np.inf
    table = np.zeros((len(moves), len(KINDS_OF_MOVE)), dtype=np.float32)
    stack = board.move_stack
    last = stack[-1].uci() if stack else None
    own = stack[-2].uci() if len(stack) > 1 else None
    describe_moves(board, moves, last, own, table)
    context = {
        column.name.removeprefix(CONTEXT): float(column[0])
        for column in turn_columns(pl.Series([board.fen()]))
    }
    columns = {name: table[:, place].astype(np.float64) for place, name in enumerate(KINDS_OF_MOVE)}
    room = king_room(board, moves) if ending is None and is_bare(board) else None
    return PositionOptions(moves, values, by_depth, columns, context, tuple(scores), room, ending)


def drawing_moves(board: chess.Board, moves: tuple[str, ...]) -> list[int]:
    """Return the places of the moves that end the game as a draw that can be claimed.

    A third repetition needs eight half-moves without a capture or pawn move before it.
    """
    fifty = board.halfmove_clock >= 99
    if not fifty and min(board.halfmove_clock, len(board.move_stack)) < 7:
        return []
    places = []
    for place, text in enumerate(moves):
        board.push_uci(text)
        mated = board.is_checkmate()
        if not mated and (board.is_repetition(3) or board.is_fifty_moves()):
            places.append(place)
        board.pop()
    return places


def letting_draw(board: chess.Board, moves: tuple[str, ...]) -> list[int]:
    """Return the places of the moves after which the other side can repeat for the third time.

    Whoever stands better and does not look for this gives wins away: to a search of a single
    position shuffling is as good as any other move that keeps the lead.
    """
    if min(board.halfmove_clock, len(board.move_stack)) < 6:
        return []
    twice = _stood_twice(board)
    if not twice:
        return []
    places = []
    for place, text in enumerate(moves):
        board.push_uci(text)
        if board.halfmove_clock:  # after a capture or pawn move nothing comes again
            for reply in board.legal_moves:
                board.push(reply)
                again = board.halfmove_clock > 0 and board.epd() in twice
                board.pop()
                if again:
                    places.append(place)
                    break
        board.pop()
    return places


def _stood_twice(board: chess.Board) -> set[str]:
    """Positions since the last capture or pawn move that stood on the board twice or more."""
    past = board.copy()
    counts = Counter([past.epd()])
    while past.move_stack and past.halfmove_clock:
        past.pop()
        counts[past.epd()] += 1
    return {position for position, count in counts.items() if count >= 2}
