"""Charts: the same bytes for the same chart, any size, nothing from the network."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import altair as alt
import polars as pl
import pytest

from milepost.errors import OutputError
from milepost.report.charts import ENDINGS, PALETTE, save_chart, spec_of, svg_text, year_axis

FRAME = pl.DataFrame({"x": [1, 2, 3], "y": [1.0, 4.0, 9.0], "who": ["a", "b", "a"]})


def lines(title: str = "Lines") -> Any:
    return alt.Chart(FRAME, title=title).mark_line(clip=True).encode(
        x="x:Q", y="y:Q", color="who:N"
    )  # fmt: skip


def selecting() -> Any:
    # Altair numbers parameters and views from the start of the process.
    pick = alt.selection_point(fields=["who"])
    return lines().add_params(pick).encode(opacity=alt.when(pick).then(alt.value(1)).otherwise(
        alt.value(0.2)))  # fmt: skip


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_same_chart_gives_the_same_bytes(tmp_path: Path, ending: str) -> None:
    save_chart(selecting(), tmp_path / f"one{ending}")
    svg_text(lines() | lines())  # counters in Altair and in the renderer go on
    for _ in range(4 if ending == ".pdf" else 1):  # what is random there shows after a few times
        save_chart(selecting(), tmp_path / f"two{ending}")
        one = (tmp_path / f"one{ending}").read_bytes()
        assert one == (tmp_path / f"two{ending}").read_bytes()
    begins = {".svg": b"<svg", ".png": b"\x89PNG", ".pdf": b"%PDF", ".html": b"<!DOCTYPE html>"}
    assert one.lstrip().startswith(begins.get(ending, b"{"))
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"one{ending}", f"two{ending}"]


def test_the_page_of_a_chart_fetches_nothing(tmp_path: Path) -> None:
    save_chart(lines(), tmp_path / "chart.html")
    text = (tmp_path / "chart.html").read_text(encoding="utf-8")
    assert not re.search(r"<script[^>]+src=|<link[^>]+href=|@import", text)


def test_more_rows_than_altair_likes() -> None:
    many = pl.DataFrame({"x": list(range(6000)), "y": [0.0] * 6000})
    chart = alt.Chart(many).mark_point().encode(x="x:Q", y="y:Q")
    assert svg_text(chart).count("<path") >= 6000


def test_the_chart_wins_over_the_theme() -> None:
    spec = spec_of(lines().configure_axis(labelFontSize=33))
    assert spec["config"]["axis"]["labelFontSize"] == 33
    assert spec["config"]["axis"]["titleFontSize"] == 13
    assert spec["config"]["range"]["category"] == list(PALETTE)


def test_a_picture_says_what_it_shows_and_shares_no_ids() -> None:
    one = svg_text(lines("A & B"), title='An "x" <y>', prefix="one-", alone=False)
    two = svg_text(lines("A & B"), title="t", prefix="two-", alone=False)
    assert '<title>An "x" &lt;y&gt;</title>' in one
    assert 'role="img"' in one
    assert "A &amp; B" in one
    ids = [set(re.findall(r'\bid="([^"]+)"', text)) for text in (one, two)]
    assert ids[0]
    assert not ids[0] & ids[1]
    used = set(re.findall(r"url\(#([^)]+)\)", one))
    assert used <= ids[0]


def test_an_unknown_ending_is_refused_and_nothing_is_left(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"\.svg, \.png"):
        save_chart(lines(), tmp_path / "chart.gif")
    with pytest.raises(OutputError, match="cannot write"):
        save_chart(lines(), tmp_path / "no" / "chart.svg")
    assert not list(tmp_path.iterdir())


def test_the_specification_is_whole(tmp_path: Path) -> None:
    save_chart(lines(), tmp_path / "chart.json")
    spec = json.loads((tmp_path / "chart.json").read_text(encoding="utf-8"))
    (rows,) = spec["datasets"].values()
    assert [row["y"] for row in rows] == [1.0, 4.0, 9.0]


def test_an_axis_of_a_year_or_so_marks_quarters() -> None:
    table = pl.DataFrame({"time": [2021.17, 2022.25], "y": [1.0, 2.0]})
    chart = alt.Chart(table).mark_line().encode(year_axis("time", (2021.17, 2022.25)), y="y:Q")
    drawn = re.findall(r">([A-Z][a-z]{2} 20\d\d)<", svg_text(chart))
    assert drawn == ["Apr 2021", "Jul 2021", "Oct 2021", "Jan 2022", "Apr 2022"]
    for whole in ((2021.0, 2022.0), (1.0, 2.5)):  # years alone, and rounds that are no years
        assert "labelExpr" not in json.dumps(year_axis("time", whole).to_dict())
