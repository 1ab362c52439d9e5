"""`fit-row`: from games to a row, with an engine whose values follow from the position."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import chess
import chess.pgn
import numpy as np
import polars as pl
import pytest
from tests.analysis.run.test_run import make_engine, searches
from tests.choice.makers import plain_curve, plain_differences, plain_shares
from typer.testing import CliRunner

from milepost.analysis.engine.setup import find_engine
from milepost.analysis.run import run as run_module
from milepost.analysis.store.store import stored_position
from milepost.cli.app import app
from milepost.errors import EngineError

DEPTH = 2
BOOK = 2
PLIES = 24
SHARED = Path(__file__).resolve().parents[3] / "shared" / "data" / "mileposts"


def values_of(board: chess.Board) -> dict[str, float]:
    """What the invented engine says of each move, in pawns, best first (see its own program)."""
    fen = stored_position(board.fen())
    found = {}
    for move in sorted(each.uci() for each in board.legal_moves):
        key = hashlib.sha256(f"{fen}{move}{DEPTH}".encode()).hexdigest()
        found[move] = int(key[:4], 16) % 300 / 100
    return dict(sorted(found.items(), key=lambda each: -each[1]))


@cache
def played_games(count: int, seed: int = 3) -> tuple[tuple[str, ...], ...]:
    """Games of players who look at those values: s = 0.1, c = 0.6."""
    rng = np.random.default_rng(seed)
    games = []
    for _ in range(count):
        board = chess.Board()
        for _ in range(PLIES):
            values = values_of(board)
            weights = plain_shares(
                [
                    plain_curve("invexp", d, 0.1, 0.6)
                    for d in plain_differences(list(values.values()))
                ]
            )
            board.push_uci(str(rng.choice(list(values), p=weights)))
        games.append(tuple(move.uci() for move in board.move_stack))
    return tuple(games)


def write_games(path: Path, count: int, *, elos: tuple[int, int] = (2400, 2440)) -> Path:
    texts = []
    for number, moves in enumerate(played_games(count)):
        game = chess.pgn.Game()
        game.headers["White"], game.headers["Black"] = f"White{number}, A", f"Black{number}, B"
        game.headers["WhiteElo"], game.headers["BlackElo"] = map(str, elos)
        game.headers["Date"] = f"{2011 + number}.01.02"
        game.headers["Result"] = "1/2-1/2"
        node: chess.pgn.GameNode = game
        for move in moves:
            node = node.add_variation(chess.Move.from_uci(move))
        texts.append(str(game))
    path.write_text("\n\n".join(texts) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def engine(tmp_path: Path) -> Path:
    return make_engine(tmp_path / "engine")


def run(*arguments: str | Path) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, [str(each) for each in arguments])
    return done.exit_code, done.stdout, done.stderr


def append(games: Path, results: Path, engine: Path, *more: str | Path) -> tuple[int, str, str]:
    return run(
        "fit-row", games, "-o", results, "--engine", engine, "--depth", str(DEPTH), "-j", "1",
        *(("--book-moves", str(BOOK)) if "--book-moves" not in more else ()), *more,
    )  # fmt: skip


def test_from_games_to_a_row_in_one_command(tmp_path: Path, engine: Path) -> None:
    games, results = write_games(tmp_path / "games.pgn", 4), tmp_path / "results.csv"
    code, shown, told = append(games, results, engine)
    assert code == 0, told
    assert "row appended" in told
    assert "PercentileRMS" in shown
    row = pl.read_csv(results).row(0, named=True)
    # By hand: the turns behind the book, none repeated here, and what was played in them.
    hits, errors = [], []
    for moves in played_games(4):
        board = chess.Board()
        for ply, move in enumerate(moves):
            values = values_of(board)
            if ply >= 2 * BOOK and len(values) > 1:
                place = list(values).index(move)
                hits.append(place == 0)
                errors.append(plain_differences(list(values.values()))[place])
            board.push_uci(move)
    assert row["filename"] == str(games)
    assert (row["Games"], row["Moves"]) == (4, len(hits))
    assert row["Match_a"] == pytest.approx(100 * np.mean(hits), abs=1e-3)
    assert row["AE_a"] == pytest.approx(np.mean(errors), rel=1e-5)
    assert (row["AvgElo"], row["MinElo"], row["MaxElo"]) == (2420.0, 2400, 2440)
    assert (row["FirstYear"], row["LastYear"]) == (2011, 2014)
    # The other way: the store that it left beside the file, and the plain command.
    fits, turns = tmp_path / "fits.csv", tmp_path / "turns.parquet"
    run("turns", games, "-o", turns, "--book-moves", str(BOOK), "-j", "1", "-q")
    code, _, told = run("fit", turns, "--store", tmp_path / "results.store", "-o", fits, "-q")
    assert code == 0, told
    plain = pl.read_csv(fits).row(0, named=True)
    for ours, theirs, scale in (
        ("s", "s", 1), ("c", "c", 1), ("AE_e", "ad_projected", 1), ("Match_e", "mm_projected", 100),
        ("Qfit", "qfit", 1), ("PercentileRMS", "percentile_rms", 1),
    ):  # fmt: skip
        assert row[ours] == pytest.approx(scale * plain[theirs], rel=2e-5)


def test_again_it_does_no_engine_work_and_changes_no_byte(tmp_path: Path, engine: Path) -> None:
    games, results = write_games(tmp_path / "games.pgn", 3), tmp_path / "results.csv"
    assert append(games, results, engine)[0] == 0
    before, work = results.read_bytes(), searches(engine)
    code, _, told = append(games, results, engine)
    assert (code, results.read_bytes(), searches(engine)) == (0, before, work)
    assert "the very same row" in told
    assert "0 analysed" in told
    # Another row of the same file: told, and added; or put in its place.
    code, _, told = append(games, results, engine, "--book-moves", "3")
    assert code == 0
    assert "other rows of this file (1)" in told
    assert len(pl.read_csv(results)) == 2
    code, _, told = append(games, results, engine, "--book-moves", "3", "--replace")
    assert "row replaced" in told
    assert len(pl.read_csv(results)) == 1
    # Another plan is another set-up; both rows keep what made them.
    code, _, told = append(games, results, engine, "--plan", "multipv", "-q")
    assert "of another engine set-up" in told
    rows = json.loads((tmp_path / "results.csv.provenance.json").read_text())["rows"]
    assert [each["filename"] for each in rows.values()] == [str(games)] * 2
    assert len({each["digest"] for each in rows.values()}) == 2


def test_one_row_a_file_and_short_files_get_none(tmp_path: Path, engine: Path) -> None:
    long = write_games(tmp_path / "long.pgn", 3, elos=(2300, 2401))
    short = write_games(tmp_path / "a_short.pgn", 1)
    results = tmp_path / "results.csv"
    code, _, told = append(short, results, engine, "-q")
    assert code == 1
    assert "20 moves to fit to, 30 are the least" in told
    assert not list(tmp_path.glob("*results*"))
    assert not (engine.parent / "searches").exists()  # told before the engine worked
    code, _, told = append(short, results, engine, long, "--store", tmp_path / "own", "-q")
    assert code == 1
    assert pl.read_csv(results)["filename"].to_list() == [str(long)]
    assert "Elo from 2300 to 2401" in told
    assert (tmp_path / "own" / "store.json").exists()
    assert not (tmp_path / "results.store").exists()


def test_a_file_of_another_form_is_refused_before_the_engine_works(
    tmp_path: Path, engine: Path
) -> None:
    games, results = write_games(tmp_path / "games.pgn", 3), tmp_path / "results.csv"
    results.write_text("player,rating\nx,1\n", encoding="utf-8")
    code, _, told = append(games, results, engine)
    assert code == 1
    assert "another header" in told
    assert results.read_text(encoding="utf-8") == "player,rating\nx,1\n"
    assert not (engine.parent / "searches").exists()
    code, _, told = append(games, tmp_path / "results.parquet", engine)
    assert code == 1
    assert "ends in .csv" in told


def test_positions_that_failed_give_no_row(tmp_path: Path) -> None:
    broken = make_engine(tmp_path / "engine", 'if key[0] == "0": sys.exit(1)')
    games, results = write_games(tmp_path / "games.pgn", 3), tmp_path / "results.csv"
    code, _, told = append(games, results, broken, "-q")
    assert code == 1
    assert "positions failed" in told
    assert not results.exists()
    # The rest is kept: an engine that behaves has only those left to do.
    code, _, told = append(games, results, make_engine(tmp_path / "engine"))
    assert code == 0
    assert " 0 in the store already" not in told
    assert len(pl.read_csv(results)) == 1


def test_interrupted_it_says_that_the_same_command_goes_on(
    tmp_path: Path, engine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    games, results = write_games(tmp_path / "games.pgn", 3), tmp_path / "results.csv"
    save = run_module.save_outcomes

    def stopped(outcomes: Iterator[Any], *others: Any) -> None:
        def some() -> Iterator[Any]:
            yield next(outcomes)
            raise KeyboardInterrupt

        save(some(), *others)

    monkeypatch.setattr(run_module, "save_outcomes", stopped)
    code, _, told = append(games, results, engine)
    assert code == 130
    assert "goes on where this one stopped" in told
    assert not results.exists()
    monkeypatch.undo()
    code, _, told = append(games, results, engine)
    assert code == 0
    assert "1 in the store already" in told


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--append", "r.csv"], "fit --append is now milepost fit-row GAMES -o RESULTS.csv"),
        (["--append=r.csv"], "fit --append is now milepost fit-row GAMES -o RESULTS.csv"),
        (["--plan", "quick"], "fit --plan is now milepost fit-row GAMES -o RESULTS.csv --plan"),
        (["--engine-option", "Hash=32"], "fit --engine-option is now milepost fit-row"),
    ],
)
def test_former_options_of_fit_say_where_they_are(arguments: list[str], complaint: str) -> None:
    code, _, told = run("fit", "games.pgn", *arguments)
    assert code == 2
    assert complaint in " ".join(told.split())


def test_a_real_engine_and_real_games(tmp_path: Path) -> None:
    try:
        program = find_engine(os.environ.get("MILEPOST_TEST_ENGINE"))
    except EngineError as error:
        pytest.skip(f"no engine: {error}")
    file = SHARED / "2011-2014" / "2400.pgn"
    if not file.exists():
        pytest.skip("the real data is not there: no folder ../shared/data beside the project")
    texts = file.read_text(encoding="utf-8").split("[Event ")
    games, results = tmp_path / "three.pgn", tmp_path / "results.csv"
    games.write_text("".join("[Event " + each for each in texts[1:4]), encoding="utf-8")
    code, _, told = run("fit-row", games, "-o", results, "--engine", program, "--depth", "2")
    assert code == 0, told
    row = pl.read_csv(results).row(0, named=True)
    assert row["Games"] == 3
    assert 2390 <= row["MinElo"] <= row["AvgElo"] <= row["MaxElo"] <= 2410
    assert 2011 <= row["FirstYear"] <= row["LastYear"] <= 2014
    # Players of 2400 agree with an engine in about half of their moves, less at depth 2.
    assert 25 < row["Match_a"] < 65
    assert row["PercentileRMS"] < 0.05
