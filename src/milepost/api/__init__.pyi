from . import agents as agents
from . import decisions as decisions
from . import ratings as ratings
