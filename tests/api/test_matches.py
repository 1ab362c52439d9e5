"""Matches: contenders as texts, games that repeat, going on after a stop, standings."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import chess.pgn
import numpy as np
import pytest

import milepost as mp
from milepost.analysis.engine.setup import find_engine
from milepost.api.contenders import parse_contender, read_contenders
from milepost.api.matches import _elo
from milepost.errors import EngineError, InputError, MilepostError
from milepost.intrinsic.choosing.personal import PersonalAgent
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


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("--elo 1600 --name 'me", "a quotation mark of a contender is not closed: --elo 1600"),
        ("--elo nan", "elo of a contender: 'nan' is no number"),
        ("--form inf", "form of a contender: 'inf' is no number"),
        ("--uci x --nodes 0", "nodes of a contender: expected more than 0, got 0"),
        ("--uci x --seconds -1", "seconds of a contender: expected more than 0, got -1"),
        ("--uci x --depth 3 --plan quick --form 5", "plan, form of a contender: only a bot takes"),
        ("--elo 1600 --nodes 5", "nodes of a contender: only a contender with uci takes that"),
        (" --strength 3", ": '--strength 3'"),
    ],
)
def test_a_refusal_says_what_a_contender_cannot_take(text: str, why: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_contender(text)
    assert why in str(caught.value)


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
    news: list[Progress] = []
    first = mp.match(contenders, output, games=2, rules=SHORT, progress=news.append)
    assert first.resumed == 0
    assert [(each.done, each.total) for each in news] == [(0, 2), (1, 2), (2, 2)]
    assert not any(each.note for each in news), "nothing to tell of earlier runs"
    text, changed = output.read_bytes(), output.stat().st_mtime_ns
    again = mp.match(contenders, output, games=2, rules=SHORT)
    assert (again.games, again.resumed) == (2, 2)
    assert output.stat().st_mtime_ns == changed
    assert again.terminations == first.terminations
    assert again.table.equals(first.table)
    # More games of the same match are added to those that are there.
    news.clear()
    more = mp.match(contenders, output, games=3, rules=SHORT, progress=news.append)
    assert news[-1].note == "2 played by an earlier run"
    assert [(each.done, each.before) for each in news] == [(2, 2), (2, 2), (2, 2), (3, 2)]
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


@pytest.mark.parametrize("text", ["", "  "])
def test_nobody_is_no_bot_of_1800(text: str) -> None:
    with pytest.raises(InputError, match="a contender is empty: expected options"):
        parse_contender(text)


def test_a_list_is_asked_for_in_place_of_a_text_and_numbers_in_place_of_texts(
    tmp_path: Path,
) -> None:
    output = tmp_path / "g.pgn"
    with pytest.raises(InputError, match="expected a list of two or more, such as"):
        mp.match("--elo 1600", output)
    two: Any = ["--elo 1600", "--elo 1800"]
    numbers: list[dict[str, Any]] = [{"games": "2"}, {"seed": 1.5}, {"workers": None}]
    for wrong in numbers:
        with pytest.raises(InputError, match=f"{next(iter(wrong))}: expected a"):
            mp.match(two, output, **wrong)


def test_who_cannot_play_is_refused_before_anybody_is_made_ready(
    engine_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mp.Bot, "start", lambda _: pytest.fail("a bot was made ready"))
    strange = tmp_path / "strange.json"
    strange.write_text("{}", encoding="utf-8")
    well = f"--elo 1600 --engine {engine_path}"
    wrong = {
        f"--elo 3000 --engine {engine_path}": "Milepost 3000: the plan quick plays at Elo",
        f"--agent {strange} --engine {engine_path}": "is no agent of a person",
        f"--agent {tmp_path / 'none.json'}": "cannot be read: No such file",
        f"--uci {engine_path} --nodes 9 --uci-option Nope=3": "has no option 'Nope'",
        f"--uci {tmp_path / 'none'} --nodes 9": "there is no such program",
    }
    for text, why in wrong.items():
        with pytest.raises(MilepostError, match=why):
            mp.match([well, text], tmp_path / "g.pgn", games=1)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["strange.json"]


def test_contenders_of_one_title_are_numbered(engine_path: Path, tmp_path: Path) -> None:
    contender = f"--uci {engine_path} --nodes 100"
    name = engine_path.name
    done = mp.match([contender, contender], tmp_path / "g.pgn", games=2, rules=SHORT)
    row = done.table.row(0, named=True)
    assert (row["first"], row["second"]) == (f"{name} (1)", f"{name} (2)")
    assert f'[White "{name} (2)"]' in (tmp_path / "g.pgn").read_text(encoding="utf-8")
    bots = read_contenders(["--elo 1600", "--elo 1600 --form 40", "--elo 1800"])
    assert [bot.title for bot in bots] == [
        "Milepost 1600 (1)",
        "Milepost 1600 (2)",
        "Milepost 1800",
    ]


def test_an_agent_has_an_elo_of_its_own(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="an agent has an Elo of its own"):
        parse_contender("--elo 1600 --agent me.json")
    agent = PersonalAgent(1961.0, "x", "x", "x", np.zeros(1), ("a",))
    agent.save(tmp_path / "me.json")
    person = read_contenders([f"--agent {tmp_path / 'me.json'}", "--elo 1800"])[0]
    assert (person.elo, person.title) == (1961.0, "Milepost person")
