"""Text tables that cannot be read: the message says in which line, and how to mend it."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from milepost.errors import InputError
from milepost.io.files import read_table
from milepost.io.table_faults import fault_in_table

HEADING = b"time,player_1,player_2,score\n"
ROW = b"2000,A,B,1\n"


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("r.csv", HEADING + 5 * ROW + b"2001,A, Jr,B,1\n" + ROW,
         "line 7 has 5 values, the heading 4; put texts with commas in quotes"),
        ("r.csv", (HEADING + b'2000,"A\nJr",B,1\n' + b"2001,A, Jr,B,1\n"),
         "line 4 has 5 values, the heading 4; put texts with commas in quotes"),
        ("r.csv", b"a;b\r\n1;2\r\n1;2;3\r\n",
         "line 3 has 3 values, the heading 2; put texts with semicolons in quotes"),
        ("r.tsv", b"a\tb\n1\t2\t3\n",
         "line 2 has 3 values, the heading 2; put texts with tabs in quotes"),
        ("r.csv", HEADING + 3 * ROW + b'2001,"A,B,1\n' + ROW,
         "a quotation mark in line 5 is not closed"),
        ("r.csv", HEADING + b'2001,"A,B,1\n' + b'2001,"A, Jr",B,1\n',
         "a quotation mark in line 2 is not closed"),
        ("r.csv", HEADING + ROW + b'2001,A,B,"1', "a quotation mark in line 3 is not closed"),
        ("r.csv", HEADING + b'2001,6" Al,B,1\n' + ROW, "a quotation mark in line 2 is not closed"),
        ("r.csv", HEADING + b'2001,"A"l,B,1\n' + b"2001,A,B,C,1\n",
         "line 2 has text behind a closing quotation mark; within texts write it twice"),
        ("r.csv", HEADING + ROW + b"2000,M\xfcller,B,1\n",
         "line 3 is not UTF-8 text: save it as UTF-8"),
        ("r.ndjson", b'{"a":1}\n{"a":2:3}\n',
         "line 2 is no JSON: expecting ',' delimiter at character 7"),
        ("r.ndjson", b'{"a":1}\n\n{"a":\n',
         "line 3 is no JSON: expecting value at character 6"),
        ("r.ndjson", b'[{"a":1},\n{"a":2}]\n',
         "line 1 is no JSON object; write one a line, between braces"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("packed", [False, True])
def test_the_line_and_the_mending_are_told(
    name: str, content: bytes, told: str, packed: bool, tmp_path: Path
) -> None:
    path = tmp_path / (f"{name}.gz" if packed else name)
    path.write_bytes(gzip.compress(content) if packed else content)
    with pytest.raises(InputError) as failure:
        read_table(path)
    assert str(failure.value) == f"cannot read the table {path}: {told}"


def test_a_cut_file_is_told(tmp_path: Path) -> None:
    path = tmp_path / "cut.csv.gz"
    path.write_bytes(gzip.compress(HEADING + b"".join(b"%d,A,B,1\n" % n for n in range(999)))[:-99])
    with pytest.raises(InputError, match="it is damaged or cut: Compressed file ended"):
        read_table(path)


@pytest.mark.parametrize("content", [b'{"a":' + b"9" * 5000 + b"}\n", b"[" * 100_000])
def test_what_python_reads_no_better_keeps_the_words_of_polars(
    content: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "deep.ndjson"
    path.write_bytes(content)
    assert fault_in_table(path, "ndjson") is None


def test_a_good_table_and_a_missing_one_have_no_fault(tmp_path: Path) -> None:
    path = tmp_path / "good.csv"
    path.write_bytes(HEADING + b'2000,"A ""x"", Jr","B\nC",1\n')
    assert fault_in_table(path, "csv") is None
    assert fault_in_table(tmp_path / "absent.csv", "csv") is None
    assert fault_in_table(path, "parquet") is None
