"""Turns: every column by hand on small games, and one meaning of all ways to make them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import chess
import chess.pgn
import numpy as np
import polars as pl
import pytest

from milepost.errors import InputError, TableError
from milepost.games import read_games, read_turns, turns_of_games
from milepost.games.turns.replay import _told_at
from milepost.tables import TURNS

Read = Callable[[str | bytes], tuple[pl.DataFrame, pl.DataFrame]]
TAGS = """[Event "Test Open"]
[Date "2020.01.01"]
[White "Alpha, A"]
[Black "Beta, B"]
[Result "1-0"]
[WhiteElo "2400"]
[BlackElo "2300"]
"""


@pytest.fixture
def turns_from(read_pgn: Read) -> Callable[..., pl.DataFrame]:
    """Returns the turns of one game: its movetext, more tags, more options."""

    def turns(movetext: str, tags: str = "", **options: int) -> pl.DataFrame:
        games, _ = read_pgn(f"{TAGS}{tags}\n{movetext}\n")
        return turns_of_games(games, **options)

    return turns


Turns = Callable[..., pl.DataFrame]


# Who, what, where


def test_ply_mover_colour_and_elos(turns_from: Turns) -> None:
    turns = turns_from("1. e4 e5 2. Nf3 1-0")
    columns = ("ply", "move_number", "colour", "mover", "opponent", "mover_elo", "opponent_elo")
    assert turns.select(columns).rows() == [
        (0, 1, "white", "alpha, a", "beta, b", 2400, 2300),
        (1, 1, "black", "beta, b", "alpha, a", 2300, 2400),
        (2, 2, "white", "alpha, a", "beta, b", 2400, 2300),
    ]


def test_position_stands_before_the_move(turns_from: Turns) -> None:
    turns = turns_from("1. e4 e5 2. Nf3 1-0")
    assert turns.select("position", "played").rows() == [
        ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", "e2e4"),
        ("rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1", "e7e5"),
        ("rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w KQkq - 0 2", "g1f3"),
    ]


@pytest.mark.parametrize(
    ("result", "scores"),
    [("1-0", [1.0, 0.0]), ("0-1", [0.0, 1.0]), ("1/2-1/2", [0.5, 0.5]), ("*", [None, None])],
)
def test_score_is_the_movers(read_pgn: Read, result: str, scores: list[float | None]) -> None:
    games, _ = read_pgn(TAGS.replace("1-0", result) + f"\n1. e4 e5 {result}\n")
    assert turns_of_games(games)["score"].to_list() == scores


def test_event_year_speed_and_variant_come_from_the_game(turns_from: Turns) -> None:
    turns = turns_from("1. e4 1-0", '[TimeControl "180+2"]\n')
    assert turns.select("event", "year", "speed", "variant").rows() == [
        ("Test Open", 2020, "blitz", "standard")
    ]


@pytest.mark.parametrize(("tag", "told"), [("3", "3"), ("3.2", "3.2"), ("?", None)])
def test_the_round_stays_as_given(turns_from: Turns, tag: str, told: str | None) -> None:
    assert turns_from("1. e4 1-0", f'[Round "{tag}"]\n')["round"].to_list() == [told]


def test_a_turns_table_from_before_rounds_is_still_read(turns_from: Turns, tmp_path: Path) -> None:
    path = tmp_path / "turns.parquet"
    turns_from("1. e4 1-0", '[Round "3"]\n').drop("round").write_parquet(path)
    turns, _ = read_turns(str(path))
    assert turns["round"].to_list() == [None]


def test_players_without_a_name_are_still_two(read_pgn: Read) -> None:
    games, _ = read_pgn("1. e4 e5 *\n")
    turns = turns_of_games(games)
    assert turns["mover"].null_count() == 0
    assert turns["colour"].to_list() == ["white", "black"]


# Clocks and evaluations


def test_clocks_and_seconds_with_increment(turns_from: Turns) -> None:
    turns = turns_from(
        "1. e4 {[%clk 0:04:50]} e5 {[%clk 0:04:40]} 2. Nf3 {[%clk 0:04:30]} "
        "Nc6 {[%clk 0:04:41]} 3. Bb5 {[%clk 0:04:32]} 1-0",
        '[TimeControl "300+3"]\n',
    )
    # 2. Nf3: 290 - 270 + 3 = 23; 2... Nc6: 280 - 281 + 3 = 2; 3. Bb5: 270 - 272 + 3 = 1.
    assert turns.select("clock_before", "clock_after", "seconds").rows() == [
        (None, 290.0, None),
        (None, 280.0, None),
        (290.0, 270.0, 23.0),
        (280.0, 281.0, 2.0),
        (270.0, 272.0, 1.0),
    ]


def test_seconds_are_never_negative(turns_from: Turns) -> None:
    moves = "1. e4 {[%clk 0:01:00]} e5 2. d4 {[%clk 0:30:00]} 1-0"  # time was added
    assert turns_from(moves, '[TimeControl "300+3"]\n')["seconds"].to_list() == [None, None, 0.0]


def test_seconds_without_a_known_increment(turns_from: Turns) -> None:
    moves = "1. e4 {[%clk 0:01:00]} e5 2. d4 {[%clk 0:00:45]} 1-0"
    assert turns_from(moves)["seconds"].to_list() == [None, None, 15.0]


def test_time_spent_as_given_comes_first(turns_from: Turns) -> None:
    moves = "1. e4 {[%clk 0:01:00] [%emt 0:00:07]} e5 2. d4 {[%clk 0:00:45] [%emt 0:00:14]} 1-0"
    assert turns_from(moves)["seconds"].to_list() == [7.0, None, 14.0]


def test_evaluations_are_the_movers(turns_from: Turns) -> None:
    turns = turns_from(
        "1. e4 {[%eval 0.3]} e5 {[%eval 0.25]} 2. Ke2 {[%eval -1.1]} Ke7 {[%eval #5]} "
        "3. Kd3 {[%eval #-4]} 1-0"
    )
    assert turns.select("eval_cp", "eval_mate").rows() == [
        (30, None),
        (-25, None),
        (-110, None),
        (None, -5),
        (None, -4),
    ]


# Flags


LONG = ("1. Nf3 Nf6 2. c4 e6 3. g3 d5 4. Bg2 Be7 5. O-O O-O 6. d4 dxc4 7. Qc2 a6 8. Qxc4 b5 "
        "9. Qc2 Bb7 10. Bd2 Be4 11. Qc1 Nc6 12. Be3 Nd5 13. Nc3 Nxc3 1/2-1/2")  # fmt: skip


@pytest.mark.parametrize("book_moves", [8, 12, 0])
def test_book_is_so_many_moves_of_each_side(turns_from: Turns, book_moves: int) -> None:
    book = turns_from(LONG, book_moves=book_moves)["book"].to_list()
    assert book == [True] * (2 * book_moves) + [False] * (26 - 2 * book_moves)


def test_book_is_eight_moves_by_default(turns_from: Turns) -> None:
    assert turns_from(LONG)["book"].sum() == 16


def test_set_up_game_has_no_book(turns_from: Turns) -> None:
    turns = turns_from("1. Kd2 Kd7 1-0", '[FEN "4k3/8/8/8/8/8/8/4K2R w - - 0 1"]\n')
    assert turns["book"].to_list() == [False, False]


def test_usual_array_in_the_fen_tag_sets_nothing_up(turns_from: Turns) -> None:
    turns = turns_from("1. e4 e5 1-0", f'[FEN "{chess.STARTING_FEN}"]\n')
    assert turns["book"].to_list() == [True, True]


def test_repetition_in_a_shuffling_game(turns_from: Turns) -> None:
    # Knights out and back: after four half-moves the first position stands again (White to move),
    # and from then on every position has stood before, until 5. e4 makes a new one.
    turns = turns_from("1. Nf3 Nf6 2. Ng1 Ng8 3. Nf3 Nf6 4. Ng1 Ng8 5. e4 e5 1/2-1/2")
    assert turns["repetition"].to_list() == [False] * 4 + [True] * 5 + [False]


def test_lost_castling_right_makes_another_position(turns_from: Turns) -> None:
    # The same men after 3... Ke8 as after 1... e5, but nobody may castle any more: no repetition.
    turns = turns_from("1. e4 e5 2. Ke2 Ke7 3. Ke1 Ke8 4. Ke2 Ke7 1/2-1/2")
    # Only 4. Ke2 and 4... Ke7 come back to squares: before 4. Ke2 the rights are gone, before
    # 4... Ke7 White's king is on e2 and Black's on e8, without Black's rights, unlike at 2... Ke7.
    assert turns["repetition"].to_list() == [False] * 8


def test_en_passant_right_makes_another_position(turns_from: Turns) -> None:
    # After 3. d4 Black can take en passant; the same men without that right are another position.
    fen = '[FEN "4k1n1/8/8/8/4p3/8/3P4/4K1N1 w - - 0 1"]\n'
    turns = turns_from("1. d4 Nf6 2. Nf3 Ng8 3. Ng1 Nf6 4. Nf3 Ng8 5. Ng1 Nf6 *", fen)
    # Before 1... (ply 1) e4xd3 was possible. Before 3... (ply 5) the men stand as then, without it.
    # Before 5... (ply 9) they stand as at ply 5, and plies 6 to 8 repeat 2 to 4.
    assert turns["repetition"].to_list() == [False] * 6 + [True] * 4


def test_only_move(turns_from: Turns) -> None:
    # After 1. Ra8+ the king on h8 has g8 only, which the rook guards; g7 and h7 hold his own
    # pawns. The bishop on h1 reaches the eighth rank on a8 alone: to take is the only move.
    fen = '[FEN "7k/6pp/8/8/8/8/8/R3K2b w - - 0 1"]\n'
    turns = turns_from("1. Ra8+ Bxa8 1-0", fen)
    assert turns["only_move"].to_list() == [False, True]


def test_phases_of_a_game_go_forward(bundled_data: Path) -> None:
    turns, _ = read_turns([bundled_data / "famous_games.pgn"])
    order = {"opening": 0, "middlegame": 1, "endgame": 2}
    ranks = turns.with_columns(pl.col("phase").replace_strict(order).alias("rank"))
    steps = ranks.select(pl.col("rank").diff().over("game_id")).to_series().drop_nulls()
    assert steps.min() == 0
    assert set(turns["phase"]) >= {"opening", "middlegame"}
    assert set(turns.filter(pl.col("ply") == 0)["phase"]) == {"opening"}


# One meaning of all ways


@pytest.mark.parametrize("book_moves", [8, 12])
def test_turns_of_a_table_are_those_of_the_file(bundled_data: Path, book_moves: int) -> None:
    path = bundled_data / "sample" / "games.pgn"
    games, _ = read_games([path])
    from_file, _ = read_turns([path], book_moves=book_moves)
    assert len(from_file) > 3_000
    assert turns_of_games(games, book_moves=book_moves).equals(from_file)


def test_turns_of_real_games_are_those_of_the_file(shared_data: Path, tmp_path: Path) -> None:
    text = (shared_data / "lichess" / "rapid_classical_clk_eval.pgn").read_bytes()
    path = tmp_path / "some.pgn"
    path.write_bytes(b"\n\n[Event ".join(text.split(b"\n\n[Event ")[:60]) + b"\n\n")
    games, _ = read_games([path])
    from_file, _ = read_turns([path])
    assert from_file["clock_after"].count() > 1_000
    assert from_file["eval_cp"].count() > 100
    assert turns_of_games(games).equals(from_file)


def test_positions_are_those_of_python_chess(bundled_data: Path) -> None:
    path = bundled_data / "famous_games.pgn"
    truth = []
    with path.open(encoding="utf-8") as handle:
        while (game := chess.pgn.read_game(handle)) is not None:
            for node in game.mainline():
                board = node.parent.board()
                only = board.legal_moves.count() == 1
                truth.append((board.fen(), node.move.uci(), board.is_repetition(2), only))
    turns, _ = read_turns([path])
    assert turns.select("position", "played", "repetition", "only_move").rows() == truth


def test_broken_game_gives_the_turns_before(read_pgn: Read) -> None:
    games, _ = read_pgn(TAGS + "\n1. e4 e5 2. Ke5 1-0\n")
    assert turns_of_games(games)["played"].to_list() == ["e2e4", "e7e5"]


def test_chess960_turns(turns_from: Turns) -> None:
    fen = "rk5r/pppppppp/8/8/8/8/PPPPPPPP/RK5R w KQkq - 0 1"
    turns = turns_from("1. O-O-O O-O *", f'[Variant "Chess960"]\n[FEN "{fen}"]\n')
    assert turns["position"].to_list() == [
        fen,
        "rk5r/pppppppp/8/8/8/8/PPPPPPPP/2KR3R b kq - 1 1",
    ]
    assert turns["variant"].to_list() == ["chess960"] * 2


def test_pandas_table_gives_the_same_turns(bundled_data: Path) -> None:
    pytest.importorskip("pandas")
    games, _ = read_games([bundled_data / "famous_games.pgn"])
    assert turns_of_games(games.to_pandas()).equals(turns_of_games(games))


def test_pandas_table_with_clocks_gives_the_same_turns(read_pgn: Read) -> None:
    pytest.importorskip("pandas")
    clocks = TAGS + "\n1. e4 {[%clk 0:01:00] [%eval 0.1]} e5 {[%eval #3]} 1-0\n\n"
    games, _ = read_pgn(clocks + TAGS.replace("Alpha", "Gamma") + "\n1. d4 1-0\n")
    assert turns_of_games(games.to_pandas()).equals(turns_of_games(games))


def test_order_of_games_and_ids_are_kept(bundled_data: Path) -> None:
    games, _ = read_games([bundled_data / "famous_games.pgn"])
    shuffled = games.sample(fraction=1.0, shuffle=True, seed=3)
    turns = turns_of_games(shuffled)
    assert turns["game_id"].unique(maintain_order=True).to_list() == shuffled["game_id"].to_list()
    plies = turns.group_by("game_id", maintain_order=True).agg("ply")["ply"]
    assert all(each.to_list() == list(range(len(each))) for each in plies)


def test_same_game_twice_gives_its_turns_twice(read_pgn: Read) -> None:
    games, _ = read_pgn((TAGS + "\n1. e4 e5 1-0\n\n") * 2)
    assert turns_of_games(games)["played"].to_list() == ["e2e4", "e7e5"] * 2


def test_columns_and_types(turns_from: Turns) -> None:
    assert turns_from("1. e4 1-0").schema == TURNS.empty().schema


def test_no_games_no_turns(read_pgn: Read) -> None:
    turns = turns_of_games(read_pgn("")[0])
    assert len(turns) == 0
    assert turns.schema == TURNS.empty().schema


# Tables that cannot be replayed


@pytest.mark.parametrize(
    ("moves", "message"),
    [
        ("e2e4 e7e5 e1e3", "ply 3: e1e3 is not legal"),
        ("e2e4 0000", "ply 2: 0000 is not legal"),
        ("e2e4 hello", "ply 2: "),
        ("e4", "ply 1: "),
    ],
)
def test_illegal_move_in_a_table_names_the_game(moves: str, message: str) -> None:
    games = pl.DataFrame({"game_id": ["g77"], "white": ["a"], "black": ["b"], "moves": [moves]})
    with pytest.raises(InputError, match=f"game g77, {message}"):
        turns_of_games(games)


def test_bad_position_in_a_table_names_the_game() -> None:
    games = pl.DataFrame(
        {"game_id": ["g77"], "white": ["a"], "black": ["b"], "moves": ["e2e4"], "fen": ["nonsense"]}
    )
    with pytest.raises(InputError, match="game g77"):
        turns_of_games(games)


@pytest.mark.parametrize("moves", ["", None])
def test_game_without_moves_has_no_turns(moves: str | None) -> None:
    games = pl.DataFrame(
        {"game_id": ["g"], "white": ["a"], "black": ["b"], "moves": [moves]},
        schema_overrides={"moves": pl.String},
    )
    assert len(turns_of_games(games)) == 0


def test_game_kept_without_moves_for_its_bad_fen_can_be_replayed(read_pgn: Read) -> None:
    games, errors = read_pgn(TAGS + '[FEN "nonsense"]\n\n1. e4 e5 1-0\n')
    assert errors["kind"].to_list() == ["broken"]
    assert len(turns_of_games(games)) == 0


def test_table_without_moves_is_refused() -> None:
    with pytest.raises(TableError, match="moves"):
        turns_of_games(pl.DataFrame({"game_id": ["g"], "white": ["a"], "black": ["b"]}))


def test_what_lies_under_a_null_list_is_not_told() -> None:
    clocks = pl.DataFrame({"clocks": [[1.0, 2.0], [9.0], [3.0, None, 5.0], []]})
    # A list that is hidden keeps its values in memory.
    hidden = clocks.select(pl.when(pl.col("clocks").list.len() != 1).then("clocks")).to_series()
    rows, plies = np.array([0, 0, 1, 2, 2, 3]), np.array([1, 2, 0, 1, 2, 0])
    told = [2.0, None, None, None, 5.0, None]
    assert _told_at(hidden, rows, plies).to_list() == told
    assert _told_at(hidden[2:], rows[3:] - 2, plies[3:]).to_list() == told[3:]
    in_two = pl.concat([hidden, hidden], rechunk=False)
    assert _told_at(in_two, rows + 4, plies).to_list() == told
    nothing = pl.Series([None] * 4, dtype=pl.List(pl.Float64))
    assert _told_at(nothing, rows, plies).to_list() == [None] * len(rows)
