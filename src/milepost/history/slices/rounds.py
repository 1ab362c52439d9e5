"""A history in slices of time: every slice sweeps by itself, then messages cross the borders.

The fixed point is that of the whole history: each message that would run along a player's life runs
across the borders too. The driver holds two Gaussians for each player and border, and no games. A
slice's Newton step moves what is inside it. What it cannot see is the level of a whole slice: games
say nothing about it, only newcomers and those who cross the borders do. Sweeps alone would be very
slow at it, so the driver solves for the levels of all slices after every sweep (`Links.levels`).
"""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import polars as pl
from scipy.special import ndtri

from milepost.errors import InputError
from milepost.history.beliefs import Lives
from milepost.history.models import TTT
from milepost.history.periods import checked_period, cut
from milepost.history.records import Floats, Ints
from milepost.history.result import History
from milepost.history.slices.piece import Answer, Borders, Facts, Part, Slice, Source
from milepost.history.solver.convergence import ConvergenceWarning, still_to_go, sweep_news
from milepost.history.sweeping import Sweeping
from milepost.io.progress import Report
from milepost.tables import CURVES

Ask = Callable[[str, list[tuple[Any, ...]]], list[Any]]
"""Call a method of every slice, each with its own arguments; returns the answers in order."""
BELIEVED = 4
"""After fewer sweeps the changes say nothing about the distance: quick parts hide slow ones."""
COLUMNS = ("time", "player_1", "player_2", "score", "first_mover", "weight")


def sources_of(
    paths: Sequence[str], slices: int, period: str | float, columns: dict[str, str] | None = None
) -> list[Source]:
    """Cut Parquet files of results into slices of time with about as many games each.

    Only the column of times is read here.

    Parameters
    ----------
    paths
        The files.
    slices
        How many; there may be fewer, for a period is never cut.
    period
        As for `milepost.history.fit_history`; not ``"event"`` or ``"game"``.
    columns
        What the columns of the results table are called in the files, where it is not the same.

    Raises
    ------
    InputError
        If a needed column is missing, or periods cannot be told from the times alone.
    """
    if checked_period(period) in ("event", "game"):
        raise InputError(f"slices of time need periods of time, not {period!r}")
    there = pl.scan_parquet(list(paths)).collect_schema().names()
    names = {column: (columns or {}).get(column, column) for column in COLUMNS}
    missing = [names[each] for each in COLUMNS[:4] if names[each] not in there]
    if missing:
        raise InputError(f"the results need the columns {', '.join(missing)}")
    names = {column: name for column, name in names.items() if name in there}
    counts = (
        pl.scan_parquet(list(paths)).select(time=names["time"]).drop_nulls().group_by("time").len()
    ).collect(engine="streaming").sort("time")  # fmt: skip
    if counts.is_empty():
        raise InputError("the results table has no rows")
    index = cut(counts["time"], period).index
    # Where a period ends, and how many games there are until then.
    ends = np.flatnonzero(np.diff(index, append=index[-1] + 1))
    games = np.cumsum(counts["len"].to_numpy())[ends]
    shares = games[-1] * np.arange(1, slices + 1) // slices
    chosen = np.unique(np.minimum(np.searchsorted(games, shares), len(ends) - 1))
    lasts = ends[chosen]
    firsts = [0, *(lasts[:-1] + 1)]
    return [
        Source(tuple(map(str, paths)), names, counts["time"][int(a)], counts["time"][int(b)])
        for a, b in zip(firsts, lasts, strict=True)
    ]


def fit_in_slices(
    ask: Ask, count: int, model: TTT, period: str | float, *, sweeping: Sweeping | None = None,
    progress: Report | None = None,
) -> History:  # fmt: skip
    """Fit a history whose slices somebody else holds.

    Parameters
    ----------
    ask
        Calls a method of every `milepost.history.slices.piece.Slice`.
    count
        How many slices there are.
    model, period, sweeping, progress
        As for `milepost.history.fit_history`.

    Returns
    -------
    History
        It cannot be updated: the results stay with the slices.

    Raises
    ------
    InputError
        If the model learns what slices cannot learn by themselves.

    Warns
    -----
    ConvergenceWarning
        If `max_sweeps` were not enough.
    """
    check_sliced(model)
    sweeping = Sweeping() if sweeping is None else sweeping
    tolerance = sweeping.distance(model.beta)
    facts: list[Facts] = ask("facts", [()] * count)
    links = Links(facts, model)
    share = sum(f.draws for f in facts) / sum(f.weight for f in facts)
    margin = _first_margin(model, share, sum(f.games for f in facts))
    learns = model.learns_margin and 0.0 < share < 1.0
    expected, prior = margin, model.beta**-2
    messages, shifts = links.nothing(), np.zeros(count)
    changes: list[float] = []
    remaining, skipped, moved = math.inf, 0, 0.0
    for number in range(1, sweeping.max_sweeps + 1):
        borders = links.borders(messages)
        answers: list[Answer] = ask(
            "sweep", [(b, margin, float(by)) for b, by in zip(borders, shifts, strict=True)]
        )
        skipped = sum(answer.skipped for answer in answers)
        changes.append(max(answer.changed for answer in answers))
        left = still_to_go(changes) if len(changes) >= BELIEVED else math.inf
        remaining = max(left, 2.0 * moved)
        if progress is not None:
            progress(sweep_news(number, remaining, skipped))
        if remaining <= tolerance:
            break
        if number == sweeping.max_sweeps:
            break
        shifts = links.levels(messages, answers)
        messages = links.shifted(links.pass_on(answers), shifts)
        if learns:
            slope = sum(a.slope for a in answers) - prior * (margin - expected)
            curvature = sum(a.curvature for a in answers) - prior
            found = min(max(margin - slope / curvature, 0.5 * margin), 2.0 * margin)
            moved, margin = abs(found - margin), found
    converged = remaining <= tolerance
    if not converged:
        warnings.warn(
            f"after {number} sweeps the history is still about {remaining:.3g} points from its "
            f"fixed point (asked: {tolerance:.3g})", ConvergenceWarning, stacklevel=2,
        )  # fmt: skip
    parts: list[Part] = ask("part", [(b, margin) for b in borders])
    lives, curves = _lives(parts, model)
    return History(
        curves=curves,
        log_evidence=sum(part.log_evidence for part in parts),
        converged=converged,
        sweeps=number,
        remaining_error=float(remaining),
        model=model,
        period=period,
        games=sum(f.games for f in facts),
        players=len(lives.names),
        draw_margin=margin,
        paths=pl.concat([part.paths for part in parts]),
        skipped=dict(sum((Counter(f.skipped) for f in facts), Counter())),
        draw_share=share,
        improper=skipped,
        sweeping=sweeping,
        _skill=lives,
    )


def check_sliced(model: object) -> None:
    """Refuse models that a history in slices cannot fit.

    Raises
    ------
    InputError
    """
    if not isinstance(model, TTT) or model.stage == "filter":
        raise InputError(
            "a history in slices is fitted by ttt, converged; not by "
            f"{getattr(model, 'name', model)}"
        )
    if model.newcomers is not None or isinstance(model.first_mover, str):
        raise InputError(
            "slices cannot learn the level of newcomers or the first mover's advantage: set "
            "newcomers=none, and first_mover to a number or none"
        )


def here(slices: Sequence[Slice]) -> Ask:
    """Return the way to ask slices in this process, one after the other."""

    def ask(name: str, arguments: list[tuple[Any, ...]]) -> list[Any]:
        return [getattr(each, name)(*given) for each, given in zip(slices, arguments, strict=True)]

    return ask


def _first_margin(model: TTT, share: float, games: int) -> float:
    """The margin given, or that of the share of draws, as `common_margin` has it."""
    if not isinstance(model.draw, str):
        if model.draw == 0 and share > 0.0:
            raise InputError("the results hold draws, so the draw margin cannot be 0")
        return float(model.draw)
    share = min(share, 1.0 - 0.5 / games)
    return float(math.sqrt(2.0) * model.beta * ndtri(0.5 * (1.0 + share)))


class Links:
    """Which players cross which borders: from a slice to the next one where they play again."""

    def __init__(self, facts: Sequence[Facts], model: TTT):
        every = pl.concat([
            fact.crossing.with_columns(slice=pl.lit(place, dtype=pl.Int32))
            for place, fact in enumerate(facts)
        ]).sort("key", "check", "slice")  # fmt: skip
        same = (every["key"] == every["key"].shift(-1)) & (
            every["check"] == every["check"].shift(-1)
        )
        early = np.flatnonzero(same.fill_null(False).to_numpy())
        columns = {name: every[name].to_numpy() for name in ("slice", "number", "first", "last")}
        self.count = len(facts)
        self.number = len(early)
        self.from_slice, self.to_slice = columns["slice"][early], columns["slice"][early + 1]
        numbers: Ints = columns["number"]
        self.from_number, self.to_number = numbers[early], numbers[early + 1]
        gap = columns["first"][early + 1] - columns["last"][early]
        self.drift: Floats = model.tau**2 * gap
        # For each slice, its links; the order of the messages follows them.
        self.into = [np.flatnonzero(self.to_slice == s) for s in range(self.count)]
        self.out = [np.flatnonzero(self.from_slice == s) for s in range(self.count)]
        self.prior, self.least = model.sigma**-2, 1e-12 * model.beta**2

    def nothing(self) -> Floats:
        """Return the first messages: the past says what newcomers are told, the future nothing."""
        first = np.zeros((self.number, 4))
        first[:, 0] = self.prior
        return first

    def borders(self, messages: Floats) -> list[Borders]:
        """Return what each slice is told."""
        return [
            Borders(
                self.to_number[into], messages[into, :2], self.from_number[out], messages[out, 2:]
            )
            for into, out in zip(self.into, self.out, strict=True)
        ]

    def pass_on(self, answers: Sequence[Answer]) -> Floats:
        """Return the messages at the other ends of their links, drifted."""
        after = np.empty((self.number, 4))
        for place, answer in enumerate(answers):
            after[self.out[place], :2] = answer.to_future
            after[self.into[place], 2:] = answer.to_past
        for side in (0, 2):
            shrink = 1.0 / (1.0 + after[:, side] * self.drift)
            after[:, side : side + 2] *= shrink[:, None]
        return after

    def levels(self, messages: Floats, answers: Sequence[Answer]) -> Floats:
        """Return by how much the level of each slice is off: a Newton step of one number a slice.

        The same equations as `milepost.history.solver.newton` has for single nodes, summed up: the
        drift ties those who cross a border, the prior ties newcomers.
        """
        means = np.empty((self.number, 2))
        for place, answer in enumerate(answers):
            out, into = self.out[place], self.into[place]
            for links, side, told, said in (
                (out, 0, messages[out, 2:], answer.to_future),
                (into, 1, messages[into, :2], answer.to_past),
            ):
                means[links, side] = (told[:, 1] + said[:, 1]) / (told[:, 0] + said[:, 0])
        matrix = np.diag([self.prior * answer.newcomers for answer in answers])
        pull = np.array([-self.prior * answer.newcomers_sum for answer in answers])
        tie = 1.0 / np.maximum(self.drift, self.least)
        force = tie * (means[:, 1] - means[:, 0])
        for ends, sign in ((self.from_slice, 1.0), (self.to_slice, -1.0)):
            pull += sign * np.bincount(ends, weights=force, minlength=self.count)
            np.add.at(matrix, (ends, ends), tie)
        np.add.at(matrix, (self.from_slice, self.to_slice), -tie)
        np.add.at(matrix, (self.to_slice, self.from_slice), -tie)
        return np.asarray(np.linalg.solve(matrix, pull))

    def shifted(self, messages: Floats, shifts: Floats) -> Floats:
        """Return messages moved with the slices that they come from."""
        messages[:, 1] += messages[:, 0] * shifts[self.from_slice]
        messages[:, 3] += messages[:, 2] * shifts[self.to_slice]
        return messages


def _lives(parts: Sequence[Part], model: TTT) -> tuple[Lives, pl.DataFrame]:
    """Put the slices' curves together: by player, then by time."""
    every = pl.concat([part.curves for part in parts]).sort(
        "player", "clock", maintain_order=True
    )  # fmt: skip
    counts = every.group_by("player", maintain_order=True).len()
    lives = Lives(
        names=counts["player"],
        start=np.concatenate([[0], np.cumsum(counts["len"].to_numpy())]).astype(np.int64),
        clock=every["clock"].to_numpy(),
        table=every.select("past_pi", "past_tau", "future_pi", "future_tau").to_numpy(),
        offset=model.mu,
        drift=model.tau**2,
    )
    return lives, CURVES.conform(every.select("player", "time", "mean", "sd", "games"))
