"""The reviewed script's ways against the full method, on simulated agents."""

from __future__ import annotations

import numpy as np
import pytest
from tests.papers.simulated import make_table, true_agent

from milepost.choice import Scale, Spreads
from milepost.papers.experiment import FAILS, HOLDS
from milepost.papers.ipr2011.data import cohorts_of, elo_scale
from milepost.papers.reviewed_script import (
    FULL,
    Way,
    naive_finding,
    rate_ways,
    uncalibrated,
    way_findings,
    way_table,
)
from milepost.papers.statistics import first_options

LEVELS = [1600.0, 1900.0, 2200.0, 2500.0]


def test_truncation_by_hand() -> None:
    spreads = Spreads.from_lists(
        [[0.5, 0.4, 0.3], [0.1, 0.0], [1.0, 0.9, 0.8]], [0, 1, 2], groups=["a", "b", "c"]
    )
    short = first_options(spreads, 2, bounded=False)
    assert short.values.tolist() == [0.5, 0.4, 0.1, 0.0]
    assert short.chosen.tolist() == [0, 1]
    assert short.excluded == 0


def test_the_full_method_calibrates_itself() -> None:
    cohorts = cohorts_of(make_table(LEVELS, 900, 41))
    # A way that is the full method under another name, and one that sees nothing but two moves.
    ways = {FULL: Way(Scale()), "win probability": Way(Scale()), "five moves": Way(Scale(), 2)}
    table, scales = rate_ways(cohorts, ways)
    means = {row["way"]: row for row in way_table(table).iter_rows(named=True)}
    assert means["win probability"]["moved by, root mean square"] == pytest.approx(0.0, abs=1e-9)
    again, two = way_findings(table)
    assert again.verdict == HOLDS
    assert two.verdict == FAILS
    # The truth is known: the full method comes close to it.
    assert means[FULL]["off the rating, root mean square"] < 3 * means[FULL]["standard error"]
    assert set(scales) == set(ways)


def test_moves_left_out_flatter_the_player() -> None:
    cohorts = cohorts_of(make_table(LEVELS, 900, 42, agent=lambda elo: true_agent(elo - 500)))
    table = uncalibrated(cohorts, elo_scale(cohorts))
    assert table["left out"].to_numpy().sum() > 0
    assert table["shift"].to_numpy().mean() > 0
    finding = naive_finding(table)
    assert finding.verdict == FAILS
    small = table.with_columns(shift=np.array([1.0, -1.0, 2.0, -2.0]))
    assert naive_finding(small).verdict == HOLDS
