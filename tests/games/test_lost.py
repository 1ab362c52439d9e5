"""What could not be read, in words."""

from __future__ import annotations

import polars as pl
import pytest

from milepost.games.lost import first_lost
from milepost.tables import ERRORS


@pytest.mark.parametrize(
    ("rows", "most", "told"),
    [
        ([], 1, ""),
        ([("doubt", "g.pgn", 3, "odd")], 1, ""),
        ([("doubt", "g.pgn", 3, "odd"), ("broken", "g.pgn", 9, "bad")], 1, "g.pgn, line 9: bad"),
        ([("unreadable", "r.csv.gz", 2, "no score"), ("unreadable", "r.csv.gz", 4, "no name")], 2,
         "r.csv.gz, row 2: no score; row 4: no name"),
        ([("unreadable", "a.csv", 2, "no score"), ("unreadable", "b.csv", 4, "no name")], 2,
         "a.csv, row 2: no score; b.csv, row 4: no name"),
        ([("unreadable", "the table", 2, "no score")], 1, "the table, row 2: no score"),
        ([("unreadable", "g.pgn.gz", 1, "g.pgn.gz is damaged or cut: x")], 1,
         "g.pgn.gz is damaged or cut: x"),
    ],
)  # fmt: skip
def test_the_first_are_told(rows: list[tuple[str, str, int, str]], most: int, told: str) -> None:
    columns = ["kind", "source", "line", "reason"]
    errors = pl.DataFrame(rows, schema=columns, orient="row") if rows else pl.DataFrame()
    table = ERRORS.conform(errors) if rows else ERRORS.empty()
    assert first_lost(table, most=most) == told
