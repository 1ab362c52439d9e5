"""Truncated Gaussians against sixty digits, however far out; and the kernels uncompiled."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose

from milepost.history.teams.sides import above_margin, rank_sides, within_margin

# mpmath at 60 to 4000 digits: Z = erfc(-x/√2)/2, v = N(x)/Z, w = v (v + x), 1 - w.
WINS = [
    (-1e6, -500000000014.73445, 1000000.000001, 0.999999999999, 9.99999999994e-13),
    (-80.0, -3205.3011213568904, 80.012496096798234, 0.9998438962939483, 0.00015610370605170168),
    (-8.5, -39.197396428217669, 8.6145953201651729, 0.98719230880772791, 0.012807691192272093),
    (-7.5, -31.075890902890001, 7.6289663911037659, 0.98388026331257389, 0.016119736687426112),
    (-1.0, -1.8410216450092635, 1.5251352761609812, 0.80090233442965121, 0.19909766557034879),
    (0.0, -0.69314718055994531, 0.79788456080286536, 0.63661977236758134, 0.36338022763241866),
    (5.0, -2.8665161296376359e-7, 1.4867199409049057e-6, 7.4336019148607112e-6, 0.9999925663980851),
    (30.0, -4.9067139271481871e-198, 1.4736461348785475e-196, 4.4209384046356426e-195, 1.0),
]
# mpmath: Z, mean and variance of a standard normal between -alpha - t and alpha - t; for the
# narrow ones by quadrature, for the far ones by the closed form at 4000 digits.
DRAWS = [
    (0.0, 1e-100, -230.48430065204926, 0.0, 1.0, 3.3333333333333333e-201),
    (0.0, 1e-6, -14.041301910609168, 0.0, 0.99999999999966667, 3.3333333333328889e-13),
    (-3.0, 1e-6, -18.541301910607668, 2.999999999999, 0.99999999999966667, 3.3333333333268889e-13),
    (0.5, 0.0999, -2.655623928420158, -0.49833915284679692, 0.99667940764315, 0.003320592356849758),
    (0.5, 0.1001, -2.6536289235862285, -0.4983325061539804, 0.99666612308943, 0.003333876910572771),
    (0.5, 0.2, -1.9652209286302799, -0.49337319398152789, 0.986763863454885, 0.013236136545115436),
    (2.05, 0.1, -4.6243069177260302, -2.043194769487749, 0.996698834404176, 0.003301165595824417),
    (2.2, 0.15, -4.5286249839986866, -2.183667001000824, 0.992681686401106, 0.007318313598893947),
    (-3.0, 0.5, -5.1198304447882207, 2.786601437728506, 0.944649901602632, 0.055350098397368144),
    (80.0, 0.1, -3197.3048710782959, -79.91251170424055, 0.9998435101572693, 0.0001564898427307141),
    (80.0, 2.0, -3047.2758116579579, -78.01281630177864, 0.9998357963255733, 0.0001642036744267331),
    (-1000.0, 1e-4, -500009.43446561483, 999.99999666888678, 0.999999996673323, 3.326677229463e-9),
    (0.0, 1.0, -0.38171514630212607, 0.0, 0.70887490522720679, 0.29112509477279321),
    (0.3, 5.0, -1.3587097173625579e-6, -6.0526984810501588e-6, 3.1619073021756549e-5, 0.9999683809),
    (2.0, 9.0, -1.2798125438866542e-12, -9.134720408376282e-12, 6.3943042858717455e-11, 1.0),
]


@pytest.mark.parametrize("row", WINS)
def test_win(row: tuple[float, ...]) -> None:
    assert_allclose(above_margin(row[0]), row[1:], rtol=1e-11)


@pytest.mark.parametrize("row", DRAWS)
def test_draw(row: tuple[float, ...]) -> None:
    t, alpha = row[:2]
    found = within_margin(t, alpha)
    # Beside a margin of 5 the 1 - w of the table is rounded to ten digits.
    assert_allclose(found, row[2:], rtol=1e-10 if alpha > 4.0 else 1e-11, atol=1e-300 + 1e-16)
    assert found[3] == pytest.approx(row[5], rel=1e-9, abs=0.0)
    mirrored = within_margin(-t, alpha)
    assert mirrored[1] == -found[1]
    assert mirrored[0] == found[0]


def test_no_step_where_the_form_changes() -> None:
    for form, at in ((above_margin, -8.0), (lambda x: within_margin(2.0 + x, x), 0.1)):
        below, above = form(at - 1e-9), form(at + 1e-9)
        assert_allclose(below, above, rtol=1e-6)


def test_messages_are_proper_in_every_corner() -> None:
    rng = np.random.default_rng(5)
    for _ in range(300):
        sides = int(rng.integers(2, 7))
        mean = rng.normal(0.0, 10.0 ** rng.uniform(-2.0, 3.0), sides)
        variance = 10.0 ** rng.uniform(-6.0, 12.0, sides) + 1.0
        tie = rng.random(sides - 1) < 0.5
        margin = 10.0 ** rng.uniform(-6.0, 1.0, sides - 1)
        messages = np.zeros((sides, 4))
        log_evidence, passes, moved = rank_sides(mean, variance, margin, tie, messages, 1e-11, 1000)
        assert np.isfinite(log_evidence)
        assert log_evidence <= 1e-3 * sides
        assert np.isfinite(messages).all()
        assert (messages[:, [0, 2]] >= 0.0).all()
        assert moved <= 1e-11, passes


def numbers_from_all_kernels() -> list[float]:
    from milepost.history.baselines.elo import run_elo
    from milepost.history.baselines.glicko2 import run_glicko2
    from milepost.history.teams.fit import fit_teams
    from milepost.history.teams.game import Game
    from milepost.history.teams.rate import rate_game

    one, two, scores, periods = [0, 1, 2, 0], [1, 2, 0, 2], [1, 0.5, 0, 0.5], [0, 0, 1, 3]
    teams = [[(0.0, 1.0), (1.0, 2.0)], [(80.0, 1.0)], [(3.0, 1.0)]]
    game = rate_game(teams, [1, 1, 0], beta=1.0, draw_probability=0.2)
    fit = fit_teams([Game(t, [["a", "b"], ["c"], ["d"]], [3, 2, 2]) for t in (0, 0, 2)])
    return [
        game.log_evidence,
        fit.log_evidence,
        *fit.curves["mean"],
        *fit.curves["sd"],
        *run_elo(one, two, scores).ratings.tolist(),
        *run_glicko2(one, two, scores, periods).deviations.tolist(),
    ]


def test_kernels_run_uncompiled_too() -> None:
    code = f"{inspect.getsource(numbers_from_all_kernels)}\nprint(*numbers_from_all_kernels())"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
    )
    uncompiled = [float(word) for word in done.stdout.split()]
    assert len(uncompiled) > 15
    assert_allclose(numbers_from_all_kernels(), uncompiled, rtol=1e-9)
