"""Inputs: which files a command was given, and their bytes, decompressed and streamed."""

from __future__ import annotations

import bz2
import glob
import gzip
import hashlib
import io
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, Protocol, cast, overload

from milepost.errors import InputError

STDIN = "-"
COMPRESSED = (".gz", ".bz2", ".zst")
TABLE_ENDINGS = (".parquet", ".csv", ".tsv", ".ndjson", ".jsonl")
_PIECE_BYTES = 1 << 16
_PLAIN_BYTES = 1 << 23


class Readable(Protocol):
    """Anything with a `read` of bytes."""

    def read(self, size: int, /) -> bytes:
        """Read up to `size` bytes."""
        ...


class BadBytesError(InputError):
    """A file's bytes end too early or are damaged; what came before them was delivered."""


@dataclass(frozen=True)
class Source:
    """One input file, or standard input."""

    name: str
    """The name to show, as the user gave it or as found in the folder."""
    path: Path | None
    """Where it lies; `None` for standard input."""
    _digests: list[str] = field(default_factory=list, compare=False, repr=False)
    """The digest of the file, once somebody has read it through."""

    @property
    def is_table(self) -> bool:
        """Whether the name says that it is a table and not PGN."""
        return plain_name(self.name).endswith(TABLE_ENDINGS)

    @property
    def size(self) -> int | None:
        """The bytes on disk, `None` for standard input."""
        return self.path.stat().st_size if self.path else None

    def note_digest(self, digest: str) -> None:
        """Remember the digest of the file's bytes, from whoever has read them all anyway."""
        self._digests[:] = [digest]

    def about(self) -> dict[str, Any]:
        """Return name, size and digest, for the provenance; the file is read once at most.

        Raises
        ------
        InputError
            If it cannot be read.
        """
        if self.path is None:
            return {"name": self.name}
        if not self._digests:
            try:
                with self.path.open("rb") as handle:
                    self.note_digest(hashlib.file_digest(handle, "sha256").hexdigest())
            except OSError as error:
                raise InputError(f"cannot read {self.name}: {error.strerror}") from error
        return {"name": self.name, "bytes": self.size, "sha256": self._digests[0]}


class Sources(Sequence[Source]):
    """The input files of a job, found once: every reading function takes them in place of names."""

    def __init__(self, sources: Iterable[Source]):
        self._sources = tuple(sources)

    @overload
    def __getitem__(self, index: int) -> Source: ...
    @overload
    def __getitem__(self, index: slice) -> Sources: ...
    def __getitem__(self, index: int | slice) -> Source | Sources:
        if isinstance(index, slice):
            return Sources(self._sources[index])
        return self._sources[index]

    def __len__(self) -> int:
        return len(self._sources)

    def __repr__(self) -> str:
        return f"Sources({', '.join(source.name for source in self)})"

    @cached_property
    def are_tables(self) -> bool:
        """Whether they are tables.

        Raises
        ------
        InputError
            If some are PGN and some are tables.
        """
        tables = [source.is_table for source in self]
        if any(tables) and not all(tables):
            raise InputError("give either PGN or tables, not both at once")
        return all(tables)

    @property
    def paths(self) -> list[Path]:
        """Where they lie, without standard input."""
        return [source.path for source in self if source.path is not None]

    def about(self) -> list[dict[str, Any]]:
        """Return name, size and digest of each file, for the provenance."""
        return [source.about() for source in self]


Inputs = str | Path | Iterable[str | Path] | Sources
"""What a user may name files by: one name, several, or files that were found before."""


def plain_name(name: str) -> str:
    """Return the lower-case name without an ending that only says how it is compressed."""
    lowered = name.lower()
    for ending in COMPRESSED:
        lowered = lowered.removesuffix(ending)
    return lowered


def input_names(inputs: Inputs) -> list[str]:
    """Return the names in inputs, one or several: a text is one name, never its letters."""
    if isinstance(inputs, Sources):
        return [source.name for source in inputs]
    if isinstance(inputs, str | Path):
        return [str(inputs)]
    names = list(inputs) if isinstance(inputs, Iterable) else [inputs]
    for name in names:
        if not isinstance(name, str | Path):
            raise InputError(f"expected the names of files, got {type(name).__name__}")
    return [str(name) for name in names]


def find_sources(inputs: Inputs) -> Sources:
    """Return the files that the inputs name, each once, in a repeatable order.

    Parameters
    ----------
    inputs
        Files, folders (searched for PGN files at any depth), glob patterns, or ``-`` for standard
        input; one of them or several. What was found before is returned as it is.

    Raises
    ------
    InputError
        If an input names nothing, or nothing at all was given.
    """
    if isinstance(inputs, Sources):
        return inputs
    found: dict[str, Source] = {}
    for item in input_names(inputs):
        if item == STDIN:
            found[STDIN] = Source(STDIN, None)
            continue
        path = Path(item)
        if path.is_dir():
            paths = sorted(p for p in path.rglob("*") if _is_pgn(p))
            if not paths:
                raise InputError(f"no PGN files in the folder {item}")
        elif path.exists():
            paths = [path]
        else:
            paths = sorted(Path(p) for p in glob.glob(item, recursive=True))  # noqa: PTH207
            paths = [p for p in paths if p.is_file()]
            if not paths:
                raise InputError(f"no such file: {item}")
        for file in paths:
            found[str(file.resolve())] = Source(str(file), file)
    if not found:
        raise InputError("no input given")
    return Sources(found.values())


def _is_pgn(path: Path) -> bool:
    return path.is_file() and plain_name(path.name).endswith(".pgn")


def compression_of(first_bytes: bytes) -> str | None:
    """Return gz, bz2 or zst if the first bytes of a file say so; the name may lie."""
    for magic, name in ((b"\x1f\x8b", "gz"), (b"BZh", "bz2"), (b"\x28\xb5\x2f\xfd", "zst")):
        if first_bytes.startswith(magic):
            return name
    return None


@contextmanager
def open_bytes(source: Source) -> Iterator[ByteSource]:
    """Open a source for reading its decompressed bytes.

    Raises
    ------
    InputError
        If it cannot be opened.
    BadBytesError
        While reading, if the compressed data is damaged or cut.
    """
    if source.path is None:
        yield ByteSource(cast(io.BufferedReader, sys.stdin.buffer), source.name)
        return
    try:
        handle = source.path.open("rb")
    except OSError as error:
        raise InputError(f"cannot read {source.name}: {error.strerror}") from error
    with handle:
        yield ByteSource(handle, source.name)


class ByteSource:
    """The decompressed bytes of a file: all that can be had before a failure, which names it."""

    def __init__(self, raw: io.BufferedReader, name: str):
        first_bytes = raw.peek(4)[:4]
        self.compression = compression_of(first_bytes)
        """gz, bz2, zst or `None`."""
        self._raw = raw
        self._read: Callable[[int], bytes] = raw.read
        # read1 hands over what one step gave: read would lose that if the next step met damage.
        if self.compression == "gz":
            self._read = gzip.GzipFile(fileobj=raw).read1
        elif self.compression == "bz2":
            self._read = bz2.BZ2File(raw).read1
        elif self.compression == "zst":
            self._read = _ZstdReader(raw).read
        self._name = name
        self._failure: Exception | None = None
        # A download that was broken off at once: even nothing takes some bytes when compressed.
        if not first_bytes and name.lower().endswith(COMPRESSED):
            self._failure = EOFError("it is empty")
        # What one failing step had already decompressed is lost with it: small pieces.
        self._piece_bytes = _PIECE_BYTES if self.compression else _PLAIN_BYTES

    def disk_position(self) -> int:
        """How many bytes of the file itself were read; 0 where that cannot be told."""
        return self._raw.tell() if self._raw.seekable() else 0

    def read(self, size: int) -> bytes:
        """Read up to `size` bytes; fewer only at the end."""
        parts: list[bytes] = []
        held = 0
        while held < size and self._failure is None:
            try:
                piece = self._read(min(self._piece_bytes, size - held))
            except (EOFError, OSError, ValueError, zlib.error) as error:
                self._failure = error
                break
            if not piece:
                break
            parts.append(piece)
            held += len(piece)
        if self._failure is not None and not parts:
            raise BadBytesError(f"{self._name} is damaged or cut: {self._failure}")
        return parts[0] if len(parts) == 1 else b"".join(parts)


_ZSTD_MAGIC = 0xFD2FB528
_SKIPPABLE = range(0x184D2A50, 0x184D2A60)
_CUT = "the zstd data ends in the middle of a frame"
_BLOCKS_A_PIECE = 8
"""A block holds 128 kB at most, however few bytes it has on disk: memory stays bounded."""


class _ZstdReader:
    """Decompress zstd frames one after the other, and notice when the last one is cut.

    The library's own stream reader ends silently in the middle of a frame, and its other reader
    returns all that the bytes given to it hold: four bytes may stand for 128 kB. So the blocks
    are counted here, by their headers (RFC 8878, sections 3.1.1 and 3.1.2).
    """

    def __init__(self, raw: BinaryIO):
        import zstandard

        self._raw = raw
        self._library = zstandard
        self._frame: Any = None
        self._checksum_bytes = 0
        self._plain = memoryview(b"")
        self._damage: Exception | None = None

    def read(self, size: int) -> bytes:
        while not self._plain:
            if self._damage is not None:
                raise self._damage
            head = b"" if self._frame is not None else self._begin_frame()
            if self._frame is None:
                return b""
            blocks, is_last = self._next_blocks()
            self._plain = memoryview(self._decompressed([head, *blocks]))
            if is_last:
                self._frame = None
        piece, self._plain = bytes(self._plain[:size]), self._plain[size:]
        return piece

    def _decompressed(self, parts: list[bytes]) -> bytes:
        """Decompress block by block: those before a damaged one are good."""
        plain: list[bytes] = []
        try:
            for part in parts:
                plain.append(self._frame.decompress(part))  # noqa: PERF401
        except self._library.ZstdError as error:
            self._damage = ValueError(str(error))
        return b"".join(plain)

    def _begin_frame(self) -> bytes:
        """Return the header of the next frame that holds data; nothing at the end."""
        while magic := self._raw.read(4):
            kind = int.from_bytes(magic, "little")
            if kind in _SKIPPABLE:
                left = int.from_bytes(self._whole(4), "little")
                while left:
                    left -= len(self._whole(min(left, _PIECE_BYTES)))
                continue
            if kind != _ZSTD_MAGIC:
                raise ValueError("behind a zstd frame stands something else")
            described = self._whole(1)
            flags = described[0]
            is_single = flags >> 5 & 1
            content_bytes = (is_single, 2, 4, 8)[flags >> 6]
            more = self._whole(1 - is_single + (0, 1, 2, 4)[flags & 3] + content_bytes)
            self._checksum_bytes = 4 * (flags >> 2 & 1)
            self._frame = self._library.ZstdDecompressor().decompressobj()
            return magic + described + more
        return b""

    def _next_blocks(self) -> tuple[list[bytes], bool]:
        """Return some blocks of this frame, and whether the last one is among them."""
        parts: list[bytes] = []
        held = 0
        for _ in range(_BLOCKS_A_PIECE):
            head = self._raw.read(3)
            number = int.from_bytes(head, "little")
            is_last, kind, size = number & 1, number >> 1 & 3, number >> 3
            size = 1 if kind == 1 else size  # a block of one repeated byte
            size += self._checksum_bytes if is_last else 0
            block = self._raw.read(size) if len(head) == 3 else b""
            if len(head) < 3 or len(block) < size:
                # The whole blocks before it are good; of a part of one nothing can be had.
                self._damage = EOFError(_CUT)
                break
            parts.append(head + block)
            held += size
            if is_last or held >= _PIECE_BYTES:
                return parts, bool(is_last)
        return parts, False

    def _whole(self, size: int) -> bytes:
        data = self._raw.read(size)
        if len(data) < size:
            raise EOFError(_CUT)
        return data
