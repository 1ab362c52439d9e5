"""Decisions: the one table that ratings, fits and checks begin with."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

import milepost as mp
from milepost.errors import InputError, MissingEvaluationsWarning, NotAnalysedError
from milepost.tables import DECISIONS


@pytest.fixture(scope="module")
def sample(bundled_data: Path) -> mp.Decisions:
    folder = bundled_data / "sample"
    return mp.decisions(folder / "games.pgn", folder / "evaluations")


def test_every_turn_is_a_decision_or_left_out_for_a_reason(sample: mp.Decisions) -> None:
    counts = sample.counts
    assert counts["turns in"] == len(sample) + len(sample.left_out)
    by_reason = dict(sample.left_out["reason"].value_counts().iter_rows())
    assert by_reason == {name: counts[name] for name in by_reason}
    assert set(DECISIONS.names) <= set(sample.table.columns)
    assert sample.table["opponent"].null_count() == 0


def test_a_path_or_a_text_will_do(bundled_data: Path, sample: mp.Decisions) -> None:
    folder = bundled_data / "sample"
    again = mp.decisions(str(folder / "games.pgn"), str(folder / "evaluations"))
    assert again.table.equals(sample.table)
    assert mp.decisions(sample) is sample


def test_a_table_on_disk_knows_its_set_up(tmp_path: Path, sample: mp.Decisions) -> None:
    for name in ("decisions.parquet", "decisions.ndjson"):
        sample.save(tmp_path / name)
        read = mp.decisions(tmp_path / name)
        assert read.setup == sample.setup
        assert len(read) == len(sample)


def test_a_table_from_before_rounds_is_read_alone_and_beside_a_new_one(
    tmp_path: Path, sample: mp.Decisions
) -> None:
    assert sample.table["round"].null_count() < len(sample)
    old = replace(sample, table=sample.table.drop("round"))
    old.save(tmp_path / "old.parquet")
    sample.save(tmp_path / "new.parquet")
    assert "round" not in mp.decisions(tmp_path / "old.parquet").table.columns
    both = mp.decisions([tmp_path / "old.parquet", tmp_path / "new.parquet"]).table
    assert both["round"].tail(len(sample)).equals(sample.table["round"])
    assert both["round"].head(len(sample)).null_count() == len(sample)


def test_tables_of_different_set_ups_are_not_mixed(tmp_path: Path, sample: mp.Decisions) -> None:
    sample.save(tmp_path / "one.parquet")
    replace(sample, setup="another").save(tmp_path / "two.parquet")
    with pytest.raises(InputError, match="different engine set-ups"):
        mp.decisions([tmp_path / "one.parquet", tmp_path / "two.parquet"])


def test_players_by_part_of_a_name(sample: mp.Decisions) -> None:
    some = sample.of_players(["quillfeather"])
    assert some.table["mover"].unique().to_list() == ["quillfeather, ada"]
    assert set(some.left_out["mover"]) == {"quillfeather, ada"}
    with pytest.raises(InputError, match="no player"):
        sample.of_players(["nobody at all"])


def test_games_without_a_store_say_how_to_get_one(bundled_data: Path) -> None:
    with pytest.raises(InputError, match=r"milepost\.analyse"):
        mp.decisions(bundled_data / "sample" / "games.pgn")


def test_turns_that_nobody_analysed_are_told(bundled_data: Path) -> None:
    folder = bundled_data / "sample"
    with pytest.raises(NotAnalysedError, match=r"milepost\.analyse"):
        mp.decisions(bundled_data / "famous_games.pgn", folder / "evaluations")
    both = [folder / "games.pgn", bundled_data / "famous_games.pgn"]
    with pytest.warns(MissingEvaluationsWarning, match="are not in the store"):
        found = mp.decisions(both, folder / "evaluations")
    assert found.missing == len(found.left_out.filter(pl.col("reason") == "not analysed")) > 0


def test_what_it_is_can_be_read(sample: mp.Decisions) -> None:
    assert "decisions of 8 players" in repr(sample)
    assert "over the limit" in repr(sample)
    assert "<table" in sample._repr_html_()
    assert len(sample.to_pandas()) == len(sample)
