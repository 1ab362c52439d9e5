"""Other engines as assistants: their own best moves, where the store holds their evaluations.

For studies alone. The agents know the judge's values and no deeper ones, while honest players do
find moves that only a deeper search prefers: with such an assistant the mean of E among honest
players is far above 1, so `milepost check` takes none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import polars as pl

from milepost.analysis.engine.setup import readable_setup
from milepost.analysis.store.positions import stored_positions
from milepost.analysis.store.store import EvaluationStore
from milepost.choice.spreads import Floats

LEAST_SHARE: Final = 0.95
"""Another set-up is an assistant of its own if it holds so much of the turns."""


def find_juries(
    store: EvaluationStore,
    setup: str,
    positions: pl.Series,
    moves: pl.Series,
    fallback: Floats,
) -> list[tuple[str, Floats]]:
    """Return the other set-ups of a store that hold these turns, as assistants.

    All of them are taken, and none because of what it says.

    Parameters
    ----------
    store
        The store.
    setup
        The stored set-up that the values come from: no stranger.
    positions
        The position of each turn, as FEN.
    moves
        The moves of its options, in the order of their values.
    fallback
        Probability of every option where such a set-up lacks the turn.

    Returns
    -------
    list
        Names, and the probability of every option.
    """
    known = store.known_setups()
    stored = store.query("select distinct setup from evaluations")["setup"].to_list()
    answer = []
    for digest in sorted(stored):
        if digest == setup:
            continue
        chosen = best_moves(store, digest, positions)
        if sum(move is not None for move in chosen) >= LEAST_SHARE * len(chosen):
            name = f"best of {readable_setup(known.get(digest, {})) or digest}"
            answer.append((name, _certain(moves, chosen, fallback)))
    return answer


def best_moves(store: EvaluationStore, setup: str, positions: pl.Series) -> list[str | None]:
    """Return the best move of a stored set-up on each position; None = it is not there."""
    keys = stored_positions(positions)
    found = store.read(setup, positions=keys).filter(pl.col("moves").list.len() > 0)
    best = dict(found.select("position", pl.col("moves").list.first()).iter_rows())
    return [best.get(key) for key in keys]


def _certain(moves: pl.Series, chosen: Sequence[str | None], fallback: Floats) -> Floats:
    """Probability 1 for each chosen move; the fallback where there is none."""
    answer = fallback.copy()
    at = 0
    for options, move in zip(moves.to_list(), chosen, strict=True):
        if move in options:
            answer[at : at + len(options)] = 0.0
            answer[at + options.index(move)] = 1.0
        at += len(options)
    return np.ascontiguousarray(answer)
