"""The lists of stored evaluations as Arrow arrays, and which of them belong to some turns.

Moves, centipawns and mates are most of a store. They are read once, into the buffers in which
`milepost.analysis.spreads.option_values` looks at them; only the keys become a table.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from milepost.analysis.store.shards import read_shards, undecodable
from milepost.io.arrow_buffers import list_starts

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
    wanted = positions.alias("position").to_frame()
    parts: list[Evaluated] = []
    keys: list[pl.DataFrame] = []
    held = 0
    readers = _read_few(paths) if len(paths) <= _FEW_FILES else _read_many(paths, setup, wanted)
    for found, lists in readers:
        numbered = found.with_row_index("evaluation").filter(pl.col("setup") == setup)
        here = numbered.join(wanted, on="position", how="semi", maintain_order="left")
        if not len(here):
            continue
        part = lists(here["evaluation"])
        if len(part) == len(here):  # those that are wanted, and no others
            here = here.drop("evaluation").with_row_index("evaluation")
        parts.append(part)
        keys.append(here.with_columns(pl.col("evaluation").cast(pl.Int64) + held))
        held += len(part)
    evaluated = Evaluated.joined(parts)
    if not keys:
        return evaluated, np.full(len(positions), _NONE)
    once = pl.concat(keys).unique(KEY, keep="first", maintain_order=True)
    return evaluated, match_turns(once, evaluated, positions, played)


def match_turns(
    keys: pl.DataFrame, evaluated: Evaluated, positions: pl.Series, played: pl.Series
) -> _Rows:
    """Return the evaluation of each turn: the one for its played move, or else for any move.

    Parameters
    ----------
    keys
        `position`, `played` (null = for any move) and `evaluation`, the row; each key once.
    evaluated
        The evaluations; those without moves or depths do not count.
    positions, played
        Of each turn.
    """
    usable = evaluated.usable()
    if not usable.all():
        keys = keys.filter(pl.Series(usable).gather(keys["evaluation"]))
    turns = pl.DataFrame([positions.alias("position"), played.alias("played")])
    for_any = keys.filter(pl.col("played").is_null()).select("position", "evaluation")
    rows = _joined(turns.select("position"), for_any)
    if len(for_any) < len(keys):
        own = keys.filter(pl.col("played").is_not_null())
        for_played = _joined(turns, own.select("position", "played", "evaluation"))
        rows = np.where(for_played >= 0, for_played, rows)
    return rows


def _joined(turns: pl.DataFrame, keys: pl.DataFrame) -> _Rows:
    found = turns.join(keys, on=turns.columns, how="left", maintain_order="left")["evaluation"]
    rows: _Rows = found.cast(pl.Int64).fill_null(_NONE).to_numpy()
    return rows


def _read_few(paths: list[Path]) -> Any:
    """Yield the keys of each stretch of the files, and what reads the lists of rows of it."""
    for path in paths:
        try:
            with pq.ParquetFile(path) as file:
                for group in range(file.num_row_groups):
                    keys = pl.DataFrame(file.read_row_group(group, columns=KEY))
                    yield keys.select(KEY), _GroupReader(path, file, group, len(keys))
        except (OSError, pa.ArrowException, pl.exceptions.PolarsError) as error:
            raise undecodable(path, error) from error


@dataclass(frozen=True)
class _GroupReader:
    path: Path
    file: Any
    group: int
    rows: int

    def __call__(self, wanted: pl.Series) -> Evaluated:
        table = self.file.read_row_group(self.group, columns=_LISTS)
        if missing := set(_LISTS) - set(table.column_names):
            raise undecodable(self.path, KeyError(f"no column {', '.join(sorted(missing))}"))
        if len(wanted) * _SPARSE < self.rows:
            return Evaluated.of_frame(pl.DataFrame(table)[wanted])
        return Evaluated.of_arrow(table)


def _read_many(paths: list[Path], setup: str, wanted: pl.DataFrame) -> Any:
    """As `_read_few`, for any number of files: what is wanted of them, in one piece."""

    def rows(lazy: pl.LazyFrame) -> pl.LazyFrame:
        lazy = lazy.select(*KEY, *_LISTS).filter(pl.col("setup") == setup)
        return lazy.join(wanted.unique().lazy(), on="position", how="semi")

    for frame in read_shards(paths, rows):
        yield frame.select(KEY), lambda _, frame=frame: Evaluated.of_frame(frame)
