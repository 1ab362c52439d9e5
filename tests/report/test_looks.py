"""Every kind of chart and page, looked at: marks inside, ticks there, texts apart, dark and narrow.

The check must be able to fail: faults are planted, among them an area on a logarithmic axis, which
gives a flat figure without ticks.
"""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any

import altair as alt
import polars as pl
import pytest
from tests.report.check.test_charts import charts as check_charts
from tests.report.looks import Box, faults
from tests.report.page_views import pages
from tests.web.served import find_chromium, launch

from milepost.papers import charts as paper_charts
from milepost.papers.ttt2007.games import _chart as games_chart
from milepost.report.charts import DARK, save_chart, svg_text
from milepost.report.history.curves import curves_chart
from milepost.report.history.joint import inflation_chart
from milepost.report.history.tuning_surface import tuning_chart
from milepost.report.labels import Frame, put_apart
from milepost.report.pages import Chart, Page, Table, Text, write_page
from milepost.report.ratings.charts import bars_chart, curve_chart, moves_chart, percentiles_chart
from milepost.report.review.charts import gaps_chart, trend_chart

NAMES = [
    "Tanzawara, Rin",
    "Marovčinski, Jelka",
    "Villardeña, Íker",
    "Quillfeather, Ada",
    "Brann, Mo",
]
RATINGS = pl.DataFrame({
    "label": NAMES, "rating": [1802.0, 2222.0, 2796.0, 2190.0, 1500.0],
    "low": [1536.0, 1972.0, 2553.0, 1716.0, None], "high": [2040.0, 2452.0, 3025.0, 2414.0, 1800.0],
    "player_low": [1479.0, 1905.0, 2491.0, 1671.0, None],
    "player_high": [2102.0, 2524.0, 3091.0, 2463.0, 1850.0],
    "elo": [1750.0, 2200.0, 2500.0, 2050.0, None], "n": [296, 234, 231, 165, 40],
    "actual": [0.176, 0.108, 0.063, 0.11, 0.25], "expected": [0.17, 0.112, 0.07, 0.121, 0.22],
})  # fmt: skip


def rating_charts() -> dict[str, Any]:
    grid = [float(elo) for elo in range(1200, 3200, 50)]
    curve = pl.DataFrame({
        "rating": grid, "expected": [0.35 * 0.999 ** (elo - 1200) for elo in grid],
        "inside": [1400 <= elo <= 2850 for elo in grid],
    })  # fmt: skip
    shares = [step / 10 for step in range(11)]
    panels = [
        pl.DataFrame({
            "label": [name] * 11, "n": [100] * 11, "q": shares, "up": [q**0.9 for q in shares],
            "low": [q - 0.1 for q in shares], "high": [q + 0.1 for q in shares],
        })
        for name in NAMES[:4]
    ]  # fmt: skip
    by_move = pl.DataFrame({
        "moves": ["9-12", "13-16", "17-20", "21-30"], "n": [200, 200, 180, 300], "games": [20] * 4,
        "actual": [0.05, 0.09, 0.11, 0.10], "low": [-0.01, 0.05, 0.08, 0.09],
        "high": [0.11, 0.13, 0.14, 0.15], "at_rating": [0.06, 0.08, 0.10, 0.105],
        "at_elo": [0.055, 0.075, 0.095, 0.1],
    })  # fmt: skip
    return {
        "ratings": bars_chart(RATINGS, NAMES, 0.95),
        "errors by Elo": curve_chart(curve, RATINGS, 0.95),
        "does the model fit": percentiles_chart(pl.concat(panels)),
        "errors by move": moves_chart(by_move),
    }


def history_charts() -> dict[str, Any]:
    careers = (("Kasparov, Garry", 1976, 2850.0), ("Karpov, Anatoly", 1970, 2845.0),
               ("Kramnik, Vladimir", 1990, 2852.0))  # fmt: skip
    rows = [
        (name, float(year), top - 5 * abs(year - 1990), 40.0, None)
        for name, first, top in careers
        for year in range(first, 2006)
    ]
    columns = ("player", "time", "mean", "sd", "margin_mean")
    points = pl.DataFrame(rows, schema=columns, orient="row").cast({"margin_mean": pl.Float64})
    levels = pl.DataFrame({
        "time": [1980, 1990, 2000, 2010], "mean": [2400.0, 2420.0, 2440.0, 2470.0],
        "sd": [50.0] * 4, "change": [-70.0, -50.0, -30.0, 0.0], "change_sd": [35.0] * 4,
        "change_results": [-60.0, -40.0, -20.0, 0.0], "turns": [500, 600, 900, 1000],
        "group": ["top:5"] * 4,
    })  # fmt: skip
    grid = pl.DataFrame({
        "point": ["grid"] * 6, "beta": [200.0, 480.0, 900.0] * 2, "tau": [0.0] * 3 + [60.0] * 3,
        "evidence": [-0.9, -0.85, -0.9, -0.97, -0.87, -0.9], "log_loss": [None] * 6,
        "sweeps": [9] * 6, "best": [False, True, *[False] * 4], "converged": [True] * 6,
    })  # fmt: skip
    return {
        "curves": curves_chart(points),
        "one curve": curves_chart(points.filter(pl.col("player") == "Kasparov, Garry")),
        "inflation": inflation_chart(levels, title="The level of the top five"),
        "inflation of two years": inflation_chart(levels.head(2)),
        "tuning map": tuning_chart(grid),
        "tuning line": tuning_chart(grid.head(3)),
    }


def other_charts() -> dict[str, Any]:
    groups = pl.DataFrame({
        "group": ["opening", "middlegame", "endgame"], "gap": [40.0, -80.0, 10.0],
        "gap_low": [-60.0, -200.0, None], "gap_high": [140.0, 40.0, 160.0], "turns": [40, 90, 30],
    })  # fmt: skip
    trend = pl.DataFrame({
        "time": [2020.0, 2020.5, 2021.0], "mean": [1900.0, 1950.0, 1930.0],
        "low": [1800.0, 1850.0, 1830.0], "high": [2000.0, 2050.0, 2030.0], "pool": ["Elo"] * 3,
    })  # fmt: skip
    lines = pl.DataFrame({"Elo": [2000, 2200, 2400] * 2, "error": [0.2, 0.15, 0.1, 0.22, 0.2, 0.12],
                          "who": ["made"] * 3 + ["expected"] * 3})  # fmt: skip
    years = pl.DataFrame({"year": [1850, 1900, 1950, 2000], "games": [12, 300, 9000, 120_000]})
    return {
        "review by phase": gaps_chart(groups),
        "review by phase, far off": gaps_chart(groups.with_columns(gap=20.0 * pl.col("gap"))),
        "review through time": trend_chart(trend),
        "review of three days": trend_chart(
            trend.with_columns(time=2020.0 + (pl.col("time") - 2020.0) / 180)
        ),
        "paper lines": paper_charts.curves(lines, "Elo", "error", "who"),
        "games a year": games_chart(years),
    }


CHARTS = {**rating_charts(), **history_charts(), **check_charts(), **other_charts()}


@pytest.mark.parametrize("name", CHARTS)
def test_a_chart_is_as_it_should_be_to_the_eye(name: str) -> None:
    assert faults(CHARTS[name]) == []


DATA = pl.DataFrame(
    {"x": [1, 2, 3], "y": [10.0, 100.0, 1000.0], "name": ["one name", "two", "three"]}
)
X = alt.X("x:Q")
PLANTED = {
    "lies outside the plot": alt.Chart(DATA).mark_area().encode(
        X, alt.Y("y:Q", scale=alt.Scale(type="log"))
    ),
    "a symbol lies outside": alt.Chart(DATA).mark_point().encode(
        X, alt.Y("y:Q", scale=alt.Scale(domain=[0, 500]))
    ),
    "has no labels": alt.Chart(DATA).mark_point().encode(
        X, alt.Y("y:Q", axis=alt.Axis(values=[5000]))
    ),
    "overlap": alt.Chart(DATA).mark_text().encode(
        alt.X("x:Q", scale=alt.Scale(domain=[0, 100])),
        alt.Y("x:Q", scale=alt.Scale(domain=[0, 99])),
        text="name:N",
    ),
    "is flat": alt.Chart(DATA.with_columns(y=pl.lit(0.0))).mark_line().encode(
        X, alt.Y("y:Q", scale=alt.Scale(domain=[0, 1]))
    ),
    "nothing is drawn": alt.Chart(DATA.head(0)).mark_point().encode(X, alt.Y("y:Q")),
}  # fmt: skip


@pytest.mark.parametrize("told", PLANTED)
def test_a_planted_fault_is_seen(told: str) -> None:
    assert any(told in fault for fault in faults(PLANTED[told]))


def test_names_are_put_apart_and_stay_inside() -> None:
    frame = Frame(600, 300, (0.0, 100.0), (0.0, 1.0))
    heights = put_apart([(90.0, 0.5, "one")] * 5 + [(5.0, 0.99, "far away")], frame)
    down = sorted(frame.down(height) for height in heights[:5])
    assert min(b - a for a, b in itertools.pairwise(down)) >= 14.9
    assert all(0 <= height <= 1 for height in heights)
    assert frame.down(heights[5]) == pytest.approx(7.5)


def test_boxes_overlap_by_more_than_a_rim() -> None:
    assert Box(0, 0, 10, 10).overlaps(Box(5, 5, 15, 15))
    assert not Box(0, 0, 10, 10).overlaps(Box(9, 0, 20, 10))


@pytest.mark.parametrize("name", sorted(CHARTS.keys() - {"tuning map"}))
def test_no_colour_of_a_chart_is_forgotten_in_the_dark(name: str) -> None:
    colours = re.findall(r'\b(?:fill|stroke)="([^"]+)"', svg_text(CHARTS[name]).lower())
    assert set(colours) - {"none", "transparent"} <= {colour.lower() for colour in DARK}


def test_pages_are_dark_in_the_dark_and_fit_a_phone(tmp_path: Path) -> None:
    find_chromium()
    from playwright.sync_api import sync_playwright

    ratings = Page(
        "Ratings",
        (
            Table("Who", RATINGS),
            Chart("Ratings", CHARTS["ratings"]),
            Chart("Errors", CHARTS["errors by Elo"], note="A note."),
            Text("A paragraph of text.", "About"),
        ),
        {},
        lead="What it says.",
    )
    made = {"ratings": ratings, **pages(CHARTS)}
    for name, page in made.items():
        write_page(page, tmp_path / f"{name}.html")
    save_chart(CHARTS["curves"], tmp_path / "chart.html")
    with sync_playwright() as playwright:
        browser = launch(playwright)
        wide = browser.new_page(viewport={"width": 1280, "height": 800})
        phone = browser.new_page(viewport={"width": 390, "height": 800}, color_scheme="dark")
        for name in (*made, "chart"):
            for seen, width in ((wide, 1280), (phone, 390)):
                seen.goto((tmp_path / f"{name}.html").as_uri())
                seen.wait_for_selector("svg")
                assert seen.evaluate("document.documentElement.scrollWidth") <= width, name
            # Boards have their own colours, by day and by night.
            papers = phone.evaluate(
                "[...document.querySelectorAll('svg > rect, svg rect.background')]"
                ".filter(e => !e.closest('.board'))"
                ".map(e => getComputedStyle(e).fill).concat([...document.querySelectorAll('svg')]"
                ".map(e => getComputedStyle(e).backgroundColor))"
            )
            assert "rgb(255, 255, 255)" not in papers, name
            inks = phone.evaluate(
                "[...document.querySelectorAll('svg text')].map(e => getComputedStyle(e).fill)"
            )
            assert "rgb(34, 34, 34)" not in inks, name
        browser.close()
