"""Simulate the games of a small chess league, one at a time; `make_sample.py` plays them all.

Eight invented players of known strength play three yearly round robins. In each position the
engine scores every legal move at a low fixed depth; the player to move then chooses at random,
move *i* with probability proportional to

    exp(-(delta_i / s) ** c),    delta_i = ln(1 + d_i),

where *d_i* is how many pawns move *i* falls short of the best move, *s* is the player's
sensitivity (large for the weak: they see less of a difference) and *c* the consistency (small for
the weak: a heavier tail of blunders). The logarithm makes a pawn matter less the more has been lost
already. The form follows Regan and Haworth, "Intrinsic Chess Ratings" (AAAI 2011), with the share
itself, not a power of it, as the choice probability: the simplest member of the family.

Each game has its own generator, seeded from (seed, season, round, board), and each position is
searched with a cleared hash by one thread to a fixed depth, so that any game can be made again
alone and comes out byte for byte the same with the same engine.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from dataclasses import dataclass

import chess
import chess.engine
import chess.pgn
import numpy as np

DEFAULT_SEED = 2011
DEFAULT_DEPTH = 8  # at 6 and 7 pruning misjudges too many best moves by over 1.5 pawns
FIRST_YEAR = 2021
ENGINE_OPTIONS: dict[str, str | int | bool | None] = {"Threads": 1, "Hash": 16}
ALL_MOVES = 256  # no legal position has more than 218 moves, so this MultiPV covers them all

OPENING_PLIES = 6
OPENING_EXTRA_SENSITIVITY = 0.06  # opens up the first moves without making them silly
MATE_PAWNS = 25.0  # worth of a mate; scores in pawns are cut off a little below it
LARGEST_PAWNS = 20.0
RESIGN_PAWNS = -8.0
DRAWISH_PAWNS = 0.2
DRAWISH_PLIES = 10
FIRST_ADJUDICATION_PLY = 120
LAST_PLY = 240
START_SECONDS = 5400
INCREMENT_SECONDS = 30


@dataclass(frozen=True)
class Player:
    """An invented player."""

    name: str
    """Surname, Given."""
    nominal_elo: int
    """Strength on an Elo-like scale, from which the two parameters below follow."""

    @property
    def sensitivity(self) -> float:
        """The *s* of the choice model: geometric from 0.21 at 1300 down to 0.03 at 2700."""
        return round(0.21 * math.pow(0.03 / 0.21, (self.nominal_elo - 1300) / 1400), 4)

    @property
    def consistency(self) -> float:
        """The *c* of the choice model: linear from 0.84 at 1300 up to 0.98 at 2700."""
        return round(0.84 + 0.14 * (self.nominal_elo - 1300) / 1400, 4)


# The order is the seating of the circle method; it is mixed so that the strongest players do not
# meet in a pattern. Every name is invented.
PLAYERS = (
    Player("Quillfeather, Ada", 1900),
    Player("Ødemarken, Liv", 2700),
    Player("Brannochie, Tavish", 1300),
    Player("Szélhegyfi, Örs", 2300),
    Player("Okonedare, Bisi", 1700),
    Player("Villardeña, Íker", 2500),
    Player("Tanzawara, Rin", 1500),
    Player("Marovčinski, Jelka", 2100),
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


@dataclass(frozen=True)
class ScoredMove:
    """A legal move with the engine's score for it."""

    move: chess.Move
    """The move."""
    pawns: float
    """Score in pawns as the mover sees it, mates being near `MATE_PAWNS`."""
    annotation: str
    """Text of the `[%eval]` comment: White's view of the position after the move."""


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


def _score_in_pawns(score: chess.engine.Score) -> float:
    mate = score.mate()
    if mate is not None:
        # A hundredth of a pawn for each move of delay: the quicker mate is barely the better one.
        return math.copysign(MATE_PAWNS - abs(mate) / 100, mate)
    centipawns = score.score()
    assert centipawns is not None
    return max(-LARGEST_PAWNS, min(LARGEST_PAWNS, centipawns / 100))


def _annotate(score: chess.engine.PovScore) -> str:
    mate = score.relative.mate()
    if mate is None:
        centipawns = score.white().score()
        assert centipawns is not None
        return f"[%eval {centipawns / 100:.2f}]"
    # The engine counts the move that is about to be made; a mating side has one fewer to go after
    # it. `#0` is the mate itself.
    if mate > 0:
        mate -= 1
    return f"[%eval #{mate if score.turn == chess.WHITE else -mate}]"


def score_moves(
    engine: chess.engine.SimpleEngine, board: chess.Board, depth: int
) -> list[ScoredMove]:
    """Score every legal move of a position, best first."""
    lines = engine.analyse(
        chess.Board(board.fen()),  # without the moves before, so that only the position matters
        chess.engine.Limit(depth=depth),
        multipv=ALL_MOVES,
        game=object(),  # a new game each time makes the engine clear its hash
    )
    scored = [
        ScoredMove(line["pv"][0], _score_in_pawns(line["score"].relative), _annotate(line["score"]))
        for line in lines
    ]
    return sorted(scored, key=lambda candidate: (-candidate.pawns, candidate.move.uci()))


def choose_move(
    candidates: Sequence[ScoredMove], player: Player, ply: int, rng: np.random.Generator
) -> ScoredMove:
    """Draw a move as the player would choose it; `ply` counts the moves already made."""
    extra = OPENING_EXTRA_SENSITIVITY if ply < OPENING_PLIES else 0.0
    sensitivity = player.sensitivity + extra
    shares = [
        math.exp(
            -(
                (math.log1p(candidates[0].pawns - candidate.pawns) / sensitivity)
                ** player.consistency
            )
        )
        for candidate in candidates
    ]
    # Only plain uniform draws are used: of all a generator offers they are the least likely to
    # change between versions of NumPy.
    remaining = rng.random() * sum(shares)
    for candidate, share in zip(candidates, shares, strict=True):
        remaining -= share
        if remaining < 0:
            return candidate
    return candidates[0]  # rounding only


def spend_time(clock_seconds: int, ply: int, rng: np.random.Generator) -> int:
    """Return the clock after a move: exponential thinking times around a fair share of the rest."""
    fair_share = clock_seconds / 40 + INCREMENT_SECONDS * 0.8
    if ply < 2 * OPENING_PLIES:
        fair_share /= 3
    thought = int(1 - fair_share * math.log(1 - rng.random()))
    return clock_seconds - min(thought, clock_seconds - 1) + INCREMENT_SECONDS


def _board_result(board: chess.Board) -> str | None:
    """Result by the rules, threefold repetition and fifty moves being claimed at once."""
    if board.is_checkmate():
        return "0-1" if board.turn == chess.WHITE else "1-0"
    drawn = board.is_stalemate() or board.is_insufficient_material()
    return "1/2-1/2" if drawn or board.is_fifty_moves() or board.is_repetition(3) else None


def _play_moves(
    game: chess.pgn.Game, pairing: Pairing, engine: chess.engine.SimpleEngine, depth: int, seed: int
) -> tuple[str, str]:
    """Add the moves to a game and return its result and termination."""
    rng = np.random.default_rng([seed, pairing.season, pairing.round, pairing.board])
    players = {chess.WHITE: pairing.white, chess.BLACK: pairing.black}
    clocks = {chess.WHITE: START_SECONDS, chess.BLACK: START_SECONDS}
    hopeless = {chess.WHITE: False, chess.BLACK: False}
    node: chess.pgn.GameNode = game
    board = game.board()
    drawish_plies = 0
    for ply in range(LAST_PLY):
        result = _board_result(board)
        if result is not None:
            return result, "normal"
        if ply > FIRST_ADJUDICATION_PLY and drawish_plies >= DRAWISH_PLIES:
            return "1/2-1/2", "adjudication"
        mover = board.turn
        candidates = score_moves(engine, board, depth)
        hopeless_before = hopeless[mover]
        hopeless[mover] = candidates[0].pawns < RESIGN_PAWNS
        if hopeless_before and hopeless[mover]:
            return ("0-1" if mover == chess.WHITE else "1-0"), "normal"
        chosen = choose_move(candidates, players[mover], ply, rng)
        drawish_plies = drawish_plies + 1 if abs(chosen.pawns) < DRAWISH_PAWNS else 0
        clocks[mover] = spend_time(clocks[mover], ply, rng)
        clock = datetime.timedelta(seconds=clocks[mover])  # prints as h:mm:ss
        node = node.add_variation(chosen.move, comment=f"{chosen.annotation} [%clk {clock}]")
        board.push(chosen.move)
    result = _board_result(board)
    return (result, "normal") if result is not None else ("1/2-1/2", "adjudication")


def simulate_game(pairing: Pairing, *, engine_path: str, depth: int, seed: int) -> str:
    """Play one game and return it as PGN text, ending in an empty line.

    Parameters
    ----------
    pairing
        Who plays whom and when.
    engine_path
        UCI engine that scores the moves; it is started for this game alone.
    depth
        Search depth in plies.
    seed
        Seed of the whole sample; the game's own is derived from it and the pairing.
    """
    year = FIRST_YEAR + pairing.season
    date = datetime.date(year, 3, 1) + datetime.timedelta(weeks=pairing.round - 1)
    game = chess.pgn.Game()
    with chess.engine.SimpleEngine.popen_uci(engine_path) as engine:
        engine.configure(ENGINE_OPTIONS)
        result, termination = _play_moves(game, pairing, engine, depth, seed)
    tags = {
        "Event": f"Milepost Sample League {year}",
        "Site": "Simulated",
        "Date": f"{date:%Y.%m.%d}",
        "Round": f"{pairing.round}.{pairing.board}",
        "White": pairing.white.name,
        "Black": pairing.black.name,
        "Result": result,
        "WhiteElo": str(pairing.white.nominal_elo),
        "BlackElo": str(pairing.black.nominal_elo),
        "WhiteType": "program",
        "BlackType": "program",
        "TimeControl": f"{START_SECONDS}+{INCREMENT_SECONDS}",
        "Termination": termination,
        "PlyCount": str(game.end().ply()),
        "Annotator": f"simulated by examples/make_sample.py, seed {seed}",
    }
    game.headers.update(tags)
    return game.accept(chess.pgn.StringExporter(columns=80)) + "\n\n"
