"""Games, tags and last move numbers of a long text, by compiled code.

The same answers as the array operations in `milepost.games.pgn.boundaries`, `tags` and `movetext`,
in a third of their time; loading it takes as long as it saves on fifty megabytes, so that it is for
long inputs only. Texts, games and lines that are not plain are left to the others.

Eight letters are looked at at a time, as one number. Sums and products of such numbers stay below
two to the power of 64, so that the kernels run uncompiled too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from milepost.games.pgn.blocks import Block
from milepost.kernels import kernel

Bytes = npt.NDArray[np.uint8]
Longs = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]
Codes = npt.NDArray[np.uint32]
Flags = npt.NDArray[np.bool_]

NOT_PLAIN = -1

_NEWLINE, _RETURN, _TAB, _SPACE = 0x0A, 0x0D, 0x09, 0x20
_BRACKET, _CLOSED, _OPEN_BRACE, _SHUT_BRACE = 0x5B, 0x5D, 0x7B, 0x7D
_PERCENT, _SEMICOLON, _PARENTHESIS, _QUOTE, _DOT = 0x25, 0x3B, 0x28, 0x22, 0x2E
_EVENT = np.frombuffer(b"Event", dtype=np.uint8).astype(np.int64)
_ALPHANUMERIC = np.zeros(256, dtype=np.bool_)
_ALPHANUMERIC[list(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")] = True
_JOINED = _ALPHANUMERIC.copy()
"""Letters that make a number before a dot part of something else."""
_JOINED[list(b"_/.-")] = True

_ONES = np.uint64(0x0101010101010101)
_NEWLINES, _BRACKETS = np.uint64(_NEWLINE) * _ONES, np.uint64(_BRACKET) * _ONES
_OPEN_BRACES, _SHUT_BRACES = np.uint64(_OPEN_BRACE) * _ONES, np.uint64(_SHUT_BRACE) * _ONES
_LOW_BITS = np.uint64(0x7F) * _ONES
_HALF, _LETTER_MASK = np.uint64(0xFFFFFFFF), np.uint64(0xFF)
_NONE, _ONE = np.uint64(0), np.uint64(1)
_BITS_7, _BITS_29, _BITS_32 = np.uint64(7), np.uint64(29), np.uint64(32)
_MIX = np.uint64(0x9E3779B1)
"""An odd number of 32 bits (of xxHash), whose products spread letters over all bits."""
_NAME_BITS, _VALUE_BITS, _VALUE_MASK = np.uint64(8), np.uint64(24), np.uint64(0xFFFFFF)
"""A place in the table of values holds 32 mixed bits, the tag's name, and the number of the value,
of which a batch has fewer than bytes by three."""
_TRIES = 16
"""So many places for a value are looked at; a value that finds none of them free is not shared."""

_BEFORE, _TAGS, _GAP, _MOVES, _BEHIND = 0, 1, 2, 3, 4


def words_of(data: Bytes) -> Words:
    """Return the eight letters at every place as one number, without a copy."""
    size = max(len(data) - 7, 0)
    return np.ndarray((size,), dtype="<u8", buffer=data if size else b"", strides=(1,))


@kernel
def _zeros(word: np.uint64) -> np.uint64:
    """The highest bit of each of the eight letters that is zero."""
    return ~(((word & _LOW_BITS) + _LOW_BITS) | word | _LOW_BITS)


@kernel
def _first(marks: np.uint64) -> Any:
    """Which of eight letters is the first that is marked by its highest bit."""
    # All bits below the mark, one of each letter; a sum of eight letters is the rest by 255.
    return np.int64((((marks - _ONE) & ~marks) >> _BITS_7 & _ONES) % _LETTER_MASK)


@kernel
def _line_end(data: Bytes, words: Words, at: int) -> int:
    """Where a line ends; `NOT_PLAIN` if a bracket and a letter stand on the way."""
    size, last = len(data), len(words)
    while at < size:
        if at < last:
            word = words[at]
            marks = _zeros(word ^ _NEWLINES) | _zeros(word ^ _BRACKETS)
            if marks == _NONE:
                at += 8
                continue
            at += _first(marks)
        if data[at] == _NEWLINE:
            return at
        if data[at] == _BRACKET and at < size - 1 and _ALPHANUMERIC[data[at + 1]]:
            return NOT_PLAIN
        at += 1
    return size


@kernel
def _comment_open(data: Bytes, words: Words, begin: int, end: int) -> bool:
    """Whether the last brace between two places opens a comment."""
    at = end - 8
    while at >= begin:
        word = words[at]
        if _zeros(word ^ _OPEN_BRACES) | _zeros(word ^ _SHUT_BRACES) != _NONE:
            break
        at -= 8
    for place in range(min(at + 7, end - 1), begin - 1, -1):
        if data[place] == _OPEN_BRACE:
            return True
        if data[place] == _SHUT_BRACE:
            return False
    return False


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
    data: Bytes, words: Words, starts: Longs, movetexts: Longs, lines: Longs, tag_starts: Longs,
    tag_ends: Longs,
) -> tuple[int, int, int]:  # fmt: skip
    """Go through the lines once; see `milepost.games.pgn.boundaries` for what is plain."""
    size = len(data)
    games = tags = line = here = 0
    state = _BEFORE
    while here < size:
        first = data[here]
        behind = data[min(here + 1, size - 1)]
        is_tag = first == _BRACKET
        if first in (_PERCENT, _SEMICOLON):
            return NOT_PLAIN, 0, 0
        if first in (_SPACE, _TAB) and (behind <= _SPACE or behind == _BRACKET):
            return NOT_PLAIN, 0, 0
        if first in (_NEWLINE, _RETURN):
            if state == _TAGS:
                state = _GAP
            elif state == _GAP:
                return NOT_PLAIN, 0, 0
            elif state == _MOVES:
                state = _BEHIND
        elif is_tag:
            if state == _GAP or not _ALPHANUMERIC[behind]:
                return NOT_PLAIN, 0, 0
            if _is_event(data, here) == (state == _TAGS):
                return NOT_PLAIN, 0, 0
            if state != _TAGS:
                # No comment was open where the game before began, or this would not be reached.
                if _comment_open(data, words, starts[games - 1] if games else 0, here):
                    return NOT_PLAIN, 0, 0
                starts[games], lines[games], movetexts[games] = here, line, size
                games += 1
                state = _TAGS
            tag_starts[tags] = here
        elif state in (_BEFORE, _BEHIND):
            return NOT_PLAIN, 0, 0
        elif state != _MOVES:
            movetexts[games - 1] = here
            state = _MOVES
        end = _line_end(data, words, here + 1 if is_tag else here)
        if end == NOT_PLAIN:
            return NOT_PLAIN, 0, 0
        if is_tag:
            tag_ends[tags] = end
            tags += 1
        line += 1
        here = end + 1
    return games, tags, line if here == size else line - 1


def scan_plain(data: Bytes) -> tuple[Longs, Longs, Longs, int, Longs, Longs] | None:
    """Return what `milepost.games.pgn.boundaries.Found` holds; None if the text is not plain."""
    # A game takes eight letters at least, a tag line three.
    starts, movetexts, lines = (np.empty(len(data) // 8 + 1, dtype=np.int64) for _ in range(3))
    tag_starts, tag_ends = (np.empty(len(data) // 3 + 1, dtype=np.int64) for _ in range(2))
    words = words_of(data)
    games, tags, newlines = _scan(data, words, starts, movetexts, lines, tag_starts, tag_ends)
    if games <= 0:
        return None
    return (
        starts[:games].copy(), movetexts[:games].copy(), lines[:games].copy(), newlines,
        tag_starts[:tags].copy(), tag_ends[:tags].copy(),
    )  # fmt: skip


@kernel
def _name_at(
    words: Words, begin: int, expected: int, heads: Words, masks: Words, tails: Words,
    lengths: Longs,
) -> int:  # fmt: skip
    """Which of the names a tag line begins with, with the blank behind it; -1 if none."""
    word, wanted = words[begin + 1], len(heads)
    for turn in range(wanted):
        # Tags mostly come in the same order: the next one is tried first.
        name = expected + turn
        if name >= wanted:
            name -= wanted
        if word & masks[name] == heads[name]:
            length = lengths[name]
            if length <= 8 or words[begin + length - 7] == tails[name]:
                return name
    return -1


@kernel
def _mixed(words: Words, low: int, high: int, name: int) -> np.uint64:
    """A number of 32 bits made of the letters of a value, and of its tag's name."""
    mixed = np.uint64(name + 1)
    for at in range(low, high, 8):
        word = words[at]
        if at + 8 > high:
            word &= (_ONE << np.uint64(8 * (high - at))) - _ONE
        mixed = ((mixed ^ word ^ (word >> _BITS_29)) & _HALF) * _MIX
        mixed ^= mixed >> _BITS_32
    return mixed & _HALF


@kernel
def _same(one: Words, here: int, other: Words, there: int, length: int) -> bool:
    """Whether the same letters stand at two places."""
    for step in range(0, length, 8):
        difference = one[here + step] ^ other[there + step]
        if step + 8 > length:
            difference &= (_ONE << np.uint64(8 * (length - step))) - _ONE
        if difference != _NONE:
            return False
    return True


@kernel
def _code_values(
    data: Bytes, words: Words, starts: Longs, tag_starts: Longs, tag_ends: Longs,
    heads: Words, masks: Words, tails: Words, lengths: Longs, room: int,
    table: Words, text: Bytes, text_words: Words, offsets: Longs, owners: Longs, own_codes: Codes,
    counts: Longs, known: int, codes: Codes, odd: Flags,
) -> int:  # fmt: skip
    """Find the values of plain tag lines and write down their codes; see `TagValues`."""
    size, games = len(data), len(starts)
    slots = np.uint64(len(table) - 1)
    expected = 0
    game = -1
    for line in range(len(tag_starts)):
        begin, end = tag_starts[line], tag_ends[line]
        while game + 1 < games and starts[game + 1] <= begin:
            game += 1
        if begin > size - room or end > size - 8:
            odd[game] = True
            continue
        if data[end - 1] == _RETURN:
            end -= 1
        if data[end - 1] != _CLOSED or data[end - 2] != _QUOTE:
            odd[game] = True
        name = _name_at(words, begin, expected, heads, masks, tails, lengths)
        if name < 0:
            continue
        expected = name + 1
        low, high = begin + lengths[name] + 2, end - 2
        if data[low - 1] != _QUOTE or high < low or codes[name, game] != 0:
            odd[game] = True
            continue
        length = high - low
        mixed = _mixed(words, low, high, name)
        place = mixed & slots
        mark = (mixed << _NAME_BITS | np.uint64(name)) << _VALUE_BITS
        value: Any = -1
        for _ in range(_TRIES):
            entry = table[place]
            if entry == _NONE:
                table[place] = mark | np.uint64(known + 1)
                break
            other = np.int64(entry & _VALUE_MASK) - 1
            if (
                entry >> _VALUE_BITS == mark >> _VALUE_BITS
                and offsets[other + 1] - offsets[other] == length
                and _same(words, low, text_words, offsets[other], length)
            ):
                value = other
                break
            place = (place + _ONE) & slots
        if value < 0:
            value = known
            known += 1
            there = offsets[value]
            for step in range(length):
                text[there + step] = data[low + step]
            offsets[known] = there + length
            owners[value] = name
            own_codes[value] = counts[name]
            counts[name] += 1
        codes[name, game] = own_codes[value]
    return known


class FoundValues(NamedTuple):
    """The different values of some tags."""

    text: Bytes
    """Their letters, one value behind the other."""
    offsets: Longs
    """Where each begins, and where the last one ends."""
    of_name: list[Longs]
    """For each tag the values that its codes stand for, from 1; 0 is no value."""


class TagValues:
    """The different values of tags in some blocks, and which games have which.

    A table of places, found by mixing the letters of a value, tells whether it came before. Values
    that crowd one part of the table are written down again rather than searched for long, so that
    no input can make it slow.
    """

    def __init__(self, names: Sequence[str], blocks: Sequence[Block]):
        plain = [block for block in blocks if block.tag_starts is not None]
        lines = sum(len(block.tag_starts) for block in plain if block.tag_starts is not None)
        letters = sum(int((block.movetexts - block.starts).sum()) for block in plain)
        games = sum(map(len, blocks))
        wanted = [f"{name} ".encode("ascii") for name in names]
        ends = [each[:8].ljust(8, b"\0") for each in wanted], [each[-8:] for each in wanted]
        self._heads, self._tails = (
            np.array([int.from_bytes(each, "little") for each in side], dtype=np.uint64)
            for side in ends
        )
        self._lengths = np.array([*map(len, wanted)], dtype=np.int64)
        self._masks = np.array(
            [(1 << 8 * min(len(each), 8)) - 1 for each in wanted], dtype=np.uint64
        )
        self._room = max(map(len, wanted), default=0) + 10
        slots = 1 << min(max(10, (2 * games).bit_length()), 18)
        self._table = np.zeros(slots, dtype=np.uint64)
        self._text = np.empty(letters + 8, dtype=np.uint8)
        self._offsets = np.zeros(lines + 1, dtype=np.int64)
        self._owners = np.empty(lines, dtype=np.int64)
        self._own_codes = np.empty(lines, dtype=np.uint32)
        self._counts = np.ones(len(names), dtype=np.int64)
        self._known = 0
        self.codes = np.zeros((len(names), games), dtype=np.uint32)
        """For each name and game the code of the value, 0 where there is none."""

    def add(self, block: Block, first: int, odd: Flags) -> None:
        """Read the tags of a block whose games have the numbers from `first` on.

        Games with a tag line of another form, or with a tag given twice, are marked in `odd`.
        """
        data = np.frombuffer(block.text, dtype=np.uint8)
        assert block.tag_starts is not None
        assert block.tag_ends is not None
        self._known = _code_values(
            data, words_of(data), block.starts, block.tag_starts, block.tag_ends,
            self._heads, self._masks, self._tails, self._lengths, self._room,
            self._table, self._text, words_of(self._text), self._offsets, self._owners,
            self._own_codes, self._counts, self._known, self.codes[:, first : first + len(block)],
            odd,
        )  # fmt: skip

    def values(self) -> FoundValues:
        """Return the values that were found."""
        offsets = self._offsets[: self._known + 1]
        order = np.argsort(self._owners[: self._known], kind="stable") + 1
        of_name = np.split(order, np.cumsum(self._counts - 1)[:-1])
        return FoundValues(
            self._text[: offsets[-1]], offsets, [np.append(0, each) for each in of_name]
        )


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
def _marks(letters: Bytes) -> np.uint8:
    """Whether a stretch holds comments (1), variations or remarks (2); in vectors: no branch."""
    marks = np.uint8(0)
    for at in range(len(letters)):
        letter = letters[at]
        marks |= np.uint8(letter == _OPEN_BRACE)
        marks |= np.uint8((letter == _PARENTHESIS) | (letter == _SEMICOLON)) << np.uint8(1)
    return marks


@kernel
def find_last_numbers(data: Bytes, begins: Longs, ends: Longs, numbers: Longs) -> None:
    """Write the number of the last move of each game, -1 where that needs a closer look."""
    for game in range(len(begins)):
        begin, end = begins[game], ends[game]
        numbers[game] = NOT_PLAIN
        marks = _marks(data[begin:end])
        if marks & 2:
            continue
        if not marks:
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
