"""The whole jobs, as functions of files or frames: what every surface calls.

One module a family of jobs; each is loaded when it is first used. None of them prints.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
