"""Histories in slices: the answer of one piece, however many slices, and after a loss."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.history.samples import simulated

import milepost as mp
from milepost.errors import InputError
from milepost.history import Sweeping, fit_history
from milepost.history.slices.piece import Slice
from milepost.history.slices.rounds import fit_in_slices, here, sources_of

MODEL = mp.TTT(beta=300.0, tau=30.0, sigma=400.0)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("slices") / "results.parquet"
    simulated(4000, 60, 16).write_parquet(path)
    return path


def apart(one: pl.DataFrame, two: pl.DataFrame) -> dict[str, float]:
    """The largest differences between two tables of curves."""
    assert one.select("player", "time", "games").equals(two.select("player", "time", "games"))
    return {name: float((one[name] - two[name]).abs().max()) for name in ("mean", "sd")}  # type: ignore[arg-type]


@pytest.mark.parametrize("count", [1, 2, 4, 8])
def test_slices_give_the_answer_of_one_piece(table: Path, count: int) -> None:
    whole = fit_history(pl.read_parquet(table), MODEL, sweeping=Sweeping(tolerance=0.005))
    sources = sources_of([str(table)], count, "year")
    assert len(sources) == count
    slices = [Slice(source, MODEL, "year") for source in sources]
    found = fit_in_slices(here(slices), count, MODEL, "year")
    assert found.converged
    assert (found.games, found.players) == (whole.games, whole.players)
    differences = apart(whole.curves, found.curves)
    assert differences["mean"] < 0.06  # the tolerance: 0.0002 beta
    assert differences["sd"] < 0.06
    assert found.draw_margin == pytest.approx(whole.draw_margin, abs=0.1)
    assert found.log_evidence == pytest.approx(whole.log_evidence, abs=0.01)
    # Questions between games, and before the first one, are answered alike too.
    name = whole.curves["player"][0]
    first = int(whole.curves["time"].min())  # type: ignore[arg-type]
    for time in (first - 3, first + 4.5, first + 30):
        one, two = whole.skill(name, time), found.skill(name, time)
        assert (one.mean, one.sd) == pytest.approx((two.mean, two.sd), abs=0.1)


def test_a_slice_begun_anew_goes_on_from_its_borders(table: Path) -> None:
    sources = sources_of([str(table)], 3, "year")
    slices = [Slice(source, MODEL, "year") for source in sources]
    asked: list[str] = []

    def ask(name: str, arguments: list[tuple[Any, ...]]) -> list[Any]:
        asked.append(name)
        lost = {5: 1, 8: 0}.get(len(asked), 2 if name == "part" else None)
        if lost is not None:
            slices[lost] = Slice(sources[lost], MODEL, "year")
        return here(slices)(name, arguments)

    whole = fit_history(pl.read_parquet(table), MODEL)
    found = fit_in_slices(ask, 3, MODEL, "year")
    assert found.converged
    assert apart(whole.curves, found.curves)["mean"] < 0.12


@pytest.mark.parametrize("workers", [3, 4, 8])
def test_any_number_of_threads_finds_the_same(table: Path, workers: int) -> None:
    games = pl.read_parquet(table)
    one = fit_history(games, MODEL)
    many = fit_history(games, MODEL, sweeping=Sweeping(workers=workers))
    assert many.converged
    assert apart(one.curves, many.curves)["mean"] < 0.12
    own = mp.TTTD(beta=300.0, tau=30.0, sigma=400.0)
    differences = apart(
        fit_history(games, own).curves,
        fit_history(games, own, sweeping=Sweeping(workers=workers)).curves,
    )
    assert differences["mean"] < 0.12


def test_what_slices_cannot_do_is_refused(table: Path, tmp_path: Path) -> None:
    slices = [Slice(source, MODEL, "year") for source in sources_of([str(table)], 2, "year")]
    for model in (mp.TTT(newcomers="learn"), mp.TTT(first_mover="learn"), mp.TTTD()):
        with pytest.raises(InputError, match="slices"):
            fit_in_slices(here(slices), 2, model, "year")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="periods of time"):
        sources_of([str(table)], 2, "game")
    pl.DataFrame({"time": np.arange(3)}).write_parquet(tmp_path / "x.parquet")
    with pytest.raises(InputError, match="player_1, player_2, score"):
        sources_of([str(tmp_path / "x.parquet")], 2, "year")
