"""Games, tags and last move numbers of a long text, by compiled code.

The same answers as the array operations in `milepost.games.pgn.boundaries`, `tags` and `movetext`,
in a third of their time; loading it takes as long as reading some hundred megabytes, so that it is
for long inputs only. Texts, games and lines that are not plain are left to the others.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from milepost.kernels import kernel

Bytes = npt.NDArray[np.uint8]
Longs = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

NOT_PLAIN = -1

_NEWLINE, _RETURN, _TAB, _SPACE = 0x0A, 0x0D, 0x09, 0x20
_BRACKET, _CLOSED, _OPEN_BRACE, _SHUT_BRACE = 0x5B, 0x5D, 0x7B, 0x7D
_PERCENT, _SEMICOLON, _PARENTHESIS, _QUOTE, _DOT = 0x25, 0x3B, 0x28, 0x22, 0x2E
_EVENT = np.frombuffer(b"Event", dtype=np.uint8).astype(np.int64)
_MATTERS = np.zeros(256, dtype=np.bool_)
"""Letters at which the scan of a line looks up."""
_MATTERS[[_NEWLINE, _BRACKET, _OPEN_BRACE, _SHUT_BRACE]] = True
_ALPHANUMERIC = np.zeros(256, dtype=np.bool_)
_ALPHANUMERIC[list(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")] = True
_JOINED = _ALPHANUMERIC.copy()
"""Letters that make a number before a dot part of something else."""
_JOINED[list(b"_/.-")] = True

_BEFORE, _TAGS, _GAP, _MOVES, _BEHIND = 0, 1, 2, 3, 4


@kernel
def _is_event(data: Bytes, at: int) -> bool:
    if at >= len(data) - 7:
        return False
    for step in range(5):
        if data[at + 1 + step] != _EVENT[step]:
            return False
    return data[at + 6] in (_SPACE, _TAB)


@kernel
def _scan(  # noqa: PLR0911, PLR0912 - each return names one thing that is not plain
    data: Bytes, starts: Longs, movetexts: Longs, lines: Longs, tag_starts: Longs, tag_ends: Longs
) -> tuple[int, int]:
    """Go through the lines once; see `milepost.games.pgn.boundaries` for what is plain."""
    size = len(data)
    games = tags = line = here = 0
    state = _BEFORE
    comment = False
    while here < size:
        first = data[here]
        behind = data[min(here + 1, size - 1)]
        is_tag = first == _BRACKET
        if first in (_PERCENT, _SEMICOLON):
            return NOT_PLAIN, 0
        if first in (_SPACE, _TAB) and (behind <= _SPACE or behind == _BRACKET):
            return NOT_PLAIN, 0
        if first in (_NEWLINE, _RETURN):
            if state == _TAGS:
                state = _GAP
            elif state == _GAP:
                return NOT_PLAIN, 0
            elif state == _MOVES:
                state = _BEHIND
        elif is_tag:
            if state == _GAP or not _ALPHANUMERIC[behind]:
                return NOT_PLAIN, 0
            if _is_event(data, here) == (state == _TAGS):
                return NOT_PLAIN, 0
            if state != _TAGS:
                if comment:
                    return NOT_PLAIN, 0
                starts[games], lines[games], movetexts[games] = here, line, size
                games += 1
                state = _TAGS
            tag_starts[tags] = here
        elif state in (_BEFORE, _BEHIND):
            return NOT_PLAIN, 0
        elif state != _MOVES:
            movetexts[games - 1] = here
            state = _MOVES
        at = here + 1 if is_tag else here
        while at < size:
            letter = data[at]
            if _MATTERS[letter]:
                if letter == _NEWLINE:
                    break
                if letter == _BRACKET:
                    if at < size - 1 and _ALPHANUMERIC[data[at + 1]]:
                        return NOT_PLAIN, 0
                else:
                    comment = letter == _OPEN_BRACE
            at += 1
        if is_tag:
            tag_ends[tags] = at
            tags += 1
        line += 1
        here = at + 1
    return games, tags


def scan_plain(data: Bytes) -> tuple[Longs, Longs, Longs, int, Longs, Longs] | None:
    """Return what `milepost.games.pgn.boundaries.Found` holds; None if the text is not plain."""
    newlines = int(np.count_nonzero(data == _NEWLINE))
    starts, movetexts, lines, tag_starts, tag_ends = (
        np.empty(newlines + 1, dtype=np.int64) for _ in range(5)
    )
    games, tags = _scan(data, starts, movetexts, lines, tag_starts, tag_ends)
    if games <= 0:
        return None
    return (
        starts[:games].copy(), movetexts[:games].copy(), lines[:games].copy(), newlines,
        tag_starts[:tags].copy(), tag_ends[:tags].copy(),
    )  # fmt: skip


@kernel
def find_values(
    data: Bytes, starts: Longs, tag_starts: Longs, tag_ends: Longs, names: Bytes, name_ends: Longs,
    room: int, offsets: Longs, place: Longs, odd: Flags,
) -> int:  # fmt: skip
    """Find the values of plain tag lines; return how many.

    Parameters
    ----------
    data, starts, tag_starts, tag_ends
        The text, its games, and its tag lines.
    names, name_ends
        The names that are looked for, one behind the other, each with the blank that follows it.
    room
        A tag line needs so many letters of the text from its begin on.
    offsets
        Where to write begin and end of each value.
    place
        Where to write, for each name and game, which of `offsets` its value begins with.
    odd
        Where to mark games with a tag line of another form, or with a tag given twice.
    """
    size, games, wanted = len(data), len(starts), len(name_ends)
    found = expected = 0
    game = -1
    for line in range(len(tag_starts)):
        begin, end = tag_starts[line], tag_ends[line]
        while game + 1 < games and starts[game + 1] <= begin:
            game += 1
        if data[end - 1] == _RETURN:
            end -= 1
        if data[end - 1] != _CLOSED or data[end - 2] != _QUOTE or begin > size - room:
            odd[game] = True
            if begin > size - room:
                continue
        for turn in range(wanted):
            # Tags mostly come in the same order: the next one is tried first.
            name = (expected + turn) % wanted
            low = name_ends[name - 1] if name else 0
            length = name_ends[name] - low
            same = True
            for step in range(length):
                if data[begin + 1 + step] != names[low + step]:
                    same = False
                    break
            if not same:
                continue
            expected = name + 1
            quote = begin + 1 + length
            if data[quote] != _QUOTE or end - 2 <= quote:
                odd[game] = True
            cell = name * games + game
            if place[cell] >= 0:
                odd[game] = True
            place[cell] = 2 * found
            offsets[2 * found] = quote + 1
            offsets[2 * found + 1] = max(end - 2, quote + 1)
            found += 1
            break
    return found


@kernel
def _number_before(data: Bytes, begin: int, end: int) -> int:
    """The last number that a dot follows between two places; -1 if there is none."""
    at = end - 1
    while at > begin:
        if data[at] == _DOT and 48 <= data[at - 1] <= 57:
            low = at - 1
            while low > begin and 48 <= data[low - 1] <= 57:
                low -= 1
            if at - low <= 3 and (low == begin or not _JOINED[data[low - 1]]):
                number = 0
                for place in range(low, at):
                    number = 10 * number + data[place] - 48
                return number
            at = low
        at -= 1
    return NOT_PLAIN


@kernel
def _count(data: Bytes, one: int, other: int) -> int:
    """How often one of two letters stands in a stretch; without a branch, so in vectors."""
    count = 0
    for letter in data:
        count += (letter == one) | (letter == other)
    return count


@kernel
def find_last_numbers(data: Bytes, begins: Longs, ends: Longs, numbers: Longs) -> None:
    """Write the number of the last move of each game, -1 where that needs a closer look."""
    for game in range(len(begins)):
        begin, end = begins[game], ends[game]
        numbers[game] = NOT_PLAIN
        if _count(data[begin:end], _PARENTHESIS, _SEMICOLON):
            continue
        if not _count(data[begin:end], _OPEN_BRACE, _OPEN_BRACE):
            numbers[game] = _number_before(data, begin, end)
            continue
        while end > begin:
            close = end - 1
            while close >= begin and data[close] != _SHUT_BRACE:
                close -= 1
            if close < begin:
                break
            numbers[game] = _number_before(data, close + 1, end)
            if numbers[game] >= 0:
                break
            end = close - 1
            while end >= begin and data[end] != _OPEN_BRACE:
                end -= 1
