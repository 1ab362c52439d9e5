"""Play against the bot: the page, and what it asks the server."""

from __future__ import annotations

import io
import math
from typing import Annotated, Any, Literal

import chess
import chess.svg
from fastapi import APIRouter, Form, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import BaseModel, Field

from milepost.api.minds import PLAN, shipped_ranges
from milepost.errors import InputError
from milepost.web.bench import TheBench
from milepost.web.playing import MOST_PLIES, as_pgn, board_after, standing
from milepost.web.routes.models import PROBLEMS
from milepost.web.safety.problems import RefusedError
from milepost.web.shown.formats import plain
from milepost.web.shown.pages import render

router = APIRouter()

Move = Annotated[str, Field(min_length=4, max_length=5)]
Elo = Annotated[float, Field(ge=0, le=4000)]
Colour = Literal["white", "black"]


class AskedMove(BaseModel):
    """A position, and the Elo of who is to move."""

    fen: str = Field(max_length=100)
    elo: Elo = 1500.0


class GuessedMove(BaseModel):
    """One legal move."""

    move: str
    san: str
    probability: float
    value: float
    score: str
    loss: float


class Guessed(BaseModel):
    """What humans of an Elo would play in a position."""

    position: str
    elo: float
    moves: list[GuessedMove] = Field(description="the likeliest first")
    best: str
    slip: float = Field(description="probability of giving away a pawn or more")
    expected_loss: float
    entropy: float
    source: str
    notes: list[str]


class AskedGame(BaseModel):
    """A game so far, and whose turn the person has."""

    moves: list[Move] = Field(default_factory=list, max_length=MOST_PLIES)
    human: Colour = "white"
    elo: Elo = 1500.0
    game: int = Field(1, ge=0, le=1_000_000_000, description="the same number, the same replies")


class GameNow(BaseModel):
    """A game after the bot has moved, if it was its turn."""

    fen: str
    pieces: dict[str, str]
    turn: Colour
    moves: list[str]
    sans: list[str]
    spoken: list[str]
    legal: dict[str, str]
    check: str | None
    result: str | None
    reason: str | None
    source: str | None = Field(None, description="where the bot's move came from")
    slip: float | None = Field(None, description="how probable its slip was")


@router.post("/api/v1/move", tags=["play"], responses=PROBLEMS)
def guess_move(bench: TheBench, asked: AskedMove) -> Guessed:
    """Say what humans of an Elo would play in a position."""
    found = bench.opponent.guess(asked.fen, asked.elo)
    return Guessed(
        position=found.position, elo=found.elo, moves=plain(found.table.to_dicts()),
        best=found.best, slip=found.slip, expected_loss=found.expected_loss,
        entropy=found.entropy, source=found.source, notes=list(found.notes),
    )  # fmt: skip


@router.post("/api/v1/play", tags=["play"], responses=PROBLEMS)
def play(bench: TheBench, asked: AskedGame) -> GameNow:
    """Return a game with the bot's reply, if it is the bot's turn."""
    board = board_after(asked.moves)
    told: dict[str, Any] = {}
    bots_turn = board.turn != (asked.human == "white")
    if bots_turn and board.outcome(claim_draw=True) is None and len(asked.moves) < MOST_PLIES:
        reply = bench.opponent.reply(board, asked.elo, asked.game)
        board.push(reply.move)
        told = {"source": reply.source, "slip": reply.slip}
    return GameNow(**standing(board), **told)


@router.get("/play", include_in_schema=False)
def show_play(request: Request, bench: TheBench) -> HTMLResponse:
    """Show the board."""
    try:
        low, high = bench.opponent.range
        missing = ""
    except RefusedError as error:
        low, high, missing = 1400, 2800, error.problem.detail
    low, high = 10 * math.ceil(low / 10), 10 * math.floor(high / 10)
    start = min(max(1600, low), high)
    most = round(shipped_ranges()[PLAN][1])
    return render(request, "play.html", low=low, high=high, start=start, most=most, missing=missing)


@router.get("/piece/{name}.svg", include_in_schema=False)
def piece(name: str) -> Response:
    """Draw a piece."""
    try:
        found = chess.Piece.from_symbol(name[1:] if name[:1] == "w" else name[1:].lower())
    except (ValueError, IndexError) as error:
        raise RefusedError(404, "No such piece", "There are wK to bp.") from error
    headers = {"cache-control": "max-age=86400"}
    return Response(chess.svg.piece(found), media_type="image/svg+xml", headers=headers)


Moves = Annotated[str, Form(max_length=6 * MOST_PLIES)]


@router.post("/play/pgn", include_in_schema=False)
def pgn(
    moves: Moves, human: Annotated[Colour, Form()], elo: Annotated[float, Form(ge=0, le=4000)],
    resigned: Annotated[str, Form()] = "",
) -> Response:  # fmt: skip
    """Return a game as a file."""
    text = as_pgn(board_after(moves.split()), human=human, elo=elo, resigned=bool(resigned))
    headers = {"content-disposition": 'attachment; filename="game.pgn"'}
    return Response(text, media_type="application/x-chess-pgn", headers=headers)


@router.post("/play/rate", include_in_schema=False)
def rate_game(
    bench: TheBench, moves: Moves, human: Annotated[Colour, Form()],
    elo: Annotated[float, Form(ge=0, le=4000)], resigned: Annotated[str, Form()] = "",
) -> Response:  # fmt: skip
    """Make a set of a game, and rate both sides."""
    board = board_after(moves.split())
    if board.ply() < 2:
        raise InputError("there is nothing to rate yet")
    text = as_pgn(board, human=human, elo=elo, resigned=bool(resigned))
    chosen, new = bench.shelf.add(io.BytesIO(text.encode()), "game.pgn")
    if new:
        chosen.tell(title="Game against the bot")
        bench.jobs.start(chosen)
    return RedirectResponse(f"/sets/{chosen.id}", 303)
