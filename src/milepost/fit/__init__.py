"""Estimates of an agent's sensitivity and consistency from choices, with honest intervals."""

from milepost.fit.agents import NotConvergedWarning, fit_agent, fit_model
from milepost.fit.result import FitResult

__all__ = ["FitResult", "NotConvergedWarning", "fit_agent", "fit_model"]
