"""A game against the bot: the rules, the bot's answers, and the game as PGN."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import chess
import chess.pgn

from milepost import api
from milepost.api.guesses import Guess
from milepost.api.minds import out_of_range
from milepost.errors import EngineError, InputError, MilepostError
from milepost.web.safety.problems import RefusedError
from milepost.web.settings import Settings

SEED = 2011
PLAN = "blitz"
MOST_PLIES = 600
_PIECES = {
    chess.PAWN: "pawn", chess.KNIGHT: "knight", chess.BISHOP: "bishop", chess.ROOK: "rook",
    chess.QUEEN: "queen", chess.KING: "king",
}  # fmt: skip


@dataclass(frozen=True)
class Reply:
    """What the bot plays, and why."""

    move: chess.Move
    """The move."""
    source: str
    """book, agent, decided, technique …"""
    slip: float | None
    """How probable it was to give away a pawn or more; None in the book."""


class Opponent:
    """The bot of a workbench: started when it is first asked, one thought at a time."""

    def __init__(self, settings: Settings):
        self._settings = settings
        self._lock = threading.Lock()
        self._bot: api.play.Bot | None = None

    def _ready(self) -> api.play.Bot:
        if self._bot is None:
            try:
                # Blitz: an answer within a second or so, and nearly every Elo.
                self._bot = api.play.Bot(plan=PLAN, engine=self._settings.engine, seed=SEED)
                self._bot.start()
            except MilepostError as error:
                raise RefusedError(409, "No opponent", _why_not(error)) from error
        return self._bot

    @property
    def range(self) -> tuple[float, float]:
        """The Elos it can play at."""
        with self._lock:
            return self._ready().range

    def reply(self, board: chess.Board, elo: float, game: int) -> Reply:
        """Choose a move; the same game number and moves give the same reply."""
        with self._lock:
            bot = self._ready()
            low, high = bot.range
            if not low <= elo <= high:
                raise InputError(out_of_range(PLAN, (low, high), elo))
            bot.new_game(game * 1000 + board.ply())
            move = bot.book_move(board)
            if move is not None:
                return Reply(move, "book", None)
            thought = bot.think(board, elo=elo)
            return Reply(bot.pick(thought), thought.source, float(thought.choice.slip))

    def guess(self, position: str, elo: float) -> Guess:
        """Say what humans of an Elo would play."""
        with self._lock:
            return self._ready().guess(position, elo)

    def close(self) -> None:
        """End the engine."""
        with self._lock:
            if self._bot is not None:
                self._bot.close()
                self._bot = None


def _why_not(error: MilepostError) -> str:
    if isinstance(error, EngineError):
        return "The bot needs a chess engine. On Debian: apt-get install stockfish."
    return str(error)


def board_after(moves: Sequence[str]) -> chess.Board:
    """Return the board after moves in UCI notation.

    Raises
    ------
    InputError
        If one of them is not legal.
    """
    board = chess.Board()
    for place, text in enumerate(moves, start=1):
        try:
            move = chess.Move.from_uci(text)
        except ValueError as error:
            raise InputError(f"half-move {place} is no move") from error
        if not board.is_legal(move):
            raise InputError(f"half-move {place} is not legal")
        board.push(move)
    return board


def spoken(board: chess.Board, move: chess.Move) -> str:
    """Return a move in words, as one would say it; the board is that before the move."""
    if board.is_castling(move):
        side = "kingside" if board.is_kingside_castling(move) else "queenside"
        said = f"castles {side}"
    else:
        kind = board.piece_type_at(move.from_square)
        verb = "takes on" if board.is_capture(move) else "to"
        said = f"{_PIECES.get(kind or chess.PAWN)} {verb} {chess.square_name(move.to_square)}"
        if move.promotion:
            said += f", becomes a {_PIECES[move.promotion]}"
    after = board.copy(stack=False)
    after.push(move)
    if after.is_checkmate():
        return said + ", checkmate"
    return said + (", check" if after.is_check() else "")


def standing(board: chess.Board) -> dict[str, Any]:
    """Return all that a page needs of a game: position, legal moves, moves so far, result."""
    sans, words = [], []
    replay = chess.Board()
    for move in board.move_stack:
        sans.append(replay.san(move))
        words.append(spoken(replay, move))
        replay.push(move)
    outcome = board.outcome(claim_draw=True)
    pieces = {chess.square_name(square): piece.symbol()
              for square, piece in board.piece_map().items()}  # fmt: skip
    return {
        "fen": board.fen(),
        "pieces": pieces,
        "turn": "white" if board.turn else "black",
        "moves": [move.uci() for move in board.move_stack],
        "sans": sans,
        "spoken": words,
        "legal": {} if outcome else {move.uci(): board.san(move) for move in board.legal_moves},
        "check": chess.square_name(board.king(board.turn) or 0) if board.is_check() else None,
        "result": outcome.result() if outcome else None,
        "reason": outcome.termination.name.lower().replace("_", " ") if outcome else None,
    }


def as_pgn(board: chess.Board, *, human: str, elo: float, resigned: bool = False) -> str:
    """Return a game as PGN.

    Parameters
    ----------
    board
        The board at its end.
    human
        white or black: whose moves a person made.
    elo
        What the bot played like.
    resigned
        Whether the person has given up.
    """
    game = chess.pgn.Game.from_board(board)
    names = {"white": "You", "black": "You"}
    bot = "black" if human == "white" else "white"
    names[bot] = f"Milepost bot {elo:.0f}"
    game.headers["Event"] = "Game against the Milepost bot"
    game.headers["Site"] = "Workbench"
    game.headers["Date"] = datetime.now(tz=UTC).strftime("%Y.%m.%d")
    game.headers["Round"] = "-"
    game.headers["White"], game.headers["Black"] = names["white"], names["black"]
    game.headers["WhiteElo" if bot == "white" else "BlackElo"] = f"{elo:.0f}"
    outcome = board.outcome(claim_draw=True)
    if outcome is not None:
        game.headers["Result"] = outcome.result()
    elif resigned:
        game.headers["Result"] = "0-1" if human == "white" else "1-0"
    return str(game) + "\n"
