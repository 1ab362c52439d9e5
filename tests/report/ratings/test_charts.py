"""The charts of ratings: what has a bound ends inside, what has none is marked."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from milepost.report.charts import spec_of
from milepost.report.ratings.charts import bars_chart, curve_chart

BOUNDED = {"label": "bounded", "rating": 2100.0, "low": 2000.0, "high": 2300.0}
NO_LOW = {"label": "no low", "rating": 2150.0, "low": None, "high": 2250.0}
NO_HIGH = {"label": "no high", "rating": 2200.0, "low": 2050.0, "high": None}
CURVE = pl.DataFrame({"rating": [1900.0, 2400.0], "expected": [0.2, 0.1], "inside": [True, True]})


def table(*rows: dict[str, Any]) -> pl.DataFrame:
    beside = {"n": 100, "elo": 2120.0, "actual": 0.1, "expected": 0.1}
    floats = dict.fromkeys(("rating", "low", "high"), pl.Float64)
    frame = pl.DataFrame([{**row, **beside} for row in rows], schema_overrides=floats)
    wider = (pl.col("low") - 60).alias("player_low"), (pl.col("high") + 60).alias("player_high")
    return frame.with_columns(wider)


def layers_of(chart: Any) -> tuple[list[dict[str, Any]], dict[str, list[dict[str, Any]]]]:
    spec = spec_of(chart)
    flat = [
        {"data": layer.get("data"), **inner}
        for layer in spec["layer"]
        for inner in layer.get("layer", [layer])
    ]
    return flat, spec["datasets"]


def shapes(chart: Any) -> dict[str, list[str]]:
    """The labels that have an arrow, by its direction."""
    layers, data = layers_of(chart)
    return {
        layer["mark"]["shape"]: [row["label"] for row in data[layer["data"]["name"]]]
        for layer in layers
        if str(layer["mark"].get("shape", "")).startswith("triangle")
    }


@pytest.mark.parametrize("end", [2000.0, 2001.0, 2099.0, 2299.0, 2300.0])
def test_a_bounded_interval_never_touches_the_edge(end: float) -> None:
    chart = bars_chart(table({**BOUNDED, "low": min(end, 2100.0), "high": max(end, 2100.0)}),
                       ["bounded"], 0.95)  # fmt: skip
    layers, data = layers_of(chart)
    rule = next(layer for layer in layers if layer["mark"]["type"] == "rule")
    low, high = rule["encoding"]["x"]["scale"]["domain"]
    (row,) = data[rule["data"]["name"]]
    assert low + 20 <= row["player_low"] < row["low"]
    assert row["high"] < row["player_high"] <= high - 20
    assert shapes(chart) == {}


def test_both_intervals_are_drawn_thick_and_thin_and_named() -> None:
    layers, _ = layers_of(bars_chart(table(BOUNDED), ["bounded"], 0.95))
    rules = [layer for layer in layers if layer["mark"]["type"] == "rule"]
    fields = [(rule["encoding"]["x"]["field"], rule["encoding"]["x2"]["field"]) for rule in rules]
    assert fields == [("player_low", "player_high"), ("low", "high")]
    assert rules[0]["mark"]["strokeWidth"] < rules[1]["mark"]["strokeWidth"]
    names = rules[0]["encoding"]["color"]["scale"]["domain"]
    assert names == ["how well these games were played", "how strong the player is"]


def test_where_there_is_no_bound_an_arrow_says_so() -> None:
    rows = table(BOUNDED, NO_LOW, NO_HIGH)
    expected = {"triangle-left": ["no low"], "triangle-right": ["no high"]}
    assert shapes(bars_chart(rows, rows["label"].to_list(), 0.95)) == expected
    assert shapes(curve_chart(CURVE, rows, 0.95)) == expected


def test_the_legend_shows_the_marks_of_the_chart() -> None:
    layers, _ = layers_of(bars_chart(table(BOUNDED), ["bounded"], 0.95))
    points = [layer["encoding"] for layer in layers if layer["mark"]["type"] == "point"]
    assert len(points) == 2
    for encoding in points:
        # One field for stroke, shape and filling: Vega makes one legend of the three.
        assert {encoding[name]["field"] for name in ("stroke", "shape", "fill")} == {"what"}
        assert encoding["shape"]["scale"]["range"] == ["circle", "diamond"]
        assert encoding["fill"]["scale"]["range"][1] == "#FFFFFF"
