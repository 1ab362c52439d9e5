"""What python-chess reads of one game, collected: the main line, without the variations.

It stands alone since python-chess loads its engines with its reader of games, and asyncio with
those; nearly all games are plain, and are read without it.
"""

from __future__ import annotations

import chess
import chess.pgn
from chess.pgn import read_game

from milepost.games.pgn.mainline import Mainline, Record, Watch, add_comment

__all__ = ["MainlineVisitor", "read_game"]


class MainlineVisitor(chess.pgn.BaseVisitor[Mainline]):
    """Collects the main line and leaves the variations out."""

    def __init__(self, watch: Watch | None = None) -> None:
        """Begin; see `milepost.games.pgn.movetext.read_moves`."""
        self.line = Mainline()
        self._watch = watch
        self._record: Record | None = None

    def begin_variation(self) -> chess.pgn.SkipType:
        """Leave it out."""
        return chess.pgn.SKIP

    def begin_parse_san(self, board: chess.Board, san: str) -> chess.pgn.SkipType | None:
        """Read no further behind an error."""
        return chess.pgn.SKIP if self.line.error else None

    def visit_move(self, board: chess.Board, move: chess.Move) -> None:
        """Note a move."""
        line = self.line
        if not move:
            line.error = f"null move at ply {len(line.moves) + 1}"
            return
        if line.result_token:
            line.error = f"a move behind the result {line.result_token}"
            return
        uci = move.uci()
        if self._record is not None:
            self._record(move, uci)
        line.moves.append(uci)
        for values in (line.clocks, line.elapsed, line.eval_cp, line.eval_mate):
            values.append(None)
        line.last_move_number = board.fullmove_number

    def visit_board(self, board: chess.Board) -> None:
        """Note the board, which then follows the moves."""
        if self._record is None and self._watch is not None:
            self._record = self._watch(board)
        self.board = board

    def visit_comment(self, comment: str) -> None:
        """Note what stands beside a move."""
        if self.line.moves and not self.line.error and "[%" in comment:
            add_comment(self.line, comment)

    def visit_result(self, result: str) -> None:
        """Note the first result."""
        if self.line.result_token is None:
            self.line.result_token = result

    def handle_error(self, error: Exception) -> None:
        """Note the first error."""
        if not self.line.error:
            self.line.error = f"ply {len(self.line.moves) + 1}: {error}"

    def result(self) -> Mainline:
        """Return what was read."""
        return self.line
