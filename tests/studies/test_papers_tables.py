"""The pages on the papers say what the figures say, and verdicts follow from their rules."""

from __future__ import annotations

import json

import pytest
from studies.papers_tables import FIGURES, PAGES, page

from milepost.papers.ledger.answers import ledger
from milepost.papers.ledger.rules import Z
from milepost.papers.statistics import Estimate

CLAIMS = json.loads(FIGURES.read_text(encoding="utf-8"))["claims"]
INTERVALS = [
    key for key, claim in CLAIMS.items()
    if claim["effect"] is not None and not isinstance(ledger()[key].rule, str)
]  # fmt: skip


def test_the_pages_are_written_from_the_figures() -> None:
    figures = json.loads(FIGURES.read_text(encoding="utf-8"))
    for path in PAGES:
        text = path.read_text(encoding="utf-8")
        assert page(text, figures) == text


def test_every_claim_is_one_of_the_ledger() -> None:
    assert set(CLAIMS) <= {claim.key for claim in ledger().values() if claim.experiment}
    assert len(INTERVALS) > 40


@pytest.mark.parametrize("key", INTERVALS)
def test_a_verdict_follows_from_its_number_and_its_rule(key: str) -> None:
    claim, rule = CLAIMS[key], ledger()[key].rule
    assert not isinstance(rule, str)
    error = (claim["high"] - claim["low"]) / (2 * Z)
    assert rule.judge(Estimate(claim["effect"], error)) == claim["verdict"]
    assert rule.power(error) == pytest.approx(claim["power"], abs=1e-3)
