"""The moves of one PGN game: replayed with clocks and evaluations, or only counted from its bytes.

python-chess skips what it cannot read and goes on. Here the first move that is not legal ends the
game, and text that is no move is reported: a game is either read to its end or said not to be.
"""

from __future__ import annotations

import io
import re
from bisect import bisect_right

import chess
import numpy as np
from numpy.typing import NDArray

from milepost.games.pgn.blocks import Block
from milepost.games.pgn.boundaries import Positions, comment_is_open, scan_kernel
from milepost.games.pgn.coded import decode
from milepost.games.pgn.mainline import Mainline, Watch

_BLANK_LINES = re.compile(r"\n\s*(?=\n)")
_COMMENT = re.compile(r"\{[^}]*\}?|;[^\n]*|^%[^\n]*", re.MULTILINE)
_PARENTHESIS = re.compile(r"[()]")
_KNOWN_TOKENS = re.compile(
    r"(?:[PNBRQK]?[a-h]?[1-8]?[-x:]?[a-h][1-8](?:=?\(?[nbrqkNBRQK]\)?)?|O-O(?:-O)?|0-0(?:-0)?|--|Z0"
    r"|0000|@@@@|[PNBRQK]?@[a-h][1-8])[+#]*(?:\s*e\.?p\.?)?"
    r"|1-0|0-1|1/2-1/2|\*|\$\d+|\d+\.*"
)
# The letter, not the word around it: a search for that takes hours in a million dashes.
_LETTER = re.compile(r"[^\W_]")
_RESULT_TOKEN = re.compile(r"(1-0|0-1|1/2-1/2|\*)\s*$")


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
    from milepost.games.pgn.visitor import MainlineVisitor, read_game

    # python-chess would end the game at a blank line; the scan has found the game's real end.
    text = _BLANK_LINES.sub("", decode(movetext).replace("\r\n", "\n")).strip()
    header = ""
    if fen:
        header = f'[FEN "{fen}"]\n'
    if chess960:
        header += '[Variant "Chess960"]\n'
    visitor = MainlineVisitor(watch)
    if fen and (reason := _bad_position(fen, chess960=chess960)):
        visitor.line.error = reason
        return visitor.line
    handle = io.StringIO(f"{header}\n{text}\n")
    try:
        read_game(handle, Visitor=lambda: visitor)
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
    main = _without_variations(main) if "(" in main else main
    rest = _KNOWN_TOKENS.sub(" ", main)
    if letter := _LETTER.search(rest):
        begin = max(rest.rfind(blank, 0, letter.start()) for blank in " \n\t") + 1
        line.doubts.append(f"text that is no move: {rest[begin:].split()[0][:20]!r}")
    if board is not None and board.is_checkmate():
        line.mated = "0-1" if board.turn else "1-0"
    if line.result_token is None:
        where = "behind the moves" if line.moves else "and no moves behind the tags"
        line.doubts.append(f"no result {where}: cut short?")


def _without_variations(text: str) -> str:
    """Leave out everything in parentheses that are closed again, however deep they are nested."""
    opened: list[int] = []
    spans: list[tuple[int, int]] = []
    for mark in _PARENTHESIS.finditer(text):
        if mark.group() == "(":
            opened.append(mark.start())
        elif opened:
            begin = opened.pop()
            while spans and spans[-1][0] > begin:
                spans.pop()  # it lies inside this one
            spans.append((begin, mark.end()))
    parts, place = [], 0
    for begin, end in spans:
        parts.append(text[place:begin])
        place = end
    return " ".join([*parts, text[place:]])


def result_token(movetext: bytes) -> str | None:
    """Return the result that stands at the end of the movetext, found without replaying it."""
    found = _RESULT_TOKEN.search(decode(movetext[-40:]))
    return found.group(1) if found else None


_COMMENT_BYTES = re.compile(rb"\{[^}]*\}?|;[^\n]*|^%[^\n]*", re.MULTILINE)
_NUMBER = re.compile(rb"(?<![\w/.-])(\d{1,3})\.+")
_TAIL = 32
"""The last move number stands among the last letters, unless comments follow it."""
_ANY_MOVE = re.compile(rb"[a-h][1-8]|O-O|0-0")


def last_move_numbers(block: Block) -> Positions:
    """Return the number of the last move of each game of a block; 0 where no move is given.

    It is the last number followed by a dot in the main line. A game whose moves carry no numbers
    counts its moves.
    """
    data = np.frombuffer(block.text, dtype=np.uint8)
    ends = block.ends
    text = block.text
    compiled = scan_kernel()
    if compiled is not None and block.tag_starts is not None:
        found: Positions = np.empty(len(block), dtype=np.int64)
        compiled.find_last_numbers(data, block.movetexts, ends, found)
        for game in np.flatnonzero(found < 0).tolist():
            found[game] = _last_number(text[int(block.movetexts[game]) : int(ends[game])])
        return found
    numbers = _numbers_in_tails(data, block.movetexts, ends)
    # Comments and variations hold numbers of their own.
    careful = _hold(block, b"(") | _hold(block, b";")
    careful |= block.tag_starts is None  # lines of remarks: a plain block has none
    commented = _hold(block, b"{")
    for game in np.flatnonzero((numbers < 0) | careful | commented).tolist():
        begin, end = int(block.movetexts[game]), int(ends[game])
        number = None
        if commented[game] and not careful[game]:
            number = _last_number_between_comments(text, begin, end)
        numbers[game] = _last_number(text[begin:end]) if number is None else number
    return numbers


def _hold(block: Block, mark: bytes) -> NDArray[np.bool_]:
    """Which games hold a mark in their movetext."""
    result = np.zeros(len(block), dtype=np.bool_)
    place = block.text.find(mark)
    if place < 0:
        return result
    starts, movetexts = block.starts.tolist(), [*block.movetexts.tolist(), len(block.text)]
    # From game to game, since most games hold none, and the others hold many.
    while place >= 0:
        game = max(bisect_right(starts, place) - 1, 0)
        if place >= movetexts[game]:
            result[game] = True
            game += 1
        place = block.text.find(mark, movetexts[game])
    return result


def _numbers_in_tails(data: NDArray[np.uint8], begins: Positions, ends: Positions) -> Positions:
    """Read the last move number among the last letters of each game; -1 where it is not plain."""
    numbers = np.full(len(ends), -1, dtype=np.int64)
    long_enough = np.flatnonzero(ends - begins > _TAIL)
    if not len(long_enough):
        return numbers
    windows = np.ndarray((len(data) - _TAIL + 1,), dtype=f"V{_TAIL}", buffer=data, strides=(1,))
    tails = windows[ends[long_enough] - _TAIL].view(np.uint8).reshape(-1, _TAIL)
    is_dot = tails == 0x2E
    dot = _TAIL - 1 - np.argmax(is_dot[:, ::-1], axis=1)
    rows = np.arange(len(tails))
    digits = [tails[rows, dot - step].astype(np.int64) - 0x30 for step in (1, 2, 3)]
    is_digit = [(digit >= 0) & (digit <= 9) for digit in digits]
    tens = is_digit[1]
    hundreds = tens & is_digit[2]
    value = digits[0] + np.where(tens, digits[1] * 10, 0) + np.where(hundreds, digits[2] * 100, 0)
    # Anything but a blank before at most three digits goes the careful way.
    before = tails[rows, dot - 2 - tens - hundreds]
    plain = is_digit[0] & ((before == 0x20) | (before == 0x0A)) & (dot >= 4) & is_dot.any(axis=1)
    numbers[long_enough] = np.where(plain, value, -1)
    return numbers


def _last_number_between_comments(text: bytes, begin: int, end: int) -> int | None:
    """Go from the end to the front, over the stretches between comments."""
    while end > begin:
        close = text.rfind(b"}", begin, end)
        if close < 0:
            return None
        numbers = _NUMBER.findall(text, close + 1, end)
        if numbers:
            return int(numbers[-1])
        end = text.rfind(b"{", begin, close)
    return None


def _last_number(movetext: bytes) -> int:
    main = _COMMENT_BYTES.sub(b" ", movetext)
    if b"(" in main:
        main = _without_variations(main.decode("latin-1")).encode("latin-1")
    numbers = _NUMBER.findall(main)
    if numbers:
        return int(numbers[-1])
    return (len(_ANY_MOVE.findall(main)) + 1) // 2
