"""Slices of a history on a Ray cluster: one actor each, wherever there is a CPU.

Every actor reads its own slice of the files, so they must be there on all machines. A lost actor is
started anew by Ray, reads its slice again and goes on from the last messages across its borders:
these are all that the others know of it, and the driver keeps them.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from milepost.errors import InputError, MilepostError
from milepost.history.models import TTT
from milepost.history.records import SkippedResultsWarning
from milepost.history.result import History
from milepost.history.slices.piece import Slice
from milepost.history.slices.rounds import check_sliced, fit_in_slices, sources_of
from milepost.history.sweeping import Sweeping
from milepost.io.cluster import connected, import_ray
from milepost.io.progress import Report


def fit_on_cluster(
    paths: Sequence[str], model: TTT, *, period: str | float = "year", slices: int = 4,
    address: str | None = "auto", columns: dict[str, str] | None = None,
    sweeping: Sweeping | None = None, progress: Report | None = None,
) -> History:  # fmt: skip
    """Fit a history to Parquet files of results on a Ray cluster.

    Parameters
    ----------
    paths
        The files, under the same names on every machine.
    model, period, sweeping, progress
        As for `milepost.history.fit_history`: `TTT` that learns neither the level of newcomers nor
        the first mover's advantage.
    slices
        Into how many slices of time to cut the games.
    address
        As for `milepost.io.cluster.connected`.
    columns
        What the columns of the results table are called in the files.

    Raises
    ------
    InputError
        If the model or the files cannot be used, or Ray is not installed.
    WorkerError
        If there is no cluster.

    Warns
    -----
    SkippedResultsWarning
        If rows were left out.
    ConvergenceWarning
        If the fixed point was not reached.
    """
    check_sliced(model)
    if slices < 1:
        raise InputError(f"expected at least one slice, got {slices!r}")
    ray = import_ray()
    sources = sources_of(paths, slices, period, columns)
    with connected(ray, address):
        # More slices than CPUs take turns; Ray counts a CPU in shares.
        cpus = float(ray.cluster_resources().get("CPU", 1.0))
        share = 1.0 if cpus >= len(sources) else int(1e4 * cpus / len(sources)) / 1e4
        make = ray.remote(num_cpus=share, max_restarts=-1, max_task_retries=-1)(Slice)
        actors = [make.remote(source, model, period) for source in sources]
        try:
            history = fit_in_slices(
                _asking(ray, actors), len(actors), model, period, sweeping=sweeping,
                progress=progress,
            )  # fmt: skip
        finally:
            for actor in actors:
                ray.kill(actor)
    if history.skipped:
        told = ", ".join(f"{count} with {reason}" for reason, count in history.skipped.items())
        warnings.warn(f"left out results: {told}", SkippedResultsWarning, stacklevel=2)
    return history


def _asking(ray: ModuleType, actors: Sequence[Any]) -> Any:
    """Return the way to ask all actors at once."""

    def ask(name: str, arguments: list[tuple[Any, ...]]) -> list[Any]:
        answers = [
            getattr(actor, name).remote(*given)
            for actor, given in zip(actors, arguments, strict=True)
        ]
        try:
            found: list[Any] = ray.get(answers)
        except ray.exceptions.RayTaskError as error:
            cause = getattr(error, "cause", None)
            if isinstance(cause, MilepostError):
                raise type(cause)(str(cause)) from error
            raise
        return found

    return ask
