"""Endgame tables as the judge: real tables of three men against facts, and a stand-in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import chess
import pytest

from milepost.analysis.engine.setup import EngineSetup
from milepost.analysis.store.positions import stored_position
from milepost.analysis.store.store import EvaluationStore
from milepost.analysis.tablebases import WON_CP, add_endgames, endgame_setup, tables_digest
from milepost.errors import InputError

TABLES = Path(__file__).parents[1] / "data" / "syzygy"
ENGINE = EngineSetup("Some engine", "", (("Hash", "16"),), "quick depth 2 width 256")
# White wins by mate at once (Qg7#, for one); Qf7 and Qh6 are other things; Qf8+ loses the queen.
QUEEN = "7k/8/5K2/8/8/8/8/6Q1 w - - 0 1"


def row(fen: str) -> dict[str, Any]:
    """An evaluation in which the engine holds all moves for equal."""
    moves = [move.uci() for move in chess.Board(fen).legal_moves]
    return {
        "position": stored_position(fen), "played": None, "setup": ENGINE.digest, "moves": moves,
        "cp": [[5] * len(moves)] * 2, "mate": [[None] * len(moves)] * 2, "nodes": 1,
    }  # fmt: skip


def store_of(tmp_path: Path, *fens: str) -> EvaluationStore:
    store = EvaluationStore(tmp_path / "store", create=True)
    store.add_setup(ENGINE)
    store.append([row(fen) for fen in fens])
    return store


def test_real_tables_know_every_move(tmp_path: Path) -> None:
    rook = "8/8/8/8/8/2k5/8/K6R w - - 0 1"
    store = store_of(tmp_path, QUEEN, rook, chess.STARTING_FEN)
    found = add_endgames(store, TABLES)
    assert (found.judged, found.kept) == (2, 1)
    table = store.read(found.setup.digest)
    assert len(table) == 3
    seen = {r["position"]: r for r in table.iter_rows(named=True)}
    queen = seen[stored_position(QUEEN)]
    values = dict(zip(queen["moves"], queen["cp"][-1], strict=True))
    # The mate is worth most; moves that leave the queen to be taken, or stalemate, are drawn.
    board = chess.Board(QUEEN)
    mates = [m.uci() for m in board.legal_moves if _after(board, m).is_checkmate()]
    assert mates
    assert {values[move] for move in mates} == {WON_CP}
    assert set(queen["moves"][: len(mates)]) == set(mates)
    stale = [m.uci() for m in board.legal_moves if _after(board, m).is_stalemate()]
    assert all(values[move] == 0 for move in stale)
    assert queen["cp"][0] == queen["cp"][1]
    # Every move that keeps it wins, one that loses it draws.
    rooks = seen[stored_position(rook)]
    lost = {
        m.uci() for m in chess.Board(rook).legal_moves
        if any(_after(chess.Board(rook), m).is_capture(r)
               for r in _after(chess.Board(rook), m).legal_moves)
    }  # fmt: skip
    for move, value in zip(rooks["moves"], rooks["cp"][-1], strict=True):
        assert (value == 0) is (move in lost), move
    # The start of the game stays the engine's.
    assert seen[stored_position(chess.STARTING_FEN)]["cp"] == row(chess.STARTING_FEN)["cp"]


def _after(board: chess.Board, move: chess.Move) -> chess.Board:
    after = board.copy()
    after.push(move)
    return after


def test_the_tables_are_part_of_the_set_up(tmp_path: Path) -> None:
    digest = tables_digest(TABLES)
    assert endgame_setup(ENGINE, digest).digest != ENGINE.digest
    assert endgame_setup(ENGINE, digest).digest != endgame_setup(ENGINE, "other").digest
    store = store_of(tmp_path, QUEEN)
    first = add_endgames(store, TABLES, setup=ENGINE.digest)
    again = add_endgames(store, TABLES, setup=ENGINE.digest)
    assert first.setup == again.setup
    assert (again.judged, again.kept) == (0, 0)
    with pytest.raises(InputError, match="no Syzygy tables"):
        tables_digest(tmp_path)


class Stub:
    """Tables that call every position after a move lost for the side to move, or lack it."""

    def __init__(self, wdl: int | None):
        self.wdl = wdl

    def get_wdl(self, board: chess.Board) -> int | None:
        return self.wdl

    def get_dtz(self, board: chess.Board) -> int | None:
        return None


@pytest.mark.parametrize(("wdl", "value"), [(-2, WON_CP), (-1, 0), (0, 0), (1, 0), (2, -WON_CP)])
def test_values_follow_the_tables(tmp_path: Path, wdl: int, value: int) -> None:
    fen = "8/8/8/8/8/2k5/8/K6R w - - 0 1"
    store = store_of(tmp_path, fen)
    found = add_endgames(store, TABLES, prober=Stub(wdl))
    assert set(store.read(found.setup.digest)["cp"][0][-1].to_list()) == {value}


def test_what_the_tables_lack_stays(tmp_path: Path) -> None:
    castling = "4k3/8/8/8/8/8/8/4K2R w K - 0 1"
    store = store_of(tmp_path, castling)
    (tmp_path / "other").mkdir()
    other = store_of(tmp_path / "other", "8/8/8/8/8/2k5/8/K6R w - - 0 1")
    assert add_endgames(other, TABLES, prober=Stub(None)).judged == 0
    # The table KRvK is there, but it knows nothing of castling.
    assert add_endgames(store, TABLES).judged == 0
