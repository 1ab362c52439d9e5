from . import decisions as decisions
from . import ratings as ratings
