"""Simulate the games of a small chess league, one at a time; `make_sample.py` plays them all.

Eight invented players of known strength play yearly round robins. From the ninth move on the
engine scores every legal move at the depths 1 to 10 (the plan ``quick``), and the player to move
chooses as the agent of his Elo does in the calibration ``stockfish15.1-quick``. The first eight
moves a side, which count as book, are drawn among the good moves of a shallow search, alike for all
players.

Each game has its own generator, seeded from (seed, season, round, board), and each position is
searched with a cleared hash by one thread to a fixed depth, so that any game can be made again
alone and comes out byte for byte the same with the same engine.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import chess
import chess.pgn
import numpy as np
import polars as pl

from milepost.analysis.engine.search_output import Value
from milepost.analysis.engine.uci import UciEngine
from milepost.analysis.plans import Evaluation, Plan, evaluate, make_plan
from milepost.analysis.run.run import engine_setup, evaluation_row
from milepost.analysis.spreads.build import make_spreads
from milepost.analysis.store.positions import stored_positions
from milepost.choice import Spreads
from milepost.choice.evaluation.evaluate import ln_probabilities, prepare
from milepost.intrinsic.calibration.calibration import Calibration, load_calibration

DEFAULT_SEED = 2011
CALIBRATION = "stockfish15.1-quick"
FIRST_YEAR = 2021
BOOK_PLIES = 16
BOOK_DEPTH = 5
BOOK_PAWNS = 0.1  # a book move so many pawns under the best is e times rarer
RESIGN_PAWNS = -5.0
DRAWISH_PAWNS = 0.2
DRAWISH_PLIES = 10
FIRST_ADJUDICATION_PLY = 70
LAST_PLY = 90
WON_PAWNS = 1.5  # what wins a game that is cut off at the last ply
START_SECONDS = 5400
INCREMENT_SECONDS = 30


@dataclass(frozen=True)
class Player:
    """An invented player."""

    name: str
    """Surname, Given."""
    elo: int
    """The Elo whose agent he is."""


# The order is the seating of the circle method; it is mixed so that the strongest players do not
# meet in a pattern. Every name is invented.
PLAYERS = (
    Player("Quillfeather, Ada", 2050),
    Player("Ødemarken, Liv", 2650),
    Player("Brannochie, Tavish", 1600),
    Player("Szélhegyfi, Örs", 2350),
    Player("Okonedare, Bisi", 1900),
    Player("Villardeña, Íker", 2500),
    Player("Tanzawara, Rin", 1750),
    Player("Marovčinski, Jelka", 2200),
)


@dataclass(frozen=True)
class Pairing:
    """One game to be played."""

    season: int
    """Season counted from 0; the year is `FIRST_YEAR` plus this."""
    round: int
    """Round within the season, from 1."""
    board: int
    """Board within the round, from 1."""
    white: Player
    """Player of the white pieces."""
    black: Player
    """Player of the black pieces."""


@dataclass(frozen=True, eq=False)
class Played:
    """One game that was played."""

    pgn: str
    """The game as PGN, ending in an empty line."""
    evaluations: list[dict[str, Any]]
    """The evaluated positions, as rows of the evaluations table."""


def pair_season(players: Sequence[Player], season: int) -> list[Pairing]:
    """Pair an even number of players by the circle method.

    Neighbouring distances on the circle get opposite colours, so every player has white in half of
    the games, one more or less, and colours mostly alternate. Odd seasons swap all colours.
    """
    circle, fixed = players[:-1], players[-1]
    pairings = []
    for turn in range(len(circle)):
        for board in range(len(players) // 2):
            first = circle[(turn + board) % len(circle)]
            second = circle[(turn - board) % len(circle)] if board else fixed
            parity = board if board else turn
            if (parity + season) % 2:
                first, second = second, first
            pairings.append(Pairing(season, turn + 1, board + 1, first, second))
    return pairings


@cache
def calibration() -> Calibration:
    """The calibration whose agents play."""
    return load_calibration(CALIBRATION)


def _pawns(value: Value) -> float:
    """Worth of a move in pawns; a mate is worth more than anything else."""
    return math.copysign(100.0, value.mate) if value.mate is not None else (value.cp or 0) / 100


def _annotate(value: Value, mover: chess.Color) -> str:
    """Text of the `[%eval]` comment: White's view of the position after the move."""
    sign = 1 if mover == chess.WHITE else -1
    if value.mate is None:
        return f"[%eval {sign * (value.cp or 0) / 100:.2f}]"
    # The engine counts the move that is about to be made; a mating side has one fewer to go after
    # it. `#0` is the mate itself.
    mate = value.mate - 1 if value.mate > 0 else value.mate
    return f"[%eval #{sign * mate}]"


def _draw(shares: Sequence[float], rng: np.random.Generator) -> int:
    # Only plain uniform draws are used: of all a generator offers they are the least likely to
    # change between versions of NumPy.
    remaining = rng.random() * math.fsum(shares)
    for place, share in enumerate(shares):
        remaining -= share
        if remaining < 0:
            return place
    return 0  # rounding only


def choose_book_move(found: Evaluation, depth: int, rng: np.random.Generator) -> str:
    """Draw a move of the opening, the better the likelier, alike for all players."""
    worth = [_pawns(found.values[depth, move]) for move in found.moves]
    shares = [math.exp((each - max(worth)) / BOOK_PAWNS) for each in worth]
    return found.moves[_draw(shares, rng)]


def choose_move(row: dict[str, Any], board: chess.Board, elo: int, rng: np.random.Generator) -> str:
    """Draw a move as the agent of an Elo does, from an evaluation as the store keeps it."""
    moves = row["moves"]
    # One game for each move as the played one: so the options are those that a rating sees, and it
    # is known where each move stands among them. The two moves before count as book: they tell
    # what a recapture is, and are no turns themselves.
    ply = len(board.move_stack)
    before = {ply - back: board.move_stack[-back].uci() for back in (1, 2) if back <= ply}
    turns = pl.DataFrame(
        [
            {
                "game_id": str(number),
                "ply": at,
                "mover": "x",
                "position": board.fen(),
                "played": played,
                "book": at < ply,
            }
            for number, move in enumerate(moves)
            for at, played in {**before, ply: move}.items()
        ]
    )
    evaluations = pl.DataFrame([row], infer_schema_length=None)
    table = make_spreads(turns, evaluations, limit_pawns=math.inf).table
    place = {int(at): move for at, move in zip(table["chosen"], moves, strict=True)}
    path = calibration().map.path
    spreads = Spreads.from_table(table.head(1))
    logarithms = ln_probabilities(path.model, prepare(spreads, path.model), path.theta(elo))
    return str(place[_draw(spreads.as_given(np.exp(logarithms)).tolist(), rng)])


def spend_time(clock_seconds: int, ply: int, rng: np.random.Generator) -> int:
    """Return the clock after a move: exponential thinking times around a fair share of the rest."""
    fair_share = clock_seconds / 40 + INCREMENT_SECONDS * 0.8
    if ply < BOOK_PLIES:
        fair_share /= 3
    thought = int(1 - fair_share * math.log(1 - rng.random()))
    return clock_seconds - min(thought, clock_seconds - 1) + INCREMENT_SECONDS


def _board_result(board: chess.Board) -> str | None:
    """Result by the rules, threefold repetition and fifty moves being claimed at once."""
    if board.is_checkmate():
        return "0-1" if board.turn == chess.WHITE else "1-0"
    drawn = board.is_stalemate() or board.is_insufficient_material()
    return "1/2-1/2" if drawn or board.is_fifty_moves() or board.is_repetition(3) else None


@dataclass(frozen=True)
class _Engines:
    """The two searches: of the book, and of the moves that count."""

    engine: UciEngine
    book: Plan
    plan: Plan
    setup: str

    def search(self, board: chess.Board, *, book: bool) -> tuple[Evaluation, str]:
        position = str(stored_positions(pl.Series([board.fen()]))[0])
        plan = self.book if book else self.plan
        return evaluate(self.engine, plan, position), position


def _play_moves(
    game: chess.pgn.Game, pairing: Pairing, engines: _Engines, seed: int
) -> tuple[str, str, list[dict[str, Any]]]:
    """Add the moves to a game; return its result, its termination and the evaluations."""
    rng = np.random.default_rng([seed, pairing.season, pairing.round, pairing.board])
    players = {chess.WHITE: pairing.white, chess.BLACK: pairing.black}
    clocks = {chess.WHITE: START_SECONDS, chess.BLACK: START_SECONDS}
    hopeless = {chess.WHITE: False, chess.BLACK: False}
    node: chess.pgn.GameNode = game
    board = game.board()
    rows: list[dict[str, Any]] = []
    drawish_plies = 0
    last = 0.0
    for ply in range(LAST_PLY):
        result = _board_result(board)
        if result is not None:
            return result, "normal", rows
        if ply > FIRST_ADJUDICATION_PLY and drawish_plies >= DRAWISH_PLIES:
            return "1/2-1/2", "adjudication", rows
        mover = board.turn
        book = ply < BOOK_PLIES
        found, position = engines.search(board, book=book)
        depth = max(at for at, _ in found.values)
        best = _pawns(found.values[depth, found.moves[0]])
        hopeless_before = hopeless[mover]
        hopeless[mover] = best < RESIGN_PAWNS
        if hopeless_before and hopeless[mover]:
            return ("0-1" if mover == chess.WHITE else "1-0"), "normal", rows
        if book:
            move = choose_book_move(found, depth, rng)
        else:
            rows.append(evaluation_row(position, None, engines.setup, found))
            move = choose_move(rows[-1], board, players[mover].elo, rng)
        value = found.values[depth, move]
        drawish_plies = drawish_plies + 1 if abs(_pawns(value)) < DRAWISH_PAWNS else 0
        last = _pawns(value) * (1 if mover == chess.WHITE else -1)
        clocks[mover] = spend_time(clocks[mover], ply, rng)
        clock = datetime.timedelta(seconds=clocks[mover])  # prints as h:mm:ss
        comment = f"{_annotate(value, mover)} [%clk {clock}]"
        node = node.add_variation(chess.Move.from_uci(move), comment=comment)
        board.push_uci(move)
    result = _board_result(board)
    if result is not None:
        return result, "normal", rows
    won = "1-0" if last > WON_PAWNS else "0-1" if last < -WON_PAWNS else "1/2-1/2"
    return won, "adjudication", rows


def simulate_game(pairing: Pairing, *, engine_path: str, seed: int) -> Played:
    """Play one game.

    Parameters
    ----------
    pairing
        Who plays whom and when.
    engine_path
        UCI engine that scores the moves; it is started for this game alone.
    seed
        Seed of the whole sample; the game's own is derived from it and the pairing.
    """
    year = FIRST_YEAR + pairing.season
    date = datetime.date(year, 3, 1) + datetime.timedelta(weeks=pairing.round - 1)
    game = chess.pgn.Game()
    plan, book = make_plan("quick"), make_plan("quick", depth=BOOK_DEPTH)
    setup = engine_setup(engine_path, plan, {})
    with UciEngine(engine_path) as engine:
        engine.configure(dict(setup.options))
        engines = _Engines(engine, book, plan, setup.digest)
        result, termination, rows = _play_moves(game, pairing, engines, seed)
    tags = {
        "Event": f"Milepost Sample League {year}",
        "Site": "Simulated",
        "Date": f"{date:%Y.%m.%d}",
        "Round": f"{pairing.round}.{pairing.board}",
        "White": pairing.white.name,
        "Black": pairing.black.name,
        "Result": result,
        "WhiteElo": str(pairing.white.elo),
        "BlackElo": str(pairing.black.elo),
        "WhiteType": "program",
        "BlackType": "program",
        "TimeControl": f"{START_SECONDS}+{INCREMENT_SECONDS}",
        "Termination": termination,
        "PlyCount": str(game.end().ply()),
        # Where the script lay when the shipped games were made: they say so.
        "Annotator": f"simulated by examples/make_sample.py, seed {seed}",
    }
    game.headers.update(tags)
    return Played(game.accept(chess.pgn.StringExporter(columns=80)) + "\n\n", rows)
