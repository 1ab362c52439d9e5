"""Pages of a review, a fair-play report, a joint history and a paper, from hand-made figures."""

from __future__ import annotations

from typing import Any

import polars as pl
from tests.report.check.test_page import full_view, view_of

from milepost.intrinsic.review.trend import Change
from milepost.papers.experiment import Experiment, Finding, Outcome
from milepost.papers.run import page_of
from milepost.report.check.page import check_page
from milepost.report.pages import Chart, Page, Table
from milepost.report.review.page import ReviewView, review_page
from milepost.tables import (
    REVIEW_COSTLY,
    REVIEW_GAMES,
    REVIEW_GROUPS,
    REVIEW_POOLS,
    REVIEW_TRAPS,
)
from milepost.tables import Table as Known

_OPPONENT = "Szélhegyfi-Brannochie, Örs"


def rows_of(table: Known, *rows: dict[str, Any]) -> pl.DataFrame:
    """Rows of a known table; what is not given is null."""
    return pl.concat([table.empty(), pl.DataFrame(list(rows))], how="diagonal_relaxed")


def review_view() -> ReviewView:
    group = {
        "turns": 140, "decided": 12, "games": 9, "rating": 1890.0, "low": 1650.0, "high": 2120.0,
        "level": 1850.0, "gap": 40.0, "gap_low": -190.0, "gap_high": 270.0, "match": 0.48,
        "match_expected": 0.46, "points_lost": 0.031, "points_expected": 0.034, "note": "",
    }  # fmt: skip
    none = dict.fromkeys(("rating", "low", "high", "gap", "gap_low", "gap_high"))
    lost = {**none, "turns": 0, "note": "all 9 turns are in decided positions"}
    turn = {
        "game_id": "g1", "ply": 24, "move_number": 13, "opponent": "szelhegyfi",
        "opponent_name": _OPPONENT, "colour": "white", "date": "2024.03.01", "phase": "opening",
        "position": "r1bqkbnr/pppp1ppp/2n5/4p3/2B1P3/5Q2/PPPP1PPP/RNB1K1NR w KQkq - 4 4",
        "played": "f3f7", "san": "Qxf7#", "best": "g1e2", "best_san": "Ne2", "value": 0.4,
        "value_after": -1.9, "points_lost": 0.28, "points_expected": 0.04, "cost": 0.24,
        "chance": 0.02, "best_chance": 0.31, "better_chance": 0.6, "decided": False,
        "looked_depth": 16, "first_lost": 0.33,
    }  # fmt: skip
    game = {
        "game_id": "g1", "date": "2024.03.01", "opponent": "szelhegyfi", "colour": "white",
        "opponent_name": _OPPONENT, "score": 0.5, "expected": 0.61, "turns": 31, "own_play": 35.0,
        "own_play_se": 140.0, "opponent_play": -12.0, "opponent_play_se": 151.0, "cost": -0.12,
        "words": "drawn although the opponent played below the own level",
        "link": "https://lichess.org/abcdefgh",
    }  # fmt: skip
    pool = {
        "pool": "lichess rapid", "games": 9, "turns": 280, "decided": 20, "own_rating": 1904.0,
        "rating": 1620.0, "low": 1400.0, "high": 1840.0, "player_low": 1310.0,
        "player_high": 1930.0, "pool_rating": 1890.0, "pool_low": 1580.0, "pool_high": 2190.0,
    }  # fmt: skip
    trap = {
        "game_id": "g1", "ply": 30, "move_number": 16, "colour": "white", "date": "2024.03.01",
        "opponent_name": _OPPONENT, "trap": "Bxh7+", "san": "Bc2", "best_san": "Bc2",
        "fell": False, "trap_chance": 0.12, "trap_points": 0.3,
    }  # fmt: skip
    days = [2024.0 + step / 12 for step in range(9)]
    trend = pl.DataFrame({
        "time": days, "mean": [1800 + 10.0 * step for step in range(9)], "low": [1650.0] * 9,
        "high": [2010.0] * 9, "pool": ["lichess rapid"] * 9,
    })  # fmt: skip
    phases = rows_of(
        REVIEW_GROUPS, {**group, "group": "opening"}, {**group, "group": "middlegame"},
        {**group, **lost, "group": "endgame"},
    )  # fmt: skip
    opponents = rows_of(REVIEW_GROUPS, {**group, "group": "stronger"}, {**group, "group": "equals"})
    return ReviewView(
        name="Quillfeather, Ada",
        summary=rows_of(REVIEW_POOLS, pool),
        phases=phases.rename({"group": "phase"}),
        opponents=opponents.rename({"group": "opponents"}),
        costly=rows_of(REVIEW_COSTLY, *[turn] * 4),
        games=rows_of(REVIEW_GAMES, *[game] * 6),
        trend=trend,
        changes={"lichess rapid": Change(80.0, -96.0, 256.0, 0.81)},
        traps=rows_of(REVIEW_TRAPS, trap),
        trap_sums={"traps": 12, "fell": 2, "expected": 2.4, "sd": 1.3, "p": 0.8},
        level=0.95,
        equals=100.0,
        notes=("games of one pool only",),
        costly_note="of the 25 turns that seemed to cost most, a second look confirms 4",
        calibration_name="stockfish15.1-quick",
    )


def paper_page(chart: Any) -> Page:
    claims = (
        Finding("Section 4: agents of 2600 choose the best move more often than those of 2400.",
                "53.1 % against 50.2 % (difference 2.9 ± 0.8)", "holds"),
        Finding("Table 3: the error falls with Elo.", "8 of 9 steps", "too little data"),
    )  # fmt: skip
    table = pl.DataFrame({"Elo": [2400, 2600], "turns": [8962, 6637], "error": [0.099, 0.075]})
    outcome = Outcome("turns of 1976 to 2014", 15_599, claims, {"By Elo": table}, {"Error": chart},
                      notes=("A note that explains a choice.",))  # fmt: skip
    made = Experiment("2011-mileposts", "2011", "Error by Elo", lambda folder: outcome)
    return page_of(made, outcome, {})


def joint_page(*charts: Any) -> Page:
    table = pl.DataFrame({"time": [1980, 2010], "level": [2400.0, 2470.0], "± ": [35.0, 0.0]})
    sections = tuple(Chart(f"Chart {place}", each) for place, each in enumerate(charts))
    return Page("The level of the best", (Table("Levels", table), *sections), {})


def pages(charts: dict[str, Any]) -> dict[str, Page]:
    """Every kind of page that is not one of ratings."""
    return {
        "review": review_page(review_view(), {}),
        "screening": check_page(view_of(), {}),
        "full test": check_page(full_view(), {}),
        "joint": joint_page(charts["inflation"], charts["curves"]),
        "paper": paper_page(charts["paper lines"]),
    }
