"""All experiments, by name."""

from __future__ import annotations

import importlib

from milepost.errors import InputError
from milepost.papers.experiment import REGISTERED, Experiment

MODULES: tuple[str, ...] = (
    "ttt2007_games",
    "ttt2007_evidence",
    "ttt2007_surface",
    "ttt2007_curves",
    "ttt2007_champions",
    "ttt2007_draws",
    "ttt2007_top",
    "ipr2011table",
    "ipr2011inflation",
    "ipr2011scale",
    "ipr2011signs",
    "ipr2011ties",
    "ipr2011models",
    "ipr2011depths",
    "ipr2011speeds",
    "ipr2011groups",
    "ipr2011ratings",
    "agents2009",
    "agents2009results",
    "script",
)
"""The modules of this folder that register experiments, in the order of the index."""


def experiments() -> dict[str, Experiment]:
    """Return all experiments by name, in order."""
    for module in MODULES:
        importlib.import_module(f"milepost.papers.{module}")
    return dict(REGISTERED)


def find_experiments(names: list[str]) -> list[Experiment]:
    """Return the experiments of given names; a paper's year stands for all of its own.

    Raises
    ------
    InputError
        If a name is not known.
    """
    known = experiments()
    found: list[Experiment] = []
    for name in names:
        chosen = [each for each in known.values() if name in {each.name, each.paper}]
        if not chosen:
            raise InputError(f"no experiment {name!r}; there are {', '.join(known)}")
        found += [each for each in chosen if each not in found]
    return found
