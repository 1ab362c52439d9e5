"""The tag pairs of PGN games, read one game at a time or for a whole block of games at once.

`parse_tags` is the rule. `code_tags` gives the same values column by column with array operations
over the blocks' bytes, or by compiled code; every game in which it meets a line that is not of the
plain form ``[Name "value"]`` it hands to `parse_tags`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from milepost.games.pgn.blocks import Block
from milepost.games.pgn.boundaries import Positions, scan_kernel
from milepost.games.pgn.coded import Coded, decode, texts

TAG_COLUMNS = {
    "Event": "event",
    "BroadcastName": "broadcast",
    "Site": "site",
    "Date": "date",
    "UTCDate": "utc_date",
    "Round": "round",
    "White": "white",
    "Black": "black",
    "Result": "result",
    "WhiteElo": "white_elo",
    "BlackElo": "black_elo",
    "WhiteFideId": "white_fide_id",
    "BlackFideId": "black_fide_id",
    "WhiteTitle": "white_title",
    "BlackTitle": "black_title",
    "WhiteTeam": "white_team",
    "BlackTeam": "black_team",
    "TimeControl": "time_control",
    "Termination": "termination",
    "Variant": "variant",
    "FEN": "fen",
    "PlyCount": "ply_count",
}
"""The tags that Milepost uses, and the columns that hold them."""

HEADER_TAGS = tuple(
    name
    for name, column in TAG_COLUMNS.items()
    if column not in {"white_title", "black_title", "termination", "fen", "ply_count"}
)
"""Those of them that a reader of headers needs; given twice with two values, they are a doubt."""

_SHOWN_BYTES = 240
_ONES = np.uint64(0x0101010101010101)
_BLANKS, _HIGH_BITS = np.uint64(0x20) * _ONES, np.uint64(0x80) * _ONES
"""Eight blanks, or the highest bit of eight letters, as one number."""
_LONGEST_HEAD = max(map(len, TAG_COLUMNS)) + 8
_NAME = rb"[A-Za-z0-9][A-Za-z0-9_+#=:-]*"
# Possessive: else every letter of a value leaves a place to come back to, 170 bytes each.
_STRICT_PAIR = re.compile(rb"\[\s*(" + _NAME + rb')\s+"([^"\\]*+(?:\\.[^"\\]*+)*+)"\s*\]\s*')
# The value may hold bare quotes, as in python-chess's reading of a line.
_LOOSE_LINE = re.compile(rb"\[\s*(" + _NAME + rb')\s+"(.*)"\s*\]\s*')
_PLAIN_LINE = rf'\[({_NAME.decode()}) "([^"\\\n]*+)"\]\r?\n'
_PLAIN_PAIR = re.compile(_PLAIN_LINE, re.ASCII)
_PLAIN_HEADER = re.compile(rf"(?:{_PLAIN_LINE})*+[\r\n]*+", re.ASCII)


def parse_tags(header: bytes) -> tuple[dict[str, str], list[str]]:
    """Return the tags of one game's header, and what is doubtful about it, in words.

    A tag given twice has its last value; two different values are a doubt, and so is a tag line
    that cannot be read. Several tags on one line are read one after the other; escapes in values
    are kept as they stand.
    """
    if (plain := _plain_tags(header)) is not None:
        return plain, []
    tags: dict[str, str] = {}
    doubts: list[str] = []
    for raw in header.split(b"\n"):
        line = raw.strip()
        if not line.startswith(b"["):
            continue
        pairs = []
        place = 0
        while match := _STRICT_PAIR.match(line, place):
            pairs.append((match.group(1), match.group(2)))
            place = match.end()
        if place < len(line):
            loose = _LOOSE_LINE.fullmatch(line)
            if loose:
                pairs = [(loose.group(1), loose.group(2))]
            else:
                doubts.append(f"unreadable tag: {decode(line[:_SHOWN_BYTES])[:60]}")
        for name_bytes, value_bytes in pairs:
            name, value = name_bytes.decode("ascii"), decode(value_bytes)
            if name in HEADER_TAGS and tags.get(name, value) != value:
                both = f"{tags[name][:20]!r}, then {value[:20]!r}"
                doubts.append(f"the tag {name} is given twice: {both}")
            tags[name] = value
    return tags, doubts


def _plain_tags(header: bytes) -> dict[str, str] | None:
    """Return the tags of a header of plain lines, each tag given once; None for other headers."""
    try:
        text = header.decode("utf-8")
    except UnicodeDecodeError:
        return None
    if not _PLAIN_HEADER.fullmatch(text):
        return None
    pairs = _PLAIN_PAIR.findall(text)
    tags = dict(pairs)
    return tags if len(tags) == len(pairs) else None


def code_tags(
    blocks: Sequence[Block], names: Sequence[str] = tuple(TAG_COLUMNS)
) -> tuple[dict[str, Coded], dict[int, list[str]]]:
    """Return the values of the named tags for every game of some blocks; a missing tag is null.

    Returns
    -------
    columns
        A text column for each name.
    doubts
        What `parse_tags` found doubtful, by number of the game in all blocks.
    """
    odd = np.zeros(sum(map(len, blocks)), dtype=np.bool_)
    if (compiled := scan_kernel()) is not None:
        columns = _columns_by(compiled, blocks, names, odd)
    else:
        columns = _plain_columns(blocks, names, odd)

    first = 0
    parsed: dict[int, tuple[dict[str, str], list[str]]] = {}
    for block in blocks:
        for game in np.flatnonzero(odd[first : first + len(block)]).tolist():
            header = block.text[int(block.starts[game]) : int(block.movetexts[game])]
            parsed[first + game] = parse_tags(header)
        first += len(block)
    if parsed:
        games = np.fromiter(parsed, dtype=np.int64, count=len(parsed))
        for name, column in columns.items():
            theirs = Coded.of_rows(
                pl.Series([tags.get(name) for tags, _ in parsed.values()], dtype=pl.String)
            )
            column.codes[games] = theirs.codes + np.uint32(len(column.values))
            columns[name] = Coded(pl.concat([column.values, theirs.values]), column.codes)
    return columns, {number: doubts for number, (_, doubts) in parsed.items() if doubts}


def _plain_columns(
    blocks: Sequence[Block], names: Sequence[str], odd: NDArray[np.bool_]
) -> dict[str, Coded]:
    """Return the values of plain tag lines; games with others are marked in `odd`."""
    pieces: list[list[Any]] = [[] for _ in names]
    first = 0
    for block in blocks:
        games, behind = len(block), first + len(block)
        if block.tag_starts is None or block.tag_ends is None:
            odd[first:behind] = True
            values = pa.nulls(games * len(names), pa.large_binary())
        else:
            values = _plain_values(
                block, block.tag_starts, block.tag_ends, names, odd[first:behind]
            )
        for place, piece in enumerate(pieces):
            piece.append(values.slice(place * games, games))
        first = behind
    return {
        name: Coded.of_arrow(pa.chunked_array(piece, pa.large_binary()).combine_chunks())
        for name, piece in zip(names, pieces, strict=True)
    }


def _plain_values(
    block: Block,
    line_starts: Positions,
    line_ends: Positions,
    names: Sequence[str],
    odd: NDArray[np.bool_],
) -> Any:
    """Cut out the values of plain tag lines: first those of the first name for every game.

    Games with a tag line of another form are marked in `odd`.

    Arrow's text arrays are one buffer and ascending offsets. With the offsets of values and of the
    gaps between them in turn, the block itself serves as that buffer and nothing is copied twice.
    """
    text, games = block.text, len(block)
    data = np.frombuffer(text, dtype=np.uint8)
    ends = line_ends - (data[line_ends - 1] == 0x0D)
    first_lines = np.searchsorted(line_starts, block.starts)
    game = np.repeat(np.arange(games), np.diff(first_lines, append=len(line_starts)))
    closed = (data[ends - 1] == 0x5D) & (data[ends - 2] == 0x22)
    if not closed.all():
        odd[game[~closed]] = True
    # At the very end of the text there may be no room for a name, a quote and eight bytes to read.
    odd[game[np.searchsorted(line_starts, len(text) - _LONGEST_HEAD, side="right") :]] = True
    if b"\t" in text:
        odd[:] = True
    found, number = _named_lines(text, line_starts, names)
    game = game[found]
    sizes = np.array([len(name) for name in names], dtype=np.int64)
    quotes = np.minimum(line_starts[found] + sizes[number] + 2, len(text) - 1)
    begins, ends, cells = quotes + 1, ends[found] - 2, number * games + game
    plain = (data[quotes] == 0x22) & (ends >= begins)
    if not plain.all():
        odd[game[~plain]] = True
        ends = np.maximum(ends, begins)
    place = np.full(games * len(names), -1, dtype=np.int64)
    place[cells] = np.arange(0, 2 * len(found), 2)
    if np.count_nonzero(place >= 0) < len(found):
        odd[game[np.bincount(cells)[cells] > 1]] = True  # a tag given twice: told by `parse_tags`
    offsets = np.empty(2 * len(found) + 2, dtype=np.int64)
    offsets[0:-2:2], offsets[1:-2:2] = begins, ends
    offsets[-2:] = len(text)
    return _taken(text, offsets, place)


def _named_lines(
    text: bytes, line_starts: Positions, names: Sequence[str]
) -> tuple[Positions, Positions]:
    """Return which tag lines begin with one of the names and a blank, and with which name."""
    wanted = [f"{name} ".encode("ascii") for name in names]
    # Of each line eight letters, or those up to the first blank, are sought among all names.
    heads = np.array([int.from_bytes(name[:8], "little") for name in wanted], dtype=np.uint64)
    order = np.argsort(heads)
    heads = heads[order]
    words = _words(text, line_starts + 1)
    other = words ^ _BLANKS
    marks = (other - _ONES) & ~other & _HIGH_BITS
    words &= ((marks & (~marks + np.uint64(1))) << np.uint64(1)) - np.uint64(1)
    places = np.searchsorted(heads, words)
    lines = np.flatnonzero(np.append(heads, np.uint64(0))[places] == words)
    numbers = order[places[lines]]
    # Of long names the last letters, and the blank.
    sizes = np.array([*map(len, wanted)], dtype=np.int64)
    tails = np.array([int.from_bytes(name[-8:], "little") for name in wanted], dtype=np.uint64)
    is_long = np.flatnonzero((sizes > 8)[numbers])
    of_long = numbers[is_long]
    is_other = _words(text, line_starts[lines[is_long]] + sizes[of_long] - 7) != tails[of_long]
    if is_other.any():
        others = is_long[is_other]
        lines, numbers = np.delete(lines, others), np.delete(numbers, others)
    return lines, numbers


def _columns_by(
    compiled: Any, blocks: Sequence[Block], names: Sequence[str], odd: NDArray[np.bool_]
) -> dict[str, Coded]:
    """Do what `_plain_columns` does by the compiled scan."""
    table = compiled.TagValues(names, blocks)
    first = 0
    for block in blocks:
        here = odd[first : first + len(block)]
        if block.tag_starts is None or b"\t" in block.text:
            here[:] = True
        else:
            table.add(block, first, here)
        first += len(block)
    values = table.values()
    spans = pa.LargeBinaryArray.from_buffers(
        pa.large_binary(),
        len(values.offsets) - 1,
        [None, pa.py_buffer(values.offsets), pa.py_buffer(values.text)],
    )
    known = texts(spans, nulls=1)
    return {
        name: Coded(known.gather(values.of_name[place]), table.codes[place])
        for place, name in enumerate(names)
    }


def _words(text: bytes, positions: Positions) -> NDArray[np.uint64]:
    """Return the eight bytes at each position as one number."""
    if len(text) < 8 or not len(positions):
        return np.zeros(len(positions), dtype=np.uint64)
    every = np.ndarray((len(text) - 7,), dtype="<u8", buffer=text, strides=(1,))
    return np.asarray(every[np.clip(positions, 0, len(text) - 8)])


def _taken(text: bytes, offsets: Positions, place: Positions) -> Any:
    """Return the spans at these places, null where the place is negative."""
    spans = pa.LargeBinaryArray.from_buffers(
        pa.large_binary(), len(offsets) - 1, [None, pa.py_buffer(offsets), pa.py_buffer(text)]
    )
    # Not pa.array(place, mask=...): that would import pandas, where there is one, for nothing.
    known = pa.py_buffer(np.packbits(place >= 0, bitorder="little"))
    return spans.take(pa.Array.from_buffers(pa.int64(), len(place), [known, pa.py_buffer(place)]))
