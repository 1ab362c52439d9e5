"""Results and options that made ratings run away, or years that cannot be, without a word."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from milepost.errors import InputError
from milepost.history import TTT, Elo, Glicko2, fit_history
from milepost.history.records import SkippedResultsWarning, read_records
from milepost.history.solver.convergence import ConvergenceWarning


def lopsided(games: int, years: int, share: float) -> pl.DataFrame:
    """Two players with many games a year, of which one wins a fixed share."""
    rng = np.random.default_rng(7)
    rows = games * years
    return pl.DataFrame(
        {
            "time": np.repeat(np.arange(2000, 2000 + years), games),
            "player_1": ["a"] * rows,
            "player_2": ["b"] * rows,
            "score": (rng.random(rows) < share).astype(float),
        }
    )


def test_glicko2_that_diverges_says_so() -> None:
    with pytest.warns(ConvergenceWarning, match=r"glicko2 sets them no bound.*a shorter period"):
        found = fit_history(lopsided(500, 20, 0.8), Glicko2())
    assert not found.converged


def test_elo_and_glicko2_on_the_same_games_in_a_usual_number_are_quiet() -> None:
    for model in (Glicko2(), Elo()):
        assert fit_history(lopsided(12, 20, 0.8), model).converged


def test_a_sigma_of_a_million_beta_is_not_silent() -> None:
    results = pl.DataFrame(
        {"time": [2000] * 3, "player_1": ["a", "a", "b"], "player_2": ["b", "c", "c"],
         "score": [1.0, 1.0, 1.0]}
    )  # fmt: skip
    with pytest.warns(ConvergenceWarning, match="give a smaller sigma"):
        fit_history(results, TTT(beta=1.0, sigma=1e6, tau=0.0))
    fit_history(results, TTT())  # usual options are quiet


def test_a_year_of_five_digits_among_years_is_left_out() -> None:
    results = pl.DataFrame(
        {"time": [2000, 2001, 20240], "player_1": ["a"] * 3, "player_2": ["b", "c", "c"],
         "score": [1.0] * 3}
    )  # fmt: skip
    with pytest.warns(SkippedResultsWarning, match="1 with a year that cannot be"):
        assert read_records(results).games == 2
    # Days since some day are no years, whatever their size.
    assert read_records(results.with_columns(time=pl.Series([7, 2001, 20240]))).games == 3


def test_times_that_are_lists_are_refused() -> None:
    results = pl.DataFrame({"time": [[1]], "player_1": ["a"], "player_2": ["b"], "score": [1.0]})
    with pytest.raises(InputError, match="expected dates or numbers"):
        read_records(results)


def test_a_weight_that_would_swallow_all_others_is_left_out() -> None:
    results = pl.DataFrame(
        {"time": [2000] * 3, "player_1": ["a"] * 3, "player_2": ["b", "c", "c"],
         "score": [1.0] * 3, "weight": [1e308, 1e308, 1.0]}
    )  # fmt: skip
    with pytest.warns(SkippedResultsWarning, match="2 with a weight beyond 1e12"):
        assert read_records(results).games == 1
