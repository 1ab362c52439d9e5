"""Evaluations made elsewhere, brought into a store.

Each source has a set-up of its own in the store, so that its values never mix with others: only
`import_shared`, whose making is known to the last option, gets the set-up that a run of the plan
``quick`` has, and is then taken for such a run. A row that cannot be what it claims to be is
refused by its number, and the rest goes on.
"""

from __future__ import annotations

from typing import Any, TextIO

from milepost.analysis.deltalog import read_delta_log
from milepost.analysis.deltastore import delta_evaluations
from milepost.analysis.engines import EngineSetup
from milepost.analysis.importcomments import comments_setup, import_eval_comments
from milepost.analysis.importrows import Imported, Refused, add_rows
from milepost.analysis.importshared import import_shared, shared_setup, shared_turns
from milepost.analysis.positions import UNNAMED_MOVE
from milepost.analysis.store import EvaluationStore

__all__ = [
    "UNNAMED_MOVE",
    "Imported",
    "Refused",
    "comments_setup",
    "import_delta_log",
    "import_eval_comments",
    "import_shared",
    "shared_setup",
    "shared_turns",
]


def import_delta_log(
    handle: TextIO,
    store: EvaluationStore,
    *,
    engine: str = "unknown engine",
    turns: Any = None,
) -> Imported:
    """Store the turns of a delta log; see `milepost.analysis.deltalog`.

    Parameters
    ----------
    handle
        An open text file.
    store
        Where they go.
    engine
        What is known about the engine: logs of different engines must not be mixed.
    turns
        The turns of the log in their order, for logs that do not name positions; see
        `milepost.analysis.deltastore.delta_evaluations`.

    Returns
    -------
    Imported
        Turns with a line that is not what it should be, with an illegal move, or without a
        position are refused by the line on which they end.

    Raises
    ------
    InputError
        If `turns` are not as many as those of the log.
    """
    refused: list[Refused] = []
    entries = read_delta_log(handle, refused)
    setup = EngineSetup(engine, "", (), "delta log")
    read = len(entries) + len(refused)
    rows = delta_evaluations(entries, setup.digest, refused, turns=turns)
    refused.sort(key=lambda each: each.place)
    return add_rows(store, setup, rows, {"rows read": read}, refused)
