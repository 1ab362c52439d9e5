"""A history on Ray actors: the answer of one process, though an actor is killed on the way."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.history.samples import simulated

import milepost as mp
from milepost.api.histories import fit_on_cluster
from milepost.errors import InputError
from milepost.history.slices import actors
from milepost.history.slices.piece import Slice
from milepost.io.progress import Progress

MODEL = mp.TTT(beta=300.0, tau=30.0, sigma=400.0)


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    ray = pytest.importorskip("ray")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    ray.init(
        address="local", num_cpus=2, include_dashboard=False, object_store_memory=80_000_000,
        log_to_driver=False, logging_level="ERROR", _node_ip_address="127.0.0.1",
    )  # fmt: skip
    yield ray
    ray.shutdown()


@pytest.mark.filterwarnings("default")
def test_an_actor_is_killed_and_the_answer_stays(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "results.parquet"
    simulated(3000, 60, 12).write_parquet(path)
    whole = mp.fit_history(pl.read_parquet(path), MODEL)
    pids: list[int] = []

    class Known(Slice):
        """A slice that says in which process it is."""

        def facts(self) -> Any:
            (tmp_path / f"{os.getpid()}.pid").touch()
            return super().facts()

    monkeypatch.setattr(actors, "Slice", Known)

    def kill_one(news: Progress) -> None:
        if news.done == 3:
            pids.extend(sorted(int(each.stem) for each in tmp_path.glob("*.pid")))
            os.kill(pids[0], signal.SIGKILL)

    found = fit_on_cluster(str(path), MODEL, slices=2, progress=kill_one)
    assert len(pids) == 2
    assert found.converged
    assert found.curves.select("player", "time").equals(whole.curves.select("player", "time"))
    assert (found.curves["mean"] - whole.curves["mean"]).abs().max() < 0.15  # type: ignore[operator]
    assert found.made["command"] == "history"


def test_only_parquet_and_ttt_go_to_a_cluster(tmp_path: Path) -> None:
    path = tmp_path / "results.csv"
    simulated(20, 5, 2).write_csv(path)
    with pytest.raises(InputError, match="reads Parquet"):
        fit_on_cluster(str(path), MODEL)
    simulated(20, 5, 2).write_parquet(tmp_path / "results.parquet")
    with pytest.raises(InputError, match="not by elo"):
        fit_on_cluster(str(tmp_path / "results.parquet"), mp.Elo())
