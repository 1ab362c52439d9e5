from . import agents as agents
from . import analyses as analyses
from . import bridges as bridges
from . import decisions as decisions
from . import fairplay as fairplay
from . import games as games
from . import histories as histories
from . import ratings as ratings
