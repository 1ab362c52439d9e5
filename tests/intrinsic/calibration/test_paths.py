"""Paths of agents: derivatives, tangents beyond the range, files."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tests.intrinsic.makers import PATH

from milepost.choice import ChoiceModel
from milepost.errors import InputError
from milepost.intrinsic.calibration.paths import AgentPath, PolynomialPath, path_from_dict

CURVED = PolynomialPath(
    ChoiceModel(lapse="flat"),
    (2, 1, 0),
    np.array([-1.8, -0.4, 0.06, -0.6, 0.05, -4.0]),
    np.diag([1e-3, 2e-3, 1e-3, 1e-3, 1e-3, 1e-2]),
    (1600.0, 2700.0),
    2100.0,
    500.0,
)


@pytest.mark.parametrize("path", [PATH, CURVED])
@pytest.mark.parametrize("rating", [900.0, 1700.0, 2345.0, 3200.0])
def test_slopes_are_those_of_differences(path: AgentPath, rating: float) -> None:
    step = 1e-3
    difference = (path.theta(rating + step) - path.theta(rating - step))[0] / (2 * step)
    assert path.slope(rating)[0] == pytest.approx(difference, abs=1e-9)


@pytest.mark.parametrize("rating", [900.0, 2345.0, 3200.0])
def test_gradients_are_those_of_differences(rating: float) -> None:
    for place in range(len(CURVED.coefficients)):
        step = np.zeros(len(CURVED.coefficients))
        step[place] = 1e-6

        def moved(sign: int, step: np.ndarray = step) -> np.ndarray:
            values = CURVED.to_dict() | {
                "coefficients": (CURVED.coefficients + sign * step).tolist()
            }
            return np.asarray(path_from_dict(values).theta(rating)[0])

        difference = (moved(1) - moved(-1)) / 2e-6
        assert CURVED.gradient(rating)[:, place] == pytest.approx(difference, abs=1e-7)


def test_beyond_its_range_a_path_goes_on_straight() -> None:
    end = CURVED.range[1]
    expected = CURVED.theta(end)[0] + 600 * CURVED.slope(end)[0]
    assert CURVED.theta(end + 600)[0] == pytest.approx(expected)
    # The parabola itself would turn back: ln s must fall on.
    assert CURVED.theta(4000.0)[0, 0] < CURVED.theta(3000.0)[0, 0] < CURVED.theta(2700.0)[0, 0]


@pytest.mark.parametrize("path", [PATH, CURVED])
def test_a_path_comes_back_from_json(path: AgentPath) -> None:
    again = path_from_dict(json.loads(json.dumps(path.to_dict())))
    assert np.array_equal(again.theta([1500.0, 2500.0]), path.theta([1500.0, 2500.0]))
    assert again.model == path.model


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "spiral"},
        {"coefficients": [1.0]},
        {"coefficients": [float("nan")] * 6},
        {"degrees": [1, 1]},
        {"model": {"curve": "none"}},
        {"range": [1600.0]},
        {"unit": 0.0},
    ],
)
def test_damaged_paths_are_refused(change: dict[str, object]) -> None:
    with pytest.raises(InputError):
        path_from_dict(CURVED.to_dict() | change)
