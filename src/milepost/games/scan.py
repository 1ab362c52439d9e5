"""Where one PGN game ends and the next begins, found over bytes without parsing moves.

Both readers stand on this one scan: the header reader takes the tags of each game from it, the
move reader takes the movetext. So they cannot disagree about what a game is. The rules, in the
order in which they apply to a line:

1. A line that begins with ``%`` or ``;`` is a remark and never begins or ends a game.
2. A line that begins with ``[`` and a letter or digit is a *tag line*.
3. A tag line that follows movetext (or stands first) begins a game; blank lines are not needed.
   Inside an open ``{`` comment it does so only if it is an Event tag after a blank line, so that a
   comment that was never closed swallows one game and not the rest of the file.
4. An Event tag after a blank line begins a game even if no movetext came before it.
5. An Event tag in the middle of a line, behind a result or a tag, begins a game (files joined
   without a line break).
6. Movetext after a blank line goes on with the same game, unless a result ended that game: then it
   begins a game without tags.

python-chess ends a game at any blank line in the movetext; on well-formed files both agree, and a
test asserts it on real ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from milepost.games.sources import BadBytesError, Readable

Positions = NDArray[np.int64]

BLOCK_BYTES = 4 << 20
MAX_GAME_BYTES = 64 << 20
"""A stretch longer than this without a game boundary is cut: memory stays bounded."""

_BLANK, _TAG, _TEXT, _REMARK = 0, 1, 2, 3
_EVENT_TAG = re.compile(rb"\[Event[ \t]")
_TAG_PAIR = re.compile(rb'\[[A-Za-z0-9][A-Za-z0-9_+#=:-]*\s*"[^\r\n]*"\s*\]')
_ENDS_GAME = re.compile(rb'(?:1-0|0-1|1/2-1/2|\*|"\])[ \t]*\Z')
_RESULT_AT_END = re.compile(rb"(?:1-0|0-1|1/2-1/2|\*)\s*\Z")
_COMMENT_MARKS = re.compile(rb"\{|\}|;[^\n]*|^%[^\n]*|^\[[A-Za-z0-9][^\n]*", re.MULTILINE)
_BOM_UTF8 = b"\xef\xbb\xbf"
_BOMS_UTF16 = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True)
class Block:
    """A stretch of a PGN source that holds whole games."""

    text: bytes
    """The bytes, with single CR line ends made LF."""
    starts: Positions
    """Where each game begins in `text`."""
    movetexts: Positions
    """Where each game's movetext begins (its end if it has none)."""
    lines: Positions
    """The line in the source where each game begins, from 1."""
    offset: int
    """Where `text` begins in the source's decompressed bytes."""
    first_game: int
    """How many games stand before this block in the source."""
    verbatim: bool = True
    """Whether `text` is just what stands in the source at `offset`."""

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def ends(self) -> Positions:
        """Where each game ends in `text`."""
        return np.append(self.starts[1:], len(self.text))


def scan_blocks(stream: Readable, *, block_bytes: int = BLOCK_BYTES) -> Iterator[Block]:
    """Yield the games of a PGN stream, block by block, in bounded memory.

    Parameters
    ----------
    stream
        Decompressed bytes, see `milepost.games.sources.open_bytes`.
    block_bytes
        How much to read at a time; the games found do not depend on it.

    Raises
    ------
    BadBytesError
        If the bytes cannot be read further, or are UTF-16; the games before are yielded first.
    """
    carried = b""
    line = 1
    first_game = 0
    wanted = block_bytes
    source = _Text(stream)
    while not source.ended:
        offset = source.offset - len(carried)
        text = carried + source.read(wanted)
        # A line that is not complete yet could change its meaning: it waits for the next block.
        whole = len(text) if source.ended else text.rfind(b"\n") + 1
        starts, movetexts, line_indexes, lines = find_games(text[:whole])
        if source.ended or (len(starts) < 2 and len(text) > MAX_GAME_BYTES):
            games, cut = len(starts), whole or len(text)
        elif len(starts) > 1:
            games, cut = len(starts) - 1, int(starts[-1])
            lines = int(line_indexes[-1])
        else:
            # One long game: read more at a time, so that scanning it again stays linear.
            wanted *= 2
            carried = text
            continue
        if games:
            yield Block(
                text[:cut],
                starts[:games],
                movetexts[:games],
                line + line_indexes[:games],
                max(offset, source.bom_bytes),
                first_game,
                not source.only_cr,
            )
        first_game += games
        line += lines
        wanted = block_bytes
        carried = text[cut:]
    if source.failure is not None:
        raise source.failure


class _Text:
    """The bytes of a stream without its byte order mark, and with LF for single CR line ends."""

    def __init__(self, stream: Readable):
        self._stream = stream
        self.offset = 0
        self.bom_bytes = 0
        self.only_cr: bool | None = None
        self.ended = False
        self.failure: BadBytesError | None = None

    def read(self, size: int) -> bytes:
        try:
            data = self._stream.read(size)
        except BadBytesError as error:
            self.failure = error
            data = b""
        self.ended = not data
        if self.offset == 0:
            if data.startswith(_BOMS_UTF16):
                raise BadBytesError("the text is UTF-16; convert it to UTF-8 first")
            if data.startswith(_BOM_UTF8):
                self.bom_bytes = self.offset = len(_BOM_UTF8)
                data = data[self.bom_bytes :]
            self.only_cr = b"\r" in data and b"\n" not in data
        self.offset += len(data)
        return data.replace(b"\r", b"\n") if self.only_cr else data


def find_games(text: bytes) -> tuple[Positions, Positions, Positions, int]:
    """Find the games in `text`, which begins where a game may begin.

    Returns
    -------
    starts, movetexts, line_indexes
        For each game, where it begins, where its movetext begins, and how many lines stand before.
    lines
        How many line ends `text` holds.
    """
    data = np.frombuffer(text, dtype=np.uint8)
    newlines = np.flatnonzero(data == 0x0A)
    line_starts = np.concatenate(([0], newlines + 1))
    if len(line_starts) and line_starts[-1] == len(text):
        line_starts = line_starts[:-1]
    if not len(line_starts):
        empty = np.zeros(0, dtype=np.int64)
        return empty, empty, empty, 0
    events = _event_tags(data)
    line_starts = _with_inner_events(text, line_starts, events)
    kinds = _line_kinds(text, data, line_starts)

    significant = np.flatnonzero((kinds == _TAG) | (kinds == _TEXT))
    if not len(significant):
        empty = np.zeros(0, dtype=np.int64)
        return empty, empty, empty, len(newlines)
    kind = kinds[significant]
    before = np.concatenate(([_BLANK], kind[:-1]))
    after_blank = np.concatenate(([True], kinds[significant[1:] - 1] == _BLANK))
    position = line_starts[significant]
    is_event = (kind == _TAG) & _contains(events, position)

    opens = (kind == _TAG) & (before != _TAG)
    opens |= is_event & after_blank
    opens[0] = True
    opens |= (kind == _TEXT) & (before == _TEXT) & after_blank
    candidates = np.flatnonzero(opens)
    # Only candidates that are not plainly a game's first tag need a closer look, one by one.
    plain = is_event[candidates] & ~_brace_open(text, data, position[candidates])
    plain[0] = True
    accepted: list[int] = []
    begun = 0
    if plain.all():
        chosen = candidates
    else:
        for candidate, is_plain in zip(candidates.tolist(), plain.tolist(), strict=True):
            here = int(position[candidate])
            if is_plain or _begins_game(
                text,
                begun,
                here,
                is_tag=bool(kind[candidate] == _TAG),
                is_event=bool(is_event[candidate]),
                after_blank=bool(after_blank[candidate]),
            ):
                accepted.append(candidate)
                begun = here
        chosen = np.array(accepted, dtype=np.int64)

    starts = position[chosen]
    text_lines = position[kind == _TEXT]
    ends = np.append(starts[1:], len(text))
    found = np.searchsorted(text_lines, starts)
    movetexts = np.where(
        found < len(text_lines), np.append(text_lines, len(text))[found], len(text)
    )
    movetexts = np.minimum(movetexts, ends)
    line_indexes = np.searchsorted(newlines, starts)
    return starts, movetexts, line_indexes, len(newlines)


def _event_tags(data: NDArray[np.uint8]) -> Positions:
    """Where ``[Event`` and a blank stand, at the beginning of a line or not."""
    positions = np.flatnonzero(data[:-7] == 0x5B)
    positions = positions[data[positions + 1] == 0x45]
    for step, letter in enumerate(b"vent", start=2):
        positions = positions[data[positions + step] == letter]
    behind = data[positions + 6]
    return np.asarray(positions[(behind == 0x20) | (behind == 0x09)])


def _contains(ordered: Positions, values: Positions) -> NDArray[np.bool_]:
    if not len(ordered):
        return np.zeros(len(values), dtype=np.bool_)
    found = np.minimum(np.searchsorted(ordered, values), len(ordered) - 1)
    return np.asarray(ordered[found] == values)


def _with_inner_events(text: bytes, line_starts: Positions, events: Positions) -> Positions:
    """Add the places in the middle of a line where an Event tag begins a game (rule 5)."""
    inner = []
    for place in events[~_contains(line_starts, events)].tolist():
        line_start = text.rfind(b"\n", 0, place) + 1
        if _ENDS_GAME.search(text[line_start:place]) and _TAG_PAIR.match(text, place):
            inner.append(place)
    return np.union1d(line_starts, np.array(inner, dtype=np.int64)) if inner else line_starts


def _line_kinds(text: bytes, data: NDArray[np.uint8], line_starts: Positions) -> NDArray[np.int8]:
    first = data[line_starts]
    second = data[np.minimum(line_starts + 1, len(data) - 1)]
    kinds = np.full(len(line_starts), _TEXT, dtype=np.int8)
    kinds[(first == 0x0A) | (first == 0x0D)] = _BLANK
    kinds[(first == 0x25) | (first == 0x3B)] = _REMARK
    lower = second | 0x20
    alphanumeric = ((lower >= 0x61) & (lower <= 0x7A)) | ((second >= 0x30) & (second <= 0x39))
    kinds[(first == 0x5B) & alphanumeric] = _TAG
    for index in np.flatnonzero((first == 0x20) | (first == 0x09)).tolist():
        end = int(line_starts[index + 1]) if index + 1 < len(line_starts) else len(text)
        line = text[int(line_starts[index]) : end].strip()
        if not line:
            kinds[index] = _BLANK
        elif _TAG_PAIR.fullmatch(line):
            kinds[index] = _TAG
    return kinds


def _brace_open(text: bytes, data: NDArray[np.uint8], positions: Positions) -> NDArray[np.bool_]:
    """Whether the last brace before a position opens a comment: a cheap sign of an open one."""
    if b"{" not in text:
        return np.zeros(len(positions), dtype=np.bool_)
    braces = np.flatnonzero((data == 0x7B) | (data == 0x7D))
    found = np.searchsorted(braces, positions) - 1
    return np.asarray((found >= 0) & (data[braces[np.maximum(found, 0)]] == 0x7B))


def _begins_game(
    text: bytes, begun: int, here: int, *, is_tag: bool, is_event: bool, after_blank: bool
) -> bool:
    """Decide, for a line that is not plainly the first tag of a game, whether it begins one."""
    inside_comment = comment_is_open(text[begun:here])
    if not is_tag:
        return not inside_comment and bool(_RESULT_AT_END.search(text[begun:here]))
    if inside_comment:
        return is_event and after_blank
    line_end = text.find(b"\n", here)
    line = text[here : line_end if line_end >= 0 else len(text)]
    return bool(_EVENT_TAG.match(line.lstrip()) or _TAG_PAIR.match(line.lstrip()))


def comment_is_open(game: bytes) -> bool:
    """Whether a ``{`` comment of this game is still open at its end."""
    inside = False
    for match in _COMMENT_MARKS.finditer(game):
        mark = match.group()
        if inside:
            # Remarks and tags inside a comment are its text, but a closing brace in them counts.
            if b"}" in mark:
                inside = mark.rfind(b"{") > mark.rfind(b"}")
        elif mark == b"{":
            inside = True
    return inside
