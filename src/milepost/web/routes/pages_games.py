"""The page of a game: each turn beside what players of the same Elo do."""

from __future__ import annotations

from typing import Annotated, Any

import chess
import polars as pl
from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, Response

from milepost.web.bench import Bench, TheBench
from milepost.web.playing import spoken
from milepost.web.routes.models import PROBLEMS
from milepost.web.safety.problems import RefusedError
from milepost.web.sets.tables import SetTables
from milepost.web.shown.charts import chart_response
from milepost.web.shown.curves import surprise_chart
from milepost.web.shown.formats import Format, table_response
from milepost.web.shown.pages import render
from milepost.web.work import player_id

router = APIRouter()
_EASY, _HARD = 0.6, 1.6
"""Entropies of a choice, in nats: nearly everybody plays the same; many moves are likely."""


@router.get("/api/v1/sets/{set_id}/games/{game_id}/turns", tags=["tables"], responses=PROBLEMS,
            response_class=Response)  # fmt: skip
def get_turns(
    bench: TheBench, set_id: str, game_id: str,
    form: Annotated[Format, Query(alias="format")] = Format.JSON,
) -> Response:  # fmt: skip
    """Return the analysed turns of a game, each beside what equals do."""
    tables = bench.tables(set_id)
    tables.game(game_id)
    return table_response(tables.game_turns(game_id, bench.settings.store), form, "turns")


@router.get("/sets/{set_id}/games/{game_id}", include_in_schema=False)
def show_game(
    request: Request, bench: TheBench, set_id: str, game_id: str,
    ply: Annotated[int, Query(ge=0, le=10_000)] = 0, flipped: bool = False,
) -> HTMLResponse:  # fmt: skip
    """Show a game at one of its turns."""
    tables = bench.tables(set_id)
    game = tables.game(game_id)
    turns = _turns_of(bench, tables, game_id)
    lines = _lines(game, turns)
    if not lines:
        raise RefusedError(404, "No moves", "This game has no moves.")
    ply = min(ply, len(lines) - 1)
    here = lines[ply]
    return render(
        request,
        "game.html",
        set_id=set_id,
        set_title=tables.chosen.about["title"],
        game=game,
        white=player_id(set_id, game["white_key"] or ""),
        black=player_id(set_id, game["black_key"] or ""),
        lines=lines,
        here=here,
        ply=ply,
        last=len(lines) - 1,
        flipped=flipped,
        analysed=len(turns),
        told=_told(here),
        finding=_finding(turns),
        file=tables.chosen.about["file"],
        store=bench.settings.store,
    )


@router.get("/sets/{set_id}/games/{game_id}/charts/surprise.{form}", include_in_schema=False)
def chart(bench: TheBench, set_id: str, game_id: str, form: str, narrow: bool = False) -> Response:
    """Draw how surprising each move was."""
    tables = bench.tables(set_id)
    tables.game(game_id)
    turns = _turns_of(bench, tables, game_id)
    known = turns.filter(pl.col("chance").is_not_null()) if len(turns) else turns
    if known.is_empty():
        raise RefusedError(409, "Nothing to draw", "No turn of this game has a known chance.")
    return chart_response(surprise_chart(known), form, narrow=narrow)


def _turns_of(bench: Bench, tables: SetTables, game_id: str) -> pl.DataFrame:
    """The analysed turns of a game; empty if there are none."""
    try:
        return tables.game_turns(game_id, bench.settings.store)
    except RefusedError:
        return pl.DataFrame()


def _lines(game: dict[str, Any], turns: pl.DataFrame) -> list[dict[str, Any]]:
    """All half-moves of a game, each with what is known of its turn."""
    known = {row["ply"]: row for row in turns.iter_rows(named=True)}
    chess960 = game.get("variant") == "chess960"
    board = chess.Board(game["fen"] or chess.STARTING_FEN, chess960=chess960)
    lines = []
    for ply, text in enumerate((game["moves"] or "").split()):
        move = chess.Move.from_uci(text)
        lines.append({
            "ply": ply,
            "number": board.fullmove_number,
            "white": board.turn == chess.WHITE,
            "fen": board.fen(),
            "text": str(board),
            "uci": text,
            "san": board.san(move),
            "spoken": spoken(board, move),
            "turn": known.get(ply),
        })  # fmt: skip
        board.push(move)
    return lines


def _told(line: dict[str, Any]) -> str:
    """How hard a turn was, in words: what it asked, and not what became of it."""
    turn = line["turn"]
    if turn is None:
        return "This turn is not analysed: book, repetition, an only move, or not reached yet."
    entropy = turn["entropy"]
    if entropy is None:
        return "The Elo of this player is not known, so neither is what equals would play."
    if entropy < _EASY:
        return "An easy turn: nearly all equals would choose the same."
    if entropy > _HARD:
        return "A hard turn: equals would be spread over many moves."
    return "A turn with a few likely moves."


def _finding(turns: pl.DataFrame) -> str:
    known = turns.filter(pl.col("chance").is_not_null()) if len(turns) else turns
    if known.is_empty():
        return ""
    rare = known.sort("chance").row(0, named=True)
    number = f"{rare['move_number']}{'.' if rare['colour'] == 'white' else '…'}"
    return (
        f"{len(known)} analysed turns. The rarest choice: {number} {rare['san']}, which "
        f"{100 * rare['chance']:.1f} of 100 equals would play."
    )
