"""How probable each option of a position is for somebody of a given Elo, and what follows from it.

=========  =========================================================================================
agent      within three pawns: the agent of the calibration, the very one that ratings read
decided    beyond: agents that were fitted to such turns, see `milepost.intrinsic.choosing.decided`
technique  against a bare king, and in the endings that people learn: see
           `milepost.intrinsic.choosing.technique`
=========  =========================================================================================

Guesses about people use these agents as they are. Who plays by a shallow plan uses them by a
playing map, which makes up for what the plan does not see: `milepost.intrinsic.choosing.playing`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from milepost.analysis.spreads.one_position import PositionOptions
from milepost.choice.evaluation.evaluate import ln_probabilities, prepare
from milepost.choice.spreads import Floats, Spreads
from milepost.errors import InputError
from milepost.intrinsic.calibration.calibration import Calibration
from milepost.intrinsic.calibration.paths import AgentPath
from milepost.intrinsic.choosing.decided import LIMIT_PAWNS, DecidedAgents, on_mate_ladder
from milepost.intrinsic.choosing.playing import DECIDED as FAR
from milepost.intrinsic.choosing.playing import NEAR, PlayingMap, Rule
from milepost.intrinsic.choosing.technique import (
    known_ending_probabilities,
    see_mates,
    see_threats,
    technique_probabilities,
)

AGENT, DECIDED, TECHNIQUE = "agent", "decided", "technique"
SLIP_PAWNS = 1.0
"""A slip gives away so much or more."""
_GRID = 25.0
"""The Elo at which the best move becomes the likeliest is looked for in steps of this."""


@dataclass(frozen=True, eq=False)
class Choice:
    """How probable each option is; in the order in which the options were given."""

    probabilities: Floats
    """They add up to 1."""
    losses: Floats
    """What each option gives away against the best, in pawns; mates as on the mate ladder."""
    regime: str
    """``"agent"``, ``"decided"`` or ``"technique"``."""
    best: int
    """The place of the best option."""

    @property
    def likeliest(self) -> int:
        """The place of the likeliest option."""
        return int(np.argmax(self.probabilities))

    @property
    def entropy(self) -> float:
        """Of the choice, in nats."""
        p = self.probabilities[self.probabilities > 0]
        return float(-(p * np.log(p)).sum())

    @property
    def expected_loss(self) -> float:
        """What the choice gives away on average, in pawns."""
        return float(self.probabilities @ self.losses)

    @property
    def slip(self) -> float:
        """The probability of giving away a pawn or more."""
        return float(self.probabilities[self.losses >= SLIP_PAWNS - 1e-9].sum())

    def keep(self, places: list[int]) -> Choice:
        """Return the choice among some of the options; the others have probability 0.

        Raises
        ------
        InputError
            If no option is kept.
        """
        if not places:
            raise InputError("a choice needs at least one option")
        kept = np.zeros(len(self.probabilities))
        kept[places] = self.probabilities[places]
        if not kept.sum() > 0:
            kept[places] = 1.0
        best = min(places, key=lambda place: (self.losses[place], place))
        losses = np.maximum(self.losses - self.losses[best], 0.0)
        return Choice(kept / kept.sum(), losses, self.regime, best)


@dataclass(frozen=True, eq=False)
class Chooser:
    """Chooses among the moves of positions that one set-up of an engine has evaluated."""

    calibration: Calibration
    """Which agent plays like which Elo."""
    decided: DecidedAgents | None = None
    """The agents for decided positions; None = those of the calibration there too."""
    shift: Floats | None = None
    """What one person's working parameters add to those of their Elo; None = nobody's."""
    playing: PlayingMap | None = None
    """How to play as strongly as an Elo; None = as the agents of that Elo choose."""
    playing_decided: DecidedAgents | None = None
    """The agents that the playing map sharpens in decided positions."""

    @property
    def playing_range(self) -> tuple[float, float]:
        """The Elos that it can play at."""
        return self.calibration.range if self.playing is None else self.playing.range

    def spreads(self, options: PositionOptions, path: AgentPath | None = None) -> Spreads:
        """Return the options of a position as a decision, with the depths that the agents need.

        Parameters
        ----------
        options
            The moves of the position.
        path
            The agents [default: those of the calibration].
        """
        table = options.depth_values
        scheme = (path or self.calibration.map.path).model.depths
        wanted = table.shape[1] if scheme is None else max(scheme.depths)
        if table.shape[1] < wanted:  # a search that ended before: as if it saw nothing new
            last = np.where(np.isnan(table[:, -1]), options.values, table[:, -1])
            more = np.repeat(last[:, None], wanted - table.shape[1], axis=1)
            table = np.hstack([table, more])
        return Spreads.from_arrays(
            [0, len(options.values)],
            options.values,
            [0],
            depth_values=table,
            columns=options.columns,
            context={name: [value] for name, value in options.context.items()},
        )

    def choose(self, options: PositionOptions, elo: float, *, play: bool = False) -> Choice:
        """Return how probable each move is for somebody of an Elo.

        Parameters
        ----------
        options
            The moves of the position.
        elo
            Of the mover.
        play
            Whether to play as strongly as that Elo, by the playing map, in place of saying how
            probable people's moves are.
        """
        spreads = self.spreads(options)
        regime = self._regime(spreads, options)
        rule = Rule(float(elo))
        far = self.decided
        if play and self.playing is not None:
            rule = self.playing.rule(elo, NEAR if regime == AGENT else FAR)
            far = self.playing_decided or far
        table = self._agents(options, regime, np.array([rule.agent]), far)
        near = on_mate_ladder(spreads)
        losses = near.as_given(near.values.max() - near.values)
        agents = rule.apply(table[0], losses)
        probabilities = self._by_rules(spreads, regime, agents, float(elo), options)
        regime = TECHNIQUE if options.ending is not None else regime
        best = int(np.argmin(spreads.as_given(np.arange(len(near.values), dtype=np.float64))))
        return Choice(probabilities, losses, regime, best)

    def likeliest_from(self, options: PositionOptions) -> tuple[float | None, tuple[float, float]]:
        """Return from which Elo on the best move is the likeliest, and the range looked at.

        None = not at any Elo of the calibration. The lower end of the range = there or below.
        """
        spreads = self.spreads(options)
        low, high = self.calibration.range
        grid = np.append(np.arange(low, high, _GRID), high)
        regime = self._regime(spreads, options)
        agents = self._agents(options, regime, grid, self.decided)
        table = np.stack(
            [
                self._by_rules(spreads, regime, each, float(elo), options)
                for each, elo in zip(agents, grid, strict=True)
            ]
        )
        best = int(np.argmin(spreads.as_given(np.arange(len(spreads.values), dtype=np.float64))))
        right = table.argmax(axis=1) == best
        if not right[-1]:
            return None, (low, high)
        wrong = np.flatnonzero(~right)
        first = 0 if not len(wrong) else int(wrong[-1]) + 1
        return float(grid[first]), (low, high)

    def _regime(self, spreads: Spreads, options: PositionOptions) -> str:
        if abs(float(spreads.values[0])) <= LIMIT_PAWNS:
            return AGENT
        return TECHNIQUE if options.room is not None and spreads.values[0] > 0 else DECIDED

    def _agents(
        self, options: PositionOptions, regime: str, elos: Floats, far: DecidedAgents | None
    ) -> Floats:
        """Probabilities by Elo, a row each, in the order in which the options were given."""
        path, shift = self.calibration.map.path, self.shift
        if regime != AGENT and far is not None:
            path, shift = far.path, None
            spreads = on_mate_ladder(self.spreads(options, path))
        else:
            spreads = self.spreads(options)
        theta = path.theta(elos) + (0.0 if shift is None else shift)
        many = spreads.take(np.zeros(len(elos), dtype=np.int64))
        ln_p = ln_probabilities(path.model, prepare(many, path.model), theta)
        table = np.exp(many.as_given(ln_p)).reshape(len(elos), -1)
        answer: Floats = table / table.sum(axis=1, keepdims=True)
        return answer

    def _by_rules(
        self, spreads: Spreads, regime: str, agents: Floats, elo: float, options: PositionOptions
    ) -> Floats:
        """What an agent's probabilities become by technique and near mates."""
        given = spreads.as_given(spreads.values)
        if options.ending is not None:
            agents = known_ending_probabilities(options.ending, agents, elo)
        elif regime == TECHNIQUE and options.room is not None:
            agents = technique_probabilities(options.room, given, agents, elo)
        if regime == DECIDED:
            agents = see_threats(agents, given, elo)
        return see_mates(agents, given, elo)


def draw(probabilities: Floats, rng: np.random.Generator) -> int:
    """Draw a place by its probability.

    From one plain uniform number: of all that a generator offers it is the least likely to change
    between versions of NumPy, so a seed gives the same game.
    """
    left = rng.random() * float(probabilities.sum())
    for place, share in enumerate(probabilities):
        left -= share
        if left < 0:
            return place
    return int(np.argmax(probabilities))
