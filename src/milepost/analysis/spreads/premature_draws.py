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
import polars as pl

_EMPTY = str.maketrans({str(count): "." * count for count in range(1, 9)})
_SHORTEST = 3
"""Half-moves without capture or pawn move that must lie before a move can restore a position."""


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
        zeros = [move for move, value in zip(moves, values, strict=True) if value == 0.0]
        wanted[game, ply].append((row, fen, zeros))
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
            back = _back_among(position, zeros, men)
            if back and any(stood[each] == 1 for each in _reached(position, back, stood)):
                found.add(row)
        stood[_placement(fen)] += 1
        men.add(_men(fen))
    return pl.Series("premature_draw", [row in found for row in range(len(options))], pl.Boolean)


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
