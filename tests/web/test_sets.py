"""Sets, jobs and tables over the API: the numbers of the command line, and nothing lost."""

from __future__ import annotations

import io
import json
from pathlib import Path

import polars as pl
from starlette.testclient import TestClient

import milepost as mp

API = "/api/v1"


def test_counts_add_up(client: TestClient, rated_set: str) -> None:
    about = client.get(f"{API}/sets/{rated_set}").json()
    assert about["found"] == 6 == about["kept"] + sum(about["skipped"].values())


def test_ratings_are_those_of_the_library(
    client: TestClient, rated_set: str, few_games: bytes, stored: Path, tmp_path: Path
) -> None:
    pgn = tmp_path / "games.pgn"
    pgn.write_bytes(few_games)
    expected = mp.rate(pgn, stored).table
    answer = client.get(f"{API}/sets/{rated_set}/ratings").json()
    assert json.dumps(answer["rows"]) == json.dumps(expected.to_dicts())
    parquet = client.get(f"{API}/sets/{rated_set}/ratings?format=parquet").content
    assert pl.read_parquet(io.BytesIO(parquet)).equals(expected)
    csv = client.get(f"{API}/sets/{rated_set}/ratings?format=csv")
    mp.rate(pgn, stored).save(tmp_path / "ratings.csv")
    assert csv.content == (tmp_path / "ratings.csv").read_bytes()


def test_the_same_file_is_the_same_set(
    client: TestClient, rated_set: str, few_games: bytes
) -> None:
    answer = client.post(f"{API}/sets", files={"file": ("other.pgn", few_games)})
    assert (answer.status_code, answer.json()["id"]) == (200, rated_set)
