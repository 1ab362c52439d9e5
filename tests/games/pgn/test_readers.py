"""Whole games from PGN text: what is kept, and what the errors table says of the rest."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import chess
import chess.pgn
import polars as pl
import pytest

from milepost.games import read_games, read_results
from milepost.tables import ERRORS, GAMES

Read = Callable[[str | bytes], tuple[pl.DataFrame, pl.DataFrame]]


def game(movetext: str, white: str = "W", **tags: str) -> str:
    """A game with the usual tags, and others."""
    named = {"Event": "Test", "Date": "2020.01.01", "White": white, "Black": "B", **tags}
    return "".join(f'[{name} "{value}"]\n' for name, value in named.items()) + f"\n{movetext}\n\n"


def findings(errors: pl.DataFrame) -> list[tuple[str, str]]:
    return errors.select("kind", "reason").rows()


# Real files


@pytest.mark.parametrize(
    "name",
    [
        "mileposts/1991-1994/2100.pgn",
        "lichess/rapid_classical_clk_eval.pgn",
        "lichess/broadcast_otb_clk_2025.pgn",
        "engines/tcec_superfinals_sample.pgn",
    ],
)
def test_games_are_those_of_python_chess(shared_data: Path, tmp_path: Path, name: str) -> None:
    text = (shared_data / name).read_bytes()
    path = tmp_path / "some.pgn"
    path.write_bytes(b"\n\n[Event ".join(text.split(b"\n\n[Event ")[:50]) + b"\n\n")
    games, errors = read_games([path], keep_duplicates=True)
    assert errors.filter(pl.col("kind") != "duplicate").rows() == []
    with path.open(encoding="utf-8") as handle:
        truth = [each for each in iter(lambda: chess.pgn.read_game(handle), None) if each]
    assert len(truth) == len(games) > 20
    for theirs, ours in zip(truth, games.iter_rows(named=True), strict=True):
        nodes = list(theirs.mainline())
        assert ours["moves"].split() == [node.move.uci() for node in nodes]
        assert ours["plies"] == len(nodes)
        assert (ours["white"], ours["black"]) == (theirs.headers["White"], theirs.headers["Black"])
        assert ours["result"] == theirs.headers["Result"]
        assert ours["clocks"] == (
            [node.clock() for node in nodes] if any(node.clock() for node in nodes) else None
        )
        elo = theirs.headers.get("WhiteElo", "")
        assert ours["white_elo"] == (int(elo) if elo.isdigit() else None)


@pytest.mark.parametrize("name", ["sample/games.pgn", "famous_games.pgn"])
def test_bundled_games_are_read_without_a_finding(bundled_data: Path, name: str) -> None:
    games, errors = read_games([bundled_data / name])
    assert len(errors) == 0
    assert len(games) > 5


def test_tables_have_their_columns_even_if_empty(read_pgn: Read) -> None:
    games, errors = read_pgn("")
    assert games.schema == GAMES.empty().schema
    assert errors.schema == ERRORS.empty().schema


# Broken games are kept with the moves before


def test_illegal_move_in_the_middle(read_pgn: Read) -> None:
    games, errors = read_pgn(game("1. e4 e5 2. Ke3 Nc6 1-0") + game("1. d4 1-0", "V"))
    assert games.select("moves", "plies", "broken").rows() == [
        ("e2e4 e7e5", 2, True),
        ("d2d4", 1, False),
    ]
    (error,) = errors.to_dicts()
    assert (error["kind"], error["line"], error["white"]) == ("broken", 1, "W")
    assert error["plies_kept"] == 2
    assert error["game_id"] == games["game_id"][0]
    assert "Ke3" in error["reason"]


def test_null_move(read_pgn: Read) -> None:
    games, errors = read_pgn(game("1. e4 e5 2. -- d5 1-0"))
    assert games["plies"].to_list() == [2]
    assert findings(errors) == [("broken", "null move at ply 3")]


def test_unclosed_comment_costs_one_game(read_pgn: Read) -> None:
    games, errors = read_pgn(game("1. e4 {oh e5 1-0") + game("1. d4 1-0", "V") + game("1. c4 *"))
    assert games["moves"].to_list() == ["e2e4", "d2d4", "c2c4"]
    assert [kind for kind, _ in findings(errors)] == ["broken"]
    assert "not closed" in errors["reason"][0]


def test_bad_fen_keeps_the_game_without_moves(read_pgn: Read) -> None:
    games, errors = read_pgn(game("1. e4 e5 1-0", FEN="nonsense"))
    assert games.select("moves", "plies", "full_moves", "broken").rows() == [("", 0, 0, True)]
    assert "FEN" in errors["reason"][0]


def test_move_behind_the_result(read_pgn: Read) -> None:
    games, errors = read_pgn(game("1. e4 e5 1-0 2. d4"))
    assert games["moves"].to_list() == ["e2e4 e7e5"]
    assert findings(errors) == [("broken", "a move behind the result 1-0")]


# Doubts


@pytest.mark.parametrize(
    ("movetext", "tags", "reason"),
    [
        ("1. e4 junk e5 1-0", {}, "text that is no move: 'junk'"),
        ("1. e4 e5", {}, "no result behind the moves: cut short?"),
        ("1. e4 e5 1-0", {"PlyCount": "3"}, "PlyCount is 3, but 2 half-moves were read"),
        (
            "1. f3 e5 2. g4 Qh4# 1-0",
            {"Result": "1-0"},
            "the result is 1-0, but the last move mates (0-1)",
        ),
        (
            "1. e4 e5 1-0",
            {"Result": "0-1"},
            "the result is 0-1 in the tags, 1-0 behind the moves",
        ),
    ],
)
def test_doubt(read_pgn: Read, movetext: str, tags: dict[str, str], reason: str) -> None:
    games, errors = read_pgn(game(movetext, **tags))
    assert findings(errors) == [("doubt", reason)]
    assert games["broken"].to_list() == [False]


def test_tag_that_cannot_be_read_is_a_doubt(read_pgn: Read) -> None:
    games, errors = read_pgn('[White "W"]\n[Black "B\n\n1. e4 e5 1-0\n')
    assert findings(errors) == [("doubt", 'unreadable tag: [Black "B')]
    assert games.select("white", "black", "plies").rows() == [("W", "?", 2)]


@pytest.mark.parametrize("count", ["2", "02", "", "?", "²", "x", "-2", "0" * 5_000 + "2"])
def test_ply_count_that_fits_or_says_nothing_is_no_doubt(read_pgn: Read, count: str) -> None:
    _, errors = read_pgn(game("1. e4 e5 1-0", PlyCount=count))
    assert findings(errors) == []


def test_ply_count_with_thousands_of_digits(read_pgn: Read) -> None:
    _, errors = read_pgn(game("1. e4 e5 1-0", PlyCount="9" * 5_000))
    assert [kind for kind, _ in findings(errors)] == ["doubt"]


# Left out


def test_other_variants_are_left_out_and_reported(read_pgn: Read) -> None:
    games, errors = read_pgn(game("1. e4 e5 1-0", Variant="Atomic") + game("1. d4 *", "V"))
    assert games["white"].to_list() == ["V"]
    assert errors.select("kind", "line", "white", "reason").rows() == [
        ("variant", 1, "W", "the variant is atomic")
    ]


@pytest.mark.parametrize(
    "text",
    ["nothing but words\n", '[Event "x"]\n\n', '[White "?"]\n[Black "?"]\n\n*\n',
     '[White ""]\n[Black ""]\n\n*\n', "1. e5 e4 *\n"],
    ids=["words", "event only", "question marks", "empty names", "no legal move"],
)  # fmt: skip
def test_neither_players_nor_moves_is_unreadable(read_pgn: Read, text: str) -> None:
    games, errors = read_pgn(text)
    assert len(games) == 0
    assert errors["kind"].to_list() == ["unreadable"]


@pytest.mark.parametrize(
    "text",
    ["nothing but words\n", '[Event "x"]\n\n', '[White "?"]\n[Black "?"]\n\n*\n',
     '[White ""]\n[Black ""]\n\n*\n'],
    ids=["words", "event only", "question marks", "empty names"],
)  # fmt: skip
def test_header_reader_finds_the_same_unreadable(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.pgn"
    path.write_text(text)
    _, errors = read_results([path])
    assert errors["kind"].to_list() == ["unreadable"]


# Kept


def test_forfeit_without_moves(read_pgn: Read) -> None:
    games, errors = read_pgn(game("1-0", Result="1-0") + game(" 0-1", "V"))
    assert games.select("plies", "full_moves", "moves", "result").rows() == [
        (0, 0, "", "1-0"),
        (0, 0, "", "0-1"),
    ]
    assert findings(errors) == []


def test_header_without_movetext_is_a_game(read_pgn: Read) -> None:
    games, errors = read_pgn('[Event "x"]\n[White "W"]\n[Result "1-0"]\n\n' + game("1. e4 *", "V"))
    assert games["white"].to_list() == ["W", "V"]
    assert findings(errors) == [("doubt", "no result and no moves behind the tags: cut short?")]


def test_moves_without_tags_are_a_game(read_pgn: Read) -> None:
    games, errors = read_pgn("1. e4 e5 1-0\n\n1. d4 0-1\n")
    assert games.select("white", "moves", "result", "line").rows() == [
        ("?", "e2e4 e7e5", "1-0", 1),
        ("?", "d2d4", "0-1", 3),
    ]
    assert findings(errors) == []


def test_result_behind_the_moves_counts_where_the_tag_is_a_star(read_pgn: Read) -> None:
    games, _ = read_pgn(game("1. e4 e5 1/2-1/2", Result="*") + game("1. d4 *", Result="0-1"))
    assert games["result"].to_list() == ["1/2-1/2", "0-1"]


def test_set_up_position_with_black_to_move(read_pgn: Read) -> None:
    fen = "4k3/8/8/8/8/8/8/4K2R b K - 3 41"
    games, errors = read_pgn(game("41... Kd7 42. O-O *", SetUp="1", FEN=fen))
    assert games.select("moves", "full_moves", "fen").rows() == [("e8d7 e1g1", 42, fen)]
    assert findings(errors) == []


def test_chess960_game_with_castling(read_pgn: Read) -> None:
    fen = "rk5r/pppppppp/8/8/8/8/PPPPPPPP/RK5R w KQkq - 0 1"
    games, errors = read_pgn(game("1. O-O-O O-O *", Variant="Chess960", FEN=fen))
    assert games.select("moves", "variant").rows() == [("b1a1 b8h8", "chess960")]
    assert findings(errors) == []


def test_columns_without_a_value_are_null_not_lists_of_nulls(read_pgn: Read) -> None:
    games, _ = read_pgn(game("1. e4 {[%clk 0:01:00]} e5 1-0"))
    assert games.select("clocks", "elapsed", "eval_cp", "eval_mate").rows() == [
        ([60.0, None], None, None, None)
    ]


def test_latin1_and_utf8_names_in_one_file(read_pgn: Read) -> None:
    latin1 = game("1. e4 *", "Hübner").encode("latin-1")
    games, _ = read_pgn(latin1 + game("1. d4 *", "Hübner").encode("utf-8"))
    assert games["white"].to_list() == ["Hübner", "Hübner"]


@pytest.mark.parametrize("line_end", ["\r\n", "\r"])
def test_line_ends_change_nothing(read_pgn: Read, line_end: str) -> None:
    text = game("1. e4 {a\nb} e5\n2. d4 ; best\nd5 1-0") + game("1. d4 *", "V")
    games, errors = read_pgn(text)
    same, same_errors = read_pgn(text.replace("\n", line_end))
    assert same.equals(games)
    assert same_errors.equals(errors)


def test_byte_order_mark_changes_nothing(read_pgn: Read) -> None:
    text = game("1. e4 e5 1-0") + game("1. d4 *", "V")
    plain, marked = read_pgn(text), read_pgn(b"\xef\xbb\xbf" + text.encode())
    assert plain[0].equals(marked[0])
    assert len(marked[1]) == 0


def test_game_id_depends_on_tags_and_moves_only(read_pgn: Read) -> None:
    one = read_pgn(game("1. e4 e5 1-0"))[0]["game_id"][0]
    same = read_pgn("\n\n" + game("1. e4 {x} (1. d4) 1... e5 1-0"))[0]["game_id"][0]
    other_moves = read_pgn(game("1. e4 e6 1-0"))[0]["game_id"][0]
    other_names = read_pgn(game("1. e4 e5 1-0", "V"))[0]["game_id"][0]
    assert one == same
    assert len({one, other_moves, other_names}) == 3


# Files that are no PGN


@pytest.mark.parametrize("text", ["", "\n\n\n", " \n\t\n \r\n"], ids=["empty", "lines", "blanks"])
def test_nothing_in_the_file(read_pgn: Read, text: str) -> None:
    games, errors = read_pgn(text)
    assert (len(games), len(errors)) == (0, 0)


def test_binary_garbage_is_reported(read_pgn: Read) -> None:
    generator = random.Random(5)
    garbage = bytes(generator.randrange(256) for _ in range(100_000))
    games, errors = read_pgn(b"\x00" + garbage)
    assert len(errors) >= 1
    # By chance the bytes may hold a legal move; then the game is kept, but never without a word.
    assert set(games["line"]) <= set(errors["line"])
    assert games["plies"].sum() < 5


@pytest.mark.parametrize("piece", [b"x", b"{"])
def test_lone_line_of_five_megabytes(read_pgn: Read, piece: bytes) -> None:
    games, errors = read_pgn(piece * (5 << 20))
    assert len(games) <= 1
    assert len(errors) >= 1


def test_real_game_behind_a_megabyte_of_rubbish(read_pgn: Read) -> None:
    games, _ = read_pgn(b"x" * (1 << 20) + b"\n\n" + game("1. e4 e5 1-0").encode())
    assert games["moves"].to_list()[-1] == "e2e4 e7e5"


def test_reading_twice_gives_the_same_tables(bundled_data: Path) -> None:
    first, second = (read_games([bundled_data / "famous_games.pgn"])[0] for _ in range(2))
    assert first.equals(second)


def test_a_game_cut_short_of_its_ply_count_is_broken(read_pgn: Read) -> None:
    games, errors = read_pgn(game("1. e4 e5 2. Nf3", PlyCount="85"))
    assert games["broken"].to_list() == [True]
    assert errors.select("kind", "reason", "plies_kept").rows() == [
        ("broken", "cut short: PlyCount is 85, 3 were read", 3)
    ]


def test_a_game_cut_in_its_tags_is_broken(read_pgn: Read) -> None:
    cut = game("", PlyCount="85").rstrip() + "\n["
    _, errors = read_pgn(cut)
    assert errors["kind"].to_list() == ["broken"]
