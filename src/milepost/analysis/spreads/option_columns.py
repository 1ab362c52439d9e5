"""What kind of move each option is: the only place where chess tells agents more than a value.

People do not weigh all moves alike: of two moves of equal worth they sooner play the capture, the
recapture or the check, and sooner overlook the quiet retreat. Each column here is one number an
option (or one a turn, for `CONTEXT`); agents know them by name only.
"""

from __future__ import annotations

from collections.abc import Sequence

import chess
import numpy as np
import numpy.typing as npt
import polars as pl

from milepost.analysis.spreads.option_kernel import Texts, describe
from milepost.analysis.spreads.option_values import WrittenOptions
from milepost.analysis.store.positions import stored_positions
from milepost.io.arrow_buffers import (
    Longs,
    as_series,
    list_column,
    number_column,
    starts_of,
    text_arrays,
    unfilled,
)
from milepost.tables import CONTEXT, OPTION

KINDS_OF_MOVE = {
    "capture": "takes something",
    "recapture": "takes the man that moved last",
    "trade": "takes a man worth as much as the one that takes",
    "check": "gives check",
    "promotion": "promotes",
    "castling": "castles",
    "pawn": "moves a pawn",
    "rook": "moves a rook",
    "queen": "moves the queen",
    "king": "moves the king, castling apart",
    "forward": "ranks towards the opponent, in sevenths; not of pawns",
    "retreat": "ranks back, in sevenths",
    "long": "squares a rook, bishop or queen goes, in sevenths",
    "escape": "moves a man that a lesser one attacks, or that nobody defends against an attack",
    "exposed": "goes where a lesser man can take it, or where it is attacked and not defended",
    "near": "ends near the square of the opponent's last move: 1 there, less by distance",
    "again": "moves the man of one's own last move",
    "undo": "takes one's own last move back",
    "centre": "squares nearer to the centre than before, in thirds",
}
"""The columns of the options, and what each says."""
TURN_COLUMNS = {
    "opening": "1 at the ninth move, halved every three moves",
    "control": "1 in moves 33 to 40, before the usual time control",
    "endgame": "1 in the endgame, 0 before",
    "simple": "share of the men that are gone",
}
"""The columns of the turns."""
_WORTH = (0, 1, 3, 3, 5, 9, 100)
_BOOK_MOVES = 8
_Floats = npt.NDArray[np.float32]
_Doubles = npt.NDArray[np.float64]


def add_option_columns(turns: pl.DataFrame, everything: pl.DataFrame) -> pl.DataFrame:
    """Add the columns of options and turns to a table of turns with their moves.

    Parameters
    ----------
    turns
        With `game_id`, `ply`, `position` and `moves` (UCI).
    everything
        All turns of the games, with `played`: the moves before each turn are looked up in them. A
        move that it does not hold counts as unknown: nothing is a recapture then.
    """
    last, own = moves_before(turns, everything)
    columns, of_turns = _describe_lists(turns["position"], turns["moves"], last, own)
    return turns.hstack(columns).hstack(of_turns)


def moves_before(turns: pl.DataFrame, everything: pl.DataFrame) -> tuple[pl.Series, pl.Series]:
    """Return the opponent's last move and one's own before it; null = not known."""
    earlier = everything.select("game_id", "ply", "played").unique(["game_id", "ply"])
    known = turns.select("game_id", "ply")
    for name, back in (("last", 1), ("own", 2)):
        shifted = earlier.select(
            "game_id", (pl.col("ply") + back).alias("ply"), pl.col("played").alias(name)
        )
        known = known.join(shifted, on=["game_id", "ply"], how="left", maintain_order="left")
    return known["last"], known["own"]


def columns_of_options(
    positions: pl.Series, options: WrittenOptions, last: pl.Series, own: pl.Series
) -> list[pl.Series]:
    """Return the columns of `KINDS_OF_MOVE` and `TURN_COLUMNS` for options in their order.

    Parameters
    ----------
    positions
        As FEN.
    options
        The options of each.
    last, own
        The opponent's last move and one's own before it; null = not known.
    """
    if options.views is None:
        of_options, of_turns = _describe_lists(positions, options.moves, last, own)
    else:
        letters, lengths = options.views.ravel(), options.views[:, 0]
        begins = np.arange(4, len(letters), 16)
        texts = (letters, begins, begins + lengths)
        of_options, of_turns = _describe_all(
            positions, options.moves, options.starts, texts, last, own
        )
    return [*of_options, *of_turns]


def option_columns(
    positions: Sequence[str] | pl.Series,
    moves: Sequence[Sequence[str]] | pl.Series,
    last: Sequence[str | None] | pl.Series,
    own: Sequence[str | None] | pl.Series,
) -> list[pl.Series]:
    """Return the columns of `KINDS_OF_MOVE` for some positions, a list an option each.

    Parameters
    ----------
    positions
        As FEN.
    moves
        The options of each, in UCI.
    last, own
        The opponent's last move and one's own before it; None = not known.
    """
    texts = (pl.Series(each, dtype=pl.String) for each in (positions, last, own))
    fens, before, mine = texts
    return _describe_lists(fens, pl.Series(moves, dtype=pl.List(pl.String)), before, mine)[0]


def _describe_lists(
    positions: pl.Series, moves: pl.Series, last: pl.Series, own: pl.Series
) -> tuple[list[pl.Series], list[pl.Series]]:
    """Return the columns of the options, given as lists of texts, and those of the turns."""
    starts = starts_of(moves.list.len().fill_null(0).cast(pl.Int64).to_numpy())
    letters, at = text_arrays(moves.filter(moves.list.len() > 0).explode())
    return _describe_all(positions, moves, starts, (letters, at[:-1], at[1:]), last, own)


def _describe_all(
    positions: pl.Series, moves: pl.Series, starts: Longs, texts: Texts, last: pl.Series,
    own: pl.Series,
) -> tuple[list[pl.Series], list[pl.Series]]:  # fmt: skip
    """Return the columns of the options and those of the turns.

    The moves are given twice: as lists, for what the kernel cannot read, and as the kernel reads
    them (see `milepost.analysis.spreads.option_kernel.describe`).
    """
    table = unfilled((len(KINDS_OF_MOVE), int(starts[-1])), np.float32)
    table[:] = 0
    about = np.zeros((3, len(positions)))
    if describe(positions, texts, starts, last, own, table, about):
        of_turns = _columns_of_turns(*about)
    else:
        fens = pl.select(pl.coalesce(stored_positions(positions), positions)).to_series()
        _describe_plainly(fens, last, own, moves, table.T)
        of_turns = turn_columns(positions)
    columns = [
        as_series(OPTION + name, list_column(starts, number_column(values)))
        for name, values in zip(KINDS_OF_MOVE, table, strict=True)
    ]
    return columns, of_turns


def _describe_plainly(
    positions: pl.Series, last: pl.Series, own: pl.Series, moves: pl.Series, table: _Floats
) -> None:
    """One position after the other: for what the kernel cannot read."""
    table[:] = 0.0
    at = 0
    for fen, options, before, mine in zip(positions, moves, last, own, strict=True):
        describe_moves(chess.Board(fen), options, before, mine, table[at : at + len(options)])
        at += len(options)


def turn_columns(positions: pl.Series) -> list[pl.Series]:
    """Return the columns of `TURN_COLUMNS` for some positions, given as FEN."""
    board = positions.str.split(" ").list.first()
    men = board.str.count_matches("[A-Za-z]").cast(pl.Float64).to_numpy()
    pieces = board.str.count_matches("[NBRQnbrq]").cast(pl.Float64).to_numpy()
    number = positions.str.extract(r" (\d+)$").cast(pl.Float64).fill_null(0.0)
    return _columns_of_turns(men, pieces, number.to_numpy())


def _columns_of_turns(men: _Doubles, pieces: _Doubles, number: _Doubles) -> list[pl.Series]:
    """Return the columns of `TURN_COLUMNS`; a turn without a number counts as the first of all."""
    moves_past = np.maximum(number - _BOOK_MOVES - 1, 0.0)
    values = {
        "opening": 0.5 ** (moves_past / 3.0),
        "control": ((number >= 33) & (number <= 40)).astype(np.float64),
        "endgame": (pieces <= 6).astype(np.float64),
        "simple": (32.0 - men) / 32.0,
    }
    return [pl.Series(CONTEXT + name, values[name]) for name in TURN_COLUMNS]


def describe_moves(
    board: chess.Board, options: Sequence[str], last: str | None, own: str | None, out: _Floats
) -> None:
    """Fill one row an option with what kind of move it is."""
    before = _move(last)
    mine = _move(own)
    us, them = board.turn, not board.turn
    towards = 1 if us else -1
    guarded = _Guards(board, us, them)
    for row, text in zip(out, options, strict=True):
        move = chess.Move.from_uci(text)
        piece = board.piece_type_at(move.from_square)
        if piece is None:
            continue
        worth = _WORTH[piece]
        taken = board.piece_type_at(move.to_square)
        passing = piece == chess.PAWN and board.is_en_passant(move)
        castles = piece == chess.KING and board.is_castling(move)
        takes = (taken is not None or passing) and not castles
        prize = 1 if passing else _WORTH[taken] if takes and taken else 0
        ranks = towards * (chess.square_rank(move.to_square) - chess.square_rank(move.from_square))
        slides = piece in (chess.BISHOP, chess.ROOK, chess.QUEEN)
        row[0] = takes
        row[1] = takes and before is not None and move.to_square == before.to_square
        row[2] = takes and abs(prize - worth) < 1
        row[3] = board.gives_check(move)
        row[4] = move.promotion is not None
        row[5] = castles
        row[6] = piece == chess.PAWN
        row[7] = piece == chess.ROOK
        row[8] = piece == chess.QUEEN
        row[9] = piece == chess.KING and not castles
        row[10] = max(ranks, 0) / 7 if piece != chess.PAWN and not castles else 0.0
        row[11] = max(-ranks, 0) / 7
        row[12] = chess.square_distance(move.from_square, move.to_square) / 7 if slides else 0.0
        row[13] = guarded.in_danger(move.from_square, worth)
        row[14] = prize < worth and guarded.in_danger(move.to_square, worth, move.from_square)
        if before is not None:
            row[15] = 0.5 ** chess.square_distance(move.to_square, before.to_square)
        if mine is not None:
            row[16] = move.from_square == mine.to_square
            row[17] = row[16] and move.to_square == mine.from_square
        row[18] = (_from_centre(move.from_square) - _from_centre(move.to_square)) / 3


class _Guards:
    """Whether a man would stand in danger on a square, each square looked up once."""

    def __init__(self, board: chess.Board, us: chess.Color, them: chess.Color):
        self._board, self._us, self._them = board, us, them
        self._least: dict[int, int] = {}

    def in_danger(self, square: int, worth: int, leaving: int | None = None) -> bool:
        """Return whether a lesser man attacks it, or any man and none of ours defends."""
        if worth > 9:
            return False
        least = self._least.get(square)
        if least is None:
            attackers = self._board.attackers(self._them, square)
            least = min(
                (_WORTH[self._board.piece_type_at(each) or 0] for each in attackers), default=0
            )
            self._least[square] = least
        if not least:
            return False
        if least < worth:
            return True
        defenders = self._board.attackers_mask(self._us, square)
        if leaving is not None:
            defenders &= ~chess.BB_SQUARES[leaving]
        return not defenders


def _from_centre(square: int) -> int:
    file, rank = chess.square_file(square), chess.square_rank(square)
    return max(3 - file, file - 4, 3 - rank, rank - 4)


def _move(text: str | None) -> chess.Move | None:
    try:
        return chess.Move.from_uci(text) if text else None
    except ValueError:
        return None
