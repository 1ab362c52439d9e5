"""Guesses: what humans of an Elo would play in a position, for people to read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import chess
import numpy as np
import polars as pl

from milepost.analysis.engine.search_output import Value
from milepost.analysis.engine.setup import EngineSetup
from milepost.api.minds import Mind
from milepost.api.thoughts import Thought
from milepost.choice.spreads import Floats
from milepost.errors import InputError
from milepost.games.positions import board_from_text, least_plies, refuse_illegal
from milepost.io.provenance import provenance

SOLVED = "solved"
"""The source of probabilities in endings that are solved."""
FIRST_PLIES = 16
"""Half-moves before the ninth move: no agent is calibrated there."""


@dataclass(frozen=True, eq=False, repr=False)
class Guess:
    """What humans of an Elo would play in a position."""

    position: str
    """As FEN."""
    elo: float
    """The Elo that was asked about."""
    table: pl.DataFrame
    """One row a legal move, the likeliest first: `move` (UCI), `san`, `probability`, `value` (pawns
    for the mover), `score` (the same as text; ``#3`` is a mate), `loss` (pawns given away; a later
    mate in place of a sooner one gives nothing away)."""
    best: str
    """The engine's best move, in UCI notation."""
    slip: float
    """The probability of giving away a pawn or more."""
    expected_loss: float
    """What the choice gives away on average, in pawns."""
    entropy: float
    """Of the choice, in nats: 0 = everybody plays the same."""
    best_from: float | None
    """The Elo from which on the best move is the likeliest; None = not within `range`."""
    range: tuple[float, float]
    """The Elos of the calibration; `best_from` at its lower end means there or below."""
    source: str
    """agent, decided, technique or solved; see `milepost.intrinsic.choosing`."""
    notes: tuple[str, ...] = ()
    """What its reader must know."""
    made: Mapping[str, Any] = field(default_factory=dict)
    """How it was made: version, engine set-up, calibration."""

    @property
    def likeliest(self) -> str:
        """The likeliest move, in UCI notation."""
        return str(self.table["move"][0])

    @cached_property
    def probabilities(self) -> dict[str, float]:
        """The probability of each move."""
        return dict(zip(self.table["move"], self.table["probability"], strict=True))

    def __repr__(self) -> str:
        """Say it in a few lines."""
        rows = self.table.head(5).iter_rows(named=True)
        moves = ", ".join(f"{row['san']} {row['probability']:.0%}" for row in rows)
        return f"Guess(Elo {self.elo:.0f}: {moves}; {self.best_text}; slip {self.slip:.1%})"

    @property
    def best_text(self) -> str:
        """From which Elo on the best move is the likeliest, in words."""
        san = self.table.filter(pl.col("move") == self.best)["san"][0]
        low, high = self.range
        if self.best_from is None:
            return f"{san}, the best move, is not the likeliest at any Elo up to {high:.0f}"
        if self.best_from <= low:
            return f"{san}, the best move, is the likeliest at every Elo from {low:.0f} on"
        return f"{san}, the best move, is the likeliest from Elo {self.best_from:.0f} on"


def guess_of(thought: Thought, minds: Sequence[Mind], setup: EngineSetup) -> Guess:
    """Return a thought for people.

    Parameters
    ----------
    thought
        Of one of the minds, or of none in haste.
    minds
        What the bot thinks with.
    setup
        Of its engine.
    """
    board, options = thought.board, thought.options
    choice = replace(thought.choice, losses=_losses_for_people(thought))
    mind = next((mind for mind in minds if mind.name == thought.plan), None)
    chooser = (mind or minds[0]).chooser
    best_from, ends = chooser.likeliest_from(options)
    order = thought.order
    moves = [options.moves[place] for place in order]
    table = pl.DataFrame(
        {
            "move": moves,
            "san": [board.san(chess.Move.from_uci(move)) for move in moves],
            "probability": choice.probabilities[order],
            "value": options.values[order],
            "score": [score_text(options.scores[place]) for place in order],
            "loss": choice.losses[order],
        }
    )
    notes = []
    if thought.plan is None:
        notes.append("the engine did not come to the end of any plan: no Elo is claimed")
    if max(board.ply(), least_plies(board)) < FIRST_PLIES:
        notes.append("before the ninth move no agent is calibrated: theory is not in these figures")
    calibration = chooser.calibration
    if mind is not None and replace(setup, plan=mind.plan.text).digest != calibration.setup:
        notes.append(
            f"{mind.name} has no calibration of its own: these are the agents of "
            f"{calibration.name}, with a search to depth {mind.plan.depth}"
        )
    told = {
        "position": board.fen(),
        "elo": thought.elo,
        "plan": thought.plan,
        "calibration": calibration.name,
    }
    told |= {"setup": calibration.setup, "setup_text": calibration.setup_text}
    return Guess(
        position=board.fen(),
        elo=thought.elo,
        table=table,
        best=options.moves[choice.best],
        slip=choice.slip,
        expected_loss=choice.expected_loss,
        entropy=choice.entropy,
        best_from=best_from,
        range=ends,
        source=SOLVED if options.ending is not None else thought.source,
        notes=tuple(notes),
        made=provenance("guess", told, []),
    )


def _losses_for_people(thought: Thought) -> Floats:
    """What each move gives away; among mates nothing, though an engine prefers the soonest."""
    losses, scores = thought.choice.losses, thought.options.scores
    best = scores[thought.choice.best].mate
    if best is None:
        return losses
    alike = [score.mate is not None and (score.mate > 0) == (best > 0) for score in scores]
    answer: Floats = np.where(alike, 0.0, losses)
    return answer


def as_board(position: str | chess.Board) -> chess.Board:
    """Return a position as a board of its own.

    Raises
    ------
    InputError
        If it is no legal position of standard chess, saying why.
    """
    if isinstance(position, str):
        return board_from_text(position)
    if not isinstance(position, chess.Board):
        raise InputError(f"a position is a FEN or a chess.Board, got {position!r}")
    if position.uci_variant != "chess" or position.has_chess960_castling_rights():
        rules = "chess960" if position.uci_variant == "chess" else position.uci_variant
        raise InputError(f"only standard chess is calibrated, got a position of {rules}")
    refuse_illegal(position)
    return position.copy()


def score_text(value: Value) -> str:
    """Return a value for people: pawns, or a mate."""
    if value.mate is not None:
        return f"#{value.mate}"
    return f"{(value.cp or 0) / 100:+.2f}"
