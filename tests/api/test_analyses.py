"""Whole jobs with an engine and a store: a made-up engine, so that a run takes a second."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from tests.analysis.run.test_run import make_engine, searches
from typer.testing import CliRunner

import milepost as mp
from milepost.analysis.plans import PLANS, make_plan, parse_plan
from milepost.api.analyses import AnalysisInterruptedError, engine_setups, setup_plan
from milepost.cli.app import app
from milepost.cli.commands.analyse import analyse_command
from milepost.errors import EngineError, InputError
from milepost.io.progress import Progress

PLAN = make_plan("quick", depth=2)
GAME = """[White "Szélhegyfi, Örs"]
[Black "{black}"]
[Result "1-0"]

1. e4 e5 2. Nf3 Nc6 3. Bb5 {move} 4. Ba4 Nf6 5. O-O Be7 6. Re1 b5 7. Bb3 d6 8. c3 O-O
9. h3 Nb8 10. d4 Nbd7 1-0

"""


@pytest.fixture
def games(tmp_path: Path) -> Path:
    """Two games of one player against two others, four turns a game behind the book."""
    path = tmp_path / "games.pgn"
    text = GAME.format(black="Kovács, Ádám", move="a6") + GAME.format(black="Nagy, Éva", move="h6")
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """An engine."""
    return make_engine(tmp_path / "engine")


def analysed(games: object, folder: Path, program: Path, **options: object) -> mp.Analysis:
    """An analysis by the made-up engine."""
    return mp.analyse(games, folder / "store", PLAN, engine=str(program), **options)  # type: ignore[arg-type]


def test_games_go_into_a_store_once(games: Path, tmp_path: Path, program: Path) -> None:
    analysis = analysed(games, tmp_path, program)
    assert analysis.runs[0].left_out["book"] == 32
    assert analysis.done == len(analysis.store.read()) == 8
    assert analysis.failed.is_empty()
    again = analysed([games], tmp_path, program)
    assert (again.done, again.runs[0].hits) == (0, 8)
    assert "8 positions were there, 0 analysed" in repr(again)
    turns, _ = mp.read_turns(games)
    assert analysed(turns, tmp_path, program).done == 0


@pytest.mark.parametrize("typed", ["Kovács", "kovacs, adam", ["Ádám", "Éva"]])
def test_only_the_moves_of_a_player(
    games: Path, tmp_path: Path, program: Path, typed: str | list[str]
) -> None:
    analysis = analysed(games, tmp_path, program, player=typed)
    assert analysis.done == (4 if isinstance(typed, list) else 2)
    assert analysis.store.read()["position"].str.contains(" b ").all()


def test_a_player_who_is_not_there_is_told_before_a_store_is_made(
    games: Path, tmp_path: Path, program: Path
) -> None:
    with pytest.raises(InputError, match="no player is called 'Nagi, Eva'; did you mean Nagy, Éva"):
        analysed(games, tmp_path, program, player="Nagi, Eva")
    assert not (tmp_path / "store").exists()


def test_the_command_takes_players_too(games: Path, tmp_path: Path, program: Path) -> None:
    arguments = ["analyse", games, "--store", tmp_path / "store", "--engine", program, "-j", "1"]
    arguments += ["--depth", "2", "--player", "Örs"]
    done = CliRunner().invoke(app, [str(each) for each in arguments])
    assert done.exit_code == 0, done.stderr
    assert "20 turns (16 book left out): 4 different positions" in done.stderr
    assert mp.open_store(tmp_path / "store").read()["position"].str.contains(" w ").all()


def test_an_engine_that_is_not_there_is_told_before_anything_is_read(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="the engine nowhere: there is no such program"):
        mp.analyse(tmp_path / "absent.pgn", tmp_path / "store", engine="nowhere")


def test_an_interrupt_keeps_what_is_done_and_says_so(
    games: Path, tmp_path: Path, program: Path
) -> None:
    def interrupt(news: Progress) -> None:
        if "in the store" in news.note and news.done == 3:
            raise KeyboardInterrupt

    with pytest.raises(AnalysisInterruptedError) as caught:
        analysed(games, tmp_path, program, progress=interrupt)
    assert caught.value.analysis.done == 3
    assert len(mp.open_store(tmp_path / "store").read()) == 3


def test_a_jury_of_two_depths(games: Path, tmp_path: Path, program: Path) -> None:
    other = mp.Member(make_plan("quick", depth=1), str(program))
    analysis = analysed(games, tmp_path, program, jury=[other])
    assert (len(analysis.runs), analysis.averaged) == (2, 8)
    assert analysis.jury is not None
    assert len(analysis.store.read(analysis.jury.digest)) == 8
    with pytest.raises(InputError, match="is none of an engine"):
        setup_plan(analysis.store, analysis.jury.digest)


# --- a store that lacks positions


def test_what_a_store_lacks_is_added_under_its_set_up(
    games: Path, tmp_path: Path, program: Path
) -> None:
    first = analysed(games, tmp_path, program, player="Örs", engine_options={"Hash": "8"})
    rest = mp.complete_store(games, tmp_path / "store", engine=str(program))
    assert rest.setups == first.setups
    assert (rest.done, rest.runs[0].hits) == (4, 4)


def test_another_engine_is_refused_before_it_works(
    games: Path, tmp_path: Path, program: Path
) -> None:
    analysed(games, tmp_path, program, player="Örs")
    before = searches(program)
    other = make_engine(tmp_path / "other")
    text = other.read_text(encoding="utf-8")
    other.write_text(text.replace("id name Fake", "id name Other"), encoding="utf-8")
    assert engine_setups([mp.Member(PLAN, str(other))])[0].name.startswith("Other")
    with pytest.raises(EngineError, match=r"the engine here is Other.*whose values are others"):
        mp.complete_store(games, tmp_path / "store", engine=str(other))
    assert searches(program) == before


@pytest.mark.parametrize("name", PLANS)
def test_a_plan_is_had_again_from_its_text(name: str) -> None:
    for plan in (make_plan(name), make_plan(name, depth=12)):
        assert parse_plan(plan.text) == plan
    assert parse_plan("jury") is None
    assert parse_plan(f"{name} depth of 3") is None


def test_the_command_that_adds_them_is_named(games: Path, tmp_path: Path, program: Path) -> None:
    store = str(tmp_path / "my store")
    plan = make_plan("multipv", depth=2, width=3)
    mp.analyse(games, store, plan, engine=str(program), engine_options={"Hash": "8"})
    assert analyse_command(["a b.pgn"], store) == (
        f"milepost analyse 'a b.pgn' --store '{store}' --plan multipv --depth 2 --width 3 "
        "--engine-option Hash=8"
    )
    assert analyse_command(["x"], str(tmp_path / "none")).endswith(f"x --store {tmp_path}/none")


# --- what else is done with stores


def test_a_store_tells_what_is_in_it(games: Path, tmp_path: Path, program: Path) -> None:
    analysis = analysed(games, tmp_path, program)
    about = mp.store_info(tmp_path / "store")
    assert (about.positions, about.files) == (8, 1)
    assert about.setups["setup"].to_list() == list(analysis.setups)


def test_stores_are_merged_and_exported(games: Path, tmp_path: Path, program: Path) -> None:
    analysed(games, tmp_path, program)
    [merged] = mp.merge_stores(tmp_path / "all", tmp_path / "store")
    assert (merged.added, merged.differing) == (8, 0)
    written = mp.export_evaluations(tmp_path / "all", tmp_path / "evaluations.parquet")
    assert (written.rows, written.without) == (8, None)
    assert len(pl.read_parquet(tmp_path / "evaluations.parquet")) == 8
    log = tmp_path / "log.txt"
    written = mp.export_evaluations(tmp_path / "all", log, form="delta", turns=games)
    assert (written.rows, written.without) == (8, 32)
    turns, _ = mp.read_turns(games)
    [file] = mp.import_evaluations(
        tmp_path / "new", log, "delta", turns=turns.filter(~turns["book"])
    )
    assert file.imported.counts["stored"] == 8
