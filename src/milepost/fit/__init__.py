"""Estimates of an agent's sensitivity and consistency from choices, with honest intervals."""

from milepost.fit.agents import NotConvergedWarning, fit_agent, fit_model
from milepost.fit.cohorts import CohortFits, fit_cohorts
from milepost.fit.compare import Candidate, Comparison, compare
from milepost.fit.posterior import AgentPosterior, fit_posterior
from milepost.fit.profile import profile_interval
from milepost.fit.quality import PercentileScore, influence
from milepost.fit.reference import CompetencePosterior, fit_reference
from milepost.fit.result import FitResult
from milepost.fit.smooth import SmoothFit, fit_smooth

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
