"""The bot and the guess, with a real engine; and what is said without a calibration."""

from __future__ import annotations

import os
import signal
import stat
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import chess
import chess.variant
import numpy as np
import pytest

import milepost as mp
from milepost.analysis.engine.setup import find_engine
from milepost.analysis.engine.stoppable import Printed, StoppableEngine
from milepost.analysis.engine.uci import UciEngine
from milepost.analysis.in_time import TimedEvaluator
from milepost.analysis.plans import evaluate, make_plan
from milepost.api.guesses import as_board
from milepost.api.minds import find_minds, shipped_ranges, usual_plan
from milepost.api.play import BOOK_PLIES
from milepost.api.thoughts import HASTE, NO_VALUES
from milepost.errors import EngineError, InputError, NoCalibrationError
from milepost.intrinsic.calibration.calibration import load_calibration
from milepost.intrinsic.choosing.personal import PersonalAgent

MIDDLEGAME = "r1bq1rk1/pp2bppp/2n1pn2/3p4/3P4/2NBPN2/PP3PPP/R1BQ1RK1 w - - 4 9"
OPTIONS = {"Threads": "1", "Hash": "16", "MultiPV": "256"}
STRANGER = """\
import sys
for line in sys.stdin:
    word = line.split()[:1]
    if word == ["uci"]:
        print("id name Stranger 1\\noption name MultiPV type spin default 1 min 1 max 500")
        print("option name Hash type spin default 16 min 1 max 64\\nuciok", flush=True)
    elif word == ["isready"]:
        print("readyok", flush=True)
    elif word == ["quit"]:
        break
"""


@pytest.fixture(scope="module")
def engine_path() -> Path:
    """The engine, or a skip."""
    try:
        return find_engine(os.environ.get("MILEPOST_TEST_ENGINE"))
    except EngineError as error:
        pytest.skip(f"no engine: {error}")


@pytest.fixture(scope="module")
def bot(engine_path: Path) -> Iterator[mp.Bot]:
    """A bot of 1800 whose engine runs as long as this module."""
    with mp.Bot(1800, plan="bullet", engine=engine_path, seed=7) as bot:
        yield bot


@pytest.fixture
def stranger(tmp_path: Path) -> Path:
    """An engine that nobody has calibrated."""
    script = tmp_path / "stranger"
    script.write_text(f"#!{sys.executable}\n{STRANGER}", encoding="utf-8")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return script


def test_a_guess_says_what_people_play(bot: mp.Bot) -> None:
    weak, strong = bot.guess(MIDDLEGAME, 1500), bot.guess(MIDDLEGAME, 2700)
    for guess in (weak, strong):
        assert guess.table["probability"].sum() == pytest.approx(1)
        assert guess.table["probability"].is_sorted(descending=True)
        assert len(guess.table) == chess.Board(MIDDLEGAME).legal_moves.count()
        assert guess.likeliest == guess.table["move"][0]
        assert 0 <= guess.slip <= 1
        assert guess.made["options"]["calibration"] == "stockfish15.1-bullet"
    assert strong.expected_loss < weak.expected_loss
    assert strong.slip < weak.slip
    assert "Elo 1500" in repr(weak)


def test_guesses_come_from_files_of_positions_or_boards(engine_path: Path) -> None:
    one = mp.guess(" ".join(MIDDLEGAME.split()[:4]), 1600, engine=engine_path)
    assert one.elo == 1600
    assert one.source == "agent"


def test_before_the_ninth_move_a_guess_says_so(bot: mp.Bot) -> None:
    assert any("ninth move" in note for note in bot.guess(chess.Board()).notes)
    assert not bot.guess(MIDDLEGAME).notes


def test_positions_without_a_move_are_refused(bot: mp.Bot) -> None:
    for ask in (bot.guess, bot.choose):
        with pytest.raises(InputError, match="no legal move: Black is stalemated"):
            ask("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1")
        with pytest.raises(InputError, match="no legal move: Black is checkmated"):
            ask("7k/6Q1/6K1/8/8/8/8/8 b - - 0 1")


def test_a_late_position_with_the_number_one_is_no_opening(bot: mp.Bot) -> None:
    """Who sets up a position by hand seldom counts its moves."""
    late = "r4rk1/1bqnbppp/pp1ppn2/8/2P1P3/1PN1BP2/P2NB1PP/2RQ1RK1 w - - 0 1"
    assert not bot.guess(late).notes
    early = "rnbqkbnr/pppp1ppp/8/4p3/4P3/5N2/PPPP1PPP/RNBQKB1R b KQkq - 0 1"
    assert any("ninth move" in note for note in bot.guess(early).notes)


def test_a_position_may_be_given_as_text(bot: mp.Bot) -> None:
    assert bot.choose("startpos") in chess.Board().legal_moves
    assert bot.choose(MIDDLEGAME) in chess.Board(MIDDLEGAME).legal_moves
    for wrong in (None, 7, chess.Move.from_uci("e2e4")):
        with pytest.raises(InputError, match=r"a FEN or a chess\.Board, got"):
            bot.choose(wrong)  # type: ignore[arg-type]


def test_a_bot_that_was_closed_says_so(engine_path: Path) -> None:
    with mp.Bot(1800, plan="bullet", engine=engine_path) as bot:
        pass
    board = chess.Board(MIDDLEGAME)
    for ask in (lambda: bot.choose("startpos"), lambda: bot.guess(board), bot.start):
        with pytest.raises(InputError, match=r"was closed.*make another one"):
            ask()
    with pytest.raises(InputError, match="was closed"):
        bot.think(board)


def test_a_stopped_search_is_the_cheaper_plan(engine_path: Path) -> None:
    """Stopped at once it has nothing; a quick search holds the whole of a bullet one."""
    quick, bullet = make_plan("quick"), make_plan("bullet")
    with TimedEvaluator(engine_path, OPTIONS) as evaluator:
        whole = evaluator.evaluate(MIDDLEGAME, [quick, bullet])
        assert whole.plan == quick
        cheap = evaluator.evaluate(MIDDLEGAME, [bullet])
        asked = iter(range(10_000))
        stopped = evaluator.evaluate(MIDDLEGAME, [quick, bullet], stopped=lambda: next(asked) >= 0)
    with UciEngine(engine_path) as engine:
        engine.configure(OPTIONS)
        direct = evaluate(engine, bullet, " ".join([*MIDDLEGAME.split()[:5], "1"]))
    assert cheap.plan == bullet
    assert cheap.evaluation.values == direct.values
    shallow = {key: value for key, value in whole.evaluation.values.items() if key[0] <= 6}
    assert shallow == direct.values
    assert stopped.plan in {bullet, None}


def test_a_search_that_was_through_when_it_was_stopped_counts(
    engine_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last depth was printed, the bestmove not yet read."""
    search = StoppableEngine.search_until

    def stopped_late(*given: Any, **more: Any) -> Printed:
        return replace(search(*given, **more), whole=False)

    bullet = make_plan("bullet")
    with TimedEvaluator(engine_path, OPTIONS) as evaluator:
        whole = evaluator.evaluate(MIDDLEGAME, [bullet])
        monkeypatch.setattr(StoppableEngine, "search_until", stopped_late)
        late = evaluator.evaluate(MIDDLEGAME, [bullet])
    assert late.plan == bullet
    assert late.evaluation == whole.evaluation


def test_a_dead_engine_is_started_anew_and_a_move_comes_at_any_rate(engine_path: Path) -> None:
    board = chess.Board(MIDDLEGAME)
    with mp.Bot(1800, plan="bullet", engine=engine_path, seed=1) as bot:
        bot.start()
        process = bot.evaluator.process_id
        assert process is not None
        os.kill(process, signal.SIGKILL)
        thought = bot.think(board)
        assert thought.plan == "bullet"
        assert bot.evaluator.process_id != process
        os.kill(bot.evaluator.process_id or 0, signal.SIGKILL)
        hurried = bot.think(board, deadline=time.monotonic() + 0.05)
        assert hurried.source in {NO_VALUES, HASTE}
        assert bot.pick(hurried) in board.legal_moves


def test_the_same_seed_plays_the_same_game(engine_path: Path) -> None:
    def play(seed: int) -> list[chess.Move]:
        board = chess.Board()
        with mp.Bot(1700, plan="bullet", engine=engine_path, seed=seed) as bot:
            for _ in range(BOOK_PLIES + 6):
                board.push(bot.choose(board))
        return list(board.move_stack)

    assert play(3) == play(3)
    assert play(3) != play(4)


def test_the_games_of_a_seed_differ_and_come_again(engine_path: Path) -> None:
    """As docs/play.md says of `Seed`: by the opening, which is drawn as the moves are."""

    def opening(bot: mp.Bot) -> list[chess.Move]:
        board = chess.Board()
        while (move := bot.book_move(board)) is not None:
            board.push(move)
        return list(board.move_stack)

    sessions = []
    for _ in range(2):
        with mp.Bot(1700, plan="bullet", engine=engine_path, seed=3) as bot:
            games = [opening(bot)]
            for number in (1, 2, 3):
                bot.new_game(number)
                games.append(opening(bot))
            bot.new_game()
            assert opening(bot) == games[0]
            for wrong in ("x", -1, 1.5):
                with pytest.raises(InputError, match="number: expected a whole number from 0"):
                    bot.new_game(wrong)  # type: ignore[arg-type]
            sessions.append(games)
    assert sessions[0] == sessions[1]
    assert len({tuple(game) for game in sessions[0]}) > 2


def test_the_book_ends_before_the_ninth_move(bot: mp.Bot) -> None:
    board = chess.Board()
    while (move := bot.book_move(board)) is not None:
        assert move in board.legal_moves
        board.push(move)
    assert 0 < board.ply() <= BOOK_PLIES


def test_keeping_to_some_moves(bot: mp.Bot) -> None:
    board = chess.Board(MIDDLEGAME)
    only = [chess.Move.from_uci("a2a3"), chess.Move.from_uci("h2h3")]
    thought = bot.think(board, moves=only)
    assert {thought.options.moves[at] for at in thought.order[:2]} == {"a2a3", "h2h3"}
    assert thought.choice.probabilities.sum() == pytest.approx(1)
    assert (np.sort(thought.choice.probabilities)[:-2] == 0).all()
    with pytest.raises(InputError, match="none of the moves"):
        bot.think(board, moves=[chess.Move.from_uci("e1e8")])


def test_bullet_looks_again_where_the_position_is_decided(engine_path: Path) -> None:
    """Far ahead, a search to depth 6 does not see here that Ke7 allows Re8 mate."""
    board = chess.Board("R4k2/5p2/4pNb1/4P3/1p1r4/1P4K1/2p5/8 b - - 1 52")
    with mp.Bot(1900, plan="bullet", engine=engine_path, book=None, seed=1) as bot:
        thought = bot.think(board)
        guess = bot.think(board, guessing=True)
    assert thought.options.moves[thought.choice.likeliest] == "f8g7"
    allowed = thought.options.moves.index("f8e7")
    assert thought.choice.losses[allowed] > 10
    assert thought.choice.probabilities[allowed] < 0.05
    assert thought.plan == "bullet", "the plan that was asked for answers for it"
    # A guess is the calibration's own, whatever it does not see.
    assert guess.choice.losses[guess.options.moves.index("f8e7")] == 0


def test_blitz_sees_decided_positions_as_quick_does(engine_path: Path) -> None:
    """By depth 8 alone, bots of 2300 and more won fewer of them than weaker ones did."""
    board = chess.Board("R4k2/5p2/4pNb1/4P3/1p1r4/1P4K1/2p5/8 b - - 1 52")
    thoughts = []
    for plan in ("blitz", "quick"):
        with mp.Bot(2400, plan=plan, engine=engine_path, book=None, seed=1) as bot:
            thoughts.append(bot.think(board))
    again, deep = thoughts
    assert (again.plan, deep.plan) == ("blitz", "quick")
    assert again.options.moves == deep.options.moves
    np.testing.assert_array_equal(again.choice.probabilities, deep.choice.probabilities)
    with mp.Bot(2400, plan="blitz", engine=engine_path, book=None, seed=1) as bot:
        level = bot.think(chess.Board(MIDDLEGAME))
        hasty = bot.think(board, deadline=time.monotonic())
    assert level.nodes < 500_000, "no second look where the position is open"
    assert hasty.nodes < again.nodes, "no second look without time"


def test_standard_falls_back_to_plans_with_their_own_calibration(engine_path: Path) -> None:
    _, minds = find_minds(engine_path, "standard")
    names = [mind.chooser.calibration.name.rsplit("-", 1)[1] for mind in minds]
    assert names == ["standard", "quick", "quick", "bullet"]
    assert [mind.name for mind in minds] == ["standard", "quick", "blitz", "bullet"]
    assert minds[0].chooser.decided is None
    assert all(mind.chooser.decided is not None for mind in minds[1:])


def test_a_plan_does_not_claim_an_elo_that_it_cannot_play(engine_path: Path) -> None:
    """Asked for by name it refuses; in haste it plays at its own greatest Elo and says so."""
    with pytest.raises(InputError, match=r"bullet plays at Elo 1417 to \d+, got 2600; .*blitz"):
        mp.Bot(2600, plan="bullet", engine=engine_path)
    with mp.Bot(2600, plan="blitz", engine=engine_path, seed=1) as bot:
        board = chess.Board(MIDDLEGAME)
        hasty = bot.think(board, plans=["bullet"])
        assert hasty.plan == "bullet"
        assert hasty.elo == shipped_ranges()["bullet"][1] < 2600
        assert bot.think(board).elo == 2600
        guess = bot.think(board, plans=["bullet"], guessing=True)
        assert guess.elo == 2600
        assert guess.choice.entropy > hasty.choice.entropy


def test_the_usual_plan_is_that_of_the_agent(engine_path: Path) -> None:
    about = load_calibration("stockfish15.1-bullet")
    names = about.map.path.model.parameters
    person = PersonalAgent(
        2400.0, about.setup, about.setup_text, about.name, np.zeros(len(names)), names
    )
    with mp.Bot(agent=person, engine=engine_path) as bot:
        assert [mind.name for mind in bot.minds] == ["bullet"]
        assert bot.elo == 2400  # known of the person; what the plan can do is told with the move
        assert bot.elo_today == shipped_ranges()["bullet"][1]
    assert usual_plan() == "quick"
    with pytest.raises(InputError, match="its own plan is bullet: ask for that, or for no plan"):
        mp.Bot(agent=person, plan="blitz", engine=engine_path)
    with pytest.raises(InputError, match="fit one with this engine"):
        mp.Bot(agent=replace(person, setup="0"), engine=engine_path)
    with pytest.raises(InputError, match="is for the plan bullet, and this is quick: ask for"):
        mp.Bot(1800, calibration=about.name, engine=engine_path)


def test_impossible_options_are_refused(engine_path: Path) -> None:
    wrong: list[dict[str, Any]] = [
        {"elo": 100}, {"elo": 3500}, {"choice": "best"}, {"form": -1}, {"plan": "deep"},
        {"elo": "x"}, {"elo": "1800"}, {"elo": float("nan")}, {"elo": True}, {"form": "much"},
        {"seed": "x"}, {"seed": -1}, {"seed": 1.5}, {"book": "no.bin"}, {"book": 3}, {"agent": 3},
        {"calibration": 3}, {"plan": 3}, {"choice": None}, {"book_plies": "x"},
    ]  # fmt: skip
    for each in wrong:
        with pytest.raises(InputError):
            mp.Bot(**{"elo": 1800, "engine": engine_path, **each})
    with pytest.raises(InputError, match=r"elo: expected a number such as 1800.*got 'x'"):
        mp.Bot("x", engine=engine_path)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="elo: expected a number"):
        mp.guess(MIDDLEGAME, "x", engine=engine_path)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("board", "rules"),
    [
        (chess.variant.AtomicBoard(), "atomic"),
        (chess.Board.from_chess960_pos(100), "chess960"),
    ],
)
def test_boards_of_other_rules_are_refused(board: chess.Board, rules: str) -> None:
    with pytest.raises(InputError, match=f"only standard chess .* a position of {rules}"):
        as_board(board)
    # The flag alone changes nothing: many programs set it for every game.
    assert as_board(chess.Board(chess960=True)).fen() == chess.STARTING_FEN


def test_castling_is_written_as_the_board_writes_it(engine_path: Path) -> None:
    fen = "rnbq1rk1/ppp2ppp/3b1n2/3p4/3P4/3B1N2/PPP2PPP/RNBQK2R w KQ - 6 9"
    with mp.Bot(1800, plan="bullet", engine=engine_path, choice="likeliest", book=None) as bot:
        assert bot.choose(fen).uci() == "e1g1"
        board = chess.Board(fen, chess960=True)
        assert bot.choose(board).uci() == "e1h1"
        assert board.is_legal(bot.choose(board))


def test_an_engine_without_a_calibration_is_told(stranger: Path) -> None:
    with pytest.raises(NoCalibrationError, match=r"Stranger 1.*Stockfish 15\.1.*milepost\.bridge"):
        mp.Bot(1800, engine=stranger)
