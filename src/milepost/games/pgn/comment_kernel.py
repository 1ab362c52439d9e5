"""What comments of plain PGN games tell, compiled: clocks, time taken, and values of an engine.

The same as `milepost.games.pgn.mainline.add_comment` reads by regular expressions.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from milepost.games.turns.board_kernel import Bytes
from milepost.kernels import kernel

TOLD = ("clocks", "elapsed", "eval_cp", "eval_mate")
"""What comments tell, as columns of the games table."""
_CLOCK_ROW, _ELAPSED_ROW, _CP_ROW, _MATE_ROW = 0, 1, 2, 3
_MOST_DIGITS = 15
"""So many digits are a number without rounding."""
_MOST_PAWNS = 10_000
_SPACE = 32


@kernel
def skip_comment(text: Bytes, at: int, end: int) -> tuple[int, int]:
    """Return where a comment ends (-1 = not plain), and whether it holds commands."""
    commands, plain = False, True
    at += 1
    while at < end and text[at] != 125:
        commands = commands or (text[at] == 91 and at + 1 < end and text[at + 1] == 37)
        plain = plain and text[at] < 128
        at += 1
    if at >= end or (commands and not plain):
        return -1, 0
    return at + 1, 1 if commands else 0


@kernel
def _skip_space(text: Bytes, at: int, end: int) -> int:
    """Pass over what a regular expression calls blank."""
    while at < end and (text[at] == _SPACE or 9 <= text[at] <= 13 or 28 <= text[at] <= 31):
        at += 1
    return at


@kernel
def _read_digits(text: Bytes, at: int, end: int) -> tuple[float, int]:
    """Return the number that some digits are, and where they end."""
    number = 0.0
    while at < end and 48 <= text[at] <= 57:
        number = 10.0 * number + (text[at] - 48)
        at += 1
    return number, at


@kernel
def _read_decimal(text: Bytes, at: int, end: int) -> tuple[float, int, int, int]:
    """Read ``12``, ``12.`` or ``12.5``: the number, its digits before and behind, and the end."""
    begin = at
    number, at = _read_digits(text, at, end)
    before, behind = at - begin, 0
    if at < end and text[at] == 46:
        begin = at + 1
        _, at = _read_digits(text, begin, end)
        behind = at - begin
        for place in range(behind):
            number = 10.0 * number + (text[begin + place] - 48)
        # Both are whole, so this is the number that is nearest.
        number /= 10.0 ** min(behind, _MOST_DIGITS)
    return number, before, behind, at


@kernel
def _closed(text: Bytes, at: int, end: int) -> bool:
    at = _skip_space(text, at, end)
    return at < end and text[at] == 93


@kernel
def _read_clock(text: Bytes, at: int, end: int) -> tuple[float, bool]:
    """Read ``1:23:45.6]``; NaN = it is no time. Also whether its digits are too many to tell."""
    total = 0.0
    for unit in (3600.0, 60.0):
        number, stop = _read_digits(text, at, end)
        if not 1 <= stop - at <= 6 or stop == end or text[stop] != 58:
            return np.nan, False
        total += unit * number
        at = stop + 1
    seconds, before, behind, at = _read_decimal(text, at, end)
    if not 1 <= before <= 6 or not _closed(text, at, end):
        return np.nan, False
    return total + seconds, before + behind > _MOST_DIGITS


@kernel
def _read_eval(
    text: Bytes, at: int, end: int, turn: int, told: npt.NDArray[np.float64]
) -> tuple[bool, bool]:  # fmt: skip
    """Read ``0.25]``, ``-1.5,20]`` or ``#-3]``: whether it is a value, and has too many digits."""
    mate = at < end and text[at] == 35
    at += mate
    sign = -1.0 if at < end and text[at] == 45 else 1.0
    at += at < end and text[at] in (43, 45)
    value, before, behind, stop = _read_decimal(text, at, end)
    if mate:
        value, stop = _read_digits(text, at, end)
        if not 1 <= stop - at <= 9:
            return False, False
    elif before + behind == 0:
        return False, False
    if stop < end and text[stop] == 44:
        after = _skip_space(text, stop + 1, end)
        _, stop = _read_digits(text, after, end)
        if stop == after:
            return False, False
    if not _closed(text, stop, end):
        return False, False
    if mate:
        told[_MATE_ROW, turn] = sign * value
    elif before + behind > _MOST_DIGITS:
        return True, True
    elif value < _MOST_PAWNS:
        told[_CP_ROW, turn] = np.rint(sign * value * 100.0)
    return True, False


@kernel
def read_commands(
    text: Bytes, at: int, end: int, turn: int, told: npt.NDArray[np.float64]
) -> bool:  # fmt: skip
    """Read what a comment tells behind a move, as `add_comment` does; False = not to be told here.

    Every clock counts, and the first value.
    """
    valued = False
    while at + 6 < end:
        if text[at] != 91 or text[at + 1] != 37:
            at += 1
            continue
        one, two, three, four = text[at + 2], text[at + 3], text[at + 4], text[at + 5]
        clock = one == 99 and two == 108 and three == 107  # clk
        elapsed = one == 101 and two == 109 and three == 116  # emt
        value = one == 101 and two == 118 and three == 97 and four == 108  # eval
        word = at + 6 if value else at + 5
        begin = _skip_space(text, word, end)
        at += 2
        if begin == word or not (clock or elapsed or (value and not valued)):
            continue
        long = False
        if value:
            valued, long = _read_eval(text, begin, end, turn, told)
        else:
            seconds, long = _read_clock(text, begin, end)
            if not np.isnan(seconds):
                told[_CLOCK_ROW if clock else _ELAPSED_ROW, turn] = seconds
        if long:
            return False
    return True
