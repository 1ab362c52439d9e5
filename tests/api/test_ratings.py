"""Ratings through the public face: the same from games, tables and frames."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import milepost as mp
from milepost.choice.evaluation import prepared as prepared_module
from milepost.errors import InputError, OutputError


@pytest.fixture(scope="module")
def decisions(bundled_data: Path) -> mp.Decisions:
    folder = bundled_data / "sample"
    return mp.decisions(folder / "games.pgn", folder / "evaluations", player="quillfeather")


@pytest.fixture(scope="module")
def ratings(decisions: mp.Decisions) -> mp.Ratings:
    return mp.rate(decisions)


def test_games_tables_and_frames_give_the_same(
    decisions: mp.Decisions, ratings: mp.Ratings, bundled_data: Path, tmp_path: Path
) -> None:
    folder = bundled_data / "sample"
    decisions.save(tmp_path / "spreads.parquet")
    games = mp.rate(str(folder / "games.pgn"), str(folder / "evaluations"), player="quillfeather")
    for other in (games, mp.rate(tmp_path / "spreads.parquet")):
        assert_frame_equal(other.table, ratings.table)


@pytest.mark.parametrize("way", ["frame", "file"])
def test_cautions_do_not_depend_on_what_the_caller_joined(
    decisions: mp.Decisions, tmp_path: Path, way: str
) -> None:
    # Fast games against one opponent: in 0.1 a table that `spreads` wrote was rated in silence.
    fast = decisions.table.with_columns(
        pl.lit("blitz").alias("speed"), pl.lit("one").alias("opponent")
    )
    told = replace(decisions, table=fast)
    if way == "file":
        told.save(tmp_path / "spreads.parquet")
        told = mp.decisions(tmp_path / "spreads.parquet")
    warnings = mp.rate(told).table["warnings"][0]
    assert "fast games" in warnings
    assert "one opponent" in warnings


def test_a_table_without_the_turns_says_which_cautions_are_missing(
    decisions: mp.Decisions,
) -> None:
    plain = decisions.table.drop("speed", "opponent")
    found = mp.rate(plain, calibration="stockfish15.1-quick", force=True)
    assert any("do not say speed, opponent" in note for note in found.notes)
    assert not any("do not say" in note for note in mp.rate(decisions).notes)


def test_ratings_plot_themselves(ratings: mp.Ratings) -> None:
    assert "Quillfeather, Ada" in ratings.plot().to_json()
    with pytest.raises(InputError, match="nothing to plot"):
        replace(ratings, table=ratings.table.with_columns(rating=pl.lit(None))).plot()


def test_a_phase_whose_turns_are_all_left_out_says_so(decisions: mp.Decisions) -> None:
    lost = pl.col("phase") == "endgame"
    gone = decisions.table.filter(lost).with_columns(pl.lit("over the limit").alias("reason"))
    gone = gone.select(name for name in decisions.left_out.columns if name in gone.columns)
    left_out = pl.concat([decisions.left_out, gone], how="diagonal_relaxed")
    part = replace(decisions, table=decisions.table.filter(~lost), left_out=left_out)
    rated = mp.rate(part, by=["player", "phase"])
    assert any("phases of ordinary players" in note for note in rated.notes)
    table = rated.table
    row = table.filter(pl.col("phase") == "endgame").row(0, named=True)
    assert row["n"] == 0
    assert row["rating"] is None
    assert "no turn to rate" in row["warnings"]
    assert "in decided positions" in row["warnings"]


def test_spreads_are_prepared_once(
    decisions: mp.Decisions, monkeypatch: pytest.MonkeyPatch
) -> None:
    # In 0.1 the ladder, the own Elo and the factors of z each prepared them anew.
    counted = []
    plain = prepared_module.__dict__["scaled_differences"]

    def counting(*arguments: object, **options: object) -> object:
        counted.append(1)
        return plain(*arguments, **options)

    monkeypatch.setattr(prepared_module, "scaled_differences", counting)
    mp.rate(decisions)
    # One for the agents of the calibration, one for those of 2009 (another scale).
    assert len(counted) <= 2


def test_a_rating_can_be_read_without_a_command(ratings: mp.Ratings) -> None:
    assert ratings.by == ("player",)
    assert ratings.level == 0.95
    assert "rating" in repr(ratings)
    assert "<table" in ratings._repr_html_()
    assert len(ratings.to_pandas()) == len(ratings) == 1


def test_the_page_has_the_level_of_the_ratings(decisions: mp.Decisions, tmp_path: Path) -> None:
    mp.rate(decisions, level=0.8).report(tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "80% interval" in text
    assert "95% interval" not in text


def test_a_page_is_no_pdf(ratings: mp.Ratings, tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="a page is HTML"):
        ratings.report(tmp_path / "x.pdf")
    assert not (tmp_path / "x.pdf").exists()


def test_moves_are_probable_for_given_ratings(decisions: mp.Decisions) -> None:
    found = mp.likelihood(decisions, elo=[1600, 2050], prior=(2000, 300))
    assert found.totals["elo"].to_list() == [1600.0, 2050.0]
    assert found.games["turns_so_far"][-1] == len(decisions)
    assert set(found.turns.columns) >= {"game_id", "ply", "mover", "played", "p_1600", "p_2050"}


def test_shipped_calibrations_are_listed() -> None:
    table = mp.calibrations()
    assert "stockfish15.1-quick" in table["name"].to_list()


def test_decisions_without_columns_get_a_calibration_by_values_alone(
    decisions: mp.Decisions,
) -> None:
    brought = [n for n in decisions.table.columns if n.startswith(("option_", "context_"))]
    plain = replace(decisions, table=decisions.table.drop(brought))
    assert mp.rate(decisions).calibration.name == "stockfish15.1-quick"
    assert mp.rate(plain).calibration.name == "stockfish15.1-quick-values"
    with pytest.raises(InputError, match="go by columns that these decisions do not bring"):
        mp.rate(plain, calibration="stockfish15.1-quick")


def test_a_rating_loads_neither_scipy_nor_pandas() -> None:
    code = (
        "import sys\n"
        "from importlib.resources import files\n"
        "import milepost as mp\n"
        "sample = files('milepost') / 'data' / 'sample'\n"
        "print(len(mp.rate(str(sample / 'games.pgn'), str(sample / 'evaluations'))))\n"
        "print(sorted({'pandas', 'scipy.special', 'scipy.linalg'} & set(sys.modules)))\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines()[-1] == "[]"
