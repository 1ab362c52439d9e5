from .agent import Agent as Agent
from .depths import DepthScheme as DepthScheme
from .model import ChoiceModel as ChoiceModel
from .projections import Projection as Projection
from .reference_agent import ReferenceAgent as ReferenceAgent
from .scale import Scale as Scale
from .spreads import Spreads as Spreads
