"""Possible errors of the game score: marked where both sides overlook a piece, and only there."""

from __future__ import annotations

from pathlib import Path

import chess
import polars as pl
import pytest

from milepost.analysis.spreads.build import SCORE_DOUBTS, make_decisions
from milepost.analysis.spreads.score_doubts import score_doubts
from milepost.analysis.store.store import stored_position
from milepost.games.turns.replay import turns_of_games
from milepost.tables import EVALUATIONS

Losses = list[tuple[float, float] | None]


def game(plies: Losses) -> tuple[pl.DataFrame, pl.DataFrame]:
    """A game whose plies have a best and a played value, in pawns; None = not evaluated.

    Knights go out and home in ever other ways, so that no position comes twice.
    """
    board = chess.Board()
    moves, rows = [], []
    for number, values in enumerate(plies):
        legal = sorted(move.uci() for move in board.legal_moves)
        played, other = legal[number % 7], legal[(number + 1) % 7]
        if values is not None:
            best, worth = (round(100 * value) for value in values)
            options, cp = [played], [worth]
            if worth < best:
                options, cp = [other, played], [best, worth]
            rows.append(
                {"position": stored_position(board.fen()), "played": None, "setup": "x",
                 "moves": options, "cp": [cp], "mate": [[None] * len(cp)], "nodes": 1}
            )  # fmt: skip
        moves.append(played)
        board.push_uci(played)
    row = {"game_id": "g", "white": "A", "black": "B", "moves": " ".join(moves)}
    return (
        turns_of_games(pl.DataFrame([row]), book_moves=0),
        pl.DataFrame(rows, schema=EVALUATIONS.dtypes),
    )


def marks(plies: Losses) -> list[bool | None]:
    """The marks of all evaluated plies, those over the limit too."""
    table = make_decisions(*game(plies), limit_pawns=1e9).table
    return table["score_doubt"].to_list()


QUIET = (0.2, 0.1)


def test_both_overlook_a_rook() -> None:
    # White, at +0.2, hangs six pawns; Black, now at +5.8, does not see it and gives them back.
    plies: Losses = [QUIET, (0.2, -5.8), (5.8, -0.3), QUIET]
    assert marks(plies) == [False, True, True, False]
    # The second turn lies over the limit of three pawns, and is looked at all the same.
    found = make_decisions(*game(plies))
    assert found.table["ply"].to_list() == [0, 1, 3]
    assert found.table["score_doubt"].to_list() == [False, True, False]
    assert found.counts[SCORE_DOUBTS] == 1
    without = make_decisions(*game(plies), keep_score_doubts=False)
    assert without.table["ply"].to_list() == [0, 3]
    assert without.counts[SCORE_DOUBTS] == 1
    assert without.left_out.filter(reason=SCORE_DOUBTS)["ply"].to_list() == [1]


@pytest.mark.parametrize(
    ("plies", "expected"),
    [
        # One side alone blunders; or the other one answers a move too late.
        ([QUIET, (0.2, -5.8), (5.8, 5.8), QUIET], [False] * 4),
        ([(0.2, -5.8), (5.8, 5.8), (-5.8, -5.8), (5.8, 0.0)], [False] * 4),
        # Just five pawns are not more than five.
        ([QUIET, (0.2, -4.8), (4.8, -0.2), QUIET], [False] * 4),
        # In a decided position quicker wins are missed by everybody.
        ([QUIET, (60.0, 20.0), (-20.0, -60.0), QUIET], [False] * 4),
        # Three in a row: the one in the middle answers and is answered.
        ([(0.0, -6.0), (6.0, 0.0), (0.0, -6.0), QUIET], [True, True, True, False]),
        # A big mistake whose neighbour nobody has evaluated: not known; a small one: no.
        ([QUIET, (0.2, -5.8), None, QUIET], [False, None, False]),
        # The last move of the game has no answer.
        ([QUIET, (0.2, -5.8)], [False, False]),
    ],
)
def test_marks(plies: Losses, expected: list[bool | None]) -> None:
    assert marks(plies) == expected


def test_games_are_told_apart_and_the_order_kept() -> None:
    options = pl.DataFrame(
        {
            "game_id": ["b", "a", "a", "b"],
            "ply": [8, 9, 8, 10],
            "values": [[0.0, -6.0], [6.0, 0.0], [0.0, -6.0], [0.0, -7.0]],
            "chosen": [1, 1, 1, 1],
        }
    )
    turns = options.select("game_id", "ply", pl.lit(False).alias("only_move"))
    assert score_doubts(turns, options).to_list() == [False, True, True, False]


def test_a_played_move_outside_the_evaluated_ones_is_not_known() -> None:
    options = pl.DataFrame(
        {"game_id": ["a", "a"], "ply": [8, 9], "values": [[0.0, -6.0], [6.0, 0.0]],
         "chosen": [None, 1]}
    )  # fmt: skip
    turns = options.select("game_id", "ply", pl.lit(False).alias("only_move"))
    assert score_doubts(turns, options).to_list() == [None, None]
    # An answer that was forced overlooks nothing.
    forced = turns.with_columns(only_move=pl.col("ply") == 8)
    assert score_doubts(forced, options.filter(ply=9)).to_list() == [False]


def test_they_are_few_in_real_games(shared_data: Path) -> None:
    path = shared_data / "analysis" / "whole_games.parquet"
    if not path.exists():
        pytest.skip("no whole_games.parquet in the shared data")
    frame = pl.read_parquet(
        path, columns=["period", "milepost", "game", "ply", "moves", "cp", "played"]
    )
    place = [moves.index(played) for moves, played in frame.select("moves", "played").iter_rows()]
    name = pl.format("{} {} {}", "period", "milepost", "game")
    values = pl.col("cp").list.last().list.eval(pl.element() / 100.0)
    options = frame.select(
        name.alias("game_id"), "ply", values.alias("values"), pl.Series("chosen", place)
    )
    turns = options.select("game_id", "ply", pl.lit(False).alias("only_move"))
    found = options.with_columns(score_doubts(turns, options)).filter("score_doubt")
    # By plain loops over the same table.
    losses = {
        (game_id, ply): min(max(values[0], -10), 10) - min(max(values[chosen], -10), 10)
        for game_id, ply, values, chosen in options.iter_rows()
    }
    expected = [
        (game_id, ply)
        for (game_id, ply), loss in losses.items()
        if loss > 5 and max(losses.get((game_id, ply + s), 0) for s in (-1, 1)) > 5
    ]
    assert found.select("game_id", "ply").rows() == expected
    assert len(found) < 0.002 * len(options)
