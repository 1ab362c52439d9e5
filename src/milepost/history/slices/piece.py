"""One slice of a history: its own games and players, and what it is told across its borders.

A player who was there before the slice brings a message from the past instead of a newcomer's
prior; one who is there after it brings a message from the future. Both are constants of a sweep, as
observations are (`milepost.history.ttt.told`). In turn the slice says what it knows of the players
who cross its borders, without what it was told by the same side.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from milepost.history.beliefs import lives_of
from milepost.history.models import TTT
from milepost.history.numbering import hashed_names
from milepost.history.records import Floats, Ints, read_records
from milepost.history.solver.convergence import improve
from milepost.history.solver.newton import Learning
from milepost.history.ttt.evidence import local_log_evidence
from milepost.history.ttt.learned_margin import margin_slopes
from milepost.history.ttt.state import SkillModel, ttt_state
from milepost.history.ttt.told import Told, pass_on

_ANEW = 12
"""Sweeps under fixed borders that bring a slice begun anew to where it was."""


@dataclass(frozen=True)
class Source:
    """Where a slice's results are: read by whoever works on it, and nobody else."""

    paths: tuple[str, ...]
    """Parquet files, all with the columns of the results table."""
    columns: Mapping[str, str]
    """The columns of the results table by what they are called in the files."""
    first: Any
    """The first time of the slice."""
    last: Any
    """The last time of it."""

    def read(self) -> pl.DataFrame:
        """Read the slice's rows and the columns that are needed, in the order of the files."""
        there = pl.scan_parquet(list(self.paths)).select(
            pl.col(name).alias(column) for column, name in self.columns.items()
        )
        return there.filter(pl.col("time").is_between(self.first, self.last)).collect()


@dataclass(frozen=True)
class Facts:
    """What the driver has to know of a slice."""

    crossing: pl.DataFrame
    """For each player: two hashes of the name (key, check), number, first and last clock."""
    games: int
    draws: float
    """How many games were drawn, by weight."""
    weight: float
    """The weight of all games."""
    nodes: int
    skipped: dict[str, int]


@dataclass(frozen=True)
class Borders:
    """Messages across the borders of a slice: players, and their precision and mean times it."""

    past: Ints
    """The players who were there before."""
    from_past: Floats
    future: Ints
    """The players who are there afterwards."""
    from_future: Floats


@dataclass(frozen=True)
class Answer:
    """What a slice says after a sweep."""

    to_past: Floats
    """For each player who was there before: precision, precision times mean."""
    to_future: Floats
    """For each player who is there afterwards."""
    changed: float
    """The largest change of a mean or a standard deviation since the last sweep, in points."""
    slope: float
    """The evidence's derivative by the draw margin."""
    curvature: float
    """The second derivative."""
    newcomers: int
    """How many players appear here for the first time."""
    newcomers_sum: float
    """The sum of their means then, counted from `mu`."""
    skipped: int
    """Updates left out because a cavity was not a proper Gaussian."""


@dataclass(frozen=True)
class Part:
    """The slice's part of the whole answer."""

    curves: pl.DataFrame
    """The curves table, and for each row its clock, and what past and future say (natural form)."""
    log_evidence: float
    paths: pl.DataFrame


class Slice:
    """The state of a slice. Begun anew, it needs nothing but its source and the last borders."""

    def __init__(self, source: Source | pl.DataFrame, model: TTT, period: str | float):
        results = source.read() if isinstance(source, Source) else source
        self.model = model
        self.records = records = read_records(results, period=period)
        lead = model.first_mover if isinstance(model.first_mover, int | float) else 0.0
        numbers = SkillModel(model.sigma, model.beta, model.tau, 0.0)
        self.state = ttt_state(
            records, numbers, level=np.zeros(records.periods),
            advantage=np.full(records.periods, float(lead)),
        )  # fmt: skip
        self.first = np.empty(records.players, dtype=np.int32)
        self.last = np.empty(records.players, dtype=np.int32)
        new, final = records.previous < 0, records.following < 0
        self.first[records.node_player[new]] = np.flatnonzero(new)
        self.last[records.node_player[final]] = np.flatnonzero(final)
        self.before: tuple[Floats, Floats] | None = None

    def facts(self) -> Facts:
        """Return what the driver has to know."""
        records = self.records
        key, check = hashed_names(records.names)
        clock = records.clock[records.node_period]
        weight = records.weight if len(records.weight) else np.ones(records.games)
        return Facts(
            pl.DataFrame({
                "key": key, "check": check,
                "number": np.arange(records.players, dtype=np.int32),
                "first": clock[self.first], "last": clock[self.last],
            }),
            records.games, float(weight[records.drawn].sum()), float(weight.sum()), records.nodes,
            dict(records.skipped),
        )  # fmt: skip

    def sweep(self, borders: Borders, margin: float, shift: float = 0.0) -> Answer:
        """Move all skills by `shift`, take new borders and a margin, sweep once, and answer."""
        state = self.state
        if self.before is not None:
            state.shift(np.full(self.records.nodes, shift), 0, self.records.periods)
        state.model = replace(state.model, margin=margin)
        self._tell(borders)
        skipped = improve(state, Learning(), first=self.before is None)
        belief = state.chains.belief
        after = (belief[:, 1] / belief[:, 0], 1.0 / np.sqrt(belief[:, 0]))
        changed = np.inf
        if self.before is not None:
            changed = max(
                float(np.max(np.abs(new - old)))
                for new, old in zip(after, self.before, strict=True)
            )
        self.before = after
        slope, curvature = margin_slopes(state)
        new = np.ones(self.records.players, dtype=np.bool_)
        new[borders.past] = False
        return Answer(
            belief[self.first[borders.past]] - borders.from_past,
            belief[self.last[borders.future]] - borders.from_future,
            changed, slope, curvature, int(new.sum()), float(after[0][self.first[new]].sum()),
            skipped,
        )  # fmt: skip

    def _tell(self, borders: Borders) -> None:
        """Tell the nodes at the borders what the neighbours say now, instead of before."""
        records, state = self.records, self.state
        message = np.zeros((records.nodes, 2))
        np.add.at(message, self.first[borders.past], borders.from_past)
        # They are no newcomers: the prior that the sweeps give them is taken away again.
        message[self.first[borders.past], 0] -= state.model.sigma**-2
        np.add.at(message, self.last[borders.future], borders.from_future)
        belief = state.chains.belief
        if state.told is not None:
            belief -= state.told.message
        # A precision of exactly nothing has no mean to go with it.
        told = (message[:, 0] == 0.0) & (message[:, 1] != 0.0)
        message[told, 0] = 1e-12 * state.model.sigma**-2
        value = np.divide(message[:, 1], message[:, 0], where=message[:, 0] != 0.0,
                          out=np.zeros(records.nodes))  # fmt: skip
        state.told = None
        if message.any():
            state.told = Told(
                message[:, 0].copy(), value, records.node_period, np.zeros(records.periods),
                np.zeros(max(records.periods - 1, 0)), learned=False, unit=1.0,
            )  # fmt: skip
        pass_on(state.told, belief)

    def part(self, borders: Borders, margin: float) -> Part:
        """Return the slice's part of the answer, under the borders of the last sweep."""
        if self.before is None:  # begun anew since then
            for _ in range(_ANEW):
                self.sweep(borders, margin)
        records, chains = self.records, self.state.chains
        # What was told goes where it came from, so that a life looks the same in one piece.
        forward, backward = chains.forward.copy(), chains.backward.copy()
        forward[self.first[borders.past]] = borders.from_past
        backward[self.last[borders.future]] = borders.from_future
        whole = chains._replace(forward=forward, backward=backward)
        lives = lives_of(records, whole, offset=self.model.mu, drift=self.model.tau**2)
        # Only true newcomers have nothing but the prior before them.
        there = lives.start[:-1][borders.past]
        first = self.first[borders.past]
        lives.table[there, 2:] = chains.belief[first] - borders.from_past
        order = records.by_player
        belief = chains.belief[order]
        curves = pl.DataFrame({
            "player": records.names.gather(records.node_player[order]),
            "time": records.label.gather(records.node_period[order]),
            "clock": records.asked_clock[records.node_period[order]],
            "mean": self.model.mu + belief[:, 1] / belief[:, 0],
            "sd": 1.0 / np.sqrt(belief[:, 0]),
            "games": records.node_games[order],
            "past_pi": lives.table[:, 0], "past_tau": lives.table[:, 1],
            "future_pi": lives.table[:, 2], "future_tau": lives.table[:, 3],
        })  # fmt: skip
        paths = pl.DataFrame({
            "time": records.label, "clock": records.asked_clock,
            "newcomer_mean": self.model.mu + self.state.level,
            "first_mover": self.state.advantage,
        })  # fmt: skip
        return Part(curves, local_log_evidence(self.state, whole), paths)
