"""Polyglot books: python-chess, another program, reads what we write."""

from __future__ import annotations

import random
from pathlib import Path

import chess
import chess.polyglot
import pytest

from milepost.errors import InputError
from milepost.games.book import Book, count_openings, open_book, polyglot_move, write_book


def line(*moves: str) -> tuple[chess.Board, list[tuple[chess.Move, float]]]:
    board = chess.Board()
    for move in moves:
        board.push_san(move)
    return chess.Board(), [(move, 1.0) for move in board.move_stack]


def test_python_chess_reads_what_we_write(tmp_path: Path) -> None:
    path = tmp_path / "book.bin"
    games = [
        line("e4", "e5", "Nf3"), line("e4", "c5"), line("e4", "e5", "Nc3"), line("d4", "d5")
    ]  # fmt: skip
    assert write_book(count_openings(games, 3), path) == 7
    with chess.polyglot.open_reader(path) as reader:
        found = {entry.move.uci(): entry.weight for entry in reader.find_all(chess.Board())}
        assert found == {"e2e4": 3, "d2d4": 1}
        board = chess.Board()
        board.push_san("e4")
        assert [entry.move.uci() for entry in reader.find_all(board)] == ["e7e5", "c7c5"]


def test_every_move_of_random_games_comes_back(tmp_path: Path) -> None:
    """Castling and promotions have ways of their own in this format."""
    random_moves = random.Random(5)
    games = []
    for _ in range(30):
        board = chess.Board()
        while not board.is_game_over() and board.ply() < 160:
            board.push(random_moves.choice(list(board.legal_moves)))
        games.append((chess.Board(), [(move, 1.0) for move in board.move_stack]))
    kinds = set()
    path = tmp_path / "book.bin"
    write_book(count_openings(games, 160), path)
    book = Book(path)
    for start, moves in games:
        board = start.copy()
        for move, _ in moves:
            assert move in {known for known, _ in book.entries(board)}
            kinds |= {("castling", board.is_castling(move)), ("promotion", bool(move.promotion))}
            board.push(move)
    book.close()
    assert ("castling", True) in kinds
    assert ("promotion", True) in kinds


def test_castling_is_written_as_the_king_taking_the_rook() -> None:
    board = chess.Board("4k3/8/8/8/8/8/8/R3K2R w KQ - 0 1")
    assert polyglot_move(board, chess.Move.from_uci("e1g1")) == chess.H1 | chess.E1 << 6
    assert polyglot_move(board, chess.Move.from_uci("e1c1")) == chess.A1 | chess.E1 << 6


def test_great_counts_keep_their_proportions(tmp_path: Path) -> None:
    path = tmp_path / "book.bin"
    write_book({1: {10: 200_000, 20: 100_000, 30: 1}}, path)
    data = path.read_bytes()
    weights = [int.from_bytes(data[at + 10 : at + 12]) for at in range(0, len(data), 16)]
    assert weights == [65535, 32768, 1]


def test_rare_moves_can_be_left_out(tmp_path: Path) -> None:
    path = tmp_path / "book.bin"
    games = [line("e4"), line("e4"), line("a3")]
    assert write_book(count_openings(games, 1), path, least=2) == 1


def test_the_shipped_book_is_of_legal_moves() -> None:
    book = open_book("own")
    board = chess.Board()
    entries = book.entries(board)
    assert sum(weight for _, weight in entries) > 50
    assert all(move in board.legal_moves for move, _ in entries)
    book.close()


def test_what_is_no_book_is_refused(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.bin"
    wrong.write_bytes(b"seventeen bytes!!")
    with pytest.raises(InputError, match="no Polyglot book"):
        open_book(wrong)
    with pytest.raises(InputError, match="cannot be read"):
        open_book(tmp_path / "none.bin")


def test_a_folder_and_an_empty_file_are_no_books(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="it is a folder; name a file in it"):
        Book(tmp_path)
    (tmp_path / "empty.bin").touch()
    with pytest.raises(InputError, match="it is empty"):
        Book(tmp_path / "empty.bin")


def test_a_book_without_moves_leaves_the_file_that_is_there(tmp_path: Path) -> None:
    path = tmp_path / "book.bin"
    path.write_bytes(b"precious")
    assert write_book(count_openings([line("e4")], 3), path, least=2) == 0
    assert path.read_bytes() == b"precious"
