"""Where an engine is looked for, and what belongs to its set-up."""

from __future__ import annotations

from pathlib import Path

import pytest

from milepost.analysis.engine import setup as engines
from milepost.analysis.engine.setup import (
    choose_setup,
    find_engine,
    make_setup,
    parse_engine_options,
)
from milepost.errors import EngineError, InputError, SeveralSetupsError


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """Three engines: one for the variable, one on the PATH, one in the games folder."""
    monkeypatch.delenv(engines.ENGINE_VARIABLE, raising=False)
    places = {}
    for name in ("variable", "path", "games"):
        folder = tmp_path / name
        folder.mkdir()
        program = folder / "stockfish"
        program.write_text("#!/bin/sh\n", encoding="utf-8")
        program.chmod(0o755)
        places[name] = program
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    monkeypatch.setattr(engines, "GAMES_FOLDERS", (tmp_path / "nothing",))
    return places


def test_nothing_found_says_where_it_looked(programs: dict[str, Path]) -> None:
    with pytest.raises(EngineError, match=r"STOCKFISH_EXECUTABLE.*PATH.*nothing"):
        find_engine()


def test_each_place_comes_before_the_next(
    programs: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "GAMES_FOLDERS", (programs["games"].parent,))
    assert find_engine() == programs["games"]
    monkeypatch.setenv("PATH", str(programs["path"].parent))
    assert find_engine() == programs["path"]
    monkeypatch.setenv(engines.ENGINE_VARIABLE, str(programs["variable"]))
    assert find_engine() == programs["variable"]
    assert find_engine(str(programs["path"])) == programs["path"]


def test_a_wrong_engine_is_not_replaced_by_another(
    programs: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(programs["path"].parent))
    with pytest.raises(EngineError, match="the engine missing"):
        find_engine("missing")
    monkeypatch.setenv(engines.ENGINE_VARIABLE, "/does/not/exist")
    with pytest.raises(EngineError, match="STOCKFISH_EXECUTABLE=/does/not/exist"):
        find_engine()


def test_a_name_in_this_folder_is_not_looked_for_elsewhere(
    programs: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without its ./ a name is one to be looked for on the PATH."""
    monkeypatch.chdir(programs["path"].parent)
    assert find_engine("./stockfish") == programs["path"]


def test_a_file_that_may_not_be_run_is_no_engine(programs: dict[str, Path]) -> None:
    programs["path"].chmod(0o644)
    with pytest.raises(EngineError, match="may not be run"):
        find_engine(str(programs["path"]))


def test_engine_options() -> None:
    assert parse_engine_options(["Hash=16", " Skill Level = 3 "]) == {
        "Hash": "16",
        "Skill Level": "3",
    }
    with pytest.raises(EngineError, match="Name=Value"):
        parse_engine_options(["Hash"])


def test_the_digest_changes_with_everything_that_changes_values() -> None:
    declared = {"EvalFile": "nn-1.nnue", "Hash": "16"}
    base = make_setup("Engine 1", declared, {"Hash": "16"}, "quick 10")
    others = [
        make_setup("Engine 2", declared, {"Hash": "16"}, "quick 10"),
        make_setup("Engine 1", {"EvalFile": "nn-2.nnue"}, {"Hash": "16"}, "quick 10"),
        make_setup("Engine 1", declared, {"Hash": "32"}, "quick 10"),
        make_setup("Engine 1", declared, {"Hash": "16"}, "quick 11"),
    ]
    assert len({base.digest, *(other.digest for other in others)}) == 5


def test_the_digest_does_not_depend_on_the_order_of_options_or_the_folder_of_the_net() -> None:
    one = make_setup("E", {"EvalFile": "a/nn.nnue"}, {"Hash": "16", "Threads": "1"}, "quick")
    two = make_setup("E", {"EvalFile": "b/nn.nnue"}, {"Threads": "1", "Hash": "16"}, "quick")
    assert one.net == "nn.nnue"
    assert one.digest == two.digest


def test_a_set_up_is_chosen_by_its_plan_or_its_key() -> None:
    about = {"a1": {"plan": "quick (depth 10)"}, "b2": {"plan": "bullet (depth 6)"}}
    assert choose_setup(["a1", "b2"], about, "bullet") == "b2"
    assert choose_setup(["a1", "b2"], about, "a") == "a1"
    with pytest.raises(SeveralSetupsError, match="2 set-ups: choose one by its plan or its key"):
        choose_setup(["a1", "b2"], about, None)
    with pytest.raises(InputError, match="2 set-ups fit 'quick'"):
        choose_setup(["a1", "c3"], {**about, "c3": about["a1"]}, "quick")
    with pytest.raises(InputError, match="no plan or key of a set-up fits 'x'"):
        choose_setup(["a1", "b2"], about, "x")
