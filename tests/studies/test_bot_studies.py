"""The page of the bot says what its figures say; the ladder's factor; studies that resume."""

from __future__ import annotations

import random
from pathlib import Path

import chess
import numpy as np
import polars as pl
import pytest
from studies.bot_endings import RISE_ELOS, Kept, compared, risen, won_pawn_position
from studies.bot_games import standing
from studies.bot_tables import PAGE, page
from studies.figure_file import BOT, FigureFile


def test_the_page_is_written_from_the_figures() -> None:
    text = PAGE.read_text(encoding="utf-8")
    figures = BOT.all()
    assert page(text, figures) == text
    figures["ladder"]["scale"] = 0.4321
    assert "**0.43 ± " in page(text, figures)


def test_a_block_without_figures_is_a_mistake() -> None:
    with pytest.raises(KeyError):
        page("<!-- figures: weather -->\n<!-- end -->", {})


def games(scale: float, many: int, seed: int) -> pl.DataFrame:
    """Games whose results follow the Elo formula with a factor."""
    rng = np.random.default_rng(seed)
    elos = np.array([1600, 1800, 2000, 2200, 2400, 2600])
    white, black = (rng.choice(elos, many) for _ in range(2))
    p = 1 / (1 + 10 ** (-scale * (white - black) / 400))
    results = np.where(rng.random(many) < p, "1-0", "0-1")
    rows = {"white_elo": white, "black_elo": black, "result": results, "plies": [80] * many}
    return pl.DataFrame(rows).filter(pl.col("white_elo") != pl.col("black_elo"))


@pytest.mark.parametrize("scale", [0.3, 0.9])
def test_the_ladder_finds_the_factor_that_made_the_games(scale: float) -> None:
    found = standing(games(scale, 4000, seed=3))
    assert abs(found["scale"] - scale) < 3 * found["scale_se"] < 0.12
    scores = [row["score"] for row in found["rows"]]
    assert scores == sorted(scores)
    for pair in found["pairs"]:
        assert abs(pair["score"] - pair["expected"]) < 3.5 * pair["expected_se"]
    assert sum(pair["games"] for pair in found["pairs"]) == found["games"]


def test_figures_and_games_are_kept(tmp_path: Path) -> None:
    file = FigureFile(tmp_path / "deeper" / "a.json")
    file.keep("one", {"x": [1.23456789, 2]})
    file.keep("two", {"y": 3})
    assert file.all() == {"one": {"x": [1.23457, 2]}, "two": {"y": 3}}
    kept = Kept(tmp_path / "games.csv", ("elo", "game"))
    kept.add({"elo": 1600, "game": 0, "score": 1.0})
    again = Kept(tmp_path / "games.csv", ("elo", "game"))
    assert again.has(1600, 0)
    assert not again.has(1600, 1)
    assert again.rows == kept.rows


def test_bots_are_compared_with_people_in_the_same_positions() -> None:
    """By hand: people win two of three where the bots win one; the stronger bots win all."""
    drawn = {
        (0, 1700): pl.DataFrame({"fen": ["a", "b", "c", "d"], "score": [1.0, 1.0, 0.0, 0.5]}),
        (0, 1900): pl.DataFrame({"fen": ["e", "f"], "score": [1.0, 0.0]}),
    }
    scores = {"a": 0.0, "b": 1.0, "c": 0.0, "e": 1.0, "f": 1.0}
    played = [
        {"lead": 0, "elo": 1700 if fen in "abc" else 1900, "fen": fen, "score": score}
        for fen, score in scores.items()
    ]
    found = compared(drawn, played)
    low, high = found["rows"]
    assert (low["people_n"], low["bot_n"]) == (4, 3)
    assert low["people"] == pytest.approx(2.5 / 4)
    assert low["apart"] == pytest.approx(-1 / 3)
    assert high["apart"] == pytest.approx(0.5)
    (pooled,) = found["pooled"]
    assert (pooled["games"], pooled["score"], pooled["people"]) == (5, 3, 3)
    assert pooled["apart"] == 0
    # NumPy's own line: np.polyfit(elos, scores, 1)[0] = (1 - 1/3) / 200.
    assert pooled["rise"] == pytest.approx(1000 * (2 / 3) / 200)
    assert pooled["rise_se"] > 0


def test_the_rise_with_elo_is_that_of_the_same_positions() -> None:
    """By hand: one position is won from the fourth Elo on, one always; one has a game too few."""
    played = [
        {"lead": 0, "elo": elo, "fen": fen, "score": float(fen == "b" or number >= 3)}
        for fen in "abc"
        for number, elo in enumerate(RISE_ELOS)
        if (fen, number) != ("c", 0)
    ]
    found = risen(played)
    assert [row["score"] for row in found["rows"]] == [0.5] * 3 + [1.0] * 3
    (pooled,) = found["pooled"]
    assert pooled["positions"] == 2
    # NumPy's own line through 0, 0, 0, 1, 1, 1; the other position has none.
    slope = np.polyfit(RISE_ELOS, [0, 0, 0, 1, 1, 1], 1)[0]
    assert pooled["rise"] == pytest.approx(1000 * slope / 2)
    assert pooled["rise_se"] == pytest.approx(1000 * slope / 2)


def test_pawn_positions_have_the_king_on_a_key_square() -> None:
    chance = random.Random(2)
    for _ in range(50):
        board = won_pawn_position(chance)
        assert board.is_valid()
        (pawn,) = board.pieces(chess.PAWN, chess.WHITE)
        king, other = board.king(chess.WHITE), board.king(chess.BLACK)
        assert king is not None
        assert other is not None
        assert chess.square_rank(king) == chess.square_rank(pawn) + 2
        assert abs(chess.square_file(king) - chess.square_file(pawn)) <= 1
        assert chess.square_file(pawn) in range(1, 7)
        assert chess.square_rank(other) >= chess.square_rank(king)
