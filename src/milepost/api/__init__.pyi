from . import agents as agents
from . import decisions as decisions
from . import histories as histories
from . import ratings as ratings
