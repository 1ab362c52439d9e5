"""Move evidence meets the players of the results, however their names are written."""

from __future__ import annotations

import polars as pl

from milepost.api.evidence import named_as_in

RESULTS = pl.DataFrame({
    "player_1": ["kasparov, garry", "Ada"], "player_2": ["karpov, anatoly", "cy"],
})  # fmt: skip


def test_sites_take_the_names_of_the_results() -> None:
    names = ["Kasparov,Garry", "KARPOV, Anatoly", "karpov, anatoly", "Ada", "Nobody, N", None]
    sites = pl.DataFrame({"player": names, "time": [1] * len(names)})
    found = named_as_in(sites, RESULTS)
    assert found["player"].to_list() == [
        "kasparov, garry", "karpov, anatoly", "karpov, anatoly", "Ada", "Nobody, N", None,
    ]  # fmt: skip
    assert found["time"].to_list() == [1] * len(names)


def test_what_is_named_alike_or_no_table_stays() -> None:
    sites = pl.DataFrame({"player": ["Ada", "cy"]})
    assert named_as_in(sites, RESULTS) is sites
    numbered = pl.DataFrame({"player": [1, 2]})
    assert named_as_in(numbered, RESULTS) is numbered
    assert named_as_in(None, RESULTS) is None
