"""The deep look: does a player find what only a deep search finds, more often than honest people?

A judge that searches all moves to depth 6 or 10 cannot tell a strong engine's move from a strong
player's. So in a full test one more thing is asked about every turn: which move does a search of
one line, much deeper, prefer? An engine takes that move often.

Honest players take it too, and more often than the agents do, for the agents know the judge's
values alone. That is measured, not assumed: an honest player's choice is an agent's, tilted towards
the deep move d,

    p'_i ∝ p_i exp(b [i = d]),        b ~ N(b(θ), σ²) from player to player,

where b is a line over the rating, one for turns on which the deep search and the judge agree about
the best move and one for the others, greater by a number each in quiet and in late turns, and the
greater the less the agents think of that move: what agents of the judge's depth take for next to
impossible, honest players do find at times, and one such move must not speak for help. With the
tilted agents as the null and the deep move as one more assistant, the evidence ratio is again a
Bayes factor with everything fixed beforehand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np

from milepost.choice.spreads import Floats, Ints
from milepost.errors import InputError
from milepost.fairplay.deep.pull import (
    DEPTH,
    FLOOR,
    LATE_MOVE,
    MIDDLE,
    QUIET_MOVES,
    QUIET_PAWNS,
    UNIT,
    DeepPull,
    TurnKinds,
    log_odds,
)
from milepost.fairplay.evidence.ratio import Chosen, Evidence, gather, log_sum, one_game
from milepost.fairplay.evidence.simulate import (
    Help,
    PowerCell,
    Simulator,
    power_table,
    running_sums,
    weighed_draws,
)
from milepost.fairplay.performances import Performance
from milepost.io.progress import Report

DEEP: Final = "a deep search"
"""What the assistant is called."""
_AT: Final = np.array([-np.sqrt(3.0), 0.0, np.sqrt(3.0)])
_WEIGHTS: Final = np.array([1 / 6, 2 / 3, 1 / 6])
"""Three points with the first five moments of a normal distribution (Gauss and Hermite)."""
LEAST_SD: Final = 0.3
"""σ is never taken for less: a few performances do not show how players differ."""
_MOST_STEPS = 50


class DeepSimulator(Simulator):
    """Evidence and draws of a performance whose deep moves are known."""

    def __init__(self, real: Performance, deep: Ints, pull: DeepPull) -> None:
        """Take a performance and the deep search's option of each turn; -1 = not known."""
        super().__init__(real)
        if deep.shape != (len(real),):
            raise InputError("the deep look does not fit the turns")
        self.assistants = (*self.assistants, DEEP)
        self.counts = False
        at = (self.offsets[:-1] + deep)[deep >= 0]
        # Where there is no deep move, the judge's own best stands for it, and nothing is tilted.
        certain = self.helped[0].copy()
        for turn in np.flatnonzero(deep >= 0):
            certain[self.offsets[turn] : self.offsets[turn + 1]] = 0.0
        certain[at] = 1.0
        self.helped = np.ascontiguousarray(np.concatenate([self.helped, certain[None]]))
        self.cumulative_helped = running_sums(self.helped.T, self.offsets)
        p = np.exp(self.ln_p[self.offsets[:-1] + np.maximum(deep, 0)])
        tilt = pull.tilt(real.nodes, turn_kinds(real, deep), p)
        self._tilted = [
            tilted(self.ln_p, self.offsets, deep, tilt + step) for step in pull.sd * _AT
        ]
        self._cumulatives = [running_sums(np.exp(each), self.offsets) for each in self._tilted]

    def choices(self, rng: np.random.Generator, help_drawn: Help | str | None = None) -> Ints:
        """Draw the choices of one performance; see `Simulator.choices`."""
        self.cumulative = self._cumulatives[rng.choice(len(_AT), p=_WEIGHTS)]
        return super().choices(rng, help_drawn)

    def evidence(self, picked: Ints) -> Evidence:
        """Return the evidence of some choices: over strengths and over b together."""
        at = self.offsets[:-1] + picked
        parts = [gather(self.turns, Chosen(ln_p[at], self.helped[:, at])) for ln_p in self._tilted]
        return _joined(parts)

    def each_game(self, picked: Ints) -> list[Evidence]:
        """Return the evidence of each game by itself."""
        at = self.offsets[:-1] + picked
        chosen = [Chosen(ln_p[at], self.helped[:, at]) for ln_p in self._tilted]
        return [
            _joined([one_game(self.turns, each, game) for each in chosen])
            for game in range(self.turns.games)
        ]

    def follow(self, picked: Ints) -> list[Evidence]:
        """Return the evidence after each game, carried forward."""
        games = self.each_game(picked)
        helped = np.cumsum([each.helped for each in games], axis=0)
        alone = np.cumsum([each.alone for each in games], axis=0)
        return [
            replace(each, helped=helped[place], alone=alone[place])
            for place, each in enumerate(games)
        ]

    def expected_share(self, deep: Ints) -> float:
        """Return how often honest players of the rating take the deep move where it is known."""
        known = deep >= 0
        at = (self.offsets[:-1] + deep)[known]
        by_node = [np.exp(ln_p[at]).mean(axis=0) for ln_p in self._tilted]
        return float(_WEIGHTS @ np.array(by_node) @ np.exp(self.turns.prior))

    @cached_property
    def played(self) -> Ints:
        """What was played, as indices within the turns."""
        answer: Ints = self.real.board.spreads.chosen[self.real.rows]
        return answer


def _joined(parts: Sequence[Evidence]) -> Evidence:
    """Evidence over strengths and b: the nodes of all b side by side."""
    return Evidence(
        helped=np.concatenate([part.helped for part in parts], axis=-1),
        alone=np.concatenate([part.alone for part in parts]),
        prior=np.concatenate(
            [part.prior + np.log(weight) for part, weight in zip(parts, _WEIGHTS, strict=True)]
        ),
        weights=parts[0].weights,
    )


def tilted(ln_p: Floats, offsets: Ints, deep: Ints, tilt: Floats) -> Floats:
    """Return tilted agents: ln p + b [i = d] - ln(1 - p_d + p_d e^b).

    Parameters
    ----------
    ln_p
        The agents' logarithms, options × nodes.
    offsets
        Turn t has the options ``offsets[t]`` to ``offsets[t + 1]``.
    deep
        The deep move's place among a turn's options; -1 = not known.
    tilt
        b, turns × nodes.
    """
    known = np.flatnonzero(deep >= 0)
    at = (offsets[:-1] + deep)[known]
    total = np.zeros(tilt.shape)
    total[known] = np.log1p(np.exp(ln_p[at]) * np.expm1(tilt[known]))
    answer: Floats = ln_p - np.repeat(total, np.diff(offsets), axis=0)
    answer[at] += tilt[known]
    return answer


@dataclass(frozen=True, eq=False)
class DeepTurns:
    """One honest performance, for the measurement: one row a turn with a known deep move."""

    rating: float
    """The rating from before the event."""
    p: Floats
    """An agent's probability of the deep move, at the strength expected of the rating."""
    kinds: TurnKinds
    """What kind of turn each one is."""
    hit: Floats
    """1 where the deep move was played."""


def turn_kinds(real: Performance, deep: Ints) -> TurnKinds:
    """Return what kind of turn each one of a performance is; nothing depends on what was played."""
    spreads = real.board.spreads.take(real.rows)
    starts = spreads.offsets[:-1]
    near = spreads.values >= np.repeat(spreads.values[starts], spreads.counts) - QUIET_PAWNS
    table = real.board.table
    number = np.zeros(len(real))
    if "move_number" in table.columns:
        number = table["move_number"].fill_null(0).to_numpy()[real.rows]
    return TurnKinds(
        agree=(deep == 0) * 1.0,
        quiet=(np.add.reduceat(near.astype(np.int64), starts) >= QUIET_MOVES).astype(np.float64),
        late=(number >= LATE_MOVE).astype(np.float64),
    )


def deep_turns(real: Performance, deep: Ints) -> DeepTurns:
    """Return what the measurement needs of a performance."""
    weights = np.exp(real.turns.prior)
    known = np.flatnonzero(deep >= 0)
    at = (real.board.spreads.take(real.rows).offsets[:-1] + deep)[known]
    played = real.board.spreads.chosen[real.rows][known]
    return DeepTurns(
        rating=real.rating,
        p=np.exp(real.option_probabilities[at]) @ weights,
        kinds=turn_kinds(real, deep)[known],
        hit=(played == deep[known]) * 1.0,
    )


def measure_pull(those: Sequence[DeepTurns], depth: int = DEPTH, setup: str = "") -> DeepPull:
    """Measure how honest players are drawn to the deep move.

    All numbers by maximum likelihood (Newton's method; P(hit) = p e^b / (1 - p + p e^b) is a
    logistic regression with ln p/(1 - p) as offset, p not below a floor), and σ² by what
    performances vary more than chance: the sum of their squared scores over its expectation.

    Raises
    ------
    InputError
        If there are fewer than four performances.
    """
    if len(those) < 4:
        raise InputError(f"{len(those)} performances are too few to measure the deep look by")
    x = np.concatenate([np.full(len(each.p), (each.rating - MIDDLE) / UNIT) for each in those])
    p, hit = (np.concatenate([getattr(each, name) for each in those]) for name in ("p", "hit"))
    agree, quiet, late = (
        np.concatenate([getattr(each.kinds, name) for each in those])
        for name in ("agree", "quiet", "late")
    )
    offset = log_odds(p, FLOOR)
    lines = [agree, agree * x, 1 - agree, (1 - agree) * x]
    design = np.stack([*lines, quiet, late, agree * offset, (1 - agree) * offset], axis=1)
    size = design.shape[1]
    beta = np.zeros(size)
    for _ in range(_MOST_STEPS):
        chance = 1 / (1 + np.exp(-offset - design @ beta))
        slope = design.T @ (hit - chance)
        curve = design.T @ ((chance * (1 - chance))[:, None] * design)
        step = np.linalg.solve(curve + 1e-9 * np.eye(size), slope)
        beta = beta + step
        if np.abs(step).max() < 1e-10:
            break
    chance = 1 / (1 + np.exp(-offset - design @ beta))
    number = np.repeat(np.arange(len(those)), [len(each.p) for each in those])
    scores = np.bincount(number, hit - chance)
    information = np.bincount(number, chance * (1 - chance))
    # E(score²) = I + σ² I² for a performance.
    spare = float((scores**2 - information).sum() / (information**2).sum())
    ratings = [each.rating for each in those]
    return DeepPull(
        depth=depth,
        agreed=(float(beta[0]), float(beta[1])),
        other=(float(beta[2]), float(beta[3])),
        sd=max(LEAST_SD, float(np.sqrt(max(spare, 0.0)))),
        kinds=(float(beta[4]), float(beta[5])),
        flatter=(float(beta[6]), float(beta[7])),
        setup=setup,
        rests_on=(
            f"{len(those)} performances, {len(p):,} turns, {min(ratings):.0f} to "
            f"{max(ratings):.0f} Elo"
        ),
        made={
            "sd_squared": round(spare, 4),
            "errors": np.sqrt(np.diag(np.linalg.inv(curve + 1e-9 * np.eye(size))))
            .round(4)
            .tolist(),
        },
    )


@dataclass(frozen=True, eq=False)
class DeepTest:
    """One performance under the deep look."""

    ln_e: float
    """Logarithm of the evidence ratio with the deep look."""
    ln_e_worst: float
    """Logarithm of the worst-case ratio."""
    ln_e_both: float
    """Logarithm of the mean of the ratios without and with the deep look: an e-value as well."""
    played: float
    """How often the deep move was played."""
    expected: float
    """How often honest players of this rating play it on these turns."""
    turns: int
    """Turns whose deep move is known."""
    p: float
    """How often honest players have as large a ratio with the deep look: the larger of the next
    two."""
    p_reference: float | None
    """Among the honest performances that were looked at so deep; None = there are too few."""
    p_simulated: float
    """Among simulated honest players on just these turns."""
    p_simulated_se: float
    """Its standard error."""
    power: tuple[PowerCell, ...]
    """How often help by the deep search would have been noticed."""
    sequence: tuple[float, ...]
    """Logarithm of the ratio with the deep look after each game."""
    pull: DeepPull
    """The honest players that were compared with."""


def deep_test(
    real: Performance,
    deep: Ints,
    pull: DeepPull,
    rng: np.random.Generator,
    *,
    draws: int = 250,
    progress: Report | None = None,
) -> DeepTest:
    """Look deep at one performance.

    Parameters
    ----------
    real
        The performance.
    deep
        The deep search's option of each turn; -1 = not known.
    pull
        How honest players are drawn to it.
    rng
        The source of chance.
    draws
        Honest performances to simulate, and as many helped ones.
    progress
        Called while simulating.
    """
    look = DeepSimulator(real, deep, pull)
    found = look.evidence(look.played)
    drawn = weighed_draws(look, rng, draws, progress=progress)
    p, error = drawn.tail("ln_e", found.ln_e)
    # No tail is known to be smaller than one draw's weight at this place.
    p = max(p, float(np.exp(-max(found.ln_e, 0.0))) / len(drawn.ln_e))
    among = pull.share_above(found.ln_e)
    known = deep >= 0
    return DeepTest(
        ln_e=found.ln_e,
        ln_e_worst=found.ln_e_worst,
        ln_e_both=ln_mean(real.evidence.ln_e, found.ln_e),
        played=float((look.played == deep)[known].mean()),
        expected=look.expected_share(deep),
        turns=int(known.sum()),
        p=max(p, among or 0.0),
        p_reference=among,
        p_simulated=p,
        p_simulated_se=error,
        power=tuple(
            power_table(
                look, drawn, rng, assistants=(DEEP,), draws=max(draws // 5, 20), progress=progress
            )
        ),
        sequence=tuple(each.ln_e for each in look.follow(look.played)),
        pull=pull,
    )


def ln_mean(first: float, second: float) -> float:
    """Return the logarithm of the mean of two evidence ratios: again an e-value."""
    return float(log_sum([first, second]) - np.log(2.0))
