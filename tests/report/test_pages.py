"""Pages: everything escaped, numbers readable, no script, the same bytes."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import altair as alt
import polars as pl
import pytest

from milepost.errors import OutputError
from milepost.report.pages import Chart, Page, Table, Text, cell_texts, page_text, write_page

NASTY = "<script>alert('x')</script> & \"more\""


class Walker(HTMLParser):
    """Checks that tags are closed in order, and collects what is there."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        if tag not in ("meta", "br", "link"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def page() -> Page:
    frame = pl.DataFrame({
        "name": [NASTY, "b"], "games": [1_234_567, 1850], "mean": [-1.12804, None],
        "verdict": ["holds", "does not hold"],
    })  # fmt: skip
    chart = alt.Chart(frame).mark_bar(clip=True).encode(x="name:N", y="games:Q")
    return Page(
        f"Title {NASTY}",
        (
            Text(f"First {NASTY}.\n\n- one\n- two", "About"),
            Table("Numbers", frame, note=NASTY, links={"b": "b/index.html"}),
            Chart("One", chart, alt=NASTY),
            Chart("Two", chart),
        ),
        {"command": NASTY},
        lead=NASTY,
    )


def test_a_page_is_well_formed_and_nothing_of_ours_runs() -> None:
    text = page_text(page())
    walker = Walker()
    walker.feed(text)
    assert not walker.open
    assert "script" not in walker.seen
    assert walker.seen.count("svg") == 2
    assert text.count(NASTY) == 0
    assert "".join(walker.text).count(NASTY) >= 5
    ids = re.findall(r'\bid="([^"]+)"', text)
    assert len(ids) == len(set(ids)) > 0
    assert 'font: 16px/1.5 "Liberation Sans"' in text  # the style is ours and not escaped


def test_tables_are_readable() -> None:
    text = page_text(page())
    assert '<td class="number">1,234,567</td>' in text
    assert '<td class="number">1850</td>' in text
    assert '<td class="number">−1.1280</td>' in text
    assert '<td class="number">–</td>' in text
    assert '<td class="good">holds</td>' in text
    assert '<td class="bad">does not hold</td>' in text
    assert '<a href="b/index.html">b</a>' in text
    assert "<li>one</li>" in text


def test_numbers_as_people_read_them() -> None:
    assert cell_texts(pl.Series([1500.4, 2.0])) == ["1500", "2"]
    assert cell_texts(pl.Series([480.0, 60.0])) == ["480", "60"]
    assert cell_texts(pl.Series([0.5, 1e-9, None, float("inf")])) == ["0.5000", "1.0e−09", "–", "∞"]
    assert cell_texts(pl.Series([0.25]), 1) == ["0.2"]
    assert cell_texts(pl.Series([True, None])) == ["yes", "–"]


def test_long_tables_say_what_is_left_out() -> None:
    frame = pl.DataFrame({"n": list(range(30))})
    text = page_text(Page("t", (Table("Long", frame, most=10),), {}))
    assert text.count("<tr>") == 11
    assert "20 more rows are not shown." in text


def test_an_empty_table_has_its_heads() -> None:
    text = page_text(Page("t", (Table("None", pl.DataFrame({"n": []})),), {}))
    assert ">n</th>" in text


def test_writing_gives_the_same_bytes_and_makes_no_folders(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="there is no folder"):
        write_page(page(), tmp_path / "none" / "index.html")
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        write_page(page(), tmp_path / name / "index.html")
    assert (tmp_path / "a/index.html").read_bytes() == (tmp_path / "b/index.html").read_bytes()
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot write"):
        write_page(page(), tmp_path / "file" / "index.html")


def test_a_page_is_no_pdf(tmp_path: Path) -> None:
    for name in ("page.pdf", "page", "page.html.gz"):
        with pytest.raises(OutputError, match="a page is HTML"):
            write_page(page(), tmp_path / name)
    assert not list(tmp_path.iterdir())
    write_page(page(), tmp_path / "page.HTM")
