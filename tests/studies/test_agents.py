"""The comparison of agents: every kind of model goes through, and the true one is not refuted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from studies import accuracy as accuracy_study
from studies.agents import as_markdown, examine, named_models
from studies.real_spreads import Turns
from tests.intrinsic.makers import league

from milepost.choice.model import ChoiceModel
from milepost.fit.comparison.compare import Candidate
from milepost.intrinsic.calibration.maps import KINDS


def turns(seed: int) -> Turns:
    spreads, _, _ = league(140, 4, 12, seed=seed)
    place = np.arange(len(spreads)) % 12
    return Turns(spreads, 9 + 4 * place, place % 1)


def test_models_of_all_kinds_are_compared(tmp_path: Path) -> None:
    file = tmp_path / "models.py"
    file.write_text("MODELS = {'from a file': 'joint'}\n", encoding="utf-8")
    models = named_models(["joint"], str(file))
    # The truth has no lapses: ln s and c on lines.
    models["candidate"] = Candidate(ChoiceModel(), "smooth")
    table, details = examine(models, turns(61), whole=turns(62), cuts=2, resamples=4)
    assert table["model"].to_list() == ["joint", "from a file", "candidate"]
    assert table["log_loss"][0] == table["log_loss"][1]
    assert table["gain"].to_list()[:2] == [0.0, 0.0]
    for prefix in ("", "whole "):
        gap = table[f"{prefix}log_loss"][0] - table[f"{prefix}log_loss"][2]
        assert table[f"{prefix}gain"][2] == pytest.approx(gap)
        assert table[f"{prefix}overdispersion"].is_between(0.7, 1.3).all()
        assert table[f"{prefix}slips3_z"].is_between(-4, 4).all()
        z = table[f"{prefix}evaluation_bias"] / table[f"{prefix}evaluation_se"]
        assert z.is_between(-4, 4).all()
    assert table["rmse"].is_between(40, 250).all()
    assert set(details["candidate"]) == {"random", "whole"}
    page = as_markdown(table)
    assert page.count("\n| candidate | 4 |") == 2
    assert "not converged" not in page


def test_without_names_all_quick_maps_are_meant() -> None:
    assert list(named_models([], None)) == [kind for kind in KINDS if kind != "error"]


def test_the_accuracy_page_has_a_row_a_reader() -> None:
    row = {"map": "joint", "turns": 250, "rmse": 120.0, "rmse_se": 6.0, "rmse_sd": 12.0}
    row |= {"calibrated": 121.0, "calibrated_se": None, "slope": 1.0, "bound": 111.0}
    row |= {"ratio": 1.5, "ratio_low": 1.3, "ratio_high": 1.8}
    page = accuracy_study.as_markdown(pl.DataFrame([row]))
    expected = "| joint | 120 ± 6 | 1.00 | 121 | 12 | 111 | 1.50 (1.30 to 1.80) |"
    assert page.splitlines()[-1] == expected
