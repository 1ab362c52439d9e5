"""Charts of the joint scale."""

from __future__ import annotations

import json

import polars as pl

from milepost.report.history.joint import inflation_chart


def test_an_axis_of_two_years_names_each_once() -> None:
    table = pl.DataFrame(
        {
            "time": [2021, 2022], "mean": [2468.0, 2461.0], "sd": [100.0, 104.0],
            "change": [4.0, -4.0], "change_sd": [35.0, 36.0], "change_results": [-2.0, 2.0],
            "turns": [1066, 648], "group": ["top:5", "top:5"],
        }
    )  # fmt: skip
    drawn = json.dumps(inflation_chart(table, title="The level").to_dict())
    assert '"values": [2021.0, 2022.0]' in drawn
    assert '"tickCount": 10' not in drawn
