"""A board of simulated players whose Elo is known: the bundled sample."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import milepost as mp
from milepost.fairplay.performances import Board, make_board
from milepost.fairplay.reference.honest import HonestPlayers

SAMPLE = Path(mp.__file__).parent / "data" / "sample"


@pytest.fixture(scope="session")
def calibration() -> mp.Calibration:
    return mp.load_calibration("stockfish15.1-quick")


@pytest.fixture(scope="session")
def sample() -> mp.Decisions:
    return mp.decisions(SAMPLE / "games.pgn", SAMPLE / "evaluations")


@pytest.fixture(scope="session")
def board(sample: mp.Decisions, calibration: mp.Calibration) -> Board:
    """The turns of two players of the sample."""
    two = sample.table["mover"].unique().sort().to_list()[:2]
    table = sample.table.filter(pl.col("mover").is_in(two))
    return make_board(table, calibration, HonestPlayers.assumed(calibration))
