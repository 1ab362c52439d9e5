"""Milepost: measure skill by the quality of decisions and by results through time.

The public names and where they live are listed in ``__init__.pyi``; each is loaded when it is first
used, so that ``import milepost`` costs next to nothing.
"""

import lazy_loader

__version__ = "0.2.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
