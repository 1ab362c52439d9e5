"""The tag pairs of PGN games, read one game at a time or for a whole block of games at once.

`parse_tags` is the rule. `tag_columns` gives the same values column by column with array
operations over the block's bytes; every game in which it meets a line that is not of the plain form
``[Name "value"]`` it hands to `parse_tags`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from milepost.games.scan import Block, Positions

TAG_COLUMNS = {
    "Event": "event",
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

_NAME = rb"[A-Za-z0-9][A-Za-z0-9_+#=:-]*"
_STRICT_PAIR = re.compile(rb"\[\s*(" + _NAME + rb')\s*"((?:[^"\\]|\\.)*)"\s*\]\s*')
# The value may hold bare quotes, as in python-chess's reading of a line.
_LOOSE_LINE = re.compile(rb"\[\s*(" + _NAME + rb')\s+"(.*)"\s*\]\s*')


def decode(value: bytes) -> str:
    """Return bytes as text: UTF-8 where they are valid UTF-8, else Latin-1."""
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return value.decode("latin-1")


def parse_tags(header: bytes) -> tuple[dict[str, str], list[str]]:
    """Return the tags of one game's header, and the tag lines that could not be read.

    A tag given twice has its last value. Several tags on one line are read one after the other;
    escapes in values are kept as they stand.
    """
    tags: dict[str, str] = {}
    unreadable: list[str] = []
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
                unreadable.append(decode(line))
        for name, value in pairs:
            tags[name.decode("ascii")] = decode(value)
    return tags, unreadable


def tag_columns(
    block: Block, names: Sequence[str] = tuple(TAG_COLUMNS)
) -> tuple[dict[str, pl.Series], dict[int, list[str]]]:
    """Return the values of the named tags for every game of a block; a missing tag is null.

    Returns
    -------
    columns
        A text column for each name.
    unreadable
        The tag lines that could not be read, by number of the game in the block.
    """
    data = np.frombuffer(block.text, dtype=np.uint8)
    opens, closes, name_starts, game, odd = _plain_pairs(block, data)
    lengths = opens - 1 - name_starts
    heads = _words(block.text, name_starts)
    tails = _words(block.text, opens - 9)

    odd_games = np.flatnonzero(odd).tolist()
    parsed = {
        number: parse_tags(block.text[block.starts[number] : block.movetexts[number]])
        for number in odd_games
    }
    columns: dict[str, pl.Series] = {}
    for name in names:
        rows = np.flatnonzero(_is_named(name, lengths, heads, tails))
        column = _gather(block.text, opens[rows] + 1, closes[rows], game[rows], len(block))
        if odd_games:
            values = [parsed[number][0].get(name) for number in odd_games]
            column = column.scatter(odd_games, pl.Series(values, dtype=pl.String))
        columns[name] = column.alias(name)
    return columns, {number: lines for number, (_, lines) in parsed.items() if lines}


def _plain_pairs(
    block: Block, data: NDArray[np.uint8]
) -> tuple[Positions, Positions, Positions, Positions, NDArray[np.bool_]]:
    """Pair up the quotes of all headers, and say which games are not of the plain form.

    Returns the positions of opening and closing quotes, of the names' first letters, the number of
    the game, and for each game whether it must be read by `parse_tags`.
    """
    quotes = np.flatnonzero(data == 0x22)
    low = np.searchsorted(quotes, block.starts)
    high = np.searchsorted(quotes, block.movetexts)
    odd = (high - low) % 2 == 1
    counts = np.where(odd, 0, high - low)
    game = np.repeat(np.arange(len(block)), counts)
    if not len(game):
        # No tags at all; a game that has a header without any quote is still looked at.
        odd |= block.movetexts > block.starts
        none = np.zeros(0, dtype=np.int64)
        return none, none, none, none, odd
    begin_of_game = np.cumsum(counts) - counts
    held = quotes[np.arange(len(game)) - begin_of_game[game] + low[game]]
    opens, closes, game = held[0::2], held[1::2], game[0::2]

    last = len(data) - 1
    after = closes + 2
    has_cr = data[np.minimum(after, last)] == 0x0D
    line_ends = after + has_cr
    ends_plainly = (data[np.minimum(closes + 1, last)] == 0x5D) & (
        (line_ends > last) | (data[np.minimum(line_ends, last)] == 0x0A)
    )
    is_first = np.concatenate(([True], game[1:] != game[:-1]))
    line_starts = np.concatenate(([0], line_ends[:-1] + 1))
    line_starts[is_first] = block.starts[game[is_first]]
    begins_plainly = (
        (data[np.minimum(line_starts, last)] == 0x5B)
        & (data[opens - 1] == 0x20)
        & (opens - 1 > line_starts + 1)
        & (data[opens - 2] != 0x20)
    )
    odd[game[~(ends_plainly & begins_plainly)]] = True
    # Between the last tag and the movetext only blank lines may stand, else a line has no quotes.
    is_last = np.concatenate((game[1:] != game[:-1], [True]))
    rest = block.movetexts[game[is_last]] - line_ends[is_last]
    odd[game[is_last][rest > 5]] = True
    odd |= (counts == 0) & (block.movetexts > block.starts)
    keep = ~odd[game]
    return opens[keep], closes[keep], line_starts[keep] + 1, game[keep], odd


def _words(text: bytes, positions: Positions) -> NDArray[np.uint64]:
    """Return the eight bytes at each position as one number."""
    if len(text) < 8 or not len(positions):
        return np.zeros(len(positions), dtype=np.uint64)
    every = np.ndarray((len(text) - 7,), dtype="<u8", buffer=text, strides=(1,))
    return np.asarray(every[np.clip(positions, 0, len(text) - 8)])


def _is_named(
    name: str, lengths: Positions, heads: NDArray[np.uint64], tails: NDArray[np.uint64]
) -> NDArray[np.bool_]:
    letters = name.encode("ascii")
    head = np.uint64(int.from_bytes(letters[:8], "little"))
    mask = np.uint64((1 << (8 * min(len(letters), 8))) - 1)
    result = (lengths == len(letters)) & ((heads & mask) == head)
    if len(letters) > 8:
        result &= tails == np.uint64(int.from_bytes(letters[-8:], "little"))
    return np.asarray(result)


def _gather(
    text: bytes, begins: Positions, ends: Positions, game: Positions, games: int
) -> pl.Series:
    """Cut the values out of the text, one for each game, null where a game has none.

    Arrow's text arrays are one buffer and ascending offsets. With the offsets of values and of the
    gaps between them in turn, the block itself serves as that buffer and nothing is copied twice.
    """
    if not len(begins):
        return pl.Series(dtype=pl.String).extend_constant(None, games)
    offsets = np.empty(2 * len(begins), dtype=np.int64)
    offsets[0::2] = begins
    offsets[1::2] = ends
    spans = pa.LargeBinaryArray.from_buffers(
        pa.large_binary(), len(offsets) - 1, [None, pa.py_buffer(offsets), pa.py_buffer(text)]
    )
    place = np.full(games, -1, dtype=np.int64)
    place[game] = np.arange(len(begins)) * 2  # a tag given twice: the last one stays
    values = spans.take(pa.array(place, mask=place < 0))
    try:
        return pl.Series(pl.from_arrow(values.cast(pa.large_string())))
    except pa.ArrowInvalid:
        return pl.Series(
            [None if value is None else decode(value) for value in values.to_pylist()],
            dtype=pl.String,
        )
