"""Game-neutral models of a fallible chooser: scaled differences, curves, ratio models, agents.

The names and where they live are listed in ``__init__.pyi``; each is loaded when it is first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
