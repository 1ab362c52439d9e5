"""Premature draws: an option worth 0.00 for a repetition that the rules do not yet call a draw.

Engines value a line that repeats a position at 0.00 on its second occurrence; the rules of chess
give a draw on the third. A player who may still play on there decides about something else than
what the value says, so such turns are marked, and whoever fits may leave them out.

Our engines see a position without its history, so they cannot know that it stood before in the
game. An exact 0.00 of a move back into an earlier position is then either a real balance or comes
from repetitions inside the search. The two cannot be told apart from the value. The reading here:
a turn is marked if one of its options, played or not,

- leads to a position that stood exactly once before in the game, so that the move makes the second
  occurrence (after a third one the draw may be claimed, and 0.00 is right), and
- is worth exactly 0.00 at its greatest depth.

Positions are equal if men, side to move, castling rights and possible en-passant captures are.
"""

from __future__ import annotations

from collections import Counter, defaultdict

import chess
import numpy as np
import numpy.typing as npt
import polars as pl

from milepost.analysis.spreads.game_order import GameOrder
from milepost.analysis.spreads.option_kernel import read_board
from milepost.analysis.spreads.option_values import WrittenOptions
from milepost.io.arrow_buffers import Bytes, Longs, text_arrays
from milepost.kernels import kernel

_EMPTY = str.maketrans({str(count): "." * count for count in range(1, 9)})
_SHORTEST = 3
"""Half-moves without capture or pawn move that must lie before a move can restore a position."""


def _numbers() -> npt.NDArray[np.uint64]:
    """Return a number for each man on each square, far apart (SplitMix64, Steele et al. 2014).

    The row between White's men and Black's is for the side to move.
    """
    mixed = (np.arange(13 * 64, dtype=np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (mixed ^ (mixed >> np.uint64(31))).reshape(13, 64)


_SUMS = _numbers()


def premature_draws(turns: pl.DataFrame, options: pl.DataFrame) -> pl.Series:
    """Return for each row of `options` whether the turn has a premature draw among its options.

    Parameters
    ----------
    turns
        All turns of the games, as far as known: the earlier positions are looked up in them.
        Positions that the table leaves out cannot be seen.
    options
        One row a turn to look at: `game_id`, `ply`, `position`, `moves`, `values`.

    Returns
    -------
    polars.Series
        Booleans, in the order of `options`.
    """
    clock = pl.col("position").str.extract(r" (\d+) \d+$").cast(pl.Int32)
    candidates = options.with_row_index("row").filter(
        clock >= _SHORTEST, pl.col("values").list.contains(0.0)
    )
    wanted: dict[tuple[str, int], list[tuple[int, str, list[str]]]] = defaultdict(list)
    columns = ("row", "game_id", "ply", "position", "moves", "values")
    for row, game, ply, fen, moves, values in candidates.select(columns).iter_rows():
        wanted[game, ply].append((row, fen, _zeros(moves, values)))
    found: set[int] = set()
    history = (
        turns.select("game_id", "ply", "position")
        .join(candidates.select("game_id").unique(), on="game_id", how="semi")
        .unique(["game_id", "ply"])
        .sort("game_id", "ply")
    )
    current: str | None = None
    stood: Counter[str] = Counter()
    men: set[str] = set()
    for game, ply, fen in history.iter_rows():
        if game != current:
            current = game
            stood = Counter()
            men = set()
        for row, position, zeros in wanted.get((game, ply), ()):
            if _leads_back(position, zeros, men, stood):
                found.add(row)
        stood[_placement(fen)] += 1
        men.add(_men(fen))
    return pl.Series("premature_draw", [row in found for row in range(len(options))], pl.Boolean)


def premature_draws_in_order(
    order: GameOrder, positions: pl.Series, rows: Longs, options: WrittenOptions
) -> pl.Series:
    """As `premature_draws`, for turns that stand in the order of play.

    Machine code looks which turns have a move worth nothing after which the men stand as before;
    these few are then looked at by the rules.

    Parameters
    ----------
    order
        Of all turns of the games.
    positions
        Their positions.
    rows
        Which of them to look at.
    options
        The options of those.
    """
    draws = np.zeros(len(rows), dtype=np.bool_)
    near = np.arange(len(rows))
    if options.views is not None:
        returns = np.zeros(len(rows), dtype=np.bool_)
        _find_returns(
            *text_arrays(positions), order.first, rows, options.starts, options.views,
            options.flat_values, returns,
        )  # fmt: skip
        near = np.flatnonzero(returns)
    for turn in near.tolist():
        row = int(rows[turn])
        fen = positions[row]
        clock = fen.split(" ")[4:5]
        moves, values = options.moves[turn], options.values[turn]
        zeros = _zeros(moves.to_list(), values.to_list())
        if not (zeros and clock and clock[0].isdecimal() and int(clock[0]) >= _SHORTEST):
            continue
        earlier = positions[int(order.first[row]) : row].to_list()
        stood = Counter(map(_placement, earlier))
        draws[turn] = _leads_back(fen, zeros, set(map(_men, earlier)), stood)
    return pl.Series("premature_draw", draws)


def _zeros(moves: list[str], values: list[float]) -> list[str]:
    return [move for move, value in zip(moves, values, strict=True) if value == 0.0]


def _leads_back(fen: str, moves: list[str], men: set[str], stood: Counter[str]) -> bool:
    """Whether one of the moves leads to a position that stood once before."""
    back = _back_among(fen, moves, men)
    return bool(back) and any(stood[each] == 1 for each in _reached(fen, back, stood))


@kernel
def _find_returns(
    fens: Bytes, fens_at: Longs, first: Longs, rows: Longs, starts: Longs, views: Bytes,
    values: npt.NDArray[np.float64], returns: npt.NDArray[np.bool_],
) -> None:  # fmt: skip
    """Mark the turns where a move worth nothing may set the men up as they stood before.

    Positions are known by a sum over their men; two may have the same by chance, which costs a
    second look. What cannot be read is marked.
    """
    sums = np.zeros(len(fens_at) - 1, dtype=np.uint64)
    board, turn = np.zeros(64, dtype=np.int8), 0
    for row in range(len(fens_at) - 1):
        side, _, good = read_board(fens, fens_at[row], fens_at[row + 1], board)
        total = _SUMS[6, 0] if side > 0 else _SUMS[6, 1]
        for square in range(64):
            if board[square] != 0:
                total ^= _SUMS[board[square] + 6, square]
        sums[row] = total
        # rows rise, as the turns do
        if turn == len(rows) or rows[turn] != row:
            continue
        if not good:
            returns[turn] = True
        for option in range(starts[turn], starts[turn + 1]):
            if not good or returns[turn] or values[option] != 0.0 or views[option, 0] != 4:
                continue
            start = int(views[option, 4]) - 97 + 8 * (int(views[option, 5]) - 49)
            to = int(views[option, 6]) - 97 + 8 * (int(views[option, 7]) - 49)
            if not (0 <= start < 64 and 0 <= to < 64) or board[start] == 0 or board[to] != 0:
                continue
            man = board[start] + 6
            after = total ^ _SUMS[man, start] ^ _SUMS[man, to] ^ _SUMS[6, 0] ^ _SUMS[6, 1]
            for earlier in range(first[row], row):
                if sums[earlier] == after:
                    returns[turn] = True
                    break
        turn += 1


def _men(fen: str) -> str:
    """Return where the men stand: 64 letters from a8 to h1, dots for empty squares."""
    return fen.split(" ", 1)[0].replace("/", "").translate(_EMPTY)


def _back_among(fen: str, moves: list[str], before: set[str]) -> list[str]:
    """Return the moves after which the men stand as they have stood before; no rules are asked."""
    if len(before) < _SHORTEST:
        return []
    here = _men(fen)
    back = []
    for move in moves:
        start, to = (8 * (56 - ord(move[at + 1])) + ord(move[at]) - 97 for at in (0, 2))
        if len(move) == 4 and max(start, to) < len(here) and here[to] == ".":
            after = list(here)
            after[to], after[start] = after[start], "."
            if "".join(after) in before:
                back.append(move)
    return back


def _reached(fen: str, moves: list[str], stood: Counter[str]) -> list[str]:
    """Return the earlier positions that the moves lead to."""
    board = chess.Board(fen)
    reached = []
    for text in moves:
        move = chess.Move.from_uci(text)
        if not move or not board.is_pseudo_legal(move) or board.is_zeroing(move):
            continue
        board.push(move)
        if (placement := board.epd()) in stood:
            reached.append(placement)
        board.pop()
    return reached


def _placement(fen: str) -> str:
    """Return what a repetition compares: all but the counters."""
    placement = fen.rsplit(" ", 2)[0]
    if placement.endswith(" -"):
        return placement
    try:
        return chess.Board(fen).epd()  # others name the square though nobody can capture there
    except (ValueError, IndexError):
        return placement  # no position: nothing leads back to it
