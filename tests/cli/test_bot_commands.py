"""The commands around the bot, as people type them."""

from __future__ import annotations

import os
import shutil
import warnings
from pathlib import Path

import chess
import polars as pl
import pytest
from typer.testing import CliRunner

from milepost.analysis.engine.setup import choose_setup, find_engine
from milepost.api import matches
from milepost.cli.app import app
from milepost.cli.commands.play import check as check_play
from milepost.errors import EngineError, InputError, MissingEvaluationsWarning
from milepost.games.book import Book
from milepost.play.options import plan_of, playing_range

MIDDLEGAME = "r1bq1rk1/pp2bppp/2n1pn2/3p4/3P4/2NBPN2/PP3PPP/R1BQ1RK1 w - - 4 9"
SAMPLE = Path(__file__).resolve().parents[2] / "src" / "milepost" / "data" / "sample"


@pytest.fixture(scope="module")
def engine_path() -> Path:
    """The engine, or a skip."""
    try:
        return find_engine(os.environ.get("MILEPOST_TEST_ENGINE"))
    except EngineError as error:
        pytest.skip(f"no engine: {error}")


def run(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, list(words))
    return done.exit_code, done.output


def test_a_guess_with_a_board_that_fits_eighty_columns(engine_path: Path, tmp_path: Path) -> None:
    code, text = run("guess", MIDDLEGAME, "--elo", "1500", "--engine", str(engine_path))
    assert code == 0, text
    assert "8  r · b q · r k ·" in text
    assert "human of Elo 1500" in text
    assert "Chance of a slip of a pawn or more" in text
    assert max(len(line) for line in text.splitlines()) <= 80
    table = tmp_path / "guess.csv"
    words = ["guess", MIDDLEGAME, "--engine", str(engine_path), "-o", str(table)]
    assert run(*words)[0] == 0
    assert table.read_text(encoding="utf-8").startswith("move,san,probability")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["play", "--plan", "deep"], "--plan"),
        (["play", "--think-time", "slow"], "--think-time"),
        (["guess", "nonsense"], "not a position"),
        (["match", "1600", "--elo", "-o", "x.pgn"], "--elo"),
        (["match", "--elo 1600", "--elo much", "-o", "x.pgn"], "much"),
        (["match", "--elo 1600", "-o", "x.pgn"], "two"),
        (["book", "none.pgn", "-o", "x.bin", "--elo", "high"], "LOW-HIGH"),
    ],
)
def test_what_makes_no_sense_is_told(words: list[str], told: str) -> None:
    code, text = run(*words)
    assert code in {1, 2}
    assert told in text


def test_an_elo_that_the_plan_cannot_play_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    given = {"Plan": "bullet", "UCI_Elo": "2600"}
    check_play(given)
    low, high = playing_range("bullet")
    assert f"--elo 2600: bullet plays at {low} to {high}" in capsys.readouterr().err
    check_play({**given, "Plan": "blitz"})
    assert not capsys.readouterr().err


def test_a_store_with_two_set_ups_names_the_option() -> None:
    with pytest.raises(InputError, match="2 set-ups: choose one by its plan or its key"):
        choose_setup(["a1", "b2"], {}, None)


def test_the_plan_is_that_of_the_agent(tmp_path: Path) -> None:
    agent = tmp_path / "me.agent.json"
    agent.write_text('{"setup_text": "Stockfish 15.1, net, Hash=16, bullet depth 6 width 256"}')
    assert plan_of(str(agent)) == "bullet"
    agent.write_text('{"setup_text": "Stockfish 15.1, net, Hash=16, correspondence"}')
    assert plan_of(None) == plan_of(str(agent)) == "quick"


@pytest.mark.parametrize("text", [None, "no json", "[1]", "{}"])
def test_an_agent_that_is_none_is_told_at_once(text: str | None, tmp_path: Path) -> None:
    """In one line, and before UCI: a GUI must not play on without it."""
    agent = tmp_path / "no.json"
    if text is not None:
        agent.write_text(text)
    code, said = run("play", "--agent", str(agent))
    assert code == 1
    assert str(agent) in said
    assert len(said.strip().splitlines()) == 1
    assert "uciok" not in said


def test_an_engine_that_is_none_comes_with_a_hint() -> None:
    code, said = run("guess", "startpos", "--engine", "/nowhere")
    assert code == 1
    assert "/nowhere: there is no such program" in said
    assert "apt-get install stockfish" in " ".join(said.split())


def test_a_book_of_a_player_and_of_a_band(tmp_path: Path) -> None:
    games = str(SAMPLE / "games.pgn")
    path = tmp_path / "book.bin"
    code, text = run("book", games, "-o", str(path), "--min-count", "1", "-j", "1")
    assert code == 0, text
    assert "56 games" in text
    book = Book(path)
    everything = sum(weight for _, weight in book.entries(chess.Board()))
    book.close()
    assert everything == 56
    code, text = run(
        "book", games, "-o", str(path), "--min-count", "1", "--player", "Quillfeather", "-j", "1"
    )
    assert code == 0, text
    assert "14 games" in text
    code, text = run("book", games, "-o", str(path), "--elo", "100-200", "-j", "1")
    assert code == 1
    assert "no move is left" in text


def test_a_person_without_enough_games_is_refused(engine_path: Path, tmp_path: Path) -> None:
    """The evaluations that come along are enough: the engine has nothing to do."""
    store = shutil.copytree(SAMPLE / "evaluations", tmp_path / "evaluations")
    code, text = run(
        "personify", str(SAMPLE / "games.pgn"), "--player", "Quillfeather", "--plan", "quick",
        "--store", str(store), "-o", str(tmp_path / "me.json"), "-j", "1",
        "--engine", str(engine_path), "--min-games", "14",
    )  # fmt: skip
    assert code == 1
    assert "13 games: an agent of a person needs 14" in text  # one has no turn within three pawns


def test_a_person_with_too_few_games_is_refused_before_the_engine_runs(tmp_path: Path) -> None:
    """No engine is there, and no store is made: the answer needs neither."""
    code, text = run(
        "personify", str(SAMPLE / "games.pgn"), "--player", "Quillfeather", "--min-games", "50",
        "--store", str(tmp_path / "store"), "-o", str(tmp_path / "me.json"), "-j", "1",
        "--engine", str(tmp_path / "no-engine"),
    )  # fmt: skip
    assert code == 1
    assert "14 games: an agent of a person needs 50" in text
    assert not (tmp_path / "store").exists()


def test_opponents_turns_that_were_not_asked_for_are_no_warning(
    engine_path: Path, tmp_path: Path
) -> None:
    short = tmp_path / "short.pgn"
    ends = ("Bc2 c5", "d4 Nxb3", "Bxf7+ Rxf7", "d3 c5", "Nxe5 dxe5")
    short.write_text(
        "".join(
            f'[White "Ada"]\n[Black "Bo"]\n[Round "{number}"]\n[Result "1/2-1/2"]\n\n'
            "1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 4. Ba4 Nf6 5. O-O Be7 6. Re1 b5 7. Bb3 d6 8. c3 O-O "
            f"9. h3 Na5 10. {end} 1/2-1/2\n\n"
            for number, end in enumerate(ends, start=1)
        ),
        encoding="utf-8",
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error", MissingEvaluationsWarning)
        code, text = run(
            "personify", str(short), "--player", "Ada", "--store", str(tmp_path / "store"),
            "-o", str(tmp_path / "me.json"), "-j", "1", "--engine", str(engine_path),
            "--min-games", "5",
        )  # fmt: skip
    assert code == 0, text
    assert "10 turns of 5 games" in text


def test_a_match_shows_elo_with_its_interval_in_eighty_columns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    row = {
        "first": "Milepost 1600", "second": "Milepost 1800", "games": 1, "score": 1.0,
        "error": 0.245, "wins": 1, "draws": 0, "losses": 0, "elo": 191.0, "low": -346.0,
        "high": 417.0, "expected": 0.24,
    }  # fmt: skip
    played = matches.Match(pl.DataFrame([row]), 1, 0, "x.pgn", {"checkmate": 1})
    monkeypatch.setattr(matches, "match", lambda *_args, **_options: played)
    monkeypatch.setenv("COLUMNS", "80")
    code, text = run("match", "--elo 1600", "--elo 1800", "--games", "1", "-o", "x.pgn")
    assert code == 0, text
    assert "+191 (-346 to +417)" in text
    assert "1.000 ± 0.245" in text
    assert "1 game -> " in text
