"""A PGN stream cut into blocks of whole games, in bounded memory.

Where a game begins is decided in `milepost.games.boundaries`; the games found do not depend on how
the stream is cut.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from milepost.games.boundaries import Positions, find_games
from milepost.games.sources import BadBytesError, Readable

BLOCK_BYTES = 4 << 20
MAX_GAME_BYTES = 64 << 20
"""A stretch longer than this without a game boundary is cut: memory stays bounded."""

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
    verbatim: bool = True
    """Whether `text` is just what stands in the source at `offset`."""
    tag_starts: Positions | None = None
    """Where each tag line begins, if the block is of the plain form."""
    tag_ends: Positions | None = None
    """Where each tag line ends, without the line feed."""

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
    wanted = block_bytes
    source = _Text(stream)
    while not source.ended:
        offset = source.offset - len(carried)
        text = carried + source.read(wanted)
        # A line that is not complete yet could change its meaning: it waits for the next block.
        whole = len(text) if source.ended else text.rfind(b"\n") + 1
        if not whole and len(text) > MAX_GAME_BYTES:
            whole = len(text)
        found = find_games(text, whole)
        count, lines = len(found.starts), found.line_ends
        if source.ended or (count < 2 and len(text) > MAX_GAME_BYTES):
            games, cut = count, whole
        elif count > 1:
            games, cut = count - 1, int(found.starts[-1])
            lines = int(found.line_indexes[-1])
        else:
            # One long game: read more at a time, so that scanning it again stays linear.
            wanted *= 2
            carried = text
            continue
        if games:
            tags = (
                int(np.searchsorted(found.tag_starts, cut)) if found.tag_starts is not None else 0
            )
            yield Block(
                text[:cut],
                found.starts[:games],
                found.movetexts[:games],
                line + found.line_indexes[:games],
                max(offset, source.bom_bytes),
                not source.only_cr,
                None if found.tag_starts is None else found.tag_starts[:tags],
                None if found.tag_ends is None else found.tag_ends[:tags],
            )
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
