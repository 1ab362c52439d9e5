"""The engine process, with engines that misbehave."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from milepost.analysis.uci import UciEngine
from milepost.errors import EngineAnswerError, EngineDiedError, EngineTimeoutError

INTRODUCTION = """
import sys, time
def say(text):
    print(text, flush=True)
for line in sys.stdin:
    line = line.strip()
    if line == "uci":
        say("id name Fake 1.0")
        say("option name Hash type spin default 16 min 1 max 1024")
        say("option name Eval File type string default <empty>")
        say("option name Clear Hash type button")
        say("option name Style type combo default Solid var Solid var Risky")
        say("uciok")
    elif line == "isready":
        say("readyok")
    elif line.startswith("go"):
        SEARCH
"""

Maker = Callable[[str], Path]


@pytest.fixture
def fake(tmp_path: Path) -> Maker:
    """Returns a function that makes an engine with this code for a search."""

    def make(search: str) -> Path:
        program = tmp_path / "fake"
        code = INTRODUCTION.replace("SEARCH", textwrap.indent(textwrap.dedent(search), " " * 8))
        program.write_text(f"#!{sys.executable}\n{code}", encoding="utf-8")
        program.chmod(0o755)
        return program

    return make


def test_it_introduces_itself(fake: Maker) -> None:
    with UciEngine(fake("pass")) as engine:
        assert engine.name == "Fake 1.0"
        assert engine.declared == {
            "Hash": "16",
            "Eval File": "<empty>",
            "Clear Hash": None,
            "Style": "Solid",
        }


def test_an_option_that_it_does_not_have_is_an_error(fake: Maker) -> None:
    with UciEngine(fake("pass")) as engine:
        engine.configure({"Hash": "32"})
        with pytest.raises(EngineAnswerError, match="no option 'Speed'"):
            engine.configure({"Speed": "9"})


def test_output_in_odd_pieces_is_put_together(fake: Maker) -> None:
    program = fake(
        """
        pieces = ["info depth 1 score cp 1 pv e2", "e4\\nbest", "move e2e4 ponder", " e7e5\\nrest"]
        for piece in pieces:
            sys.stdout.write(piece)
            sys.stdout.flush()
            time.sleep(0.05)
        """
    )
    with UciEngine(program) as engine:
        output = engine.search("8/8/8/8/8/8/8/8 w - - 0 1", "depth 1", timeout=10)
    assert output.endswith(b"info depth 1 score cp 1 pv e2e4\nbestmove e2e4 ponder e7e5\n")


def test_one_that_hangs_is_given_up(fake: Maker) -> None:
    with (
        UciEngine(fake("time.sleep(60)")) as engine,
        pytest.raises(EngineTimeoutError, match=r"Fake 1\.0 gave no bestmove within 0\.3 s"),
    ):
        engine.search("x", "depth 1", timeout=0.3)


def test_one_that_prints_for_ever_is_given_up(fake: Maker) -> None:
    program = fake('while True: say("info string busy"); time.sleep(0.001)')
    with UciEngine(program) as engine, pytest.raises(EngineTimeoutError):
        engine.search("x", "depth 1", timeout=0.3)


def test_one_that_ends_is_noticed_with_its_code(fake: Maker) -> None:
    with (
        UciEngine(fake("sys.exit(3)")) as engine,
        pytest.raises(EngineDiedError, match="ended with code 3"),
    ):
        engine.search("x", "depth 1", timeout=10)


def test_a_program_that_is_no_engine() -> None:
    with pytest.raises(EngineDiedError):
        UciEngine("/bin/true")
    with pytest.raises(EngineTimeoutError):
        UciEngine("/bin/cat", timeout=0.3)
    with pytest.raises(EngineDiedError, match="cannot be started"):
        UciEngine("/does/not/exist")


def test_the_process_is_gone_afterwards(fake: Maker) -> None:
    with UciEngine(fake("pass")) as engine:
        process = engine._process
    assert process.poll() is not None
