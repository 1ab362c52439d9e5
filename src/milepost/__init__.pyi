from . import api as api
from .api.decisions import Decisions as Decisions
from .api.decisions import TurnRules as TurnRules
from .api.decisions import decisions as decisions
from .api.ratings import CalibrationPlan as CalibrationPlan
from .api.ratings import Likelihood as Likelihood
from .api.ratings import Ratings as Ratings
from .api.ratings import calibrate as calibrate
from .api.ratings import calibrations as calibrations
from .api.ratings import likelihood as likelihood
from .api.ratings import rate as rate
from .choice.agent import Agent as Agent
from .choice.spreads import Spreads as Spreads
from .games.load import read_turns as read_turns
from .intrinsic.calibration.calibration import Calibration as Calibration
from .intrinsic.calibration.calibration import load_calibration as load_calibration

__version__: str
