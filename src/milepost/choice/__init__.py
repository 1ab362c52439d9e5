"""Game-neutral models of a fallible chooser: scaled differences, curves, ratio models, agents."""

from milepost.choice.agent import Agent
from milepost.choice.depths import DepthScheme
from milepost.choice.model import ChoiceModel
from milepost.choice.projections import Projection
from milepost.choice.reference_agent import ReferenceAgent
from milepost.choice.scale import Scale
from milepost.choice.spreads import Spreads

__all__ = [
    "Agent",
    "ChoiceModel",
    "DepthScheme",
    "Projection",
    "ReferenceAgent",
    "Scale",
    "Spreads",
]
