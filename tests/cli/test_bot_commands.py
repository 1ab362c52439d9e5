"""The commands around the bot, as people type them."""

from __future__ import annotations

import math
import os
import re
import shutil
import warnings
from pathlib import Path

import chess
import polars as pl
import pytest
from typer.testing import CliRunner

from milepost import api
from milepost.analysis.engine.setup import choose_setup, find_engine
from milepost.api import matches, persons
from milepost.cli.app import app
from milepost.cli.commands.bots import _person_notes
from milepost.cli.commands.play import check as check_play
from milepost.errors import EngineError, InputError, MissingEvaluationsWarning
from milepost.games.book import Book
from milepost.games.positions import what_was_assumed
from milepost.io.progress import Progress
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
    lines = table.read_text(encoding="utf-8").splitlines()
    assert lines[0] == "move,san,probability,value,score,loss"
    assert len(lines) == 1 + chess.Board(MIDDLEGAME).legal_moves.count()
    assert max(len(line) for line in lines) < 60, "no digits that are only rounding"
    assert run(*words, "--top", "3") == (0, f"3 moves -> {table}\n")
    assert table.read_text(encoding="utf-8").splitlines() == lines[:4]


def test_the_ending_of_a_table_is_looked_at_before_anything_is_loaded(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("milepost.api.play.guess", lambda *_, **__: pytest.fail("it thought"))
    code, text = run("guess", "startpos", "-o", str(tmp_path / "g.xyz"))
    assert code == 1
    assert "the ending says no known format" in text


@pytest.mark.parametrize("command", ["guess", "play"])
def test_an_elo_beside_an_agent_is_told_to_count_for_nothing(
    command: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def refuse(*_: object, **__: object) -> int:
        raise InputError("no further")

    agent = tmp_path / "a.json"
    agent.write_text('{"setup_text": "Stockfish 15.1, net, Hash=16, bullet depth 6 width 256"}')
    monkeypatch.setattr("milepost.api.play.guess", refuse)
    monkeypatch.setattr("milepost.play.loop.main", refuse)
    words = [command, *(["startpos"] if command == "guess" else []), "--agent", str(agent)]
    assert f"--elo 1500 is not used: the agent {agent} has an" in run(*words, "--elo", "1500")[1]
    assert "is not used" not in run(*words)[1]
    said = " ".join(run(command, "--help")[1].split())
    assert "not used with --agent. [default: 1" in said
    assert ("Play like one person" if command == "play" else "Guess what one person") in said
    assert "slower. [default: quick, or the agent's]" in said


def test_among_mates_nothing_is_given_away(engine_path: Path) -> None:
    """Every move of the queen mates by force; and the ending is solved."""
    position = "7k/8/6K1/8/8/8/8/5Q2 w - - 0 1"
    found = api.play.guess(position, 1500, plan="bullet", engine=engine_path)
    mates = found.table.filter(pl.col("score").str.starts_with("#"))
    assert len(mates) > 1
    assert mates["loss"].to_list() == [0.0] * len(mates)
    rest = found.table.filter(~pl.col("score").str.starts_with("#"))
    assert found.slip == pytest.approx(rest.filter(pl.col("loss") >= 1)["probability"].sum())
    assert found.source == "solved"
    text = run("guess", position, "--plan", "bullet", "--engine", str(engine_path))[1]
    assert "an ending that is solved" in " ".join(text.split())
    assert max(len(line) for line in text.splitlines()) <= 80


def test_what_a_fen_lacks_is_told(engine_path: Path) -> None:
    board, *more = MIDDLEGAME.split()
    words = ["--plan", "bullet", "--engine", str(engine_path)]
    told = "the FEN is the board alone: White to move and no castling are assumed"
    assert told in " ".join(run("guess", board, *words)[1].split())
    assert what_was_assumed(f"{board} b") == (
        "the FEN does not say who may castle: nobody is assumed"
    )
    assert not what_was_assumed(f"{board} {' '.join(more[:3])}")
    assert not what_was_assumed("startpos")


def test_a_quiet_guess_has_no_note(engine_path: Path) -> None:
    words = ["guess", "startpos", "--plan", "bullet", "--engine", str(engine_path)]
    assert "Note: before the ninth move" in run(*words)[1]
    assert "Note" not in run(*words, "-q")[1]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["play", "--plan", "deep"], "--plan"),
        (["play", "--think-time", "slow"], "--think-time"),
        (["play", "--elo", "nan"], "--elo: expected a number such as 1800, got nan"),
        (["play", "--elo", "-inf"], "--elo: expected a number such as 1800, got -inf"),
        (["guess", "nonsense"], "not a position"),
        (["guess", ""], "no position is given"),
        (["guess", *MIDDLEGAME.split()], f'put the FEN in quotes: "{MIDDLEGAME}"'),
        (["guess", "startpos", "--elo", "nan"], "--elo: expected a number such as 1500, got nan"),
        (["guess", "startpos", "--elo", "abc"], "'--elo': expected a number, got 'abc'"),
        (["guess", "startpos", "--top", "0"], "'--top': expected 1 or more, got '0'"),
        (["guess", "startpos", "--top", "1.5"], "'--top': expected a whole number, got '1.5'"),
        (["guess", "startpos", "--agent", __file__], "is no agent of a person: it is no JSON"),
        (["guess", "startpos", "--calibration", "no"], "can be read (No such file or directory)"),
        (["guess", "startpos", "--calibration", __file__], "is no calibration: it is no JSON"),
        (["play", "--agent", __file__], "is no agent of a person: it is no JSON"),
        (["guess", "startpos", "--engine", "/bin/true"], "/bin/true does not speak UCI"),
        (["match", "--elo 1600", "--elo 1800", "--opening", "x", "-o", "x.pgn"], "not a position"),
        (["match", "1600", "--elo", "-o", "x.pgn"], "--elo"),
        (["match", "--elo 1600", "--elo much", "-o", "x.pgn"], "much"),
        (["match", "--elo 1600", "--elo 1800", "--resign", "-3", "-o", "x.pgn"], "--resign"),
        (["match", "--elo 1600", "-o", "x.pgn"], "two"),
        (["match", "", "--elo 1800", "-o", "x.pgn"], "a contender is empty"),
        (["book", "none.pgn", "-o", "x.bin", "--elo", "high"], "LOW-HIGH"),
        (["book", "none.pgn", "-o", "x.bin", "--elo", "1900-1700"], "LOW-HIGH such as 1700-1900"),
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
    check_play({**given, "Plan": "blitz", "Form": "1000"})
    assert capsys.readouterr().err == "Form takes 0 to 300: 300 is used, not 1000\n"


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
    assert "none of 56 games is by such players and from the starting position" in text
    empty = tmp_path / "empty.pgn"
    empty.write_text("no game at all\n", encoding="utf-8")
    code, text = run("book", str(empty), "-o", str(path), "-j", "1")
    assert code == 1
    assert "no move is left for the book: there are no games in what was given" in text
    code, text = run("book", games, "-o", str(path), "--min-count", "99", "-j", "1")
    assert code == 1
    assert "no move of 56 games was played 99 times" in text


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


def test_a_game_that_does_not_count_and_an_interval_beyond_the_range_are_told() -> None:
    known = (1417.0, 2842.0)
    assert _person_notes(13, 13, (1500.0, 1700.0), known) == []
    assert _person_notes(13, None, (-math.inf, math.inf), known) == []
    left, beyond = _person_notes(13, 14, (1200.0, 1700.0), known)
    assert left.startswith("1 other game has no turn that counts")
    assert beyond.startswith("The interval goes beyond Elo 1417 to 2842")
    assert _person_notes(12, 14, (1500.0, 2900.0), known)[0].startswith("2 other games have")


def test_a_person_with_too_few_games_is_refused_before_the_engine_runs(tmp_path: Path) -> None:
    """No engine is there, and no store is made: the answer needs neither."""
    code, text = run(
        "personify", str(SAMPLE / "games.pgn"), "--player", "Quillfeather", "--min-games", "50",
        "--store", str(tmp_path / "store"), "-o", str(tmp_path / "me.json"), "-j", "1",
        "--engine", str(tmp_path / "no-engine"),
    )  # fmt: skip
    assert code == 1
    assert "14 games: an agent of a person needs 50" in text
    assert "--min-games" in text
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
    told = " ".join(text.split())
    assert re.search(r"Elo \d+( or less| or more)? \((95 % interval|these turns)", told), told
    assert re.search(r"\d\.\d % (more|less) probable", told), told
    assert "nat" not in told.replace("alternat", "")


def test_a_person_s_steps_are_counted_each_in_its_own_unit(
    engine_path: Path, tmp_path: Path
) -> None:
    """Bytes of the files are no positions, and a fit is no search that is nearly over."""
    store = shutil.copytree(SAMPLE / "evaluations", tmp_path / "evaluations")
    news: list[Progress] = []
    found = persons.personify(
        str(SAMPLE / "games.pgn"), store, "Quillfeather", plan="quick", engine=str(engine_path),
        least_games=10, progress=news.append,
    )  # fmt: skip
    steps = {(each.step, each.unit) for each in news}
    assert steps <= {("reading", ""), ("analysing", "positions"), ("fitting", "fits")}
    assert {("reading", ""), ("fitting", "fits")} <= steps
    assert (news[-1].done, news[-1].total) == (5, 6)
    assert (found.games, found.games_read) == (13, 14)


def test_a_match_shows_elo_with_its_interval_in_eighty_columns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = printed_match(monkeypatch, "Milepost 1600", "Milepost 1800")
    assert "-191 (-346 to -127)" in text
    assert "0.234 ± 0.045" in text
    assert "200/100/700" in text, "wins, draws and losses"
    assert "0.240" in text
    assert "Expected: the score that the two Elos promise" in " ".join(text.split())
    assert "1 game -> x.pgn (1 by checkmate)" in text


@pytest.mark.parametrize("first", ["Milepost 1600 bullet", "stockfish Skill Level=3 UCI_Elo=1500"])
def test_long_names_of_contenders_cost_no_figure_that_matters(
    monkeypatch: pytest.MonkeyPatch, first: str
) -> None:
    text = printed_match(monkeypatch, first, "Milepost 1800 standard")
    assert "-191 (-346 to -127)" in text
    assert "0.234 ± 0.045" in text
    assert ("200/100/700" in text) == first.startswith("Milepost")
    assert max(len(line) for line in text.splitlines()) <= 80


def test_the_help_of_a_match_says_when_games_are_adjudicated() -> None:
    rules = matches.MatchRules()
    assert rules.draw_ply is not None
    said = " ".join(run("match", "--help")[1].split())
    assert f"from move {rules.draw_ply // 2} on" in said
    assert f"after {rules.most_plies // 2} moves" in said
    assert f"an edge of more than {matches._DRAWISH_PAWNS} pawns in ten half-moves" in said


def printed_match(monkeypatch: pytest.MonkeyPatch, first: str, second: str) -> str:
    """What the command prints of a match, in eighty columns."""
    row = {
        "first": first, "second": second, "games": 1000, "score": 0.234, "error": 0.045,
        "wins": 200, "draws": 100, "losses": 700, "elo": -191.0, "low": -346.0, "high": -127.0,
        "expected": 0.24,
    }  # fmt: skip
    played = matches.Match(pl.DataFrame([row]), 1, 0, "x.pgn", {"checkmate": 1})
    monkeypatch.setattr(matches, "match", lambda *_args, **_options: played)
    monkeypatch.setenv("COLUMNS", "80")
    code, text = run("match", "--elo 1600", "--elo 1800", "--games", "1", "-o", "x.pgn")
    assert code == 0, text
    return text


def test_a_book_goes_to_standard_output_and_the_words_elsewhere(tmp_path: Path) -> None:
    games = str(SAMPLE / "games.pgn")
    done = CliRunner().invoke(app, ["book", games, "-o", "-"])
    assert done.exit_code == 0
    assert "standard output" in done.stderr
    assert CliRunner().invoke(app, ["book", games, "-o", str(tmp_path / "b.bin")]).exit_code == 0
    assert done.stdout_bytes == (tmp_path / "b.bin").read_bytes()
