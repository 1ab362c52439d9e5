"""The page of the joint history says what the file of figures says."""

from __future__ import annotations

import json

import pytest
from studies.joint import FIGURES
from studies.joint_tables import PAGE, page


def test_the_page_is_written_from_the_figures() -> None:
    text = PAGE.read_text(encoding="utf-8")
    figures = json.loads(FIGURES.read_text(encoding="utf-8"))
    assert page(text, figures) == text
    assert "± " in text.split("<!-- figures: levels -->")[1].split("<!-- end -->")[0]


def test_other_figures_make_another_page() -> None:
    figures = json.loads(FIGURES.read_text(encoding="utf-8"))
    figures["modern"]["learned"]["1976-1979"]["joint"] = -987.0
    assert "−987 ± " in page(PAGE.read_text(encoding="utf-8"), figures)


def test_a_block_without_figures_is_a_mistake() -> None:
    with pytest.raises(KeyError):
        page("<!-- figures: weather -->\n<!-- end -->", {})
