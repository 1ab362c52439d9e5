"""Skill through time from results: TrueSkill, TrueSkill Through Time, joint histories."""

from milepost.history.fit import fit, prequential
from milepost.history.records import SkippedResultsWarning
from milepost.history.result import Comparison, History, Prediction
from milepost.history.solver.convergence import ConvergenceWarning, Sweep
from milepost.history.teams.game import Game
from milepost.history.teams.rate import rate_game
from milepost.history.tuning.tune import tune

__all__ = [
    "Comparison",
    "ConvergenceWarning",
    "Game",
    "History",
    "Prediction",
    "SkippedResultsWarning",
    "Sweep",
    "fit",
    "prequential",
    "rate_game",
    "tune",
]
