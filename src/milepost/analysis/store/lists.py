"""The lists of stored evaluations as Arrow arrays, and which of them belong to some turns.

Moves, centipawns and mates are most of a store. They are read once, into the buffers in which
`milepost.analysis.spreads.option_values` looks at them; only the keys become a table.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from milepost.analysis.store.shards import read_shards, setups_in, undecodable
from milepost.io.arrow_buffers import list_starts, starts_of
from milepost.tables import EVALUATIONS

KEY = ["setup", "position", "played"]
_LISTS = ["moves", "cp", "mate"]
_TYPES = (
    pa.large_list(pa.large_string()),
    pa.large_list(pa.large_list(pa.int32())),
    pa.large_list(pa.large_list(pa.int16())),
)
_FEW_FILES = 24
"""Up to so many files are opened one by one; of more, polars reads all in one scan."""
_SPARSE = 4
"""Where fewer than one in so many rows are wanted, the others are not kept in memory."""
_NONE = -1
_NO_KEYS = pl.DataFrame(schema={"evaluation": pl.Int64, "position": pl.String, "played": pl.String})

_Rows = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Evaluated:
    """The lists of some evaluations: Arrow arrays of large lists, no list of them null."""

    moves: Any
    cp: Any
    mate: Any

    @classmethod
    def of_frame(cls, frame: pl.DataFrame) -> Evaluated:
        """Return the lists of a frame; a null counts as a list of nothing."""
        lists = frame.select(
            pl.col("moves").cast(pl.List(pl.String)).fill_null([]),
            pl.col("cp").cast(pl.List(pl.List(pl.Int32))).fill_null([]),
            pl.col("mate").cast(pl.List(pl.List(pl.Int16))).fill_null([]),
        ).with_columns(pl.col("cp", "mate").list.eval(pl.element().fill_null([])))
        return cls(*(column.rechunk().to_arrow() for column in lists))

    @classmethod
    def of_arrow(cls, table: Any) -> Evaluated:
        """Return the lists of an Arrow table, as they lie there if they can be used so."""
        columns = [_in_one_piece(table.column(name)) for name in _LISTS]
        whole = all(
            column is not None and column.type.equals(kind) and not _has_null_lists(column)
            for column, kind in zip(columns, _TYPES, strict=True)
        )
        return cls(*columns) if whole else cls.of_frame(pl.DataFrame(table))

    @classmethod
    def joined(cls, parts: list[Evaluated]) -> Evaluated:
        """Return all of several parts."""
        if len(parts) == 1:
            return parts[0]
        if not parts:
            return cls(*(pa.array([], type=kind) for kind in _TYPES))
        return cls(*(pa.concat_arrays([getattr(part, name) for part in parts]) for name in _LISTS))

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.moves)

    def usable(self) -> npt.NDArray[np.bool_]:
        """Return which of them have at least one move and one depth."""
        usable: npt.NDArray[np.bool_] = np.diff(list_starts(self.moves)) > 0
        return usable & (np.diff(list_starts(self.cp)) > 0)


def _in_one_piece(column: Any) -> Any:
    if column.num_chunks == 1:
        return column.chunk(0)
    return column.combine_chunks() if column.num_chunks else None


def _has_null_lists(lists: Any) -> bool:
    if lists.null_count:
        return True
    return pa.types.is_large_list(lists.type.value_type) and bool(lists.values.null_count)


def find_evaluated(
    paths: list[Path], setup: str, positions: pl.Series, played: pl.Series
) -> tuple[Evaluated, _Rows]:
    """Return evaluations of a set-up, and which of them belongs to each turn (-1 = none).

    Parameters
    ----------
    paths
        The files of a store, looked at before.
    setup
        The set-up.
    positions, played
        Of each turn: the position as stored, and the move that was played.
    """
    if len(paths) <= _FEW_FILES:
        with ExitStack() as opened:
            stretches = [each for path in paths for each in _stretches(path, setup, opened)]
            return _find_in(stretches, positions, played)
    wanted = positions.alias("position").to_frame().unique()

    def rows(lazy: pl.LazyFrame) -> pl.LazyFrame:
        lazy = lazy.select(*KEY, *_LISTS).filter(pl.col("setup") == setup)
        return lazy.join(wanted.lazy(), on="position", how="semi")

    frame = pl.concat([EVALUATIONS.empty().select(*KEY, *_LISTS), *read_shards(paths, rows)])
    evaluated = Evaluated.of_frame(frame)
    keys = frame.select("position", "played").with_row_index("evaluation")
    return evaluated, match_turns(keys, evaluated.usable(), positions, played)


@dataclass(frozen=True)
class _Stretch:
    """A stretch of an open file: the keys that it holds, by their rows, and its other columns."""

    path: Path
    file: Any
    number: int
    rows: int
    keys: pl.DataFrame
    """`evaluation`, the row, `position` and `played`, of the set-up that is asked for."""

    def lists(self, rows: _Rows) -> tuple[Evaluated, _Rows]:
        """Return evaluations, and where some rows (rising) are among them."""
        with _named(self.path):
            table = self.file.read_row_group(self.number, columns=_LISTS)
            if missing := set(_LISTS) - set(table.column_names):
                raise pa.ArrowInvalid(f"no column {', '.join(sorted(missing))}")
            if len(rows) * _SPARSE < self.rows:
                return Evaluated.of_frame(pl.DataFrame(table)[rows]), np.arange(len(rows))
            return Evaluated.of_arrow(table), rows


def _stretches(path: Path, setup: str, opened: ExitStack) -> list[_Stretch]:
    """Return the stretches of a file that was looked at, with their keys."""
    found = []
    mixed = setups_in(path) != {setup}
    with _named(path):
        file = opened.enter_context(pq.ParquetFile(path))
        for number in range(file.num_row_groups):
            table = file.read_row_group(number, columns=KEY if mixed else KEY[1:])
            keys = pl.DataFrame(table).with_row_index("evaluation")
            if mixed:
                keys = keys.filter(pl.col("setup") == setup)
            keys = keys.select(pl.col("evaluation").cast(pl.Int64), "position", "played")
            found.append(_Stretch(path, file, number, table.num_rows, keys))
    return found


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Name the file in what is raised about it."""
    try:
        yield
    except (OSError, pa.ArrowException, pl.exceptions.PolarsError) as error:
        raise undecodable(path, error) from error


def _find_in(
    stretches: list[_Stretch], positions: pl.Series, played: pl.Series
) -> tuple[Evaluated, _Rows]:
    """Match the keys first: of a stretch that no turn needs, no more is read."""
    begins = starts_of(np.array([each.rows for each in stretches], dtype=np.int64))
    keys = pl.concat(
        [
            _NO_KEYS,
            *(
                each.keys.with_columns(pl.col("evaluation") + int(begin))
                for each, begin in zip(stretches, begins, strict=False)
            ),
        ]
    )
    usable = np.ones(int(begins[-1]), dtype=np.bool_)
    while True:
        rows = match_turns(keys, usable, positions, played)
        used = np.unique(rows[rows >= 0])
        if not len(used):
            return Evaluated.joined([]), rows
        where = np.full(len(usable), _NONE)
        parts: list[Evaluated] = []
        held = 0
        for each, begin in zip(stretches, begins, strict=False):
            here = used[(used >= begin) & (used < begin + each.rows)] - begin
            if len(here):
                part, places = each.lists(here)
                where[here + begin] = places + held
                parts.append(part)
                held += len(part)
        evaluated = Evaluated.joined(parts)
        bad = used[~evaluated.usable()[where[used]]]
        if not len(bad):
            return evaluated, np.where(rows >= 0, where[rows], _NONE)
        usable[bad] = False


def match_turns(
    keys: pl.DataFrame,
    usable: npt.NDArray[np.bool_],
    positions: pl.Series,
    played: pl.Series,
) -> _Rows:
    """Return the evaluation of each turn (-1 = none): that for its played move, or for any move.

    Parameters
    ----------
    keys
        `position`, `played` (null = for any move) and `evaluation`, the row; where a key is there
        twice, the first one counts.
    usable
        Which rows can be used.
    positions, played
        Of each turn.
    """
    if not usable.all():
        keys = keys.filter(pl.Series(usable).gather(keys["evaluation"]))
    turns = pl.DataFrame([positions.alias("position"), played.alias("played")])
    for_any = keys
    if keys["played"].null_count() < len(keys):
        for_any = keys.filter(pl.col("played").is_null())
    rows = _joined(turns.select("position"), for_any)
    if len(for_any) < len(keys):
        for_played = _joined(turns, keys.filter(pl.col("played").is_not_null()))
        rows = np.where(for_played >= 0, for_played, rows)
    return rows


def _joined(turns: pl.DataFrame, keys: pl.DataFrame) -> _Rows:
    on = turns.columns
    found = turns.join(keys.select("evaluation", *on), on=on, how="left", maintain_order="left")
    if len(found) > len(turns):  # a key is there twice
        once = keys.unique(on, keep="first", maintain_order=True)
        return _joined(turns, once)
    rows: _Rows = found["evaluation"].cast(pl.Int64).fill_null(_NONE).to_numpy()
    return rows
