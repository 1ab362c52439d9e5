"""One person's agent: a style that is there is found, one that is not there is not."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from milepost.choice.agent import Agent
from milepost.choice.spreads import Spreads
from milepost.errors import InputError
from milepost.fit.methods.shifted import fit_shift
from milepost.intrinsic.calibration.calibration import Calibration, load_calibration
from milepost.intrinsic.choosing.personal import PersonalAgent, load_agent
from milepost.intrinsic.choosing.personify import personify
from milepost.io.progress import Progress

ELO = 2000.0


@pytest.fixture(scope="module")
def calibration() -> Calibration:
    return load_calibration("stockfish15.1-bullet")


def turns(calibration: Calibration, shift: np.ndarray, games: int, seed: int) -> Spreads:
    """Turns of a person, simulated with a known shift."""
    rng = np.random.default_rng(seed)
    count = games * 25
    values = [np.sort(rng.normal(0, 0.8, 15))[::-1] for _ in range(count)]
    by_depth = [
        np.column_stack([*(each + rng.normal(0, 0.4, 15) for _ in range(5)), each])
        for each in values
    ]
    spreads = Spreads.from_lists(
        [each.tolist() for each in values],
        [0] * count,
        depth_values=[table.tolist() for table in by_depth],
        groups=np.repeat(np.arange(games), 25).tolist(),
    )
    path = calibration.map.path
    agent = Agent.from_parameters(path.model, path.theta(ELO)[0] + shift)
    return agent.simulate(spreads, rng)


def test_a_style_is_found_and_its_shift_recovered(calibration: Calibration) -> None:
    names = calibration.map.path.model.parameters
    shift = np.zeros(len(names))
    shift[names.index("ln w: first")] = 1.5
    shift[names.index("loss")] = -0.4
    found = personify(turns(calibration, shift, 60, 1), calibration, sd=0.5)
    mean, low, high = found.gain
    assert found.found
    assert 0 < low < mean < high
    assert found.agent.shift[names.index("ln w: first")] > 0.5
    assert (found.turns, found.games) == (1500, 60)
    shares = found.gain_shares
    assert shares == pytest.approx(np.exp(found.gain) - 1)
    assert 0 < shares[1] < shares[0] < shares[2]


def test_no_style_is_found_where_there_is_none(calibration: Calibration) -> None:
    nobody = np.zeros(len(calibration.map.path.model.parameters))
    news: list[Progress] = []
    found = personify(turns(calibration, nobody, 40, 2), calibration, progress=news.append)
    assert not found.found
    assert [(each.done, each.total) for each in news] == [(fits, 6) for fits in range(6)]
    low, high = found.elo_interval
    assert low < ELO < high, "a rating comes with its uncertainty"
    assert low < found.elo < high
    assert high - low < 1000
    assert found.agent.elo_interval == found.elo_interval
    assert found.gain[1] <= 0
    assert (found.agent.shift == 0).all()
    assert abs(found.elo - ELO) < 400


def test_a_shift_is_shrunk_towards_none(calibration: Calibration) -> None:
    shift = np.zeros(len(calibration.map.path.model.parameters))
    shift[0] = 0.5
    spreads = turns(calibration, shift, 20, 3)
    path = calibration.map.path
    theta = path.theta(ELO)[0]
    sizes = [
        float(np.linalg.norm(fit_shift(spreads, path.model, theta, sd).values))
        for sd in (0.01, 0.1, 1.0)
    ]
    assert sizes == sorted(sizes)
    assert sizes[0] < 0.05
    with pytest.raises(InputError, match="over 0"):
        fit_shift(spreads, path.model, theta, 0.0)


def test_too_few_games_are_refused(calibration: Calibration) -> None:
    nobody = np.zeros(len(calibration.map.path.model.parameters))
    with pytest.raises(InputError, match="needs 20"):
        personify(turns(calibration, nobody, 5, 1), calibration)


def test_the_file_comes_back_and_holds_no_name(tmp_path: Path) -> None:
    agent = PersonalAgent(
        1850.0, "abc", "Engine 1", "c", np.array([0.1, -0.2]), ("ln s", "ln c"),
        {"mean": 0.01, "low": 0.0, "high": 0.02}, {"turns": 100, "games": 20}, (1790.0, np.inf),
    )  # fmt: skip
    path = tmp_path / "me.agent.json"
    agent.save(path)
    assert load_agent(path).to_dict() == agent.to_dict()
    assert load_agent(path).elo_interval == (1790.0, np.inf)
    assert "Infinity" not in path.read_text(encoding="utf-8"), "JSON knows no infinity"
    assert set(agent.to_dict()) == {
        "schema", "kind", "elo", "elo_interval", "setup", "setup_text", "calibration",
        "parameters", "shift", "gain", "counts",
    }  # fmt: skip
    older = {name: value for name, value in agent.to_dict().items() if name != "elo_interval"}
    path.write_text(json.dumps(older), encoding="utf-8")
    assert load_agent(path).elo_interval == (-np.inf, np.inf)
    path.write_text("{}", encoding="utf-8")
    with pytest.raises(InputError, match="no agent"):
        load_agent(path)
    with pytest.raises(InputError, match=r"cannot be read: No such file or directory$"):
        load_agent(tmp_path / "missing.json")
