"""The engine process, with engines that misbehave."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from milepost.analysis.engine.uci import UciEngine, UciOption, parse_option
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
    with pytest.raises(EngineDiedError, match=r"/bin/true does not speak UCI .*path of a chess"):
        UciEngine("/bin/true")
    with pytest.raises(EngineTimeoutError, match="/bin/cat does not speak UCI"):
        UciEngine("/bin/cat", timeout=0.3)
    with pytest.raises(EngineDiedError, match="cannot be started"):
        UciEngine("/does/not/exist")


def test_the_process_is_gone_afterwards(fake: Maker) -> None:
    with UciEngine(fake("pass")) as engine:
        process = engine._process
    assert process.poll() is not None


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("Hash", "0", "option Hash: expected a whole number from 1 to 1024, got '0'"),
        ("Hash", "99999999999", "from 1 to 1024"),
        ("Hash", "abc", "a whole number"),
        ("Hash", "", "a whole number"),
        ("Style", "Wild", "expected Solid, Risky, got 'Wild'"),
        ("Clear Hash", "1", "Clear Hash is a button"),
    ],
)
def test_values_that_it_does_not_take_are_errors(
    fake: Maker, name: str, value: str, message: str
) -> None:
    with UciEngine(fake("pass")) as engine, pytest.raises(EngineAnswerError, match=message):
        engine.configure({name: value})


def test_values_have_one_spelling(fake: Maker) -> None:
    with UciEngine(fake("pass")) as engine:
        given = {"Hash": "032", "Style": "risky", "Eval File": "a b.nnue"}
        assert engine.check_options(given) == {
            "Hash": "32",
            "Style": "Risky",
            "Eval File": "a b.nnue",
        }


def test_what_options_say() -> None:
    line = "option name Skill Level type spin default 20 min -5 max 20"
    assert parse_option(line) == UciOption("Skill Level", "spin", "20", -5, 20)
    check = parse_option("option name Use NNUE type check default true")
    assert check is not None
    assert check.checked("False") == "false"
    with pytest.raises(EngineAnswerError, match="expected true or false, got 'maybe'"):
        check.checked("maybe")
    text = parse_option("option name Book type string default /max depth/min var x")
    assert text == UciOption("Book", "string", "/max depth/min var x")
    assert parse_option("option name Debug Log File type string default ") == UciOption(
        "Debug Log File", "string", ""
    )
    combo = parse_option("option name Style type combo default Very Solid var Very Solid var Wild")
    assert combo == UciOption("Style", "combo", "Very Solid", choices=("Very Solid", "Wild"))
    for other in ("option name X", "info string option name X type spin", "option name X type y"):
        assert parse_option(other) is None


def test_its_last_words_are_told(fake: Maker) -> None:
    search = """
        print("a long story", file=sys.stderr)
        print("no such file: x.nnue", file=sys.stderr, flush=True)
        sys.exit(1)
    """
    with (
        UciEngine(fake(search)) as engine,
        pytest.raises(EngineDiedError, match=r"ended with code 1: a long story; no such file: x"),
    ):
        engine.search("x", "depth 1", timeout=10)
    out = 'say("info string ERROR: x.nnue was not loaded"); sys.exit(1)'
    with (
        UciEngine(fake(out)) as engine,
        pytest.raises(EngineDiedError, match=r"ERROR: x\.nnue was not loaded"),
    ):
        engine.search("x", "depth 1", timeout=10)


def test_much_on_standard_error_stops_nobody(fake: Maker) -> None:
    search = """
        for _ in range(5000):
            print("x" * 99, file=sys.stderr)
        say("bestmove e2e4")
    """
    with UciEngine(fake(search)) as engine:
        assert engine.search("x", "depth 1", timeout=30).endswith(b"bestmove e2e4\n")


@pytest.mark.parametrize("ending", ["\\n", ""], ids=["lines", "one line"])
def test_output_without_end_does_not_fill_the_memory(
    fake: Maker, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    monkeypatch.setattr("milepost.analysis.engine.uci._MOST_BYTES", 1 << 22)
    program = fake(f'while True: sys.stdout.write("info string busy{ending}" * 1000)')
    with UciEngine(program) as engine, pytest.raises(EngineAnswerError, match="without end"):
        engine.search("x", "depth 1", timeout=60)
