"""Pictures and scripts that are made on the way: boards, and the library that draws charts."""

from __future__ import annotations

from functools import cache
from typing import Annotated

import chess
import chess.svg
from fastapi import APIRouter, Query
from fastapi.responses import RedirectResponse, Response

from milepost.errors import InputError

router = APIRouter(include_in_schema=False)


@router.get("/vega.js")
def vega() -> Response:
    """Return Vega, as vl-convert brings it: nothing is loaded from elsewhere."""
    return Response(
        _vega(), media_type="text/javascript", headers={"cache-control": "max-age=86400"}
    )


@cache
def _vega() -> str:
    import vl_convert

    bundle: str = vl_convert.javascript_bundle(None)  # type: ignore[arg-type]
    return bundle


@router.get("/favicon.ico")
def favicon() -> Response:
    """Say where the icon is, to browsers that look for it here."""
    return RedirectResponse("/static/icon.svg")


@router.get("/board.svg")
def board(
    fen: Annotated[str, Query(max_length=100)],
    last: Annotated[str, Query(max_length=5)] = "",
    best: Annotated[str, Query(max_length=5)] = "",
    flipped: bool = False,
) -> Response:
    """Draw a position, its last move, and an arrow for the engine's move."""
    try:
        position = chess.Board(fen)
        moves = [chess.Move.from_uci(text) if text else None for text in (last, best)]
    except ValueError as error:
        raise InputError("this is no position, or no move") from error
    arrow = moves[1]
    text = chess.svg.board(
        position,
        orientation=chess.BLACK if flipped else chess.WHITE,
        lastmove=moves[0],
        arrows=[] if arrow is None else [chess.svg.Arrow(
            arrow.from_square, arrow.to_square, color="#0b5c94b0")],
        check=position.king(position.turn) if position.is_check() else None,
    )  # fmt: skip
    return Response(text, media_type="image/svg+xml", headers={"cache-control": "max-age=3600"})
