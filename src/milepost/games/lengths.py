"""How many moves a game has, told from its bytes without replaying it."""

from __future__ import annotations

import re

import numpy as np

from milepost.games.scan import Block, Positions

_COMMENT = re.compile(rb"\{[^}]*\}?|;[^\n]*|^%[^\n]*", re.MULTILINE)
_VARIATION = re.compile(rb"\([^()]*\)")
_NUMBER = re.compile(rb"(?<![\w/.-])(\d{1,3})\.+")
_ANY_MOVE = re.compile(rb"[a-h][1-8]|O-O|0-0")


def last_move_numbers(block: Block) -> Positions:
    """Return the number of the last move of each game of a block; 0 where no move is given.

    It is the last number followed by a dot in the main line. A game whose moves carry no numbers
    counts its moves.
    """
    data = np.frombuffer(block.text, dtype=np.uint8)
    ends = block.ends
    dots = np.flatnonzero(data == 0x2E)
    numbers = np.full(len(block), -1, dtype=np.int64)
    if len(dots):
        last = np.searchsorted(dots, ends) - 1
        place = dots[np.maximum(last, 0)]
        digits = [data[np.maximum(place - step, 0)].astype(np.int64) - 0x30 for step in (1, 2, 3)]
        is_digit = [(digit >= 0) & (digit <= 9) for digit in digits]
        tens = is_digit[1]
        hundreds = tens & is_digit[2]
        value = (
            digits[0] + np.where(tens, digits[1] * 10, 0) + np.where(hundreds, digits[2] * 100, 0)
        )
        # More than the three digits, or anything but a blank before them, goes the careful way.
        width = 1 + tens.astype(np.int64) + hundreds
        before = data[np.maximum(place - width - 1, 0)]
        plain = is_digit[0] & ((before == 0x20) | (before == 0x0A)) | (
            is_digit[0] & (place - width == block.movetexts)
        )
        plain &= (last >= 0) & (place >= block.movetexts)
        numbers = np.where(plain, value, -1)
    for mark in (0x7B, 0x28, 0x3B):  # comments and variations hold numbers of their own
        if bytes([mark]) in block.text:
            marks = np.flatnonzero(data == mark)
            holds = np.searchsorted(marks, block.movetexts) < np.searchsorted(marks, ends)
            numbers[holds] = -1
    for game in np.flatnonzero(numbers < 0).tolist():
        numbers[game] = _last_number(block.text[block.movetexts[game] : ends[game]])
    return numbers


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
