"""What kind of move each option is, read off positions that a reader can set up on a board."""

from __future__ import annotations

import random

import chess
import numpy as np
import polars as pl
import pytest

from milepost.analysis.spreads.option_columns import (
    KINDS_OF_MOVE,
    TURN_COLUMNS,
    add_option_columns,
    describe_moves,
    option_columns,
    turn_columns,
)
from milepost.tables import CONTEXT, OPTION


def kinds(fen: str, last: str | None = None, own: str | None = None) -> dict[str, dict[str, float]]:
    """The columns of every legal move, by move and name; zeros left out."""
    moves = [move.uci() for move in chess.Board(fen).legal_moves]
    columns = option_columns([fen], [moves], [last], [own])
    return {
        move: {
            name: round(value, 4)
            for name, column in zip(KINDS_OF_MOVE, columns, strict=True)
            if (value := column[0][place])
        }
        for place, move in enumerate(moves)
    }


RUY = "r1bqkbnr/1ppp1ppp/p1B5/4p3/4P3/5N2/PPPP1PPP/RNBQK2R b KQkq - 0 4"
"""After 1.e4 e5 2.Nf3 Nc6 3.Bb5 a6 4.Bxc6: Black takes back."""


def test_takes_back_what_has_just_taken() -> None:
    found = kinds(RUY, last="b5c6", own="a7a6")
    assert found["d7c6"]["capture"] == found["d7c6"]["recapture"] == found["d7c6"]["pawn"] == 1
    assert found["d7c6"]["near"] == 1
    assert "recapture" not in found["g8f6"]
    # Without the last move nothing is a recapture, and nothing is near it.
    assert "recapture" not in kinds(RUY)["d7c6"]
    assert "near" not in kinds(RUY)["d7c6"]


def test_knows_checks_castling_promotion_and_passing() -> None:
    castles = kinds("4k3/8/8/8/8/8/8/4K2R w K - 0 1")
    assert castles["e1g1"]["castling"] == 1
    assert "king" not in castles["e1g1"]
    assert castles["e1d1"]["king"] == 1
    assert castles["h1h8"]["check"] == 1
    assert castles["h1h8"]["long"] == 1
    assert castles["h1h8"]["forward"] == 1
    assert kinds("8/P6k/8/8/8/8/8/K7 w - - 0 1")["a7a8q"]["promotion"] == 1
    passing = kinds("4k3/8/8/3pP3/8/8/8/4K3 w - d6 0 2", last="d7d5")
    assert passing["e5d6"]["capture"] == passing["e5d6"]["trade"] == 1


def test_sees_danger_and_retreat() -> None:
    # The knight on e5 is attacked by a pawn; d3 is safe, c4 is covered by the pawn on b5.
    found = kinds("4k3/8/3p4/1p2N3/8/8/8/4K3 w - - 0 1", own="c4e5", last="d7d6")
    assert all(found[move]["escape"] == 1 for move in found if move.startswith("e5"))
    assert found["e5c4"]["exposed"] == 1
    assert found["e5c4"]["undo"] == found["e5c4"]["again"] == 1
    assert "exposed" not in found["e5d3"]
    assert found["e5d3"]["retreat"] == pytest.approx(2 / 7, abs=1e-4)


def test_looks_the_same_from_both_sides() -> None:
    white = kinds(RUY, last="b5c6", own="a7a6")
    board = chess.Board(RUY).mirror()
    mirrored = kinds(board.fen(), last="b4c3", own="a2a3")
    for move, columns in white.items():
        start, end = chess.Move.from_uci(move).from_square, chess.Move.from_uci(move).to_square
        twin = chess.Move(chess.square_mirror(start), chess.square_mirror(end)).uci()
        assert mirrored[twin] == columns


def test_turns_know_their_place_in_the_game() -> None:
    columns = turn_columns(
        pl.Series([chess.STARTING_FEN.replace(" 0 1", " 0 9"), "4k3/8/8/8/8/8/8/4K2R w K - 0 36"])
    )
    by_name = dict(zip(TURN_COLUMNS, [column.to_list() for column in columns], strict=True))
    assert by_name["opening"] == [1.0, 0.5**9]
    assert by_name["control"] == [0.0, 1.0]
    assert by_name["endgame"] == [0.0, 1.0]
    assert by_name["simple"] == [0.0, 29 / 32]


def test_finds_the_moves_before_in_the_table() -> None:
    fens = [chess.STARTING_FEN, RUY]
    turns = pl.DataFrame(
        {
            "game_id": ["g", "g"],
            "ply": [0, 7],
            "position": fens,
            "key": fens,
            "moves": [["e2e4"], ["d7c6", "b7c6"]],
        }
    )
    everything = pl.DataFrame(
        {"game_id": ["g", "g", "other"], "ply": [5, 6, 6], "played": ["a7a6", "b5c6", "e2e4"]}
    )
    table = add_option_columns(turns, everything)
    assert table[f"{OPTION}recapture"].to_list() == [[0.0], [1.0, 1.0]]
    assert set(table.columns) > {f"{CONTEXT}opening", f"{OPTION}capture"}
    assert all(
        np.isfinite(table[f"{OPTION}{name}"].explode().to_numpy()).all() for name in KINDS_OF_MOVE
    )


@pytest.mark.parametrize(
    "fen",
    [
        chess.STARTING_FEN,
        "4k3/8/8/8/4N3/8/8/4R1K1 w - - 0 1",  # a knight opens a file
        "8/2P5/8/8/1k6/8/8/R3K2R w KQ - 0 1",  # promotions, castling
        "8/8/8/1k1pP2B/8/8/8/4K2Q w - d6 0 1",  # in passing
        "3k4/8/8/3K4/8/8/8/3R4 w - - 0 1",  # the king itself opens the file
    ],
)
def test_checks_are_those_that_making_the_move_gives(fen: str) -> None:
    """Against python-chess, which makes each move, along a game of drawn moves."""
    board, rng = chess.Board(fen), np.random.default_rng(7)
    for _ in range(25):
        moves = list(board.legal_moves)
        if not moves:
            break
        found = option_columns([board.fen()], [[move.uci() for move in moves]], [None], [None])
        assert found[3][0].to_list() == [float(board.gives_check(move)) for move in moves]
        board.push(moves[int(rng.integers(len(moves)))])


CORNERS = [
    chess.STARTING_FEN,
    "r3k2r/pPp2ppp/8/3pP3/8/8/PPP2PpP/R3K2R w KQkq d6 0 1",  # castling, promotion, en passant
    "r3k2r/pPp2ppp/8/8/3Pp3/8/PPP2PpP/R3K2R b KQkq d3 0 1",
    "4k3/8/8/8/8/8/4r3/R3K2R w KQ - 0 1",
    "8/8/8/3k4/8/8/3R4/3QK3 w - -",  # as stored: no counters
    "k7/8/8/2pP4/8/8/6B1/4K3 w - c6 0 1",  # taken in passing, with a check behind it
]


def test_the_kernel_says_what_plain_python_says() -> None:
    """Positions of random games and some rare ones; `describe_moves` asks python-chess."""
    chance = random.Random(19)
    cases: list[tuple[chess.Board, str | None, str | None]] = [
        (chess.Board(fen), None, None) for fen in CORNERS
    ]
    for _ in range(6):
        board = chess.Board()
        while not board.is_game_over() and board.ply() < 120:
            stack = [move.uci() for move in board.move_stack]
            if chance.random() < 0.3:
                cases.append((board.copy(), [None, *stack][-1], [None, None, *stack][-2]))
            board.push(chance.choice(list(board.legal_moves)))
    fens = [board.fen() for board, *_ in cases]
    moves = [[move.uci() for move in board.legal_moves] for board, *_ in cases]
    last, own = [case[1] for case in cases], [case[2] for case in cases]
    columns = option_columns(fens, moves, last, own)
    found = np.array([column.explode().to_numpy() for column in columns]).T
    expected = np.zeros_like(found)
    at = 0
    for (board, before, mine), options in zip(cases, moves, strict=True):
        describe_moves(board, options, before, mine, expected[at : at + len(options)])
        at += len(options)
    assert at > 3000
    assert (expected.sum(axis=0) > 0).sum() == len(KINDS_OF_MOVE)
    assert np.array_equal(found, expected)


def test_what_is_no_move_is_left_to_plain_python() -> None:
    with pytest.raises(ValueError, match="uci"):
        option_columns([chess.STARTING_FEN], [["e2e9"]], [None], [None])
    with pytest.raises(ValueError, match="fen"):
        option_columns(["nonsense w - -"], [["e2e4"]], [None], [None])
