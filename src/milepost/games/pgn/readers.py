"""PGN read in stretches: games with their moves, or the headers alone."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import chess
import numpy as np
import polars as pl
from numpy.typing import NDArray

from milepost.games.pgn.blocks import Batch, Block, Chunk
from milepost.games.pgn.coded import Coded, spread
from milepost.games.pgn.mainline import Mainline, Record, Watch
from milepost.games.pgn.movetext import last_move_numbers, read_moves, result_token
from milepost.games.pgn.tags import HEADER_TAGS, TAG_COLUMNS, code_tags, parse_tags
from milepost.games.pgn.tidy import RESULTS, elo_doubts, tidy_columns, tidy_tags, variant_of
from milepost.games.players.spellings import Spellings
from milepost.games.turns.replay import TurnRecorder, book_plies_of, replayed_frame
from milepost.io.arrow_buffers import as_series, list_column, number_column, starts_of
from milepost.io.work import Frames
from milepost.tables import ERRORS, GAMES

if TYPE_CHECKING:
    from milepost.games.pgn.plain_moves import PlainMoves

WORTH_IT = 20_000
"""Bytes of movetext from which on it pays to load the compiled reader of plain games."""
ROSTER = ("Event", "Site", "Date", "Round", "White", "Black", "Result")
READABLE_VARIANTS = ("standard", "chess960")

_TOLD = {"clocks": np.float64, "elapsed": np.float64, "eval_cp": np.int32, "eval_mate": np.int32}
"""What comments tell of each move."""
_MOVE_COLUMNS: dict[str, Any] = {
    "result_token": pl.String,
    "game_id": pl.String,
    "plies": pl.Int32,
    "full_moves": pl.Int32,
    "moves": pl.String,
    "broken": pl.Boolean,
    "source": pl.String,
    "line": pl.Int64,
}
_ABOUT = ("source", "line", "white", "black", "event", "date")
"""What an error tells of its game."""
_ELOS = ("white_elo", "black_elo")
_RAW_SCHEMA: dict[str, Any] = dict.fromkeys(TAG_COLUMNS.values(), pl.String) | _MOVE_COLUMNS


def read_chunk(
    chunk: Chunk, *, wanted: frozenset[int] | None = None, book_moves: int | None = None
) -> Frames:
    """Read the games of a chunk.

    Parameters
    ----------
    chunk
        Where they stand.
    wanted
        The lines where the games begin that are wanted; all, if not given.
    book_moves
        If given, the turns are written down too, with so many moves a side marked as book.

    Returns
    -------
    dict
        `games` (see `milepost.tables.GAMES`, without the players' keys) and `errors`; and `turns`
        as `milepost.games.turns.replay.replay` returns them.
    """
    block = chunk.block()
    chosen = [
        number
        for number in range(len(chunk))
        if wanted is None or int(block.lines[number]) in wanted
    ]
    heads = [
        parse_tags(block.text[int(block.starts[number]) : int(block.movetexts[number])])
        for number in chosen
    ]
    plain = _plain_games(block, chosen, [tags for tags, _ in heads], turns=book_moves is not None)
    ends = block.ends
    rows: list[dict[str, Any]] = []
    errors: list[dict[str, Any]] = []
    turns: list[tuple[Any, ...]] = []
    told: list[NDArray[np.float64]] = []
    quick: list[tuple[int, int]] = []
    recorders: list[TurnRecorder] = []

    def watch(fen: str | None, row: int) -> Watch:
        def begin(board: chess.Board) -> Record:
            plies = book_plies_of(fen, book_moves or 0)
            recorders.append(TurnRecorder(board, row=row, book_plies=plies))
            return recorders[-1].record

        return begin

    for place, (number, (tags, doubts)) in enumerate(zip(chosen, heads, strict=True)):
        variant = variant_of(tags.get("Variant"))
        about = _about(tags, chunk.source, int(block.lines[number]))
        if variant not in READABLE_VARIANTS:
            errors.append({**about, "kind": "variant", "reason": f"the variant is {variant}"})
            continue
        recorders.clear()
        if plain is not None and plain.whole[place]:
            line = plain.mainline(place)
            quick.append((place, len(rows)))
        else:
            line = read_moves(
                block.text[int(block.movetexts[number]) : int(ends[number])],
                fen=tags.get("FEN"),
                chess960=variant == "chess960",
                watch=None if book_moves is None else watch(tags.get("FEN"), len(rows)),
            )
        if line.error is None and line.result_token is None and _misses_plies(tags, line):
            line.error = f"cut short: PlyCount is {tags['PlyCount']}, {len(line.moves)} were read"
        if not line.moves and not any(_is_name(tags.get(side)) for side in ("White", "Black")):
            reason = line.error or "neither players nor moves"
            errors.append({**about, "kind": "unreadable", "reason": reason})
            continue
        row = _row(tags, variant, line, chunk.source, about["line"])
        rows.append(row)
        told.append(
            _told(line) if plain is None or not plain.whole[place] else plain.told_in(place)
        )
        turns += recorders[0].rows if recorders else []
        about |= {"plies_kept": len(line.moves), "game_id": row["game_id"]}
        if line.error:
            errors.append({**about, "kind": "broken", "reason": line.error})
        reasons = doubts if line.error else doubts + _doubts(tags, line)
        errors += [{**about, "kind": "doubt", "reason": reason} for reason in reasons]
    raw = pl.DataFrame(rows, schema=_RAW_SCHEMA).with_columns(_told_columns(told))
    frames = {
        "games": GAMES.conform(tidy_tags(raw)).select(GAMES.names),
        "errors": errors_table(errors + _elo_errors(raw)),
    }
    if book_moves is None:
        return frames
    replayed = replayed_frame(turns)
    if plain is not None:
        places, numbers = np.array(quick, dtype=np.int64).reshape(-1, 2).T
        compiled = plain.turns(places, numbers, 2 * book_moves)
        replayed = pl.concat([compiled, replayed]).sort("row", maintain_order=True)
    return {**frames, "turns": replayed}


def _plain_games(
    block: Block, chosen: list[int], heads: list[dict[str, str]], *, turns: bool
) -> PlainMoves | None:
    """Read the plain games among those chosen; None where there is too little to read."""
    begins, ends = block.movetexts[chosen], block.ends[chosen]
    if int((ends - begins).sum()) < WORTH_IT:
        return None
    from milepost.games.pgn.plain_moves import read_plain_moves

    usual = [
        variant_of(tags.get("Variant")) == "standard" and not tags.get("FEN") for tags in heads
    ]
    return read_plain_moves(block.text, begins, np.where(usual, ends, begins), turns=turns)


def errors_table(errors: list[dict[str, Any]]) -> pl.DataFrame:
    """Return a list of errors as a table."""
    return ERRORS.conform(pl.DataFrame(errors, schema_overrides=ERRORS.dtypes)) if errors else (
        ERRORS.empty()
    )  # fmt: skip


def _is_name(value: str | None) -> bool:
    return value is not None and value.strip() not in {"", "?"}


def _about(tags: dict[str, str], source: str, line: int) -> dict[str, Any]:
    return {
        "source": source,
        "line": line,
        "white": tags.get("White"),
        "black": tags.get("Black"),
        "event": tags.get("Event"),
        "date": tags.get("Date"),
        "plies_kept": 0,
        "game_id": None,
    }


def _row(
    tags: dict[str, str], variant: str, line: Mainline, source: str, at: int
) -> dict[str, Any]:
    moves = " ".join(line.moves)
    identity = "\n".join([*(tags.get(name, "?") for name in ROSTER), tags.get("FEN", ""), moves])
    row: dict[str, Any] = {column: tags.get(name) for name, column in TAG_COLUMNS.items()}
    return row | {
        "variant": variant,
        "result_token": line.result_token,
        "game_id": hashlib.sha256(identity.encode("utf-8")).hexdigest()[:16],
        "plies": len(line.moves),
        "full_moves": line.last_move_number,
        "moves": moves,
        "broken": line.error is not None,
        "source": source,
        "line": at,
    }


def _told(line: Mainline) -> NDArray[np.float64]:
    """What the comments of a game tell: a row for each of `_TOLD`, NaN = nothing."""
    columns = (line.clocks, line.elapsed, line.eval_cp, line.eval_mate)
    return np.array(columns, dtype=np.float64).reshape(len(_TOLD), -1)


def _told_columns(games: list[NDArray[np.float64]]) -> list[pl.Series]:
    """Lists of what comments tell, a list a game; null where they tell nothing at all."""
    table = np.concatenate([np.empty((len(_TOLD), 0)), *games], axis=1)
    starts = starts_of(np.array([game.shape[1] for game in games], dtype=np.int64))
    columns = []
    for (name, dtype), values in zip(_TOLD.items(), table, strict=True):
        known = ~np.isnan(values)
        told = starts_of(known)[starts]
        some = np.diff(told) > 0
        numbers = np.where(known, values, 0.0).astype(dtype)
        array = number_column(numbers, np.packbits(known, bitorder="little"))
        lists = list_column(starts, array, np.packbits(some, bitorder="little"))
        columns.append(as_series(name, lists))
    return columns


def _misses_plies(tags: dict[str, str], line: Mainline) -> bool:
    """Whether PlyCount promises more moves than there are."""
    count = tags.get("PlyCount", "")
    return count.isascii() and count.isdigit() and len(count) < 6 and int(count) > len(line.moves)


def _doubts(tags: dict[str, str], line: Mainline) -> list[str]:
    doubts = list(line.doubts)
    result = tags.get("Result")
    if line.mated and result in RESULTS and result != line.mated:
        doubts.append(f"the result is {result}, but the last move mates ({line.mated})")
    elif line.result_token in RESULTS and result in RESULTS and result != line.result_token:
        doubts.append(f"the result is {result} in the tags, {line.result_token} behind the moves")
    count = tags.get("PlyCount", "")
    # As numbers, since "007" is 7; not with int(), which refuses some digits and long numbers.
    if count.isdecimal() and (count.lstrip("0") or "0") != str(len(line.moves)):
        doubts.append(f"PlyCount is {count[:20]}, but {len(line.moves)} half-moves were read")
    return doubts


def _elo_errors(raw: pl.DataFrame) -> list[dict[str, Any]]:
    about = raw.select(*_ABOUT, "game_id", pl.col("plies").alias("plies_kept"))
    doubts = elo_doubts({name: Coded.of_rows(raw[name]) for name in _ELOS})
    return [
        {**about.row(place, named=True), "kind": "doubt", "reason": reason}
        for place, reason in doubts
    ]


HEADER_COLUMNS = (
    "white", "black", "white_elo", "black_elo", "white_fide_id", "black_fide_id", "date", "year",
    "event", "site", "round", "time_control", "speed", "result", "variant", "full_moves",
    "white_team", "black_team", "source", "line",
)  # fmt: skip


NAME_ROWS = ("white_row", "black_row")
"""Where the players' names stand in the table `names`."""
HEADER_BATCH = 50_000
"""Games at a time: array operations want long arrays."""


def read_headers(batch: Batch) -> Frames:
    """Read the tags of all games of a batch; no move is parsed.

    Returns
    -------
    dict
        `games`, with the columns `HEADER_COLUMNS` and `NAME_ROWS`, the `names` that those are rows
        of (see `milepost.games.players.spellings.Spellings`), and `errors`.
    """
    blocks = [chunk.block() for chunk in batch.chunks]
    columns, doubts = code_tags(blocks, HEADER_TAGS)
    raw = {TAG_COLUMNS[name]: column for name, column in columns.items()}
    sizes = [*map(len, blocks)]
    raw["variant"] = _variants(raw["variant"])
    raw["result_token"] = _result_tokens(raw["result"], blocks)
    raw["source"] = Coded(
        pl.Series([chunk.source for chunk in batch.chunks], dtype=pl.String),
        np.repeat(np.arange(len(sizes), dtype=np.uint32), sizes),
    )
    tidy = tidy_columns(raw)
    spellings = Spellings.of_columns(tidy)
    games = spread({name: tidy[name] for name in HEADER_COLUMNS if name in tidy}).with_columns(
        *(rows.alias(f"{side}_row") for side, rows in spellings.sides.items()),
        pl.Series("full_moves", np.concatenate([*map(last_move_numbers, blocks)]), pl.Int32),
        pl.Series("line", np.concatenate([block.lines for block in blocks]), pl.Int64),
    )

    for number, reason in elo_doubts(raw):
        doubts.setdefault(number, []).append(reason)
    errors = []
    nameless = (games["white"] == "?") & (games["black"] == "?") & (games["full_moves"] == 0)
    left_out = nameless | ~games["variant"].is_in(READABLE_VARIANTS)
    for row in games.filter(left_out).iter_rows(named=True):
        kind, reason = "unreadable", "neither players nor moves"
        if row["variant"] not in READABLE_VARIANTS:
            kind, reason = "variant", f"the variant is {row['variant']}"
        errors.append({name: row[name] for name in _ABOUT} | {"kind": kind, "reason": reason})
    for number, reasons in sorted(doubts.items()):
        row = games.row(number, named=True)
        errors += [
            {name: row[name] for name in _ABOUT} | {"kind": "doubt", "reason": reason}
            for reason in reasons
        ]
    kept = games.filter(~left_out) if left_out.any() else games
    return {
        "games": kept.select(*HEADER_COLUMNS, *NAME_ROWS),
        "names": spellings.names,
        "errors": errors_table(errors),
    }


def _result_tokens(results: Coded, blocks: list[Block]) -> Coded:
    """The result behind the moves, looked at only where the tags give none."""
    settled = results.values.is_in(RESULTS).fill_null(False).to_numpy()
    tokens = pl.Series([None, *RESULTS, "*"], dtype=pl.String)
    code_of = {token: code for code, token in enumerate(tokens)}
    codes = np.zeros(len(results.codes), dtype=np.uint32)
    unsettled = np.flatnonzero(~settled[results.codes])
    begins = np.cumsum([0, *map(len, blocks)])
    for block, begin, end in zip(blocks, begins, begins[1:], strict=False):
        ends = block.ends
        for game in unsettled[(unsettled >= begin) & (unsettled < end)] - begin:
            token = result_token(block.text[int(block.movetexts[game]) : int(ends[game])])
            codes[begin + game] = code_of[token]
    return Coded(tokens, codes)


def _variants(tags: Coded) -> Coded:
    variants = [variant_of(tag) for tag in tags.values.to_list()]
    return Coded(pl.Series(variants, dtype=pl.String), tags.codes)
