"""The one-parameter agents of 2009: posteriors against brute force, sequential against batch."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from tests.choice.makers import padded, realistic_spreads

from milepost.choice import Spreads
from milepost.errors import InputError
from milepost.fit import fit_reference
from milepost.fit.methods.reference import likeliest_competence

K = 0.1


def plain_probabilities(
    values: np.ndarray, c: float, *, k: float = K, width: int = 10
) -> list[float]:
    """P(i) ∝ (v_max - v_i + K)^-c over the first options, as printed."""
    weights = [(values[0] - v + k) ** -c for v in values[:width]]
    return [w / sum(weights) for w in weights]


def chosen_by(spreads: Spreads, c: float, seed: int) -> Spreads:
    rng = np.random.default_rng(seed)
    parts = np.split(spreads.values, spreads.offsets[1:-1])
    chances = [plain_probabilities(part, c) for part in parts]
    return spreads.choosing([int(rng.choice(len(p), p=p)) for p in chances])


def plain_log_likelihood(spreads: Spreads, c: float, *, k: float = K, width: int = 10) -> float:
    total = 0.0
    for t, part in enumerate(np.split(spreads.values, spreads.offsets[1:-1])):
        if spreads.chosen[t] < width:
            p = plain_probabilities(part, c, k=k, width=width)
            total += spreads.weights[t] * math.log(p[spreads.chosen[t]])
    return total


def brute_force(
    spreads: Spreads, grid: np.ndarray, *, k: float = K, width: int = 10
) -> tuple[float, float]:
    """Mean and sd of the posterior under a uniform prior on the grid's range."""
    ln = np.array([plain_log_likelihood(spreads, float(c), k=k, width=width) for c in grid])
    mass = np.exp(ln - ln.max())
    mass /= mass.sum()
    mean = float(mass @ grid)
    return mean, math.sqrt(float(mass @ (grid - mean) ** 2))


def information(spreads: Spreads, c: float) -> float:
    """Σ Var_c[ln(δ + K)] (`ipr_math`, section 9)."""
    total = 0.0
    for part in np.split(spreads.values, spreads.offsets[1:-1]):
        p = np.array(plain_probabilities(part, c))
        x = np.log(part[0] - part[:10] + K)
        total += float(p @ x**2 - (p @ x) ** 2)
    return total


@pytest.fixture(scope="module")
def spreads() -> Spreads:
    return chosen_by(realistic_spreads(401, 600), 1.5, 402)


def test_the_likeliest_competence_against_brute_force(spreads: Spreads) -> None:
    part = spreads.take(np.arange(150))
    found = likeliest_competence(part)
    highest = plain_log_likelihood(part, found)
    for other in (found - 1e-3, found + 1e-3):
        assert plain_log_likelihood(part, other) < highest
    # Where every choice is the best, the likeliest is the end of the range.
    perfect = part.choosing([0] * len(part))
    assert likeliest_competence(perfect) == pytest.approx(10.0, abs=1e-6)
    assert likeliest_competence(perfect, prior_range=(0.0, 3.0)) == pytest.approx(3.0, abs=1e-6)


def test_the_posterior_against_brute_force(spreads: Spreads) -> None:
    part = spreads.take(np.arange(150))
    mean, sd = brute_force(part, np.linspace(0.5, 3.0, 501))
    posterior = fit_reference(part)
    assert posterior.mean == pytest.approx(mean, abs=1e-4)
    assert posterior.sd == pytest.approx(sd, rel=1e-3)
    low, high = posterior.region(0.95)
    assert low == pytest.approx(mean - 1.96 * sd, abs=0.15 * sd)
    assert high == pytest.approx(mean + 1.96 * sd, abs=0.15 * sd)
    assert np.trapezoid(posterior.density, posterior.grid) == pytest.approx(1.0)
    assert posterior.edge_mass < 1e-6


def test_few_decisions_and_a_wide_posterior() -> None:
    """Three decisions: the uniform prior's range cuts the posterior, as it should."""
    part = chosen_by(realistic_spreads(403, 3), 0.4, 404)
    mean, sd = brute_force(part, np.linspace(0.0, 10.0, 4001))
    posterior = fit_reference(part)
    assert posterior.mean == pytest.approx(mean, rel=1e-3)
    assert posterior.sd == pytest.approx(sd, rel=1e-3)


@pytest.mark.parametrize("c", [0.3, 1.5, 3.0])
def test_the_sd_is_the_inverse_root_of_the_information(c: float) -> None:
    spreads = chosen_by(realistic_spreads(405, 800), c, 406)
    posterior = fit_reference(spreads)
    assert posterior.sd == pytest.approx(
        1 / math.sqrt(information(spreads, posterior.mean)), rel=0.01
    )
    assert abs(posterior.mean - c) < 4 * posterior.sd


def test_sequential_is_batch(spreads: Spreads) -> None:
    batch = fit_reference(spreads)
    step = fit_reference(spreads.take(np.arange(50)))
    for start in range(50, 600, 110):
        step = step.update(spreads.take(np.arange(start, start + 110)))
    assert step.n == batch.n == 600
    assert step.mean == pytest.approx(batch.mean, abs=1e-6)
    assert step.sd == pytest.approx(batch.sd, rel=1e-5)
    # On the same grid, to rounding: the blocks that refine it are those of the snapshots.
    one = fit_reference(spreads, snapshot_every=100)
    other = fit_reference(spreads.take(np.arange(300)), snapshot_every=100)
    other = other.update(spreads.take(np.arange(300, 600)), snapshot_every=100)
    assert other.mean == pytest.approx(one.mean, abs=1e-9)
    assert other.sd == pytest.approx(one.sd, abs=1e-9)


def test_snapshots_grow_and_sharpen(spreads: Spreads) -> None:
    posterior = fit_reference(spreads, snapshot_every=60)
    counts = [each.decisions for each in posterior.snapshots]
    assert counts == list(range(60, 601, 60))
    assert posterior.snapshots[-1].mean == pytest.approx(posterior.mean)
    assert posterior.snapshots[-1].sd == pytest.approx(posterior.sd)
    sds = [each.sd for each in posterior.snapshots]
    # Each decision adds information at a given c; the mean moves a little.
    assert all(b < 1.02 * a for a, b in pairwise(sds))
    assert sds[-1] < 0.5 * sds[0]
    early = fit_reference(spreads.take(np.arange(120)))
    assert posterior.snapshots[1].mean == pytest.approx(early.mean, abs=1e-6)
    assert posterior.snapshots[1].sd == pytest.approx(early.sd, rel=1e-5)
    assert len(fit_reference(spreads).snapshots) == 10


def test_updates_go_on_with_the_snapshots(spreads: Spreads) -> None:
    first = fit_reference(spreads.take(np.arange(300)), snapshot_every=150)
    both = first.update(spreads.take(np.arange(300, 600)), snapshot_every=150)
    assert [each.decisions for each in both.snapshots] == [150, 300, 450, 600]
    assert both.snapshots[:2] == first.snapshots


def test_a_given_range_of_the_prior(spreads: Spreads) -> None:
    """The truth outside: the posterior leans on the edge and says so."""
    posterior = fit_reference(spreads, prior_range=(0.0, 1.0))
    assert posterior.grid.max() <= 1.0
    assert 0.9 < posterior.mean < 1.0
    mean, sd = brute_force(spreads, np.linspace(0.9, 1.0, 201))
    assert posterior.mean == pytest.approx(mean, abs=2e-3)
    assert posterior.sd == pytest.approx(sd, rel=0.05)
    inside = fit_reference(spreads, prior_range=(0.35, 7.77))
    assert inside.mean == pytest.approx(fit_reference(spreads).mean, abs=1e-5)


def test_a_given_prior_multiplies(spreads: Spreads) -> None:
    part = spreads.take(np.arange(100))
    points = np.linspace(0.0, 4.0, 401)
    density = np.exp(-0.5 * ((points - 1.2) / 0.05) ** 2)
    posterior = fit_reference(part, prior=(points.tolist(), density.tolist()))
    ln = np.array([plain_log_likelihood(part, float(c)) for c in points])
    mass = np.exp(ln - ln.max()) * density
    mass /= mass.sum()
    assert posterior.mean == pytest.approx(float(mass @ points), abs=1e-3)
    assert posterior.prior_range == (0.0, 4.0)


def test_choices_beyond_the_width_are_counted(spreads: Spreads) -> None:
    narrow = fit_reference(spreads, width=4)
    beyond = int((spreads.chosen >= 4).sum())
    assert beyond > 0
    assert narrow.outside == beyond
    assert narrow.n == 600 - beyond
    assert f"{beyond} chosen outside the first 4 options" in str(narrow)
    part = spreads.take(np.arange(100))
    mean, sd = brute_force(part, np.linspace(0.2, 4.0, 761), width=4)
    few = fit_reference(part, width=4)
    assert few.mean == pytest.approx(mean, abs=1e-3)
    assert few.sd == pytest.approx(sd, rel=0.01)


def test_another_constant(spreads: Spreads) -> None:
    part = spreads.take(np.arange(100))
    mean, _ = brute_force(part, np.linspace(0.5, 9.0, 341), k=0.5)
    assert fit_reference(part, K=0.5).mean == pytest.approx(mean, abs=1e-3)


def test_weights_are_powers_of_the_likelihood(spreads: Spreads) -> None:
    part = spreads.take(np.arange(100))
    one = fit_reference(part.weighted(np.full(100, 2.0)))
    other = fit_reference(part.take(np.tile(np.arange(100), 2)))
    assert one.mean == pytest.approx(other.mean, abs=1e-5)
    assert one.sd == pytest.approx(other.sd, rel=1e-4)


def test_the_table(spreads: Spreads) -> None:
    posterior = fit_reference(spreads.take(np.arange(50)))
    assert posterior.to_frame().columns == ["c", "density"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"K": 0.0},
        {"width": 1},
        {"prior_range": (-1.0, 1.0)},
        {"prior_range": (2.0, 1.0)},
        {"prior": ([0.0, 1.0], [1.0])},
        {"prior": ([1.0, 0.0], [1.0, 1.0])},
        {"prior": ([0.0, 1.0], [0.0, 0.0])},
        {"prior": ([0.0, 1.0], [-1.0, 1.0])},
    ],
)
def test_options_that_make_no_sense_are_refused(spreads: Spreads, wrong: dict[str, object]) -> None:
    with pytest.raises(InputError):
        fit_reference(spreads, **wrong)  # type: ignore[arg-type]


def test_the_grid_follows_where_the_data_go() -> None:
    """200 weak choices narrow the grid around c = 0; 2,000 strong ones then lie outside it."""
    weak = chosen_by(realistic_spreads(407, 200), 0.0, 408)
    strong = chosen_by(realistic_spreads(409, 2000), 3.0, 410)
    posterior = fit_reference(weak).update(strong)
    grid = np.linspace(1.0, 3.0, 21)
    ln = [plain_log_likelihood(weak, c) + plain_log_likelihood(strong, c) for c in grid]
    assert posterior.mean == pytest.approx(grid[int(np.argmax(ln))], abs=0.15)


def test_padding_changes_nothing(spreads: Spreads) -> None:
    part = spreads.take(np.arange(60))
    assert fit_reference(padded(part, 12)).mean == pytest.approx(fit_reference(part).mean, abs=1e-6)


def test_no_decisions_leave_the_prior(spreads: Spreads) -> None:
    """For live data: begin with nothing, then update."""
    nothing = fit_reference(spreads.take(np.zeros(0, dtype=np.int64)))
    assert nothing.n == 0
    assert nothing.mean == pytest.approx(5.0)
    assert nothing.update(spreads).mean == pytest.approx(fit_reference(spreads).mean, abs=1e-6)


def test_a_narrow_range_of_the_prior(spreads: Spreads) -> None:
    assert 1.50 <= fit_reference(spreads, prior_range=(1.50, 1.54)).mean <= 1.54
