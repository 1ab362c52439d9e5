"""The ledger: rules against simulation, every claim judged by an experiment that exists."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from milepost.errors import InputError
from milepost.papers.experiment import FAILS, HOLDS, TOO_LITTLE, Finding, Outcome, experiments
from milepost.papers.folder import Folder
from milepost.papers.ledger.answers import decide, judge, ledger, too_little
from milepost.papers.ledger.page import holm_text, ledger_table, ledger_text, write_ledger
from milepost.papers.ledger.rules import Above, Outside, Rule, Within, holm
from milepost.papers.run import run_experiment
from milepost.papers.statistics import Estimate


@pytest.mark.parametrize(
    ("rule", "value", "verdict"),
    [
        (Above(0, 2), 3.0, HOLDS), (Above(0, 2), 1.0, TOO_LITTLE), (Above(0, 2), -0.5, FAILS),
        (Above(0, 5), 1.0, FAILS), (Within(-3, 3), 0.5, HOLDS), (Within(-3, 3), 2.0, TOO_LITTLE),
        (Within(-3, 3), 6.0, FAILS), (Within(-math.inf, 3), -90.0, HOLDS),
        (Outside(3), 6.0, HOLDS), (Outside(3), -6.0, HOLDS), (Outside(3), 0.0, FAILS),
        (Outside(3), 3.0, TOO_LITTLE),
    ],
)  # fmt: skip
def test_verdicts_by_hand(rule: Rule, value: float, verdict: str) -> None:
    assert rule.judge(Estimate(value, 1.0)) == verdict


@pytest.mark.parametrize(
    ("rule", "truth"),
    [(Above(0, 2.5), 2.5), (Within(-3, 3), 0.0), (Within(-math.inf, 2), 0.0), (Outside(2.2), 4.4)],
)
def test_the_power_against_simulation(rule: Rule, truth: float) -> None:
    rng = np.random.default_rng(7)
    drawn = [rule.judge(Estimate(x, 1.0)) == HOLDS for x in rng.normal(truth, 1.0, 4000)]
    assert rule.power(1.0) == pytest.approx(np.mean(drawn), abs=0.025)


def test_holms_method_by_hand() -> None:
    # Holm 1979: 4 × 0.005, 3 × 0.01, then never less than before.
    assert holm([0.03, 0.01, 0.04, 0.005]) == pytest.approx([0.06, 0.03, 0.06, 0.02])
    assert holm([]) == []


def test_every_claim_has_words_a_rule_and_an_experiment() -> None:
    known = experiments()
    for claim in ledger().values():
        assert claim.words
        assert claim.section
        assert claim.rule != ""
        assert not claim.experiment or claim.experiment in known, claim.key
    judged = {claim.experiment for claim in ledger().values()}
    assert judged - {""} == set(known)


def test_findings_follow_from_their_rules() -> None:
    found = judge("2011-trend", Estimate(0.06, 0.01), "falls", n=10)
    assert (found.verdict, found.key, found.n) == (HOLDS, "2011-trend", 10)
    assert found.low == pytest.approx(0.06 - 1.96 * 0.01, abs=1e-4)
    assert found.power == pytest.approx(0.85, abs=0.01)
    assert too_little("2011-trend", "nothing").verdict == TOO_LITTLE
    with pytest.raises(InputError, match="no interval"):
        judge("2011-thirty", Estimate(1.0, 1.0), "", n=1)
    assert decide("2011-thirty", "few", FAILS).effect is None


def test_the_ledger_is_shown(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("x", encoding="utf-8")

    def run(folder: Folder) -> Outcome:
        folder.path("x.txt")
        return Outcome("a file", 10, (judge("2011-trend", Estimate(0.06, 0.01), "falls", n=10),))

    known = experiments()
    before = ledger_text(known, tmp_path / "out")
    assert max(map(len, before.splitlines())) <= 80
    assert "2011-trend [not run]" in before
    assert "2011-rybka [not tested]" in before
    one = known["2011-mileposts"]
    replaced = type(one)(one.name, one.paper, one.title, run)
    run_experiment(replaced, Folder(tmp_path), tmp_path / "out")
    after = ledger_text(known, tmp_path / "out")
    assert "2011-trend [holds]" in after
    assert "power 0.85" in after
    page = write_ledger(known.values(), tmp_path / "out").read_text(encoding="utf-8")
    assert "1 holds" in page
    assert "Holm" in page
    assert len(ledger_table({})) == len(ledger())
    firm = Finding("", "", HOLDS, p=0.001)
    weak, weaker = (Finding("", "", HOLDS, p=p) for p in (0.03, 0.04))
    assert "Of the 3 claims among them that hold, 1 still" in holm_text(
        {"a": firm, "b": weak, "c": weaker}
    )
