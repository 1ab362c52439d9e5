"""The UCI engine as programs meet it: python-chess, raw lines, a killed inner engine."""

from __future__ import annotations

import io
import os
import queue
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import chess
import chess.engine
import pytest

from milepost import kernels
from milepost.analysis.engine.setup import find_engine
from milepost.api.play import Bot
from milepost.errors import EngineError, InputError
from milepost.games.book import OWN_BOOK, open_book
from milepost.games.glance import glance
from milepost.play.loop import UciLoop
from milepost.play.options import declare
from milepost.play.protocol import Go, Position, read_go, read_option, read_position

MIDDLEGAME = "r1bq1rk1/pp2bppp/2n1pn2/3p4/3P4/2NBPN2/PP3PPP/R1BQ1RK1 w - - 4 9"
COMMAND = [sys.executable, "-m", "milepost", "play"]
PATIENCE = 120
"""Seconds; far more than anything here takes on an idle machine."""


@pytest.fixture(scope="module")
def engine_path() -> Path:
    """The inner engine, or a skip."""
    try:
        return find_engine(os.environ.get("MILEPOST_TEST_ENGINE"))
    except EngineError as error:
        pytest.skip(f"no engine: {error}")


class Talk:
    """A running `milepost play` that is talked to line by line."""

    def __init__(self, *options: str):
        self.process = subprocess.Popen(
            [*COMMAND, *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            bufsize=1,
        )
        self._lines: queue.Queue[str] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line.rstrip("\n"))

    def send(self, *lines: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("".join(f"{line}\n" for line in lines))
        self.process.stdin.flush()

    def until(self, word: str) -> list[str]:
        """Read up to a line that begins with a word; return the lines."""
        lines = []
        while True:
            lines.append(self._lines.get(timeout=PATIENCE))
            if lines[-1].startswith(word):
                return lines

    def nothing_but(self, forbidden: str, seconds: float) -> None:
        """Check that no line begins with a word, for a while."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            try:
                assert not self._lines.get(timeout=left).startswith(forbidden)
            except queue.Empty:
                return

    def close(self) -> int:
        self.send("quit")
        code = self.process.wait(timeout=PATIENCE)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()
        self._reader.join(timeout=10)
        return code


@pytest.fixture(scope="module")
def talk(engine_path: Path) -> Iterator[Talk]:
    """One process for the whole module, loaded once."""
    running = Talk("--elo", "1700", "--seed", "5", "--plan", "bullet", "--engine", str(engine_path))
    running.send("uci")
    running.until("uciok")
    running.send("isready")
    running.until("readyok")
    yield running
    assert running.close() == 0


def best_move(lines: list[str], fen: str) -> chess.Move:
    """The move behind bestmove, which must be legal."""
    move = chess.Move.from_uci(lines[-1].split()[1])
    assert move in chess.Board(fen).legal_moves
    return move


def test_the_first_answer_needs_nothing_heavy_and_a_guest_may_leave_at_once() -> None:
    code = (
        "import sys\n"
        "from milepost.play import loop\n"
        "heavy = {'numba', 'polars', 'scipy', 'numpy', 'pyarrow', 'pandas', 'chess'}\n"
        "class Output:\n"
        "    def write(self, text):\n"
        "        if text.startswith('uciok'):\n"
        "            sys.stderr.write(f'HEAVY {sorted(heavy & set(sys.modules))}')\n"
        "        return sys.__stdout__.write(text)\n"
        "    def flush(self):\n"
        "        sys.__stdout__.flush()\n"
        "sys.stdout = Output()\n"
        "sys.exit(loop.main({}, None, ''))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        input="uci\nsetoption name UCI_Elo value 2000\nquit\n",
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert "uciok" in done.stdout
    assert done.stderr == "HEAVY []"
    assert done.returncode == 0


class HeldBack:
    """A loop whose bot cannot be made before it is allowed to."""

    def __init__(self) -> None:
        self.lines: queue.Queue[str] = queue.Queue()
        self.allowed = threading.Event()
        self.asked: list[Mapping[str, str]] = []
        self._inputs: queue.Queue[str | None] = queue.Queue()
        self.loop = UciLoop(self, make=self._make)  # type: ignore[arg-type]
        inputs = iter(self._inputs.get, None)
        self._thread = threading.Thread(target=self.loop.run, args=(inputs,), daemon=True)
        self._thread.start()

    def write(self, text: str) -> None:
        self.lines.put(text.rstrip("\n"))

    def flush(self) -> None:
        """Nothing is kept back."""

    def _make(self, values: Mapping[str, str], _: str | None) -> Bot:
        self.asked.append(values)
        self.allowed.wait(PATIENCE)
        raise InputError("held back")

    def send(self, *lines: str) -> None:
        for line in lines:
            self._inputs.put(line)

    def until(self, word: str) -> list[str]:
        lines: list[str] = []
        while not lines or not lines[-1].startswith(word):
            lines.append(self.lines.get(timeout=PATIENCE))
        return lines

    def close(self) -> None:
        self.allowed.set()
        self._inputs.put(None)
        self._thread.join(PATIENCE)


@pytest.fixture
def held_back() -> Iterator[HeldBack]:
    """What is loaded after ``uciok`` does not come to its end."""
    running = HeldBack()
    running.send("uci")
    running.until("uciok")
    yield running
    running.close()


def test_moves_that_are_not_legal_are_told(talk: Talk) -> None:
    talk.send(f"position fen {MIDDLEGAME}", "go depth 1 searchmoves zzzz")
    told = "info string searchmoves: not legal here: zzzz; "
    assert f"{told}every move is looked at" in talk.until("bestmove")
    talk.send("go depth 1 searchmoves zzzz a2a3")
    lines = talk.until("bestmove")
    assert f"{told}only the others are looked at" in lines
    assert lines[-1] == "bestmove a2a3"
    talk.send("position startpos moves e2e4 e2e4 e7e5", "go depth 1")
    after = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1"
    told = f"info string not a legal move: e2e4; playing from {after}"
    assert told in talk.until("bestmove")


def test_who_waits_is_told_why(held_back: HeldBack, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half a minute at the first start, and a few seconds at every other; each is told once."""
    monkeypatch.setattr("milepost.play.patience.LOADING_SECONDS", 0.2)
    held_back.send("isready")
    assert held_back.until("info string loading")[0] == "info string loading, a few seconds more"
    while not held_back.asked:  # then all is imported, and kernels are called
        time.sleep(0.01)
    kernels._tell_compiling()
    waits = "info string preparing for the first time: this takes about half a minute, once"
    assert held_back.until("info string preparing") == [waits]
    time.sleep(0.5)
    assert held_back.lines.empty()


def test_a_move_comes_before_the_flag_while_everything_is_still_loading(
    held_back: HeldBack,
) -> None:
    """The bot is asked for after uciok without isready; it is never there, a move always is."""
    mate = "6k1/5ppp/8/8/8/8/5PPP/R5K1 w - - 0 40"
    held_back.send(f"position fen {mate}", "go wtime 1000 btime 1000")
    lines = held_back.until("bestmove")
    assert lines[-1] == "bestmove a1a8"
    assert "info string not loaded yet: a move at a glance, no Elo claimed" in lines
    held_back.send("position startpos", "go movetime 100 searchmoves h2h4", "isready")
    assert held_back.until("bestmove")[-1] == "bestmove h2h4"
    held_back.send("position startpos moves e2e4", "go btime 500 wtime 500")
    board = chess.Board()
    board.push_uci("e2e4")
    book = open_book(OWN_BOOK)
    known = {move.uci() for move, _ in book.entries(board)}
    book.close()
    lines = held_back.until("bestmove")
    assert lines[-1].split()[1] in known
    assert "info string not loaded yet: a book move, no Elo claimed" in lines
    held_back.send("position fen 7k/5Q2/6K1/8/8/8/8/8 b - - 0 1", "go movetime 100")
    assert held_back.until("bestmove")[-1] == "bestmove (none)"
    held_back.send("position startpos moves e2e4", "go infinite", "stop")
    assert held_back.until("bestmove")[-1].split()[1] in known
    assert len(held_back.asked) == 1, "the worker waits for what is being loaded"


def test_what_fails_in_the_background_is_told_when_it_is_asked_for(held_back: HeldBack) -> None:
    held_back.allowed.set()
    held_back.send("setoption name UCI_Elo value 1900", "isready")
    assert held_back.until("info string")[-1] == "info string held back"
    assert held_back.asked[-1]["UCI_Elo"] == "1900"


def test_at_a_glance_people_take_what_is_free_and_leave_what_is_protected() -> None:
    board = chess.Board("4k3/2p5/3p4/4n3/1r6/2P5/8/4R1K1 w - - 0 1")
    weights = {move.uci(): weight for move, weight in glance(board)}
    assert weights["c3b4"] == 3.0**5  # a free rook
    assert weights["e1e5"] == 3.0**-2  # a rook for a knight that a pawn protects
    assert weights["c3c4"] == 3.0**-1
    assert weights["g1f1"] == 1.0
    mates = {
        move.uci(): weight for move, weight in glance(chess.Board("7k/8/6K1/8/8/8/8/R7 w - - 0 1"))
    }
    assert max(mates, key=lambda move: mates[move]) == "a1a8"


def test_all_options_are_declared_with_possible_defaults() -> None:
    options = declare({"UCI_Elo": "2100", "Plan": "quick", "Seed": "nonsense"})
    wanted = {
        "UCI_LimitStrength", "UCI_Elo", "UCI_Opponent", "UCI_AnalyseMode", "UCI_ShowWDL", "Ponder",
        "MultiPV", "Hash", "Threads", "Move Overhead", "SyzygyPath", "OwnBook", "BookFile",
        "BookDepth", "Agent", "Calibration", "Plan", "Choice", "Seed", "Form", "ThinkTime",
        "ClockStrength",
    }  # fmt: skip
    assert set(options) == wanted
    assert options["UCI_Elo"].default == "2100"
    assert options["Plan"].default == "quick"
    assert options["Seed"].default == "-1"
    assert (options["UCI_Elo"].least, options["UCI_Elo"].most) == (1417, 2842)
    for option in options.values():
        assert option.read(option.default) == option.default
    assert options["Plan"].read("QUICK") == "quick"
    assert options["Plan"].read("deep") is None
    assert options["UCI_Elo"].read("9999") == "2842"


def test_go_is_taken_apart() -> None:
    text = "wtime 1000 btime x winc 10 searchmoves e2e4 d2d4 ponder depth 5 odd"
    go = read_go(text.split())
    known = Go({"wtime": 1000, "winc": 10, "depth": 5}, False, True, ("e2e4", "d2d4"))
    assert go == replace(known, strange=("btime", "x", "odd"))
    assert read_go(["infinite"]).infinite
    assert read_go(["movetime"]) == Go(strange=("movetime",))
    assert read_go(["btime", "abc", "depth", "3"]) == Go({"depth": 3}, strange=("btime", "abc"))


def test_position_and_setoption_are_taken_apart() -> None:
    assert read_position(["startpos", "moves", "e2e4"]) == Position(None, ("e2e4",))
    assert read_position(f"fen {MIDDLEGAME}".split()) == Position(MIDDLEGAME, ())
    assert read_position(["fen"]) is None
    assert read_position([]) is None
    assert read_option(["name", "Move", "Overhead", "value", "30"]) == ("Move Overhead", "30")
    assert read_option(["name", "UCI_Opponent", "value", "GM", "2800", "human", "A", "B"]) == (
        "UCI_Opponent",
        "GM 2800 human A B",
    )
    assert read_option(["value", "3"]) is None


def test_a_move_comes_with_what_people_think(talk: Talk) -> None:
    talk.send("ucinewgame", f"position fen {MIDDLEGAME}", "setoption name MultiPV value 3")
    talk.send("setoption name UCI_ShowWDL value true", "go movetime 20000")
    lines = talk.until("bestmove")
    talk.send("setoption name MultiPV value 1", "setoption name UCI_ShowWDL value false")
    best_move(lines, MIDDLEGAME)
    scores = [line for line in lines if " multipv " in line]
    assert len(scores) == 3
    assert all(" wdl " in line for line in scores)
    assert any("expected-loss" in line and "elo 1700 plan bullet" in line for line in lines)


def test_only_the_moves_that_were_asked_for(talk: Talk) -> None:
    for _ in range(3):
        talk.send(f"position fen {MIDDLEGAME}", "go searchmoves a2a3 h2h3 depth 6")
        assert best_move(talk.until("bestmove"), MIDDLEGAME).uci() in {"a2a3", "h2h3"}


def test_limits_that_only_choose_a_plan_are_told(talk: Talk) -> None:
    asked = {
        "depth 5": "depth 5: an Elo holds for whole plans, so bullet goes to depth 6",
        "nodes 1000": "nodes 1000: an Elo holds for whole plans, so bullet goes to depth 6",
        "mate 3 depth 30": "depth 30, mate 3: an Elo holds for whole plans, so bullet",
        "depth 6": "",
    }
    for limits, told in asked.items():
        talk.send(f"position fen {MIDDLEGAME}", f"go {limits}")
        lines = [line for line in talk.until("bestmove") if "whole plans" in line]
        assert [line.startswith(f"info string {told}") for line in lines] == [True] * bool(told)


def test_isready_is_answered_while_it_thinks_and_stop_ends_it(talk: Talk) -> None:
    talk.send(f"position fen {MIDDLEGAME}", "go infinite", "isready")
    assert not any(line.startswith("bestmove") for line in talk.until("readyok"))
    talk.nothing_but("bestmove", 0.5)
    talk.send("stop")
    best_move(talk.until("bestmove"), MIDDLEGAME)


@pytest.mark.parametrize("answer", ["ponderhit", "stop"])
def test_pondering_waits_for_its_end(talk: Talk, answer: str) -> None:
    talk.send("setoption name Ponder value true", f"position fen {MIDDLEGAME}")
    talk.send("go ponder wtime 60000 btime 60000")
    talk.nothing_but("bestmove", 0.5)
    talk.send(answer)
    lines = talk.until("bestmove")
    talk.send("setoption name Ponder value false")
    move = best_move(lines, MIDDLEGAME)
    words = lines[-1].split()
    assert words[2] == "ponder"
    board = chess.Board(MIDDLEGAME)
    board.push(move)
    assert chess.Move.from_uci(words[3]) in board.legal_moves


def test_analysis_says_from_which_elo_on(talk: Talk) -> None:
    talk.send("setoption name UCI_AnalyseMode value true", f"position fen {MIDDLEGAME}")
    talk.send("go depth 6")
    lines = talk.until("bestmove")
    talk.send("setoption name UCI_AnalyseMode value false")
    assert any(line.startswith("info string best ") and "likeliest" in line for line in lines)


def test_mate_and_stalemate_have_no_move(talk: Talk) -> None:
    for fen in ("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1", "7k/6Q1/6K1/8/8/8/8/8 b - - 0 1"):
        talk.send(f"position fen {fen}", "go movetime 100")
        assert talk.until("bestmove")[-1] == "bestmove (none)"


def test_ten_thousand_random_lines(talk: Talk) -> None:
    """Nothing that a GUI may send makes it fall silent."""
    chance = random.Random(14)
    words = [
        "uci", "isready", "debug", "register", "position", "startpos", "fen", "moves", "e2e4",
        "a7a8q", "e1g1", "0000", MIDDLEGAME, "8/8/8/8 w", "stop", "ponderhit", "ucinewgame",
        "setoption", "name", "value", "UCI_Elo", "1500", "-7", "99999999999999999999", "Plan",
        "MultiPV", "Move Overhead", "Choice", "true", "false", "Ponder", "ThinkTime", "human",
        "wtime", "movetime", "depth", "infinite", "ponder", "searchmoves", "é\t", "\x00", "",
    ]  # fmt: skip
    lines = []
    for _ in range(10_000):
        count = chance.randrange(1, 7)
        line = " ".join(chance.choice(words) for _ in range(count))
        if chance.random() < 0.003:
            line = "go " + chance.choice(["movetime 1", "wtime 1 btime 1", "infinite", "ponder"])
        # Options that make another bot are few: each takes a while.
        lines.append(line.replace("setoption name Plan", "setoption name Plans"))
    for at in range(0, len(lines), 500):
        talk.send(*lines[at : at + 500])
    talk.send("stop", "stop")
    talk.send("setoption name UCI_AnalyseMode value false", "setoption name MultiPV value 1")
    talk.send("setoption name ThinkTime value instant", "setoption name Ponder value false")
    talk.send(f"position fen {MIDDLEGAME}", "go movetime 5000 searchmoves g2g4")
    while talk.until("bestmove")[-1].split()[1] != "g2g4":
        pass
    assert talk.process.poll() is None


def inner_engines(process: int) -> list[int]:
    """The children of a process, by /proc."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if int(fields[1]) == process:
                found.append(int(folder.name))
    return found


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_a_killed_inner_engine_and_a_killed_bot(engine_path: Path) -> None:
    """SIGKILL of the engine in mid-search: a move still comes. SIGKILL of us: the engine ends."""
    running = Talk("--elo", "1700", "--engine", str(engine_path), "--plan", "quick")
    running.send("isready")
    running.until("readyok")
    (inner,) = inner_engines(running.process.pid)
    running.send(f"position fen {MIDDLEGAME}", "go wtime 600000 btime 600000")
    os.kill(inner, signal.SIGKILL)
    best_move(running.until("bestmove"), MIDDLEGAME)
    (inner,) = inner_engines(running.process.pid)
    running.send("go infinite")
    running.process.kill()
    running.process.wait()
    for _ in range(200):
        if not Path(f"/proc/{inner}").exists() or _zombie(inner):
            break
        time.sleep(0.1)
    else:
        pytest.fail("the inner engine lives on")
    for stream in (running.process.stdin, running.process.stdout, running.process.stderr):
        assert stream is not None
        try:
            stream.close()
        except BrokenPipeError:
            continue


def _zombie(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


def test_python_chess_plays_and_analyses(engine_path: Path) -> None:
    with chess.engine.SimpleEngine.popen_uci(
        [*COMMAND, "--seed", "1", "--engine", str(engine_path)], timeout=PATIENCE
    ) as engine:
        engine.configure({"UCI_Elo": 2000, "ThinkTime": "human"})
        board = chess.Board(MIDDLEGAME)
        clock = chess.engine.Limit(white_clock=3, black_clock=3, white_inc=0.1, black_inc=0.1)
        answer = engine.play(board, clock)
        assert answer.move is not None
        board.push(answer.move)
        engine.configure({"ThinkTime": "instant"})
        clock = chess.engine.Limit(white_clock=90, black_clock=90)
        for expected in (True, False, True):  # a ponder hit, a miss, a hit
            answer = engine.play(board, clock, ponder=True)
            assert answer.move is not None
            assert answer.move in board.legal_moves
            board.push(answer.move)
            assert answer.ponder is not None
            assert answer.ponder in board.legal_moves
            others = [move for move in board.legal_moves if move != answer.ponder]
            board.push(answer.ponder if expected else others[0])
        lines = engine.analyse(board, chess.engine.Limit(depth=6), multipv=4)
        assert len(lines) == 4
        assert all("pv" in line and "score" in line for line in lines)
        engine.ping()


def test_without_a_calibration_the_bridge_is_named(tmp_path: Path) -> None:
    stranger = tmp_path / "stranger"
    stranger.write_text(
        f"#!{sys.executable}\nimport sys\n"
        "for line in sys.stdin:\n"
        "    if line.strip() == 'uci':\n"
        "        print('id name Stranger 1')\n"
        "        print('option name MultiPV type spin default 1 min 1 max 500')\n"
        "        print('uciok', flush=True)\n"
        "    elif line.strip() == 'isready':\n"
        "        print('readyok', flush=True)\n",
        encoding="utf-8",
    )
    stranger.chmod(0o755)
    done = subprocess.run(
        [*COMMAND, "--engine", str(stranger)],
        input="uci\nisready\n",
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert done.returncode == 1
    assert "uciok" in done.stdout
    assert "milepost calibrate --bridge stockfish15.1-quick" in done.stderr
    assert "Stockfish 15.1" in done.stderr


def test_an_unknown_option_or_word_changes_nothing() -> None:
    output = io.StringIO()

    def nothing(values: Mapping[str, str], engine: str | None) -> Bot:
        raise InputError("none is wanted here")

    loop = UciLoop(output, make=nothing)
    assert loop.take("setoption name NoSuchThing value 3")
    assert output.getvalue() == "info string there is no option NoSuchThing\n"
    assert loop.take("joho")
    assert loop.take("")
    assert loop.take("setoption name Plan value deep")
    assert "does not take" in output.getvalue()
    assert loop.take("nonsense uci")
    assert "uciok" in output.getvalue()
    assert not loop.take("quit")


def test_who_cannot_play_leaves_at_once(tmp_path: Path) -> None:
    """A chess program that waits for ``readyok`` sends nothing more: it must not wait for ever."""
    command = [sys.executable, "-m", "milepost", "play", "--book", str(tmp_path / "missing.bin")]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as program:
        assert program.stdin is not None
        assert program.stderr is not None
        program.stdin.write("uci\nisready\n")
        program.stdin.flush()  # and the input stays open
        assert program.wait(timeout=120) == 1
        assert "missing.bin" in program.stderr.read()
