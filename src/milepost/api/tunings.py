"""Tunings as whole jobs: which settings of a history explain results best."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from milepost import history as stage
from milepost.api.chosen_results import ChosenResults, choose
from milepost.api.histories import model_and_sweeping
from milepost.errors import InputError
from milepost.history.models import TTT, TTTD, Model, described
from milepost.history.periods import checked_period as check_period
from milepost.history.sweeping import Sweeping
from milepost.history.tuning.search import free_numbers, read_axes, search_limit
from milepost.history.tuning.tune import Tuning, parse_values
from milepost.io.progress import Report
from milepost.io.provenance import provenance

__all__ = [
    "ChosenResults",
    "Tuning",
    "check_period",
    "choose",
    "free_numbers",
    "parse_values",
    "read_axes",
    "search_limit",
    "tunable",
    "tune",
    "tuning_provenance",
]


def tune(
    results: Any,
    model: TTT | TTTD | None = None,
    *,
    vary: Mapping[str, Any],
    period: str | float = "year",
    by: str = "evidence",
    window: int = 3,
    start: Any = None,
    optimise: bool = False,
    evaluations: int | None = None,
    sweeping: Sweeping | None = None,
    progress: Report | None = None,
) -> Tuning:
    """Try a grid of a history's numbers on results, and refine the best: see `history.tune`.

    Parameters
    ----------
    results
        Files, a frame, or what `choose` returned.
    model, vary, period, by, window, start, optimise, evaluations, sweeping
        See `milepost.history.tune`.
    progress
        Called after each point.
    """
    chosen = choose(results)
    return stage.tune(
        chosen.table, model, vary=vary, period=period, by=by, window=window, start=start,
        optimise=optimise, evaluations=evaluations, sweeping=sweeping, progress=progress,
    )  # fmt: skip


def tunable(
    name: str, settings: Mapping[str, Any], *, chess: bool = False
) -> tuple[TTT | TTTD, Sweeping | None]:
    """Return what `model_and_sweeping` does, of the models that can be tuned.

    Raises
    ------
    InputError
        If it is none of them.
    """
    model, sweeping = model_and_sweeping(name, settings, chess=chess)
    if not isinstance(model, TTT | TTTD):
        raise InputError(f"expected the model ttt or ttt-d, got {name}")
    return model, sweeping


def tuning_provenance(
    chosen: ChosenResults, model: Model, vary: Mapping[str, Any], how: Mapping[str, Any]
) -> dict[str, Any]:
    """Return what the table of a tuning says about how it was made."""
    options = {**described(model), **vary, **how, **chosen.choices}
    return provenance("tune", options, [dict(each) for each in chosen.inputs])
