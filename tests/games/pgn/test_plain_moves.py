"""Plain games, compiled: to the letter what python-chess makes of them; the rest is left alone."""

from __future__ import annotations

import random
from importlib.resources import files
from pathlib import Path

import chess
import chess.pgn
import numpy as np
import polars as pl
import pytest

from milepost.games.pgn import readers
from milepost.games.pgn.blocks import Reading, cut_chunks
from milepost.games.pgn.mainline import Mainline, add_comment
from milepost.games.pgn.plain_moves import PlainMoves, read_plain_moves
from milepost.io.sources import find_sources

DATA = Path(str(files("milepost") / "data"))


def both_ways(path: Path, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, pl.DataFrame]]:
    """Read a file with the compiled reader and without it."""
    ways: list[dict[str, pl.DataFrame]] = []
    for worth_it in (0, 1 << 40):
        monkeypatch.setattr(readers, "WORTH_IT", worth_it)
        chunks = list(cut_chunks(find_sources([path]), Reading(digest=False)))
        frames = [readers.read_chunk(chunk, book_moves=8) for chunk in chunks]
        ways.append({name: pl.concat(each[name] for each in frames) for name in frames[0]})
    return ways


def plain(*movetexts: str) -> PlainMoves:
    texts = [text.encode() for text in movetexts]
    ends = np.cumsum([len(text) for text in texts])
    starts = np.concatenate([[0], ends[:-1]])
    return read_plain_moves(b"".join(texts), starts, ends, turns=True)


def random_game(chance: random.Random, plies: int) -> str:
    """Return a game of random legal moves, those that are rare sooner than others."""
    game = chess.pgn.Game()
    board = game.board()
    node: chess.pgn.GameNode = game
    for _ in range(plies):
        moves = list(board.legal_moves)
        if not moves:
            break
        rare = [
            move for move in moves
            if move.promotion or board.is_en_passant(move) or board.is_castling(move)
        ]  # fmt: skip
        pawns = [move for move in moves if board.piece_type_at(move.from_square) == chess.PAWN]
        move = chance.choice(rare or (pawns if pawns and chance.random() < 0.4 else moves))
        node = node.add_variation(move)
        board.push(move)
    game.headers.update({"White": "A", "Black": "B", "Result": board.result()})
    return f"{game}\n\n"


@pytest.mark.parametrize("name", ["sample/games.pgn", "famous_games.pgn"])
def test_shipped_games(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = both_ways(DATA / name, monkeypatch)
    for table, frame in theirs.items():
        assert ours[table].equals(frame), table


def test_games_with_every_rare_rule(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(2026)
    path = tmp_path / "random.pgn"
    path.write_text("".join(random_game(chance, 160) for _ in range(25)))
    ours, theirs = both_ways(path, monkeypatch)
    for table, frame in theirs.items():
        assert ours[table].equals(frame), table
    played = theirs["turns"]["played"]
    assert played.str.len_chars().eq(5).sum() > 10, "promotions"
    assert theirs["turns"]["position"].str.contains(r" [a-h][36] \d").sum() > 10, "en passant"
    assert played.is_in(["e1g1", "e8g8", "e1c1", "e8c8"]).sum() > 5, "castling"
    assert theirs["turns"]["only_move"].sum() > 10


def test_repetitions_and_mate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "games.pgn"
    back_and_forth = "1. Nf3 Nf6 2. Ng1 Ng8 3. Nf3 Nf6 4. Rg1 Ng8 5. Rh1 Nf6 6. Ng1 Ng8 1/2-1/2"
    fools = "1. f3 {[%clk 0:01:02.5] [%eval -0.5]} e5 $2 2. g4?? { [%eval #-1] } Qh4# 0-1"
    head = '[White "A"]\n[Black "B"]\n\n'
    path.write_text(f"{head}{back_and_forth}\n\n{head}{fools}\n\n")
    ours, theirs = both_ways(path, monkeypatch)
    for table, frame in theirs.items():
        assert ours[table].equals(frame), table
    assert ours["turns"]["repetition"].sum() == 3
    assert plain(back_and_forth, fools).mated.tolist() == [False, True]


@pytest.mark.parametrize("seed", range(3))
def test_damage_is_seen_alike(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    chance = random.Random(seed)
    head = '[White "A"]\n[Black "B"]\n\n'
    moves = "1. e4 e5 2. Nf3 {good} Nc6 3. Bb5 a6 $1 4. Ba4 Nf6 5. O-O Be7 6. Re1 b5 1-0"
    signs = "abcdefgh12345678NBRQKOx=+#!?.-*$ {}()[];%0\n"
    text = []
    for _ in range(120):
        at = chance.randrange(len(moves))
        text.append(head + moves[:at] + chance.choice(signs) + moves[at + chance.choice((0, 1)) :])
    path = tmp_path / "damaged.pgn"
    path.write_text("\n\n".join(text))
    ours, theirs = both_ways(path, monkeypatch)
    for table, frame in theirs.items():
        assert ours[table].equals(frame), table
    assert len(theirs["errors"]) > 20


@pytest.mark.parametrize(
    "movetext",
    ["", "*", "1. e4", "1. e4 e5 1-0 2. d4", "1. e4 (1. d4) e5 *", "1. e4 ; so\ne5 *", "1. e4 -- *",
     "1. e4 e5 {open", "1. e4 e5 2. Ke3 *", "1. O-O *", "1. d3 d6 2. Nd2 a6 3. Ngf3 a5 4. Nc4 e5 *",
     "1. e2e4 *", "1. e4 0-0 *", "1. exd5 *", "%x\n1. e4 *", "1. e4 e5 1-0 {behind}",
     "1. e4 {[%eval \u0661.0]} *", "1234. e4 *", "1 e4 *", "1. e4e5 *"],
)  # fmt: skip
def test_the_rest_is_left_to_python_chess(movetext: str) -> None:
    found = plain(movetext, "1. e4 e5 1-0 ")
    # The fourth knight move of the game means one man only: it is plain.
    assert found.whole.tolist() == ["Nc4" in movetext, True]
    assert found.mainline(1).moves == ["e2e4", "e7e5"]


def test_comments_tell_what_regular_expressions_find() -> None:
    pieces = [
        "[%clk ", "[%emt ", "[%eval ", "[%clk\t", "[%cal Ra1]", "1:", "02:", "0000001:", "3:",
        "59.5", "59.", ".5", "]", " ]", "-", "+", "#", "#-", "12", "0.285", "10000", "9999.99",
        ",20]", ", 3 ]", ",]", " ", "text", "[%", "[%eval 0.25]", "[%clk 1:30:26]", "[%eval #-3]",
        "[%clk 0:00:01.1234567]", "[%eval -0.145,12]", "\x1f", "\n",
    ]  # fmt: skip
    rng = random.Random(5)
    comments = ["".join(rng.choices(pieces, k=rng.randint(1, 7))) for _ in range(600)]
    found = plain(*(f"1. e4 {{{comment}}} e5 *" for comment in comments))
    for game, comment in enumerate(comments):
        nothing: list[None] = [None, None]
        line = Mainline(["e2e4", "e7e5"], [*nothing], [*nothing], [*nothing], [*nothing])
        add_comment(line, comment, 0)
        expected = np.array([line.clocks, line.elapsed, line.eval_cp, line.eval_mate], dtype=float)
        assert found.whole[game]
        np.testing.assert_array_equal(found.told_in(game), expected, err_msg=comment)
