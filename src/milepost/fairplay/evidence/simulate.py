"""Draws of whole performances: honest ones, helped ones, and what their statistics are.

Draws come from just the model that the evidence ratio is made of: a strength from what is known
before the event, a strength of its own for every game, choices of agents of that strength, and,
where help is drawn, turns and choices as the menu says. So the ratio of the two densities of a draw
is its evidence ratio, and tails far beyond the number of draws can be weighed: half of the draws
are honest, half are helped, and each counts 1 / (½ + ½ E) (importance sampling with a defensive
mixture, Hesterberg 1995). A tail of 1e-6 then takes thousands of draws, not billions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from milepost.choice.spreads import Floats, Ints
from milepost.errors import InputError
from milepost.fairplay.evidence import counts, menu
from milepost.fairplay.evidence.ratio import Chosen, Evidence, Turns, gather
from milepost.fairplay.evidence.standard_scores import Scored
from milepost.fairplay.performances import Bools, Performance
from milepost.io.progress import Progress, Report
from milepost.kernels import kernel

DRAWS = 1_000
"""Honest draws, and as many helped ones."""


@dataclass(frozen=True)
class Help:
    """One alternative of the menu."""

    schedule: str
    """When."""
    assistant: str
    """Who."""
    share: float
    """How often."""


@dataclass(frozen=True, eq=False)
class Draws:
    """Statistics of drawn performances."""

    ln_e: Floats
    """Logarithms of the evidence ratios."""
    combined: Floats
    """The one standard score."""
    match: Floats
    """z of the match rate, adjusted."""
    weights: Floats
    """What each draw counts for honest play; their sum is about the number of draws."""

    def tail(self, name: str, value: float) -> tuple[float, float]:
        """Return how often honest play has at least this, with its standard error."""
        share, error = self.tails(name, np.array([value]))
        return float(share[0]), float(error[0])

    def tails(self, name: str, at: Floats) -> tuple[Floats, Floats]:
        """Return how often honest play has at least each of some values, with standard errors.

        The mean of all weights is known to be 1. By how much these draws miss it says by how much
        they miss a tail, and that is taken off (a control variate: Owen & Zhou 2000, *Safe and
        effective importance sampling*). So every tail lies between 0 and 1, and none is known worse
        than from the honest draws alone; plain sums of weights were, from the middle on.
        """
        values, weights = getattr(self, name), self.weights
        count = len(values)
        order = np.argsort(-values, kind="stable")
        above = np.searchsorted(-values[order], 1e-12 - np.asarray(at), side="right")
        first, second = (
            np.concatenate([[0.0], np.cumsum(weights[order] ** power)])[above] / count
            for power in (1, 2)
        )
        missed, spread = weights.mean() - 1, weights.var()
        with_weights = second - first * weights.mean()
        slope = with_weights / spread if spread > 0 else np.zeros_like(first)
        left = second - first**2 - slope * with_weights
        share: Floats = np.clip(first - slope * missed, 0.0, 1.0)
        error: Floats = np.sqrt(np.maximum(left, 0.0) / max(count - 1, 1))
        return share, error

    def threshold(self, name: str, false_alarms: float) -> float:
        """Return what honest play reaches with a probability of `false_alarms`."""
        values: Floats = getattr(self, name)
        order = np.argsort(-values, kind="stable")
        reached = np.cumsum(self.weights[order]) / len(values)
        place = int(np.searchsorted(reached, false_alarms))
        return float(values[order[min(place, len(values) - 1)]])


class Simulator:
    """Draws performances on the turns of a real one."""

    def __init__(self, real: Performance) -> None:
        board = real.board
        spreads = board.spreads.take(real.rows)
        self.real = real
        self.assistants: tuple[str, ...] = board.assistants
        self.turns: Turns = real.turns
        self.counts = True
        """Whether first moves are counted in E."""
        self.offsets: Ints = spreads.offsets
        self.ln_p = real.option_probabilities
        options = np.concatenate(
            [np.arange(board.spreads.offsets[row], board.spreads.offsets[row + 1])
             for row in real.rows]
        )  # fmt: skip
        self.helped: Floats = np.ascontiguousarray(board.helped[:, options])
        self.figures: Floats = board.scores.options[options]
        self.expected = board.scores.expected[real.rows].sum(axis=0)
        self.scored: Scored = real.scored
        honest = board.honest.variation(real.rating, board.map_error(real.rating), real.rating_sd)
        self.bias = len(real) * honest.bias
        self.match_sd = _adjusted_sd(real)
        self.cumulative = running_sums(np.exp(self.ln_p), self.offsets)
        self.cumulative_helped = running_sums(self.helped.T, self.offsets)
        self.game = np.repeat(np.arange(self.turns.games), np.diff(self.turns.starts))

    def draw(
        self,
        count: int,
        rng: np.random.Generator,
        help_drawn: Help | str | None = None,
        tell: Callable[[int], None] | None = None,
    ) -> Draws:
        """Draw performances.

        Parameters
        ----------
        count
            How many.
        rng
            The source of chance.
        help_drawn
            None = honest play, ``"menu"`` = an alternative drawn from the menu each time, or one.
        tell
            Called with the number of draws done.

        Returns
        -------
        Draws
            The weights are those of honest draws: 1 each.
        """
        answers = np.empty((count, 3))
        for number in range(count):
            if tell is not None:
                tell(number)
            answers[number] = self.statistics(self.choices(rng, help_drawn))
        return Draws(answers[:, 0], answers[:, 1], answers[:, 2], np.ones(count))

    def choices(self, rng: np.random.Generator, help_drawn: Help | str | None = None) -> Ints:
        """Draw the choices of one performance, as indices within the turns."""
        if help_drawn == "menu" and self.counts and rng.random() < counts.WEIGHT:
            return self._counted_choices(rng)
        turns = self.turns
        strength = rng.choice(len(turns.prior), p=np.exp(turns.prior))
        picked = self._picked(_drawn_rows(turns.mixing[:, strength], rng), rng.random(len(turns)))
        if help_drawn is None:
            return picked
        when, who, share = self._alternative(rng, help_drawn)
        mask = self._helped_turns(rng, when, share)
        other = np.empty(len(turns), dtype=np.int64)
        _pick(
            self.offsets, self.cumulative_helped, np.full(len(turns), who, dtype=np.int64),
            rng.random(len(turns)), other,
        )  # fmt: skip
        return np.where(mask, other, picked)

    def _picked(self, of_game: Ints, luck: Floats) -> Ints:
        """What agents choose whose strength is a node for each game."""
        picked = np.empty(len(self.turns), dtype=np.int64)
        _pick(self.offsets, self.cumulative, of_game[self.game], luck, picked)
        return picked

    def _counted_choices(self, rng: np.random.Generator) -> Ints:
        """Draw choices whose density is that of honest play times the count ratio.

        First which turns have the judge's first move, tilted; then what honest players choose given
        just that: their strengths by Bayes' rule, and other moves where it is not the first.
        """
        turns, chance = self.turns, self.real.first.chance
        tilt = np.exp(rng.choice(counts.TILTS))
        strength = rng.choice(len(turns.prior), p=np.exp(turns.prior))
        of_game = _drawn_rows(turns.mixing[:, strength], rng)
        m = chance[np.arange(len(chance)), of_game[self.game]]
        hit = rng.random(len(m)) < m * tilt / (1 - m + m * tilt)
        p = np.clip(np.where(hit[:, None], chance, 1 - chance), 1e-12, 1.0)
        games = np.add.reduceat(np.log(p), turns.starts[:-1])
        games = np.exp(games - games.max(axis=1, keepdims=True))
        ln_strength = turns.prior + np.log(np.einsum("gsk,gk->gs", turns.mixing, games)).sum(axis=0)
        weights = np.exp(ln_strength - ln_strength.max())
        strength = rng.choice(len(weights), p=weights / weights.sum())
        of_game = _drawn_rows(turns.mixing[:, strength] * games, rng)
        first = self.cumulative[self.offsets[:-1], of_game[self.game]]
        luck = np.where(hit, 0.0, first + (1 - first) * rng.random(len(first)))
        return self._picked(of_game, luck)

    def _alternative(
        self, rng: np.random.Generator, help_drawn: Help | str
    ) -> tuple[str, int, float]:
        if isinstance(help_drawn, Help):
            names = self.assistants
            if help_drawn.schedule not in menu.SCHEDULES or help_drawn.assistant not in names:
                raise InputError(f"{help_drawn} is not on the menu")
            return help_drawn.schedule, names.index(help_drawn.assistant), help_drawn.share
        table = menu.weights(self.helped.shape[0] - len(menu.HELPERS))
        place = rng.choice(table.size, p=table.ravel())
        when, who, often = np.unravel_index(place, table.shape)
        return list(menu.SCHEDULES)[when], int(who), menu.SHARES[often]

    def _helped_turns(self, rng: np.random.Generator, when: str, share: float) -> Bools:
        turns, count = self.turns, len(self.turns)
        drawn = rng.random(count)
        if when == "one turn a game":
            mask = np.zeros(count, dtype=bool)
            for game in range(turns.games):
                first, last = turns.starts[game], turns.starts[game + 1]
                stake = turns.chances.stake[first:last]
                at = first + rng.choice(last - first, p=stake / stake.sum())
                mask[at] = rng.random() < share
            return mask
        if when == "whole games":
            helped = rng.random(turns.games) < share
            whole: Bools = helped[self.game] & (drawn < menu.WITHIN_GAME)
            return whole
        mask = np.asarray(drawn < share)
        if when == "difficult turns":
            mask &= turns.chances.difficult > 0
        if when == "when behind":
            mask &= turns.chances.behind > 0
        return mask

    def evidence(self, picked: Ints) -> Evidence:
        """Return the evidence of some choices."""
        at = self.offsets[:-1] + picked
        chosen = Chosen(self.ln_p[at], self.helped[:, at])
        if self.counts:
            chosen = replace(chosen, hit=(picked == 0) * 1.0, first=self.real.first)
        return gather(self.turns, chosen)

    def statistics(self, picked: Ints) -> tuple[float, float, float]:
        """Return ln E, the one standard score and z of the match rate of some choices."""
        at = self.offsets[:-1] + picked
        sums = self.figures[at].sum(axis=0) - self.expected - self.bias
        return (
            self.evidence(picked).ln_e,
            float(self.scored.weights @ sums),
            float(sums[0] / self.match_sd),
        )


def weighed_draws(
    simulator: Simulator,
    rng: np.random.Generator,
    count: int = DRAWS,
    *,
    progress: Report | None = None,
) -> Draws:
    """Draw honest and helped performances, weighed so that they tell of honest play.

    Parameters
    ----------
    simulator
        Where to draw.
    rng
        The source of chance.
    count
        Honest draws, and as many helped ones.
    progress
        Called with the draws done.
    """

    def tell(before: int) -> Callable[[int], None] | None:
        if progress is None:
            return None
        return lambda done: progress(Progress(before + done, 2 * count, "performances"))

    parts = [
        simulator.draw(count, rng, None, tell(0)),
        simulator.draw(count, rng, "menu", tell(count)),
    ]
    ln_e = np.concatenate([part.ln_e for part in parts])
    return Draws(
        ln_e=ln_e,
        combined=np.concatenate([part.combined for part in parts]),
        match=np.concatenate([part.match for part in parts]),
        weights=1 / (0.5 + 0.5 * np.exp(np.minimum(ln_e, 600.0))),
    )


@dataclass(frozen=True)
class PowerCell:
    """How often one kind of help would be noticed on just these turns."""

    assistant: str
    """Who helps."""
    share: float
    """Of all turns."""
    false_alarms: float
    """How often honest play would be noticed as well."""
    power: float
    """How often this would be noticed by the evidence ratio."""
    power_match: float
    """The same by the match rate alone."""
    draws: int
    """What it rests on."""


def power_table(
    simulator: Simulator,
    honest: Draws,
    rng: np.random.Generator,
    *,
    shares: Sequence[float] = (0.05, 0.1, 0.2, 0.4, 1.0),
    assistants: Sequence[str] = ("best of this set-up", "another engine"),
    false_alarms: Sequence[float] = (0.01, 0.001),
    draws: int = 100,
    progress: Report | None = None,
) -> list[PowerCell]:
    """Return what the test would notice on just these turns, by simulation."""
    cells = []
    total = len(shares) * len(assistants)
    for number, (who, share) in enumerate((a, s) for a in assistants for s in shares):
        if progress is not None:
            progress(Progress(number, total, "kinds of help"))
        drawn = simulator.draw(draws, rng, Help("every turn", who, share))
        cells += [
            PowerCell(
                who,
                share,
                rate,
                float((drawn.ln_e >= honest.threshold("ln_e", rate)).mean()),
                float((drawn.match >= honest.threshold("match", rate)).mean()),
                draws,
            )
            for rate in false_alarms
        ]
    return cells


def _adjusted_sd(real: Performance) -> float:
    """The standard deviation of the match rate's sum among honest players."""
    sums = (real.board.scores.chosen - real.board.scores.expected)[real.rows].sum(axis=0)
    board = real.board
    honest = board.honest.variation(real.rating, board.map_error(real.rating), real.rating_sd)
    centred = sums[0] - len(real) * honest.bias[0]
    if abs(real.scored.adjusted[0]) > 1e-9:
        return float(centred / real.scored.adjusted[0])
    return 1.0


def _drawn_rows(weights: Floats, rng: np.random.Generator) -> Ints:
    """Draw one column of each row, by weights that need not add up to 1."""
    sums = np.cumsum(weights, axis=1)
    luck = rng.random(len(sums)) * sums[:, -1]
    answer: Ints = np.minimum((sums < luck[:, None]).sum(axis=1), sums.shape[1] - 1)
    return answer


def running_sums(table: Floats, offsets: Ints) -> Floats:
    """Return cumulative sums within each turn, brought to end at 1."""
    answer = np.empty_like(table)
    for first, last in pairwise(offsets):
        sums = np.cumsum(table[first:last], axis=0)
        answer[first:last] = sums / sums[-1]
    return answer


@kernel
def _pick(offsets: Ints, cumulative: Floats, column: Ints, luck: Floats, picked: Ints) -> None:
    for t in range(len(luck)):
        option = offsets[t]
        while option < offsets[t + 1] - 1 and cumulative[option, column[t]] <= luck[t]:
            option += 1
        picked[t] = option - offsets[t]
