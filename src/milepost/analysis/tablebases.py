"""Endgame tables as the judge that makes no mistakes (Di Fatta, Haworth & Regan 2009, II.A).

Where few enough men are left, Syzygy tables know the value of every move. `add_endgames` writes a
store's evaluations once more under a set-up of their own, whose digest names the tables: positions
that the tables hold get their values, all others stay as the engine saw them. A won move is worth
100 pawns less 0.01 for each half-move to the next capture or pawn move (so that quicker wins come
first), a lost one the same below zero, a draw nothing. Wins that the fifty-move rule spoils are
draws. The tables know nothing of castling: positions with castling rights stay the engine's.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import chess

from milepost.analysis.engine.setup import EngineSetup
from milepost.analysis.store.store import EvaluationStore
from milepost.errors import InputError

WON_CP = 10_000
"""A won move, in centipawns: more than any evaluation, less than a mate."""
_ENDINGS = (".rtbw", ".rtbz")
_AT_ONCE = 5_000


class Prober(Protocol):
    """What is asked of the tables; `chess.syzygy.Tablebase` has it."""

    def get_wdl(self, board: chess.Board) -> int | None:
        """Return 2 (won), 1, 0, -1 or -2 (lost) for the side to move; None if it is not there."""

    def get_dtz(self, board: chess.Board) -> int | None:
        """Return the half-moves to the next capture or pawn move; None if it is not there."""


@dataclass(frozen=True)
class Endgames:
    """What became of a store's evaluations."""

    setup: EngineSetup
    """The set-up that the new ones have."""
    judged: int
    """Evaluations with the tables' values."""
    kept: int
    """Evaluations that stayed the engine's."""


def tables_digest(folder: str | Path) -> str:
    """Return a digest of the tables in a folder: their names and sizes.

    Raises
    ------
    InputError
        If there are none.
    """
    files = sorted(each for each in Path(folder).glob("*") if each.suffix in _ENDINGS)
    if not any(each.suffix == ".rtbw" for each in files):
        raise InputError(f"{folder} holds no Syzygy tables (files that end in .rtbw)")
    facts = "\n".join(f"{each.name} {each.stat().st_size}" for each in files)
    return hashlib.sha256(facts.encode("utf-8")).hexdigest()[:16]


def endgame_setup(engine: EngineSetup, tables: str) -> EngineSetup:
    """Return the set-up of an engine beside tables of a given digest."""
    options = tuple(sorted((*engine.options, ("Syzygy tables", tables))))
    return EngineSetup(f"{engine.name} + Syzygy", engine.net, options, engine.plan)


def move_values(board: chess.Board, moves: Iterable[str], prober: Prober) -> list[int] | None:
    """Return the worth of moves in centipawns for the mover; None if the tables lack one."""
    values = []
    for move in moves:
        board.push(chess.Move.from_uci(move))
        # A mate ends the game before anything is looked up; a stalemate is in the tables.
        won = 2 if board.is_checkmate() else None
        wdl = prober.get_wdl(board) if won is None else -won
        dtz = 0 if won is not None else prober.get_dtz(board)
        board.pop()
        if wdl is None:
            return None
        sign = {2: -1, -2: 1}.get(wdl, 0)
        values.append(sign * (WON_CP - min(abs(dtz or 0), 999)))
    return values


def judged(row: dict[str, Any], prober: Prober) -> dict[str, Any] | None:
    """Return an evaluation with the tables' values at every depth; None if they lack it."""
    board = chess.Board(row["position"])
    if board.castling_rights or not row["moves"]:
        return None
    values = move_values(board, row["moves"], prober)
    if values is None:
        return None
    order = sorted(range(len(values)), key=lambda place: -values[place])
    line = [values[place] for place in order]
    depths = len(row["cp"])
    return row | {
        "moves": [row["moves"][place] for place in order],
        "cp": [line] * depths,
        "mate": [[None] * len(line)] * depths,
    }


def add_endgames(
    store: EvaluationStore, folder: str | Path, *, setup: str | None = None,
    prober: Prober | None = None,
) -> Endgames:  # fmt: skip
    """Store a set-up's evaluations once more, with the values of endgame tables.

    Parameters
    ----------
    store
        The store; what it has under the new set-up already is left as it is.
    folder
        The folder with the Syzygy tables.
    setup
        The engine's set-up, if the store holds several.
    prober
        What to ask instead of the tables [default: the tables of the folder].

    Raises
    ------
    InputError
        If the folder holds no tables, or it is not clear which set-up is meant.
    """
    key = store.pick_setup(setup)
    about = store.known_setups()[key]
    engine = EngineSetup(
        about["name"], about["net"], tuple(sorted(about["options"].items())), about["plan"]
    )
    new = endgame_setup(engine, tables_digest(folder))
    store.add_setup(new)
    known = store.keys(new.digest)
    table = store.read(key)
    counts = {True: 0, False: 0}
    with _opened(folder, prober) as tables:
        for part in table.iter_slices(_AT_ONCE):
            rows = []
            for row in part.iter_rows(named=True):
                if (row["position"], row["played"]) in known:
                    continue
                found = judged(row, tables)
                counts[found is not None] += 1
                rows.append((found or row) | {"setup": new.digest})
            store.append(rows)
    return Endgames(new, counts[True], counts[False])


@contextmanager
def _opened(folder: str | Path, prober: Prober | None) -> Iterator[Prober]:
    """The tables of a folder, closed at the end; or what was given in their place."""
    if prober is not None:
        yield prober
        return
    import chess.syzygy

    with chess.syzygy.open_tablebase(str(folder)) as tables:
        yield tables
