"""What the tests of histories share: the reference cases and small results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

REFERENCE = Path(__file__).resolve().parents[1] / "data"


@pytest.fixture(scope="session")
def reference() -> Path:
    """The folder of reference cases; `tests/data/README.md` says where they come from."""
    return REFERENCE


@pytest.fixture(scope="session")
def cases(reference: Path) -> dict[str, Any]:
    """The reference cases by their id."""
    found = json.loads((reference / "ttt_cases.json").read_text(encoding="utf-8"))["cases"]
    return {case["id"]: case for case in found}


@pytest.fixture(scope="session")
def small_chessbase(reference: Path) -> pl.DataFrame:
    """A thousand games of 1850 to 1855."""
    return pl.read_csv(reference / "small_chessbase.csv").select(
        time="year", player_1="white", player_2="black", score=pl.col("white_score") / 2
    )
