"""A PGN stream cut into blocks of whole games, in bounded memory; stretches for parallel readers.

Where a game begins is decided in `milepost.games.pgn.boundaries`; the games found do not depend on
how the stream is cut.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from milepost.errors import InputError
from milepost.games.pgn.boundaries import Positions, find_games, scan_kernel
from milepost.io.progress import Progress, Report
from milepost.io.sources import BadBytesError, Readable, Source, open_bytes
from milepost.io.work import DigestingStream

BLOCK_BYTES = 4 << 20
MAX_GAME_BYTES = 8 << 20
"""A stretch longer than this without a game boundary is cut: memory stays bounded.

The scan takes up to some 40 bytes for each byte of it, where every byte is a line end.
"""

WORTH_COMPILED = 50 << 20
"""Bytes of input from which on it pays to load Numba and the compiled scan: 0.22 s of processor
time, and 4.5 ms are then saved for each megabyte."""
WORTH_BESIDE_NUMBA = 8 << 20
"""The same where Numba is loaded already: the scan alone takes 0.03 s."""

_BOM_UTF8 = b"\xef\xbb\xbf"
_BOMS_UTF16 = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True)
class Block:
    """A stretch of a PGN source that holds whole games."""

    text: bytes
    """The bytes, with single CR line ends made LF and byte order marks inside made blanks."""
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
        Decompressed bytes, see `milepost.io.sources.open_bytes`.
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
        elif count == 0 and whole:
            games, cut = 0, whole  # blank lines and remarks: nobody needs them again
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
                not source.changed,
                None if found.tag_starts is None else found.tag_starts[:tags],
                None if found.tag_ends is None else found.tag_ends[:tags],
            )
        line += lines
        wanted = block_bytes
        carried = text[cut:]
    if source.failure is not None:
        raise source.failure


class _Text:
    """The bytes of a stream, with LF for single CR line ends and blanks for byte order marks.

    Files are joined from others of all kinds, so each line end counts for itself. Every byte stays
    in its place.
    """

    def __init__(self, stream: Readable):
        self._stream = stream
        self._held = b""
        self.offset = 0
        self.bom_bytes = 0
        self.changed = False
        """Whether the text is no longer what stands in the source."""
        self.ended = False
        self.failure: BadBytesError | None = None

    def read(self, size: int) -> bytes:
        # A short read may be the last one: to know it now keeps the last game in its block.
        pieces, wanted = [], size
        try:
            while wanted > 0 and (piece := self._stream.read(wanted)):
                pieces.append(piece)
                wanted -= len(piece)
        except BadBytesError as error:
            self.failure = error
        data = b"".join(pieces)
        self.ended = wanted > 0
        if self.offset == 0 and not self._held:
            if data.startswith(_BOMS_UTF16):
                raise BadBytesError("the text is UTF-16; convert it to UTF-8 first")
            if data.startswith(_BOM_UTF8):
                self.bom_bytes = self.offset = len(_BOM_UTF8)
                data = data[self.bom_bytes :]
        data, self._held = self._held + data, b""
        if not self.ended and (tail := _UNDECIDED.search(data[-3:])):
            # What follows decides what it is; a read shall never look like the end, though.
            tail_bytes = len(tail.group())
            data, self._held = data[:-tail_bytes], data[-tail_bytes:]
        if b"\r" in data and data.count(b"\r") != data.count(b"\r\n"):
            plain = _CARRIAGE_RETURNS.sub(_line_feeds, data)
            self.changed |= plain != data
            data = plain
        # The search for one letter is nine times as fast as that for three.
        if _BOM_UTF8[:1] in data and _BOM_UTF8 in data:
            data = data.replace(_BOM_UTF8 + b"[", b"   [")
            self.changed = True
        self.offset += len(data)
        return data


# Possessive, so that a million of them in a row are looked at once.
_CARRIAGE_RETURNS = re.compile(rb"\r++\n?")
_UNDECIDED = re.compile(rb"(?:\r|\r\r|\xef|\xef\xbb|\xef\xbb\xbf)\Z")


def _line_feeds(found: re.Match[bytes]) -> bytes:
    """Several CR before an LF are one line end (a file made "text" twice); alone each is one."""
    ends = found.group()
    return ends if ends.endswith(b"\n") else b"\n" * len(ends)


CHUNK_BYTES = 256 << 10
"""About 300 games: a second of work, so that progress is smooth and little is done twice."""


BATCH_BYTES = 32 << 20
"""So much text is held at a time, from however many files."""


@dataclass(frozen=True)
class Chunk:
    """A stretch of a source that holds whole games."""

    number: int
    """Its place among all chunks of the job, from 0."""
    source: str
    """The name of the file."""
    path: Path | None
    """Where to read the bytes, if the file is plain; else they are in `data`."""
    offset: int
    """Where the stretch begins in the file."""
    length: int
    """How many bytes it has."""
    data: bytes | None
    """The bytes themselves, if the file cannot be read at an offset."""
    starts: Positions
    """Where each game begins in the stretch."""
    movetexts: Positions
    """Where each game's movetext begins."""
    lines: Positions
    """The line in the source where each game begins, from 1."""
    tag_starts: Positions | None = None
    """Where each tag line begins, if the games are of the plain form."""
    tag_ends: Positions | None = None
    """Where each tag line ends."""

    def __len__(self) -> int:
        return len(self.starts)

    def block(self) -> Block:
        """Return the games with their bytes."""
        text = self.data
        if text is None:
            assert self.path is not None
            with self.path.open("rb") as handle:
                handle.seek(self.offset)
                text = handle.read(self.length)
        return Block(
            text,
            self.starts,
            self.movetexts,
            self.lines,
            self.offset,
            tag_starts=self.tag_starts,
            tag_ends=self.tag_ends,
        )


@dataclass(frozen=True)
class Batch:
    """Several chunks that are read together."""

    number: int
    """Its place among all batches of the job, from 0."""
    chunks: list[Chunk]
    """The chunks, in order."""


@dataclass
class Reading:
    """What was learned of the sources while their chunks were made."""

    progress: Report | None = None
    """Called with the bytes of input that are dealt with."""
    digest: bool = True
    """Whether an output will say what it was made from, so that all sources are digested."""
    inputs: list[dict[str, Any]] = field(default_factory=list)
    """Name, bytes and digest of each source that was read to its end."""
    failures: list[tuple[str, int, str]] = field(default_factory=list)
    """Source, line and reason where bytes could not be read further."""
    games: int = 0
    """Games found so far."""


def cut_batches(sources: Sequence[Source], reading: Reading, *, games: int) -> Iterator[Batch]:
    """Cut the sources into batches of about so many games, with their bytes."""
    chunks: list[Chunk] = []
    number = held = held_bytes = 0
    for chunk in cut_chunks(sources, reading, chunk_bytes=None, keep_bytes=True):
        chunks.append(chunk)
        held += len(chunk)
        held_bytes += chunk.length
        if held >= games or held_bytes >= BATCH_BYTES:
            yield Batch(number, chunks)
            chunks, number, held, held_bytes = [], number + 1, 0, 0
    if chunks:
        yield Batch(number, chunks)


def cut_chunks(
    sources: Sequence[Source],
    reading: Reading,
    *,
    chunk_bytes: int | None = CHUNK_BYTES,
    keep_bytes: bool = False,
) -> Iterator[Chunk]:
    """Cut the sources into chunks, and note digests and failures in `reading`.

    Without `chunk_bytes` a chunk is what was read at a time. With `keep_bytes` every chunk holds
    its bytes; else those of plain files are read again by the worker that needs them.

    A source that cannot be opened or read to its end is noted as failed; the games before the
    damage are kept and the other sources go on.
    """
    number = 0
    total = None if any(s.size is None for s in sources) else sum(s.size or 0 for s in sources)
    worth = WORTH_BESIDE_NUMBA if "numba" in sys.modules else WORTH_COMPILED
    if total is None or total >= worth:
        scan_kernel(load=True)
    read_before = 0
    for source in sources:
        last_line = 1
        try:
            with open_bytes(source) as raw:
                # A plain file's bytes are read here anyway: a digest of them costs little.
                plain = raw.compression is None and source.path is not None
                stream = DigestingStream(raw, digest=reading.digest or plain)
                path = None if raw.compression or keep_bytes else source.path
                for block in scan_blocks(stream, block_bytes=BLOCK_BYTES):
                    reading.games += len(block)
                    last_line = int(block.lines[-1])
                    for chunk in _cut_block(block, source.name, path, number, chunk_bytes):
                        number += 1
                        yield chunk
                    if reading.progress:
                        done = read_before + raw.disk_position()
                        reading.progress(Progress(done, total, f"{reading.games:,} games"))
            if plain:
                source.note_digest(stream.hexdigest() or "")
            reading.inputs.append(
                {"name": source.name, "bytes": stream.bytes, "sha256": stream.hexdigest()}
            )
        except InputError as error:
            reading.failures.append((source.name, last_line, str(error)))
        read_before += source.size or 0


def _cut_block(
    block: Block, name: str, path: Path | None, number: int, chunk_bytes: int | None
) -> Iterator[Chunk]:
    readable = path if block.verbatim else None
    ends = block.ends
    first = 0
    while first < len(block):
        begin = int(block.starts[first])
        behind = len(block)
        if chunk_bytes is not None:
            behind = int(np.searchsorted(ends, begin + chunk_bytes, side="right"))
            behind = min(max(behind, first + 1), len(block))
        end = int(ends[behind - 1])
        tags: list[Positions | None] = [None, None]
        if block.tag_starts is not None and block.tag_ends is not None:
            low, high = np.searchsorted(block.tag_starts, (begin, end))
            tags = [block.tag_starts[low:high] - begin, block.tag_ends[low:high] - begin]
        yield Chunk(
            number,
            name,
            readable,
            block.offset + begin,
            end - begin,
            None if readable else block.text[begin:end],
            block.starts[first:behind] - begin,
            block.movetexts[first:behind] - begin,
            block.lines[first:behind],
            *tags,
        )
        number += 1
        first = behind
