"""Matches: contenders as texts, games that repeat, going on after a stop, standings."""

from __future__ import annotations

import os
from pathlib import Path

import chess.pgn
import pytest

import milepost as mp
from milepost.analysis.engine.setup import find_engine
from milepost.api.matches import _elo, parse_contender
from milepost.errors import EngineError, InputError
from milepost.io.progress import Progress

SHORT = mp.MatchRules(most_plies=22)
"""Three moves each beyond the book."""


@pytest.fixture(scope="module")
def engine_path() -> Path:
    """The engine, or a skip."""
    try:
        return find_engine(os.environ.get("MILEPOST_TEST_ENGINE"))
    except EngineError as error:
        pytest.skip(f"no engine: {error}")


def test_contenders_are_read_as_on_the_command_line() -> None:
    bot = parse_contender("--elo 1600 --plan quick --book none --form 40")
    assert (bot.elo, bot.plan, bot.book, bot.form) == (1600, "quick", None, 40)
    assert bot.title == "Milepost 1600 quick"
    text = "--uci stockfish --nodes 5000 --uci-option 'Skill Level=3' --elo 1900"
    engine = parse_contender(text)
    assert engine.options == (("Skill Level", "3"),)
    assert engine.title == "stockfish Skill Level=3"
    assert parse_contender("--uci stockfish --depth 3").elo is None


@pytest.mark.parametrize(
    "text", ["1600", "--elo", "--elo many", "--strength 3", "--uci x", "--uci-option a=b"]
)
def test_contenders_that_make_no_sense_are_refused(text: str) -> None:
    with pytest.raises(InputError):
        parse_contender(text)


def test_scores_as_elo() -> None:
    assert _elo(0.5, 10) == pytest.approx(0)
    assert _elo(0.75, 100) == pytest.approx(190.85, abs=0.01)
    assert _elo(1.0, 10) == pytest.approx(_elo(21 / 22, 10))
    # One game won is more than one drawn.
    assert _elo(1.0, 1) == -_elo(0.0, 1) == pytest.approx(190.85, abs=0.01)


def test_games_repeat_and_an_interrupted_match_goes_on(engine_path: Path, tmp_path: Path) -> None:
    contenders = [
        f"--elo 1500 --engine {engine_path}",
        f"--uci {engine_path} --nodes 500 --elo 2500",
    ]
    whole, halted = tmp_path / "whole.pgn", tmp_path / "halted.pgn"
    done = mp.match(contenders, whole, games=2, seed=3, rules=SHORT)
    assert done.games == 2
    assert done.terminations == {"too long": 2}

    def halt(news: Progress) -> None:
        if news.done == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        mp.match(contenders, halted, games=2, seed=3, rules=SHORT, progress=halt)
    assert not halted.exists()
    again = mp.match(contenders, halted, games=2, seed=3, rules=SHORT)
    assert again.resumed == 1
    assert halted.read_bytes() == whole.read_bytes()
    with whole.open(encoding="utf-8") as file:
        first = chess.pgn.read_game(file)
        second = chess.pgn.read_game(file)
    assert first is not None
    assert second is not None
    assert first.headers["White"] == second.headers["Black"] == "Milepost 1500"
    assert (first.headers["WhiteElo"], first.headers["BlackElo"]) == ("1500", "2500")
    row = done.table.row(0, named=True)
    assert row["games"] == row["wins"] + row["draws"] + row["losses"] == 2
    assert row["expected"] == pytest.approx(1 / (1 + 10**2.5))
    # Two equal results leave nearly everything open.
    assert row["error"] > 0.1
    assert row["high"] - row["low"] > 300


def engines_play(path: Path, seed: int = 3) -> list[str]:
    """Two contenders that need no calibration."""
    return [f"--uci {path} --nodes {nodes}" for nodes in (100 + seed, 200 + seed)]


def test_a_finished_match_plays_nothing_again(engine_path: Path, tmp_path: Path) -> None:
    output, contenders = tmp_path / "games.pgn", engines_play(engine_path)
    first = mp.match(contenders, output, games=2, rules=SHORT)
    assert first.resumed == 0
    text, changed = output.read_bytes(), output.stat().st_mtime_ns
    again = mp.match(contenders, output, games=2, rules=SHORT)
    assert (again.games, again.resumed) == (2, 2)
    assert output.stat().st_mtime_ns == changed
    assert again.terminations == first.terminations
    assert again.table.equals(first.table)
    # More games of the same match are added to those that are there.
    more = mp.match(contenders, output, games=3, rules=SHORT)
    assert (more.games, more.resumed) == (3, 2)
    assert output.read_bytes().startswith(text)
    # Nobody loses games by asking for fewer.
    held = output.read_bytes()
    with pytest.raises(InputError, match="holds 3 games of this match, more than the 1 asked for"):
        mp.match(contenders, output, games=1, rules=SHORT)
    assert output.read_bytes() == held
    # Another match does not write over this one, and who wants them played anew gets that.
    with pytest.raises(InputError, match="holds other games, which would be lost"):
        mp.match(contenders, output, games=2, seed=9, rules=SHORT)
    assert output.read_bytes() == held
    assert mp.match(contenders, output, games=2, seed=9, rules=SHORT, resume=False).resumed == 0


def test_a_file_with_other_games_is_not_taken_for_the_match(
    engine_path: Path, tmp_path: Path
) -> None:
    output, contenders = tmp_path / "games.pgn", engines_play(engine_path)
    mp.match(contenders, output, games=1, rules=SHORT)
    stranger = '[Event "?"]\n[Result "1-0"]\n\n1. e4 1-0\n\n'
    output.write_text(output.read_text(encoding="utf-8") + stranger, encoding="utf-8")
    with pytest.raises(InputError, match="holds other games"):
        mp.match(contenders, output, games=1, rules=SHORT)
    assert stranger in output.read_text(encoding="utf-8")


def test_one_contender_is_no_match(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="two contenders"):
        mp.match(["--elo 1500"], tmp_path / "g.pgn")
