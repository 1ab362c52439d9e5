"""Files that come in: unpacked within limits, looked at before anything is made of them."""

from __future__ import annotations

import hashlib
import io
import os
import re
import time
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal

from milepost.io.sources import BadBytesError, ByteSource
from milepost.web.safety.problems import RefusedError
from milepost.web.settings import Limits

Kind = Literal["games", "results"]
_PIECE = 1 << 18
_FIRST = 1 << 16
_BITE = 512
_TAG = re.compile(rb'^\s*\[[A-Za-z0-9][A-Za-z0-9_+#=:-]*\s*"', re.MULTILINE)
_MOVES = re.compile(rb"(?:^|\s)1\.\s*[a-hNBRQKO]")
_EVENT = re.compile(rb"^\[Event[ \t]", re.MULTILINE)
_MARKUP = re.compile(rb"^\s*<(?:!doctype|html|svg|\?xml|script)", re.IGNORECASE)
_PARQUET = b"PAR1"
_TITLE_LETTERS = 80


@dataclass(frozen=True)
class Received:
    """A file that was taken in."""

    kind: Kind
    """Games (PGN), or results (a table)."""
    ending: str
    """How its name must end for readers to know it: .pgn, .csv, .parquet."""
    digest: str
    """SHA-256 of the unpacked bytes."""
    bytes: int
    """How many there are."""


def receive_file(file: BinaryIO, name: str, target: Path, limits: Limits) -> Received:
    """Unpack a file into a private one, and tell what it is.

    Parameters
    ----------
    file
        What came in, packed or not.
    name
        What the sender calls it: only its ending is looked at, and never used as a path.
    target
        Where to; made for this user alone.
    limits
        What is too much.

    Raises
    ------
    RefusedError
        If it is too large, grows too much, is damaged, or is nothing that can be used.
    """
    file.seek(0, os.SEEK_END)
    packed = file.tell()
    file.seek(0)
    if packed > limits.packed_bytes:
        raise RefusedError(413, "Too large", f"A file may have {limits.packed_bytes:,} bytes.")
    if not packed:
        raise RefusedError(422, "Nothing in it", "The file is empty.")
    begun = time.monotonic()
    source = ByteSource(_SmallBites(file), "the file")  # type: ignore[arg-type]
    look = _Look(limits)
    digest = hashlib.sha256()
    total = 0
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as out:
        while True:
            try:
                piece = source.read(_PIECE)
            except BadBytesError as error:
                raise RefusedError(
                    422, "Damaged", "The packed file is damaged or cut off: pack it again."
                ) from error
            if not piece:
                break
            total += len(piece)
            if total > limits.unpacked_bytes or total > max(limits.ratio * packed, 1 << 20):
                raise RefusedError(
                    413, "Too large once unpacked",
                    f"Unpacked, a file may have {limits.unpacked_bytes:,} bytes, and "
                    f"{limits.ratio:g} times its packed size.",
                )  # fmt: skip
            if time.monotonic() - begun > limits.seconds:
                raise RefusedError(413, "Takes too long", "Send the games in several files.")
            digest.update(piece)
            look.at(piece)
            out.write(piece)
    kind, ending = look.kind(name)
    if kind == "results" and ending == ".parquet":
        _check_parquet(target, limits)
    return Received(kind, ending, digest.hexdigest(), total)


class _SmallBites(io.BufferedReader):
    """Hands a packed file over in small pieces: four bytes of zstd can stand for 128 kB."""

    mode = "rb"
    """What is asked by readers that would else take the mode of the temporary file, and write."""

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read(_BITE if size is None or size < 0 else min(size, _BITE))


class _Look:
    """Looks at a file while it comes in, piece by piece."""

    def __init__(self, limits: Limits):
        self._limits = limits
        self._first = b""
        self._last_line = b""
        self._games = 0
        self._tags = 0

    def at(self, piece: bytes) -> None:
        if len(self._first) < _FIRST:
            self._first = (self._first + piece)[:_FIRST]
        if self._first.startswith(_PARQUET):
            return
        text = self._last_line + piece
        cut = text.rfind(b"\n") + 1
        # A line that never ends is looked at in pieces: it is movetext, or nothing of ours.
        whole, self._last_line = (text[:cut], text[cut:]) if cut else (text, b"")
        self._games += len(_EVENT.findall(whole))
        if self._games > self._limits.games:
            raise RefusedError(
                413, "Too many games", f"A file may hold {self._limits.games:,} games."
            )
        self._count_tags(whole)

    def _count_tags(self, text: bytes) -> None:
        """Refuse a game with more tags than anybody needs."""
        for line in text.splitlines():
            if line.startswith(b"[Event ") or not line.startswith(b"["):
                self._tags = 0
            else:
                self._tags += 1
                if self._tags > self._limits.tags:
                    raise RefusedError(
                        422, "Too many tags", f"A game may have {self._limits.tags} tags."
                    )

    def kind(self, name: str) -> tuple[Kind, str]:
        """What the file is, by what is in it; the name only settles what could be both."""
        if self._first.startswith(_PARQUET):
            return "results", ".parquet"
        text = self._first.removeprefix(b"\xef\xbb\xbf")
        if not _MARKUP.match(text) and b"\0" not in text:
            if _TAG.search(text) or (_MOVES.search(text) and b"," not in text.split(b"\n")[0]):
                return "games", ".pgn"
            header = text.split(b"\n", 1)[0]
            if header.count(b",") >= 2 and ".csv" in name.lower():
                return "results", ".csv"
        raise RefusedError(
            415, "Not a file of games or results",
            "Send PGN (plain, .zst, .gz or .bz2), or a table of results as CSV or Parquet.",
        )  # fmt: skip


def _check_parquet(path: Path, limits: Limits) -> None:
    """Refuse a table that would not fit in memory, before it is read."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        about = pq.read_metadata(path)
        size = sum(about.row_group(i).total_byte_size for i in range(about.num_row_groups))
        rows = about.num_rows
    except (pa.ArrowException, OSError, ValueError) as error:
        raise RefusedError(422, "Damaged", "This is no Parquet table that can be read.") from error
    if size > limits.unpacked_bytes or rows > 20_000_000 or about.num_columns > 1000:
        raise RefusedError(413, "Too large once unpacked", "Send fewer rows or columns.")


def plain_title(name: str) -> str:
    """Return what to call a set: a file's own name, without folders and odd characters."""
    base = name.replace("\\", "/").rsplit("/", 1)[-1]
    letters = (char for char in base if unicodedata.category(char)[0] != "C")
    title = "".join(letters).strip(". ")[:_TITLE_LETTERS]
    return title or "games"
