"""Curves and surfaces: what is drawn is what the history and the tuning say."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from tests.history.samples import fit, tune

from milepost.errors import InputError
from milepost.history import History
from milepost.report.charts import spec_of
from milepost.report.history.curves import curve_points, curves_chart
from milepost.report.history.tuning_surface import tuning_chart

ROWS = [
    (year, one, two, score)
    for year in (1970, 1971, 1972, 1992)
    for one, two, score in (("Ann", "Bob", 1.0), ("Bob", "Ann", 0.5), ("Ann", "Bob", 1.0))
]
RESULTS = pl.DataFrame(ROWS, schema=["time", "player_1", "player_2", "score"], orient="row")


@pytest.fixture(scope="module")
def history() -> History:
    return fit(RESULTS, "ttt-d")


def datasets(chart: Any) -> list[list[dict[str, Any]]]:
    return list(spec_of(chart)["datasets"].values())


def marks(chart: Any) -> list[dict[str, Any]]:
    return [layer["mark"] for layer in spec_of(chart)["layer"]]


def test_a_few_games_far_from_all_others_are_not_drawn() -> None:
    rows = [(year, "Ann", "Bob", 0.5) for year in (1970, 1971, 1972) for _ in range(10)]
    # Strays that lie a few years apart from one another are strays all the same.
    rows += [(year, "Ann", "Cid", 0.0) for year in (1976, 1981, 1985, 2007)]
    rows += [(2007, "Cid", "Bob", 1.0)]
    results = pl.DataFrame(rows, schema=["time", "player_1", "player_2", "score"], orient="row")
    namesakes = fit(results, "ttt")
    assert curve_points(namesakes, ["Ann"])["time"].to_list() == [1970.0, 1971.0, 1972.0]
    assert curve_points(namesakes, ["Cid"])["time"].max() == 2007.0
    whole = curve_points(namesakes, ["Ann"], gap=100.0)
    assert whole["time"].max() == 2007.0


def test_points_are_the_historys_own_and_widen_in_a_gap(history: History) -> None:
    points = curve_points(history, ["Ann"], gap=30.0)
    assert points["time"].to_list() == [float(year) for year in range(1970, 1993)]
    for row in points.iter_rows(named=True):
        belief = history.skill("Ann", row["time"])
        # The curves and the answers agree within the distance to the fixed point.
        assert row["mean"] == pytest.approx(belief.mean, abs=2 * history.remaining_error)
        assert row["sd"] == pytest.approx(belief.sd, abs=2 * history.remaining_error)
    sd = dict(points.select("time", "sd").iter_rows())
    assert sd[1982.0] > sd[1975.0] > sd[1972.0]
    assert points.filter(pl.col("games") == 0)["margin_mean"].null_count() == 19


def test_a_time_range_and_its_errors(history: History) -> None:
    part = curve_points(history, ["Ann", "Bob"], first="1971", last=1973, gap=30.0)
    assert part.height == 6
    with pytest.raises(InputError, match="no games in this time"):
        curve_points(history, ["Ann"], first=1993)
    with pytest.raises(InputError, match="no player is called 'Anne'"):
        curve_points(history, ["Anne"])


@pytest.mark.parametrize(("band", "wide"), [("sd", 1.0), ("95", 1.959964)])
def test_the_band_is_as_wide_as_it_says(history: History, band: str, wide: float) -> None:
    points = curve_points(history, ["Ann"])
    for rows in datasets(curves_chart(points, band=band)):
        for row in rows:
            assert row["high"] - row["mean"] == pytest.approx(wide * row["sd"])
            assert row["mean"] - row["low"] == pytest.approx(wide * row["sd"])


def test_lines_are_solid_dashed_and_dotted(history: History) -> None:
    points = curve_points(history, ["Ann", "Bob"], gap=30.0)
    plain = curve_points(fit(RESULTS, "ttt"), ["Ann", "Bob"], gap=30.0)
    drawn = marks(curves_chart(points, beside=plain))
    lines = [mark for mark in drawn if mark["type"] != "text"]  # the names beside them
    assert [mark["type"] for mark in lines] == ["area", "line", "line", "line"]
    assert [mark.get("strokeDash") for mark in lines] == [None, [7, 4], [2, 3], None]
    bare = marks(curves_chart(plain, band="none"))
    assert {m["type"] for m in bare} == {"line", "text"}
    hard = [row for rows in datasets(curves_chart(points)) for row in rows if row.get("hard")]
    assert hard
    assert all(row["hard"] == pytest.approx(row["mean"] + row["margin_mean"]) for row in hard)
    with pytest.raises(InputError, match="band"):
        curves_chart(points, band="99")


def test_models_without_answers_have_their_curves_alone() -> None:
    points = curve_points(fit(RESULTS, "elo"), ["Ann"])
    assert points["time"].to_list() == [1970.0, 1971.0, 1972.0, 1992.0]
    assert points["piece"].to_list() == [0, 0, 0, 1]
    assert [m["type"] for m in marks(curves_chart(points))] == ["line", "point"]


def test_times_that_are_no_years_have_no_long_gaps() -> None:
    days = RESULTS.with_columns(time=pl.col("time") - 1970)
    assert curve_points(fit(days, period=1.0), ["Ann"])["piece"].unique().to_list() == [0]
    assert curve_points(fit(RESULTS, period="game"), ["Ann"])["piece"].unique().to_list() == [0]


def test_a_surface_marks_its_best_cell() -> None:
    found = tune(RESULTS, beta=[200.0, 480.0, 900.0], tau=[0.0, 60.0])
    chart = tuning_chart(found.table)
    (rows,) = datasets(chart)
    (top,) = [row for row in rows if row["top"]]
    assert (top["beta"], top["tau"]) == (found.best.model.beta, found.best.model.tau)
    assert top["behind"] == 0
    assert len(rows) == 6
    said = spec_of(chart)["title"]["subtitle"][0]
    assert f"beta {found.best.model.beta:.4g}" in said


def test_one_number_makes_a_line_and_three_a_row_of_maps() -> None:
    line = tuning_chart(tune(RESULTS, beta=[200.0, 480.0], tau=[60.0]).table)
    assert [m["type"] for m in marks(line)] == ["line", "point", "point"]
    cube = tune(RESULTS, "ttt-d", beta=[200.0, 480.0], tau=[0.0, 60.0], margin_mu=[150.0, 300.0])
    assert spec_of(tuning_chart(cube.table))["facet"]["column"]["field"] == "margin_mu"
    loss = tune(RESULTS, beta=[200.0, 480.0], tau=[0.0, 60.0], by="prequential", draw=300.0)
    (rows,) = datasets(tuning_chart(loss.table, by="prequential"))
    (top,) = [row for row in rows if row["top"]]
    assert top["log_loss"] == min(row["log_loss"] for row in rows)


def test_a_single_point_is_no_surface() -> None:
    table = tune(RESULTS, beta=[480.0], tau=[60.0]).table
    with pytest.raises(InputError, match="several values"):
        tuning_chart(table)
    with pytest.raises(InputError, match="no point"):
        tuning_chart(table.clear())
