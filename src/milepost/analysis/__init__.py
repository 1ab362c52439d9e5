"""Engines, search plans and the evaluation store: positions in, a value for every move out.

The public names are listed in ``__init__.pyi``; each is loaded when it is first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
