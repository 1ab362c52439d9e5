"""The moves of one PGN game, replayed by python-chess, with clocks and evaluations.

python-chess skips what it cannot read and goes on. Here the first move that is not legal ends the
game, and text that is no move is reported: a game is either read to its end or said not to be.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from dataclasses import dataclass, field

import chess
import chess.pgn

from milepost.games.boundaries import comment_is_open
from milepost.games.tags import decode

# So many digits at most: longer numbers are damage, and would not fit the columns.
_CLOCK = re.compile(r"\[%(clk|emt)\s+(\d{1,6}):(\d{1,6}):(\d{1,6}(?:\.\d*)?)\s*\]")
_EVAL = re.compile(r"\[%eval\s+(?:#([+-]?\d{1,9})|([+-]?(?:\d+(?:\.\d*)?|\.\d+)))(?:,\s*\d+)?\s*\]")
_BLANK_LINES = re.compile(r"\n\s*(?=\n)")
_COMMENT = re.compile(r"\{[^}]*\}?|;[^\n]*|^%[^\n]*", re.MULTILINE)
_VARIATION = re.compile(r"\([^()]*\)")
_KNOWN_TOKENS = re.compile(
    r"(?:[PNBRQK]?[a-h]?[1-8]?[-x:]?[a-h][1-8](?:=?\(?[nbrqkNBRQK]\)?)?|O-O(?:-O)?|0-0(?:-0)?|--|Z0"
    r"|0000|@@@@|[PNBRQK]?@[a-h][1-8])[+#]*(?:\s*e\.?p\.?)?"
    r"|1-0|0-1|1/2-1/2|\*|\$\d+|\d+\.*"
)
# The letter, not the word around it: a search for that takes hours in a million dashes.
_LETTER = re.compile(r"[^\W_]")
_RESULT_TOKEN = re.compile(r"(1-0|0-1|1/2-1/2|\*)\s*$")


Record = Callable[[chess.Move, str], None]
Watch = Callable[[chess.Board], Record]


@dataclass
class Mainline:
    """The moves that were played, and what stood beside them."""

    moves: list[str] = field(default_factory=list)
    """In UCI notation."""
    clocks: list[float | None] = field(default_factory=list)
    """Seconds left after each move."""
    elapsed: list[float | None] = field(default_factory=list)
    """Seconds spent on each move."""
    eval_cp: list[int | None] = field(default_factory=list)
    """Centipawns for White after each move."""
    eval_mate: list[int | None] = field(default_factory=list)
    """Mate in n for White after each move, negative if Black mates."""
    result_token: str | None = None
    """The result behind the moves."""
    last_move_number: int = 0
    """The number of the last move, as players count."""
    mated: str | None = None
    """The result that the board shows, if the last move mates."""
    error: str | None = None
    """Why reading stopped; the moves before are kept."""
    doubts: list[str] = field(default_factory=list)
    """What is odd about a game that was read to its end."""


class _MainlineVisitor(chess.pgn.BaseVisitor[Mainline]):
    """Collects the main line and leaves the variations out."""

    def __init__(self, watch: Watch | None = None) -> None:
        self.line = Mainline()
        self._watch = watch
        self._record: Record | None = None

    def begin_variation(self) -> chess.pgn.SkipType:
        return chess.pgn.SKIP

    def begin_parse_san(self, board: chess.Board, san: str) -> chess.pgn.SkipType | None:
        return chess.pgn.SKIP if self.line.error else None

    def visit_move(self, board: chess.Board, move: chess.Move) -> None:
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
        if self._record is None and self._watch is not None:
            self._record = self._watch(board)
        self.board = board

    def visit_comment(self, comment: str) -> None:
        line = self.line
        if not line.moves or line.error or "[%" not in comment:
            return
        for kind, hours, minutes, seconds in _CLOCK.findall(comment):
            value = int(hours) * 3600 + int(minutes) * 60 + float(seconds)
            (line.clocks if kind == "clk" else line.elapsed)[-1] = value
        if found := _EVAL.search(comment):
            if found.group(1) is not None:
                line.eval_mate[-1] = int(found.group(1))
            elif abs(pawns := float(found.group(2))) < 10_000:
                line.eval_cp[-1] = round(pawns * 100)

    def visit_result(self, result: str) -> None:
        if self.line.result_token is None:
            self.line.result_token = result

    def handle_error(self, error: Exception) -> None:
        if not self.line.error:
            self.line.error = f"ply {len(self.line.moves) + 1}: {error}"

    def result(self) -> Mainline:
        return self.line


def read_moves(
    movetext: bytes,
    *,
    fen: str | None = None,
    chess960: bool = False,
    watch: Watch | None = None,
) -> Mainline:
    """Replay the main line of one game.

    Parameters
    ----------
    movetext
        All that stands behind the tags of the game.
    fen
        The position that the game begins from, if not the usual one.
    chess960
        Whether castling is that of Chess960.
    watch
        Called with the board in its first position; what it returns is called before each move.

    Returns
    -------
    Mainline
        With `error` set if the game could not be read to its end.
    """
    # python-chess would end the game at a blank line; the scan has found the game's real end.
    text = _BLANK_LINES.sub("", decode(movetext).replace("\r\n", "\n")).strip()
    header = ""
    if fen:
        header = f'[FEN "{fen}"]\n'
    if chess960:
        header += '[Variant "Chess960"]\n'
    visitor = _MainlineVisitor(watch)
    if fen and (reason := _bad_position(fen, chess960=chess960)):
        visitor.line.error = reason
        return visitor.line
    handle = io.StringIO(f"{header}\n{text}\n")
    try:
        chess.pgn.read_game(handle, Visitor=lambda: visitor)
    except ValueError as error:
        # A number with thousands of digits is no NAG, and no number to Python.
        visitor.handle_error(error)
    line = visitor.line
    if line.error is None:
        _look_for_oddities(line, text, visitor.board if line.moves else None)
    if comment_is_open(movetext):
        line.error = line.error or "a comment is not closed: the text behind it is lost"
    return line


def _bad_position(fen: str, *, chess960: bool) -> str | None:
    try:
        board = chess.Board(fen, chess960=chess960)
    except ValueError as error:
        return f"the FEN tag is not a position: {error}"
    if not board.is_valid():
        return f"the FEN tag is not a legal position: {fen}"
    return None


def _look_for_oddities(line: Mainline, text: str, board: chess.Board | None) -> None:
    main = _COMMENT.sub(" ", text) if "{" in text or ";" in text or "%" in text else text
    while "(" in main:
        main, found = _VARIATION.subn(" ", main)
        if not found:
            break
    rest = _KNOWN_TOKENS.sub(" ", main)
    if letter := _LETTER.search(rest):
        begin = max(rest.rfind(blank, 0, letter.start()) for blank in " \n\t") + 1
        line.doubts.append(f"text that is no move: {rest[begin:].split()[0][:20]!r}")
    if board is not None and board.is_checkmate():
        line.mated = "0-1" if board.turn else "1-0"
    if line.result_token is None:
        where = "behind the moves" if line.moves else "and no moves behind the tags"
        line.doubts.append(f"no result {where}: cut short?")


def result_token(movetext: bytes) -> str | None:
    """Return the result that stands at the end of the movetext, found without replaying it."""
    found = _RESULT_TOKEN.search(decode(movetext[-40:]))
    return found.group(1) if found else None
