from .choice.agent import Agent as Agent
from .choice.spreads import Spreads as Spreads
from .games.load import read_turns as read_turns
from .intrinsic.calibration.calibration import Calibration as Calibration
from .intrinsic.calibration.calibration import load_calibration as load_calibration

__version__: str
