"""Positions as people give them: what is wrong with one is said in words."""

from __future__ import annotations

import random

import chess
import pytest

from milepost.errors import InputError
from milepost.games.positions import board_from_text, least_plies, what_is_wrong, why_no_move

START = chess.STARTING_FEN


def test_a_fen_without_its_numbers_and_the_starting_position() -> None:
    four = "r1bq1rk1/pp2bppp/2n1pn2/3p4/3P4/2NBPN2/PP3PPP/R1BQ1RK1 w - -"
    assert board_from_text(f"  {four} ").fen() == f"{four} 0 1"
    assert board_from_text("startpos") == chess.Board()
    assert not what_is_wrong(chess.Board())


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "no position is given: a FEN looks like rnbqkbnr/"),
        (" \t", "no position is given"),
        ("nonsense", "not a position: expected 8 rows"),
        (START.replace(" w ", " x "), "expected 'w' or 'b'"),
        ("8/8/8/8/8/8/8/8 w - - 0 1", "the board is empty"),
        ("4k3/8/8/8/8/8/8/8 w - - 0 1", "there is no white king"),
        ("4K3/8/8/8/8/8/8/8 w - - 0 1", "there is no black king"),
        ("4k3/8/8/8/8/8/8/KK6 w - - 0 1", "more than one king"),
        ("4k3/8/8/8/8/8/4R3/4K3 w - - 0 1", "White is to move, but Black's king is in check"),
        ("4k3/4r3/8/8/8/8/8/4K3 b - - 0 1", "Black is to move, but White's king is in check"),
        ("4k2P/8/8/8/8/8/8/4K3 w - - 0 1", "a pawn stands on the first or the last rank"),
        ("4k3/8/8/8/P7/PPPPPPPP/8/4K3 w - - 0 1", "White has more than eight pawns"),
        (START.replace("RNBQKBNR", "RNBQKBN1"), "the castling rights do not fit"),
        ("bqnb1rkr/pp3ppp/3ppn2/2p5/5P2/P2P4/NPP1P1PP/BQ1BNRKR w HFhf - 2 9", "those of Chess960"),
        (START.replace("KQkq -", "KQkq e6"), "en passant"),
        ("k7/8/8/8/8/8/8/RNBQKBNRR w - - 0 1", "not a position"),
        ("4k3/8/3N4/1B6/8/8/8/4RK2 b - - 0 1", "more men give check than one move can"),
    ],
)
def test_what_is_wrong_is_told(text: str, told: str) -> None:
    with pytest.raises(InputError, match="position") as refused:
        board_from_text(text)
    assert told in str(refused.value)


def test_mate_and_stalemate_are_told_apart() -> None:
    assert "Black is checkmated" in why_no_move(chess.Board("7k/6Q1/6K1/8/8/8/8/8 b - - 0 1"))
    assert "Black is stalemated" in why_no_move(chess.Board("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1"))
    assert not why_no_move(chess.Board())


def test_a_position_needs_no_more_half_moves_than_were_played() -> None:
    """Random games: the least number never exceeds the true one, and sees what is late."""
    chance = random.Random(8)
    for _ in range(30):
        board = chess.Board()
        while not board.is_game_over() and board.ply() < 120:
            assert least_plies(board) <= board.ply(), board.fen()
            board.push(chance.choice(list(board.legal_moves)))
    castled = "r1bqk1nr/pppp1ppp/2n5/2b1p3/2B1P3/5N2/PPPP1PPP/RNBQ1RK1 b kq - 0 1"
    assert least_plies(board_from_text(castled)) == 7
    assert least_plies(board_from_text("8/5k2/8/8/3R4/8/2K5/8 w - - 0 1")) >= 28
