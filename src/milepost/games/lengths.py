"""How many moves a game has, told from its bytes without replaying it."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from milepost.games.boundaries import Positions
from milepost.games.scan import Block

_COMMENT = re.compile(rb"\{[^}]*\}?|;[^\n]*|^%[^\n]*", re.MULTILINE)
_VARIATION = re.compile(rb"\([^()]*\)")
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
    numbers = _numbers_in_tails(data, block.movetexts, ends)
    text = block.text
    # Comments and variations hold numbers of their own.
    careful = _hold(text, data, block, b"(") | _hold(text, data, block, b";")
    careful |= block.tag_starts is None  # lines of remarks: a plain block has none
    commented = np.zeros(len(block), dtype=np.bool_)
    if b"{" in text:
        spans = zip(block.movetexts.tolist(), ends.tolist(), strict=True)
        commented[:] = [text.find(b"{", begin, end) >= 0 for begin, end in spans]
    for game in np.flatnonzero((numbers < 0) | careful | commented).tolist():
        begin, end = int(block.movetexts[game]), int(ends[game])
        number = None
        if commented[game] and not careful[game]:
            number = _last_number_between_comments(text, begin, end)
        numbers[game] = _last_number(text[begin:end]) if number is None else number
    return numbers


def _hold(text: bytes, data: NDArray[np.uint8], block: Block, mark: bytes) -> NDArray[np.bool_]:
    """Which games hold a mark in their movetext."""
    result = np.zeros(len(block), dtype=np.bool_)
    if mark in text:
        places = np.flatnonzero(data == mark[0])
        games = np.maximum(np.searchsorted(block.starts, places, side="right") - 1, 0)
        result[games[places >= block.movetexts[games]]] = True
    return result


def _numbers_in_tails(data: NDArray[np.uint8], begins: Positions, ends: Positions) -> Positions:
    """Read the last move number among the last letters of each game; -1 where it is not plain."""
    numbers = np.full(len(ends), -1, dtype=np.int64)
    long_enough = np.flatnonzero(ends - begins > _TAIL)
    if not len(long_enough):
        return numbers
    tails = np.lib.stride_tricks.sliding_window_view(data, _TAIL)[ends[long_enough] - _TAIL]
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
    main = _COMMENT.sub(b" ", movetext)
    while b"(" in main:
        main, found = _VARIATION.subn(b" ", main)
        if not found:
            break
    numbers = _NUMBER.findall(main)
    if numbers:
        return int(numbers[-1])
    return (len(_ANY_MOVE.findall(main)) + 1) // 2
