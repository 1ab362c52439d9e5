"""Choosing: the same agents as ratings read, what follows from the probabilities, the rules."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import chess
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from milepost.analysis.engine.search_output import Value
from milepost.analysis.plans import Evaluation
from milepost.analysis.run.run import evaluation_row
from milepost.analysis.spreads.build import make_spreads
from milepost.analysis.spreads.one_position import drawing_moves, letting_draw, position_options
from milepost.choice.evaluation.evaluate import ln_probabilities, prepare
from milepost.choice.spreads import Spreads
from milepost.errors import InputError
from milepost.intrinsic.calibration.calibration import load_calibration
from milepost.intrinsic.choosing.choose import AGENT, DECIDED, TECHNIQUE, Choice, Chooser, draw
from milepost.intrinsic.choosing.decided import DecidedAgents, decided_for, mate_ladder
from milepost.intrinsic.choosing.technique import see_threats, technique_probabilities, temperature

SHUFFLES = {"a1a2", "a2a1", "e8d8", "d8e8", "e8e7", "e7e8"}
MIDDLEGAME = "r1bq1rk1/pp2bppp/2n1pn2/3p4/3P4/2NBPN2/PP3PPP/R1BQ1RK1 w - - 4 9"


def evaluated(board: chess.Board, depths: int, seed: int, shift: int = 0) -> Evaluation:
    """An evaluation with made-up values that change from depth to depth."""
    rng = np.random.default_rng(seed)
    moves = sorted(move.uci() for move in board.legal_moves)
    values = {
        (depth, move): Value(int(shift + rng.integers(-200, 60)), None)
        for depth in range(1, depths + 1)
        for move in moves
    }
    order = sorted(moves, key=lambda move: -(values[depths, move].cp or 0))
    return Evaluation(tuple(order), values, dict.fromkeys(moves, depths), 1000)


@pytest.mark.parametrize(("name", "depths"), [("bullet", 6), ("quick", 10)])
def test_probabilities_are_those_that_ratings_read(name: str, depths: int) -> None:
    """The bot's way (one position) against the way of `rate` (a table of turns)."""
    board = chess.Board(MIDDLEGAME)
    board.push_uci("c3b5")
    board.push_uci("a7a6")
    board.push_uci("b5c3")
    board.push_uci("a6a5")
    found = evaluated(board, depths, 5)
    calibration = load_calibration(f"stockfish15.1-{name}")
    chooser = Chooser(calibration)
    options = position_options(board, found)
    choice = chooser.choose(options, 1900)
    ply = board.ply()
    turns = pl.DataFrame(
        {
            "game_id": ["g"] * 3,
            "ply": [ply - 2, ply - 1, ply],
            "mover": ["x", "y", "x"],
            "position": [MIDDLEGAME, MIDDLEGAME, board.fen()],
            "played": ["b5c3", "a6a5", found.moves[0]],
            "book": [True, True, False],
        }
    )
    row = evaluation_row(" ".join([*board.fen().split()[:5], "1"]), None, "s", found)
    table = make_spreads(turns, pl.DataFrame([row], infer_schema_length=None)).table
    path = calibration.map.path
    spreads = Spreads.from_table(table)
    expected = np.exp(
        ln_probabilities(path.model, prepare(spreads, path.model), path.theta(1900.0))
    )
    np.testing.assert_allclose(choice.probabilities, spreads.as_given(expected), rtol=1e-9)
    assert choice.regime == AGENT
    assert choice.probabilities.sum() == pytest.approx(1)


def test_stronger_players_give_less_away() -> None:
    board = chess.Board(MIDDLEGAME)
    options = position_options(board, evaluated(board, 6, 1))
    chooser = Chooser(load_calibration("stockfish15.1-bullet"))
    losses = [chooser.choose(options, elo).expected_loss for elo in (1500, 2000, 2500, 2800)]
    slips = [chooser.choose(options, elo).slip for elo in (1500, 2000, 2500, 2800)]
    assert losses == sorted(losses, reverse=True)
    assert slips == sorted(slips, reverse=True)


def test_the_elo_of_the_best_move_is_where_it_becomes_the_likeliest() -> None:
    """Against brute force over single Elos."""
    board = chess.Board(MIDDLEGAME)
    chooser = Chooser(load_calibration("stockfish15.1-bullet"))
    crossing = 0
    for seed in range(8):
        options = position_options(board, evaluated(board, 6, seed))
        elo, (low, high) = chooser.likeliest_from(options)
        best = chooser.choose(options, low).best
        assert options.values[best] == options.values.max()
        if elo is None:
            assert chooser.choose(options, high).likeliest != best
            continue
        for above in (elo, min(elo + 200, high), high):
            assert chooser.choose(options, above).likeliest == best
        if elo > low:
            crossing += 1
            assert chooser.choose(options, elo - 26).likeliest != best
    assert crossing


def test_decided_positions_have_agents_of_their_own() -> None:
    board = chess.Board(MIDDLEGAME)
    calibration = load_calibration("stockfish15.1-bullet")
    decided = decided_for(calibration.setup)
    assert decided is not None
    assert DecidedAgents.from_dict(decided.to_dict()).setup == calibration.setup
    options = position_options(board, evaluated(board, 6, 2, shift=800))
    plain = Chooser(calibration).choose(options, 1800)
    own = Chooser(calibration, decided).choose(options, 1800)
    assert plain.regime == own.regime == DECIDED
    assert np.abs(plain.probabilities - own.probabilities).max() > 0.01
    assert own.probabilities.sum() == pytest.approx(1)
    # Within three pawns nothing changes.
    even = position_options(board, evaluated(board, 6, 2))
    np.testing.assert_array_equal(
        Chooser(calibration, decided).choose(even, 1800).probabilities,
        Chooser(calibration).choose(even, 1800).probabilities,
    )


def test_a_mate_in_one_is_hard_to_overlook_and_harder_for_the_strong() -> None:
    board = chess.Board(MIDDLEGAME)
    found = evaluated(board, 6, 2, shift=400)
    mating = found.moves[3]
    values = dict(found.values) | {(depth, mating): Value(None, 1) for depth in range(1, 7)}
    moves = (mating, *(move for move in found.moves if move != mating))
    options = position_options(board, replace(found, values=values, moves=moves))
    calibration = load_calibration("stockfish15.1-bullet")
    chooser = Chooser(calibration, decided_for(calibration.setup))
    chances = [chooser.choose(options, elo).probabilities[0] for elo in (1500, 2000, 2500)]
    assert chances == sorted(chances)
    assert chances[0] > 0.9
    assert chances[2] > 0.99
    assert chooser.choose(options, 1500).probabilities.sum() == pytest.approx(1)


def test_the_mate_ladder() -> None:
    values = np.array([299.99, 299.95, 299.0, 20.0, 3.0, -2.0, -299.98])
    expected = [25.0, 17.0, 15.1, 15.0, 3.0, -2.0, -20.0]
    np.testing.assert_allclose(mate_ladder(values), expected)


def test_technique_prefers_the_nearer_mate_and_sharpens_with_elo() -> None:
    values = np.array([299.97, 299.95, 28.1, 28.0, 0.0])
    room = np.array([30.0, 30.0, 12.0, 14.0, 3.0])
    agents = np.array([0.3, 0.2, 0.2, 0.25, 0.05])
    weak, strong = (technique_probabilities(room, values, agents, elo) for elo in (1400, 2400))
    assert list(np.argsort(-weak[:4])) == [0, 1, 2, 3]
    assert strong[0] > weak[0]
    assert 0.05 > weak[4] > 100 * strong[4] > 0  # who has learnt it does not give it away
    assert weak.sum() == pytest.approx(1)
    assert strong.sum() == pytest.approx(1)
    without = technique_probabilities(room[2:4], values[2:4], agents[2:4] / 0.45, 1800)
    assert without[0] > 2 * without[1]
    assert temperature(1000) == temperature(1200) > temperature(2000) > temperature(2800)


def test_technique_is_for_the_side_that_is_ahead_of_a_bare_king() -> None:
    board = chess.Board("8/8/8/4k3/8/8/8/R3K3 w - - 0 20")
    found = evaluated(board, 6, 3, shift=2800)
    chooser = Chooser(load_calibration("stockfish15.1-bullet"))
    assert chooser.choose(position_options(board, found), 2000).regime == TECHNIQUE


@pytest.mark.parametrize("shift", [0, 600])
def test_who_has_learnt_the_pawn_ending_keeps_what_there_is(shift: int) -> None:
    """Whatever a shallow search thinks: by 1600 hardly anything is given away."""
    # Books: with a pawn on e3 the king has to reach d5, e5 or f5.
    board = chess.Board("8/4k3/8/8/4K3/4P3/8/8 w - - 0 40")
    found = evaluated(board, 6, 3, shift=shift)
    chooser = Chooser(load_calibration("stockfish15.1-bullet"))
    options = position_options(board, found)
    wins = [options.moves.index(move) for move in ("e4d5", "e4e5", "e4f5")]
    shares = [chooser.choose(options, elo).probabilities[wins].sum() for elo in (1450, 1600, 2000)]
    assert shares[0] < shares[1] < shares[2]
    assert shares[1] > 0.94
    choice = chooser.choose(options, 1600)
    assert choice.regime == TECHNIQUE
    assert choice.probabilities.sum() == pytest.approx(1)
    # The bare king keeps the draw by the opposition.
    board = chess.Board("8/4k3/8/8/3K4/4P3/8/8 b - - 0 40")
    options = position_options(board, evaluated(board, 6, 3, shift=-shift))
    ending = options.ending
    assert ending is not None
    keeps = ~np.isfinite(ending.away)
    assert [options.moves[place] for place in np.flatnonzero(keeps)] == ["e7d6"]
    assert chooser.choose(options, 1800).probabilities[keeps].sum() > 0.98


def test_the_last_pawn_is_taken_and_not_left_to_be_taken() -> None:
    chooser = Chooser(load_calibration("stockfish15.1-bullet"))
    board = chess.Board("8/8/8/8/5k2/4P3/8/6K1 b - - 0 76")
    options = position_options(board, evaluated(board, 6, 3))
    taken = options.moves.index("f4e3")
    assert chooser.choose(options, 1500).probabilities[taken] > 0.9
    assert chooser.choose(options, 2200).probabilities[taken] > 0.98
    # A draw by the book; the king stays beside its pawn.
    board = chess.Board("8/8/8/3k4/3P4/3K4/8/8 w - - 0 60")
    options = position_options(board, evaluated(board, 6, 3))
    assert options.ending is not None
    assert not np.isfinite(options.ending.away).any()
    left = chooser.choose(options, 1500).probabilities[options.ending.takes]
    assert 0 < len(left) < len(options.moves)
    assert left.sum() < 0.15


def test_moves_that_end_in_a_draw_are_worth_nothing() -> None:
    board = chess.Board("4k3/8/8/8/8/8/8/R3K3 w - - 0 20")
    for text in ("a1a2", "e8d8", "a2a1", "d8e8", "a1a2", "e8d8", "a2a1", "d8e8"):
        board.push_uci(text)
    moves = tuple(move.uci() for move in board.legal_moves)
    assert [moves[place] for place in drawing_moves(board, moves)] == ["a1a2"]
    found = evaluated(board, 6, 4, shift=2800)
    options = position_options(board, found)
    place = options.moves.index("a1a2")
    assert options.values[place] == 0
    assert options.scores[place] == Value(0, None)
    assert (np.delete(options.values, place) > 20).all()
    kept = position_options(board, found, draws_count=False)
    assert kept.values[kept.moves.index("a1a2")] > 20


def test_who_is_ahead_does_not_let_the_other_side_repeat() -> None:
    board = chess.Board("4k3/8/8/8/8/8/8/R3K3 w - - 0 20")
    for text in ("a1a2", "e8d8", "a2a1", "d8e8", "a1a2", "e8d8"):
        board.push_uci(text)
    # After Ra1 the king comes back to e8, and the first position stands for the third time.
    moves = tuple(move.uci() for move in board.legal_moves)
    assert drawing_moves(board, moves) == []
    assert [moves[place] for place in letting_draw(board, moves)] == ["a2a1"]
    ahead = position_options(board, evaluated(board, 6, 4, shift=600))
    assert ahead.values[ahead.moves.index("a2a1")] == 0
    assert (np.delete(ahead.values, ahead.moves.index("a2a1")) > 3).all()
    # Who is behind loses nothing by it: the other side need not repeat.
    behind = position_options(board, evaluated(board, 6, 4, shift=-600))
    assert behind.values[behind.moves.index("a2a1")] < -3
    board.pop()
    board.pop()
    assert letting_draw(board, tuple(move.uci() for move in board.legal_moves)) == []


@settings(max_examples=40, deadline=None)
@given(st.randoms(use_true_random=False))
def test_letting_a_draw_agrees_with_trying_every_reply(chance: random.Random) -> None:
    board = chess.Board("4k3/8/8/8/8/8/8/R3K3 w - - 0 20")
    for _ in range(chance.randint(0, 14)):  # few squares, so that positions come again
        few = [move for move in board.legal_moves if move.uci() in SHUFFLES]
        board.push(chance.choice(few))
    moves = tuple(move.uci() for move in board.legal_moves)
    expected = []
    for place, text in enumerate(moves):
        board.push_uci(text)
        for reply in board.legal_moves:
            board.push(reply)
            if board.is_repetition(3) and place not in expected:
                expected.append(place)
            board.pop()
        board.pop()
    assert letting_draw(board, moves) == expected


def test_fifty_moves_end_in_a_draw_but_not_with_a_mate() -> None:
    board = chess.Board("7k/8/6K1/8/8/8/8/R7 w - - 99 90")
    moves = ("a1a8", "a1a2")
    assert drawing_moves(board, moves) == [1]


def test_a_mate_in_one_that_a_move_allows_is_seen() -> None:
    p, values = np.array([0.5, 0.2, 0.3]), np.array([4.0, -299.98, -299.99])
    # By the rule of near mates 1800 misses 3 % of mates in one, and half as many 300 points higher.
    for elo, missed in ((1800, 0.03), (2100, 0.015), (1500, 0.06)):
        seen = see_threats(p, values, elo)
        assert seen[2] == pytest.approx(0.3 * missed)
        assert seen.sum() == pytest.approx(1)
        assert seen[0] / seen[1] == pytest.approx(2.5)
    # Who cannot help it is not hindered, and a mate in two is another matter.
    np.testing.assert_array_equal(see_threats(p, np.full(3, -299.99), 1800), p)
    np.testing.assert_array_equal(see_threats(p, np.array([4.0, 1.0, -299.98]), 1800), p)


def test_a_search_that_ended_early_can_still_be_read() -> None:
    board = chess.Board(MIDDLEGAME)
    choice = Chooser(load_calibration("stockfish15.1-bullet")).choose(
        position_options(board, evaluated(board, 3, 1)), 1800
    )
    assert choice.probabilities.sum() == pytest.approx(1)


def test_keeping_to_some_moves() -> None:
    choice = Choice(np.array([0.5, 0.3, 0.2]), np.array([0.0, 1.0, 3.0]), AGENT, 0)
    kept = choice.keep([1, 2])
    np.testing.assert_allclose(kept.probabilities, [0, 0.6, 0.4])
    assert kept.best == 1
    assert kept.slip == pytest.approx(0.4)
    assert choice.slip == pytest.approx(0.5)
    with pytest.raises(InputError, match="at least one"):
        choice.keep([])


def test_entropy_and_expected_loss() -> None:
    choice = Choice(np.array([0.5, 0.5, 0.0]), np.array([0.0, 0.4, 9.0]), AGENT, 0)
    assert choice.entropy == pytest.approx(math.log(2))
    assert choice.expected_loss == pytest.approx(0.2)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20).filter(lambda p: sum(p) > 0.01))
def test_draws_come_from_what_can_be(shares: list[float]) -> None:
    p = np.array(shares)
    place = draw(p, np.random.default_rng(3))
    assert p[place] > 0


def test_draws_follow_the_probabilities() -> None:
    p = np.array([0.6, 0.3, 0.1])
    rng = np.random.default_rng(11)
    counts = np.bincount([draw(p, rng) for _ in range(5000)], minlength=3) / 5000
    np.testing.assert_allclose(counts, p, atol=0.03)
