"""Skill through time from results: TrueSkill, TrueSkill Through Time, joint histories.

The public names and where they live are listed in ``__init__.pyi``; each is loaded when it is first
used, so that importing one module of the folder does not load all of them.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
