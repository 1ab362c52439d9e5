"""The caution of strong players: found again in moves that were drawn with a known one."""

from __future__ import annotations

from dataclasses import replace
from importlib import resources
from pathlib import Path

import numpy as np
import pytest
from scripts.playing_caution import FROM, careful_rules, caution_at

import milepost as mp
from milepost.choice.evaluation.evaluate import ln_probabilities, prepare
from milepost.choice.spreads import Spreads
from milepost.intrinsic.calibration.calibration import load_calibration
from milepost.intrinsic.choosing.judge import Judge, played
from milepost.intrinsic.choosing.playing import Rule

END = 2842.0
DRAWS = 12


@pytest.fixture(scope="module")
def turns() -> Spreads:
    """Turns of every eighth game of the sample."""
    data = Path(str(resources.files("milepost.data") / "sample"))
    read, _ = mp.read_turns(data / "games.pgn")
    games = read["game_id"].unique(maintain_order=True).gather_every(8)
    found = mp.decisions(read.filter(read["game_id"].is_in(games.implode())), data / "evaluations")
    return replace(Spreads.from_table(found.table), places=None)


@pytest.mark.parametrize("truth", [0.0, 0.4])
def test_caution_is_found_again(turns: Spreads, truth: float) -> None:
    path = load_calibration("stockfish15.1-quick").map.path
    judge = Judge(turns, path)
    rule = Rule(END if truth == 0 else END - 70, caution=truth)
    ln_p = ln_probabilities(path.model, prepare(turns, path.model), path.theta([rule.agent]))
    shares = played(ln_p, turns, [rule])
    edges = np.cumsum(shares)
    before = np.concatenate([[0.0], edges[turns.offsets[1:-1] - 1]])
    rng = np.random.default_rng(7)
    people = []
    for _ in range(DRAWS):
        places = np.searchsorted(edges, before + rng.random(len(turns)) * 0.999999)
        people.append(
            replace(turns, chosen=places - turns.offsets[:-1], rating=np.full(len(turns), END))
        )
    rules, about = careful_rules(judge, people, path, (1417.0, FROM, END))
    assert about["slope"] == pytest.approx(truth, abs=0.11)
    assert about["turns"] == DRAWS * len(turns)
    assert rules[0] == (1417.0, Rule(1417.0))
    assert rules[1] == (FROM, Rule(FROM))
    end = rules[-1][1]
    assert end.caution == about["slope"]
    ln_p = ln_probabilities(path.model, prepare(turns, path.model), path.theta([end.agent]))
    assert judge.elo(played(ln_p, turns, [end])) == pytest.approx(END, abs=15)


def test_caution_rises_along_a_line() -> None:
    assert [caution_at(elo, END, 0.4) for elo in (1417.0, FROM, (FROM + END) / 2, END)] == [
        0.0, 0.0, pytest.approx(0.2), 0.4,
    ]  # fmt: skip
