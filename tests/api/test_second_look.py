"""The second look at costly turns: what it confirms stays, what it does not falls out."""

from __future__ import annotations

import shutil
from pathlib import Path

import polars as pl
import pytest

import milepost as mp
from milepost.analysis.engine.search_output import Value
from milepost.analysis.engine.setup import make_setup
from milepost.analysis.plans import Evaluation, make_plan
from milepost.analysis.run.run import evaluation_row
from milepost.analysis.store.positions import stored_position
from milepost.analysis.store.store import EvaluationStore
from milepost.api.review import EVERY_TURN, ReviewPlan, SecondLook
from milepost.intrinsic.review.turn_costs import expected_score

SAMPLE = Path(mp.__file__).parent / "data" / "sample"
CALIBRATION = "stockfish15.1-quick-values"


@pytest.fixture(scope="module")
def decisions() -> mp.Decisions:
    whole = mp.decisions(SAMPLE / "games.pgn", SAMPLE / "evaluations", rules=EVERY_TURN)
    return whole.filter((pl.col("mover") == "marovcinski, jelka") & (pl.col("year") == 2021))


@pytest.fixture(scope="module")
def first(decisions: mp.Decisions) -> mp.Review:
    return mp.review(decisions, player="Marov", calibration=CALIBRATION)


def _look(folder: Path, turns: pl.DataFrame, losses: dict[int, int]) -> SecondLook:
    """Second looks that see so many centipawns lost, by place in the table of turns."""
    look = SecondLook(folder)
    store = EvaluationStore(folder, create=True)
    setup = make_setup("an engine", {}, {}, look.plan.text)
    store.add_setup(setup)
    rows = []
    for place, lost in losses.items():
        turn = turns.row(place, named=True)
        values = {(16, turn["best"]): Value(30, None), (16, turn["played"]): Value(30 - lost, None)}
        moves = (turn["best"], turn["played"])
        found = Evaluation(moves, values, dict.fromkeys(moves, 16), 1)
        position = stored_position(turn["position"])
        rows.append(evaluation_row(position, turn["played"], setup.digest, found))
    store.append(rows)
    return look


def test_only_confirmed_turns_stay_with_the_cost_of_the_second_look(
    decisions: mp.Decisions, first: mp.Review, tmp_path: Path
) -> None:
    worst = first.turns.sort("cost", descending=True, maintain_order=True).head(10)
    look = _look(tmp_path / "looks", worst, {0: 0, 1: 150, 2: 400, 3: 1})
    found = mp.review(
        decisions, player="Marov", calibration=CALIBRATION, plan=ReviewPlan(look=look)
    )
    assert found.costly["san"].to_list() == [worst["san"][2], worst["san"][1]]
    assert found.costly["looked_depth"].to_list() == [16, 16]
    lost = expected_score([0.3, -1.2, -3.7])
    assert found.costly["points_lost"].to_list() == pytest.approx(
        [lost[0] - lost[2], lost[0] - lost[1]]
    )
    assert found.costly["first_lost"].to_list() == worst["points_lost"].gather([2, 1]).to_list()
    assert found.costly["best_chance"].to_list() == pytest.approx(
        [worst["best_chance"][2], worst["best_chance"][1]]
    )
    assert "confirms 2" in found.notes[0]
    assert "21 were not looked at again" in found.notes[0]
    # All other tables are those of the first look.
    assert found.turns.equals(first.turns)


def test_without_a_second_look_the_list_says_so(first: mp.Review) -> None:
    assert "not confirmed" in first.notes[0]
    assert first.costly["looked_depth"].null_count() == len(first.costly)


def test_a_missing_engine_leaves_the_list_unconfirmed(
    decisions: mp.Decisions, tmp_path: Path
) -> None:
    look = SecondLook(tmp_path / "looks", engine=True, program=str(tmp_path / "no engine"))
    found = mp.review(
        decisions, player="Marov", calibration=CALIBRATION, plan=ReviewPlan(look=look)
    )
    assert "not confirmed" in found.notes[0]
    assert "no engine" in found.notes[0]
    assert len(found.costly) == 10


@pytest.mark.skipif(not shutil.which("stockfish", path="/usr/games:/usr/bin:/usr/local/bin"),
                    reason="no engine")  # fmt: skip
def test_an_engine_looks_once(decisions: mp.Decisions, tmp_path: Path) -> None:
    look = SecondLook(tmp_path / "looks", engine=True, plan=make_plan("single", depth=2))
    told: list[float] = []
    for _ in range(2):
        found = mp.review(
            decisions, player="Marov", calibration=CALIBRATION, plan=ReviewPlan(look=look, most=2),
            progress=lambda news: told.append(news.done),
        )  # fmt: skip
    assert max(told) == 5  # two and a half candidates for each turn that is listed
    stored = EvaluationStore(look.store).read()
    assert len(stored) == 5
    # Only what is stored is read when no engine may run.
    again = mp.review(
        decisions, player="Marov", calibration=CALIBRATION,
        plan=ReviewPlan(look=SecondLook(look.store, plan=look.plan), most=2),
    )  # fmt: skip
    assert again.costly.equals(found.costly)


def test_looks_at_the_sample_are_not_written_into_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    bundled = SecondLook.beside(SAMPLE / "evaluations", engine=True)
    assert bundled.store == tmp_path / "cache" / "milepost" / "second_look"
    assert SecondLook.beside(SAMPLE / "evaluations").store == bundled.store
    own = tmp_path / "evaluations"
    assert SecondLook.beside(own, engine=True).store == own / "second_look"


def test_looks_beside_a_store_that_cannot_be_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("os.access", lambda path, mode: False)  # root may write anywhere
    there = tmp_path / "second_look"
    assert SecondLook.beside(tmp_path).store == tmp_path / "cache" / "milepost" / "second_look"
    there.mkdir()
    (there / "store.json").touch()
    assert SecondLook.beside(tmp_path).store == there  # reading is no writing
    assert SecondLook.beside(tmp_path, engine=True).store != there
