"""PGN sources cut into stretches of whole games, the tasks of the parallel readers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from milepost.errors import InputError
from milepost.games.boundaries import Positions
from milepost.games.scan import BLOCK_BYTES, Block, scan_blocks
from milepost.games.sources import Source, open_bytes
from milepost.games.work import DigestingStream, Progress, Report

CHUNK_BYTES = 256 << 10
"""About 300 games: a second of work, so that progress is smooth and little is done twice."""


_CHUNKS_A_BATCH = 8


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

    report: Report | None = None
    """Called with the progress."""
    digest: bool = True
    """Whether to digest the sources, for an output that says what it was made from."""
    inputs: list[dict[str, Any]] = field(default_factory=list)
    """Name, bytes and digest of each source that was read to its end."""
    failures: list[tuple[str, int, str]] = field(default_factory=list)
    """Source, line and reason where bytes could not be read further."""
    games: int = 0
    """Games found so far."""


def cut_batches(sources: list[Source], reading: Reading, *, games: int) -> Iterator[Batch]:
    """Cut the sources into batches of about so many games, with their bytes."""
    chunks: list[Chunk] = []
    number = held = 0
    for chunk in cut_chunks(sources, reading, chunk_bytes=BLOCK_BYTES, keep_bytes=True):
        chunks.append(chunk)
        held += len(chunk)
        if held >= games or len(chunks) >= _CHUNKS_A_BATCH:
            yield Batch(number, chunks)
            chunks, number, held = [], number + 1, 0
    if chunks:
        yield Batch(number, chunks)


def cut_chunks(
    sources: list[Source],
    reading: Reading,
    *,
    chunk_bytes: int = CHUNK_BYTES,
    keep_bytes: bool = False,
) -> Iterator[Chunk]:
    """Cut the sources into chunks, and note digests and failures in `reading`.

    With `keep_bytes` every chunk holds its bytes; else those of plain files are read again by the
    worker that needs them.

    A source that cannot be opened or read to its end is noted as failed; the games before the
    damage are kept and the other sources go on.
    """
    number = 0
    total = None if any(s.size is None for s in sources) else sum(s.size or 0 for s in sources)
    read_before = 0
    for source in sources:
        last_line = 1
        try:
            with open_bytes(source) as raw:
                stream = DigestingStream(raw, digest=reading.digest)
                path = None if raw.compression or keep_bytes else source.path
                for block in scan_blocks(stream, block_bytes=BLOCK_BYTES):
                    reading.games += len(block)
                    last_line = int(block.lines[-1])
                    for chunk in _cut_block(block, source.name, path, number, chunk_bytes):
                        number += 1
                        yield chunk
                    if reading.report:
                        done = read_before + raw.disk_position()
                        reading.report(Progress(done, total, reading.games))
            reading.inputs.append(
                {"name": source.name, "bytes": stream.bytes, "sha256": stream.hexdigest()}
            )
        except InputError as error:
            reading.failures.append((source.name, last_line, str(error)))
        read_before += source.size or 0


def _cut_block(
    block: Block, name: str, path: Path | None, number: int, chunk_bytes: int
) -> Iterator[Chunk]:
    readable = path if block.verbatim else None
    ends = block.ends
    first = 0
    while first < len(block):
        begin = int(block.starts[first])
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
