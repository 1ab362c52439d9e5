"""The charts of fair-play reports: no red, no order by index, words and bands where they belong."""

from __future__ import annotations

import colorsys
import json
import re
from typing import Any

import polars as pl
import pytest
from tests.report import check_views as views

from milepost.fairplay.evidence.simulate import PowerCell
from milepost.report.charts import spec_of, svg_text
from milepost.report.check.charts import (
    MOST_NAMED,
    evidence_chart,
    index_chart,
    power_chart,
    qq_chart,
    round_labels,
)


def players() -> pl.DataFrame:
    return views.screening_table().with_columns(
        pl.col("player").replace(views.PSEUDONYMS).alias("label")
    )


def charts() -> dict[str, Any]:
    test = views.full_test()
    return {
        "qq": qq_chart(views.event().quantiles, {"Player 04": 2.3}),
        "index": index_chart(players(), ["Player 04"], named=False),
        "named": index_chart(players(), ["Player 04"]),
        "evidence": evidence_chart(test.sequence),
        "power": power_chart(test.power),
    }


def reds(text: str) -> list[str]:
    """Colour codes that people would call red."""
    found = []
    for code in re.findall(r"#(?:[0-9a-fA-F]{6}|[0-9a-fA-F]{3})\b", text):
        digits = code[1:] if len(code) == 7 else "".join(2 * digit for digit in code[1:])
        parts = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
        hue, _, strength = colorsys.rgb_to_hls(*parts)
        if strength > 0.3 and (hue < 20 / 360 or hue > 330 / 360):
            found.append(code)
    names = r"\b(?:red|crimson|firebrick|darkred|tomato|orangered)\b"
    return found + re.findall(rf'(?:fill|stroke|color)[=:]\s*"?{names}', text)


def test_reds_are_seen() -> None:
    assert reds("#f00 #CC0000 #D22") == ["#f00", "#CC0000", "#D22"]
    assert reds('fill="red"')
    assert not reds("#0072B2 #E69F00 #555555 #a63c00")


@pytest.mark.parametrize("name", ["qq", "index", "named", "evidence", "power"])
def test_nothing_is_red_and_the_same_chart_gives_the_same_bytes(name: str) -> None:
    text = svg_text(charts()[name])
    assert not reds(text)
    assert text == svg_text(charts()[name])


def test_players_are_ordered_by_rating_whatever_the_table() -> None:
    table = players().sort("index", descending=True, nulls_last=True)
    specs = [json.dumps(spec_of(index_chart(each, named=True))) for each in (players(), table)]
    expected = [label for label in views.PSEUDONYMS.values() if label != "Player 07"]
    for spec in specs:
        layers = json.loads(spec)["layer"]
        orders = [layer["encoding"]["y"]["sort"] for layer in layers if "sort" in _y(layer)]
        assert orders
        assert all(order == expected for order in orders)


def _y(layer: dict[str, Any]) -> dict[str, Any]:
    answer: dict[str, Any] = layer["encoding"].get("y", {})
    return answer


def test_the_tested_player_has_a_shape_and_a_label() -> None:
    for named, label in ((False, "Player 04"), (True, "tested")):
        layers = spec_of(index_chart(players(), ["Player 04"], named=named))["layer"]
        assert sum(layer["mark"].get("shape") == "diamond" for layer in layers) == 1
        assert f">{label}<" in svg_text(index_chart(players(), ["Player 04"], named=named))


def test_many_players_are_numbered_not_named() -> None:
    many = pl.DataFrame(
        {
            "label": [f"Player {n:03d}" for n in range(MOST_NAMED + 1)],
            "elo": [2000.0 - n for n in range(MOST_NAMED + 1)],
            "index": [50.0 + n % 7 for n in range(MOST_NAMED + 1)],
        }
    )
    text = svg_text(index_chart(many))
    assert "Player 00" not in text
    assert "by rating (1 = highest)" in text


def test_evidence_has_its_words_and_rounds() -> None:
    text = svg_text(evidence_chart(views.full_test().sequence))
    for word in ("limited", "moderate", "moderately strong", "strong", "for statement 1"):
        assert f">{word}<" in text
    assert ">round<" in text
    assert ">1,000<" in text
    assert ">games, in order<" in svg_text(evidence_chart(views.full_test(rounds=False).sequence))


def test_rounds_are_called_by_their_numbers_unless_these_come_twice() -> None:
    assert round_labels(["1.4", "2.1", "10.3"]) == ["1", "2", "10"]
    assert round_labels(["1.1", "1.2", "2.1"]) == ["1.1", "1.2", "2.1"]
    assert round_labels(["1", None]) == ["1", ""]


@pytest.mark.parametrize("ln_e", [-30.0, 0.0, 1400.0])
def test_evidence_of_any_size_is_drawn(ln_e: float) -> None:
    text = svg_text(evidence_chart(views.full_test(ln_e=ln_e).sequence))
    assert "NaN" not in text
    assert "Infinity" not in text


def test_rounds_with_any_text_stay_texts() -> None:
    sequence = views.full_test(games=2).sequence.with_columns(
        pl.Series("round", ['"]; alert(1); ["', "<script>"])
    )
    text = svg_text(evidence_chart(sequence))
    assert "<script>" not in text
    assert "&lt;script&gt;" in text


def test_one_player_and_one_cell_are_drawn() -> None:
    assert "<svg" in svg_text(qq_chart(views.event().quantiles.head(1)))
    text = svg_text(power_chart([PowerCell("another engine", 0.2, 0.01, 0.29, 0.06, 100)]))
    assert ">one false alarm in 100<" in text
    assert ">20%<" in text


def test_power_says_what_is_dashed_and_who_helps() -> None:
    text = svg_text(power_chart(views.power()))
    for word in ("match rate alone", "evidence ratio", "another engine", "best of this set-up"):
        assert f">{word}<" in text
    assert "one false alarm in 1,000" in text
