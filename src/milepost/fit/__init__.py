"""Estimates of an agent's sensitivity and consistency from choices, with honest intervals."""

from milepost.fit.agent import NotConvergedWarning, fit_agent, fit_model
from milepost.fit.cohorts import CohortFits, fit_cohorts
from milepost.fit.comparison.compare import Candidate, Comparison, compare
from milepost.fit.methods.posterior import AgentPosterior, fit_posterior
from milepost.fit.methods.reference import CompetencePosterior, fit_reference
from milepost.fit.methods.smooth import SmoothFit, fit_smooth
from milepost.fit.quality import PercentileScore, influence
from milepost.fit.result import FitResult
from milepost.fit.uncertainty.profile import profile_interval

__all__ = [
    "AgentPosterior",
    "Candidate",
    "CohortFits",
    "Comparison",
    "CompetencePosterior",
    "FitResult",
    "NotConvergedWarning",
    "PercentileScore",
    "SmoothFit",
    "compare",
    "fit_agent",
    "fit_cohorts",
    "fit_model",
    "fit_posterior",
    "fit_reference",
    "fit_smooth",
    "influence",
    "profile_interval",
]
