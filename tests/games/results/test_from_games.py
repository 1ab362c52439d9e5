"""Results of games: scores, times, colours; from headers and from games alike."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import chess.pgn
import pandas as pd
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import milepost
from milepost.errors import TableError
from milepost.games.load import read_games, read_results
from milepost.games.results.from_games import results_of_games
from milepost.tables import GAMES, RESULTS

SAMPLE = Path(milepost.__file__).parent / "data" / "sample" / "games.pgn"


def _games(**columns: list[object]) -> pl.DataFrame:
    rows = max(len(values) for values in columns.values())
    base: dict[str, list[object]] = {
        "game_id": [str(row) for row in range(rows)],
        "white": ["W"] * rows,
        "black": ["B"] * rows,
        "result": ["1-0"] * rows,
        "moves": [""] * rows,
    }
    merged = base | columns
    return GAMES.conform(pl.DataFrame(merged, schema={name: GAMES.dtypes[name] for name in merged}))


def test_scores_are_whites() -> None:
    results = results_of_games(_games(result=["1-0", "0-1", "1/2-1/2"]))
    assert results["score"].to_list() == [1.0, 0.0, 0.5]


@pytest.mark.parametrize("result", ["*", None, "?"])
def test_games_without_a_result_are_left_out(result: str | None) -> None:
    results = results_of_games(_games(result=["1-0", result, "0-1"], round=["1", "2", "3"]))
    assert results["round"].to_list() == ["1", "3"]


def test_white_is_the_first_player_and_moves_first() -> None:
    results = results_of_games(_games(white_elo=[2500], black_elo=[2400]))
    row = results.row(0, named=True)
    assert (row["player_1"], row["player_2"], row["first_mover"]) == ("W", "B", 1)
    assert (row["elo_1"], row["elo_2"]) == (2500, 2400)


def test_keys_name_the_players_where_given() -> None:
    results = results_of_games(_games(white_key=["w, w"], black_key=[None]))
    assert results.select("player_1", "player_2").row(0) == ("w, w", "B")


@pytest.mark.parametrize(
    ("date", "time", "known"),
    [
        ("2011.05.03", dt.date(2011, 5, 3), "day"),
        ("2011.05.??", dt.date(2011, 5, 15), "month"),
        ("2011.02.??", dt.date(2011, 2, 15), "month"),
        ("2011.??.??", dt.date(2011, 7, 1), "year"),
        ("0800.??.??", dt.date(800, 7, 1), "year"),
        (None, None, None),
    ],
)
def test_time_is_the_middle_of_what_is_known(
    date: str | None, time: dt.date | None, known: str | None
) -> None:
    results = results_of_games(_games(date=[date]))
    assert results.select("time", "time_known").row(0) == (time, known)


def test_columns_are_those_of_the_results_table() -> None:
    results = results_of_games(_games(result=["1-0"]))
    assert results.columns == RESULTS.names
    assert results.schema["time"] == pl.Date


def test_no_games_give_no_results() -> None:
    results = results_of_games(GAMES.empty())
    assert results.columns == RESULTS.names
    assert len(results) == 0


def test_pandas_games_are_taken() -> None:
    frame = _games(result=["1-0", "1/2-1/2"], date=["2011.05.03", None]).select(
        "white", "black", "result", "date", "white_elo", "black_elo"
    )
    expected = results_of_games(frame)
    assert_frame_equal(results_of_games(frame.to_pandas()), expected)
    assert isinstance(frame.to_pandas(), pd.DataFrame)
    assert expected["score"].to_list() == [1.0, 0.5]


def test_players_and_result_are_enough() -> None:
    frame = pd.DataFrame({"white": ["A"], "black": ["B"], "result": ["0-1"]})
    row = results_of_games(frame).row(0, named=True)
    assert (row["player_1"], row["player_2"], row["score"], row["time"]) == ("A", "B", 0.0, None)


def test_games_without_results_column_are_refused() -> None:
    with pytest.raises(TableError, match="results need the columns black, result"):
        results_of_games(pl.DataFrame({"white": ["A"]}))


SAME = ["player_1", "player_2", "score", "time", "event", "round", "full_moves", "speed", "line"]


@pytest.fixture(scope="module")
def sample_results() -> pl.DataFrame:
    """The results of the bundled games, read from headers alone."""
    results, errors = read_results([SAMPLE])
    assert len(errors) == 0
    return results


def test_headers_alone_give_the_results_of_the_games(sample_results: pl.DataFrame) -> None:
    games, _ = read_games([SAMPLE])
    assert_frame_equal(sample_results.select(SAME), results_of_games(games).select(SAME))


def test_headers_agree_with_python_chess(sample_results: pl.DataFrame) -> None:
    expected = []
    scores = {"1-0": 1.0, "0-1": 0.0, "1/2-1/2": 0.5}
    with SAMPLE.open(encoding="utf-8") as handle:
        while (game := chess.pgn.read_game(handle)) is not None:
            tags = game.headers
            expected.append(
                (
                    dt.date.fromisoformat(tags["Date"].replace(".", "-")),
                    scores[tags["Result"]],
                    tags["Event"],
                    tags["Round"],
                    int(tags["WhiteElo"]),
                    (game.end().ply() + 1) // 2,
                )
            )
    columns = ["time", "score", "event", "round", "elo_1", "full_moves"]
    assert sample_results.select(columns).rows() == expected


def test_result_behind_the_moves_counts_where_the_tag_gives_none(tmp_path: Path) -> None:
    path = tmp_path / "games.pgn"
    path.write_text(
        '[Event "a"]\n[White "A"]\n[Black "B"]\n[Result "*"]\n\n1. e4 e5 0-1\n\n'
        '[Event "b"]\n[White "A"]\n[Black "B"]\n\n1. e4 1/2-1/2\n\n'
        '[Event "c"]\n[White "A"]\n[Black "B"]\n[Result "1-0"]\n\n1. e4 e5 2. Nf3 1-0\n\n'
        '[Event "d"]\n[White "A"]\n[Black "B"]\n[Result "*"]\n\n1. e4 *\n',
        encoding="utf-8",
    )
    results, _ = read_results([path])
    assert results.select("event", "score", "full_moves").rows() == [
        ("a", 0.0, 1),
        ("b", 0.5, 1),
        ("c", 1.0, 2),
    ]
    games, _ = read_games([path])
    assert_frame_equal(results.select(SAME), results_of_games(games).select(SAME))


def test_other_variants_are_reported_not_read(tmp_path: Path) -> None:
    path = tmp_path / "games.pgn"
    path.write_text(
        '[Event "a"]\n[White "A"]\n[Black "B"]\n[Variant "Atomic"]\n[Result "1-0"]\n\n1. e4 1-0\n\n'
        '[Event "b"]\n[White "A"]\n[Black "B"]\n[Result "1-0"]\n\n1. e4 1-0\n',
        encoding="utf-8",
    )
    results, errors = read_results([path])
    assert results["event"].to_list() == ["b"]
    assert errors.select("kind", "event", "reason").rows() == [
        ("variant", "a", "the variant is atomic")
    ]


def test_nameless_players_are_not_one_person() -> None:
    games = pl.DataFrame(
        {
            "white": ["?", "Alpha, A", "NN", "Alpha, A"],
            "black": ["Beta, B", "??", "N.N.", "Beta, B"],
            "result": ["1-0"] * 4,
        }
    )
    assert results_of_games(games).select("player_1", "player_2").rows() == [
        ("Alpha, A", "Beta, B")
    ]
