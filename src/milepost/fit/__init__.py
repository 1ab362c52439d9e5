"""Estimates of an agent's sensitivity and consistency from choices, with honest intervals.

The names and where they live are listed in ``__init__.pyi``; each is loaded when it is first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
