"""How well ratings are read off turns: errors over many random cuts, with an honest error of them.

A *cut* puts the games of each milepost into a random order and cuts their turns into pieces of one
size. Every reader rates the same pieces, and is compared with the Elo of those who made the moves.
One cut tells little (with 250 turns a piece the error moves by ten points from cut to cut), so the
error is the mean over many. But the pieces of different cuts hold the same games: the spread over
cuts says how much the luck of one cut was worth, not how far the mean may be off. That comes from
drawing games anew, with replacement, and cutting those. There what a whole milepost is off the
reader's line, mostly luck too, is taken for the truth: otherwise it would count twice (a test
checks on simulated sets of games that the stated error is right). The maps are not fitted anew: it
is the error for the maps as they are (that of the calibrated error, below, contains what a new line
over Elo would change). And as a piece may lie across folds, the error of a map itself, which all
players share (`Calibration.map_error`), hardly shows in these figures.

Beside the root mean square error stands the *calibrated* one. A reader that is drawn to the middle
(slope under 1) has small errors in the middle of the range and tells players apart no better; so
its readings are first brought to slope 1 and mean error 0 by their own line over Elo. Where
readers are compared by *information*, the squared ratio of calibrated errors is meant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
import polars as pl

from milepost.choice.spreads import Floats, Ints, Spreads
from milepost.errors import InputError
from milepost.intrinsic.calibration.maps import MILEPOST
from milepost.io.progress import Progress, Report

SIZES = (50, 250, 1000)
"""Turns of a piece."""
CUTS = 30
"""Random cuts that an error is the mean of."""
RESAMPLES = 100
"""How often games are drawn anew for the error of that mean."""
CUTS_EACH = 4
"""Cuts of each drawing: they tell the luck of a cut from that of the games."""
BEYOND = 800.0
"""A rating farther beyond the fitted range than this counts as being there."""
LEVEL = 0.95
"""Probability of the intervals."""
FEWEST_PIECES = 4
"""A line through fewer pieces leaves nothing to judge by."""

Reader = Callable[[Ints], Floats]
"""From pieces (a row each, of the numbers of its decisions) to a rating each."""


@dataclass(frozen=True, eq=False)
class Contender:
    """Somebody who reads ratings, to be compared with others on the same cuts."""

    read: Reader
    """The ratings of pieces."""
    information: Floats | None = None
    """Expected information of each decision about its chooser's rating, for the bound."""
    cuts: int | None = None
    """Only so many cuts, and no error of their mean: for a reader that takes long."""


class Cutter:
    """Cuts decisions into pieces of one size."""

    def __init__(self, spreads: Spreads, size: int):
        assert spreads.rating is not None
        near = np.round(spreads.rating / MILEPOST).astype(np.int64)
        typical = float(np.median(np.unique(near, return_counts=True)[1]))
        # Where mileposts have fewer than two pieces, neighbours are put together.
        self.level = (near - near.min()) // max(int(np.ceil(2 * size / typical)), 1)
        """Where each decision may be cut: pieces are of one level."""
        self._size = size
        _, game = np.unique(spreads.groups, return_inverse=True)
        self._rows = np.argsort(game, kind="stable")
        self._counts = np.bincount(game)
        self._starts = np.concatenate([[0], np.cumsum(self._counts)[:-1]])

    @property
    def games(self) -> int:
        """How many games there are."""
        return len(self._counts)

    def cut(self, games: Ints) -> Ints:
        """Return the pieces, a row each, of games in the order in which they are to be used up.

        A game that is named twice is there twice.
        """
        counts = self._counts[games]
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        rows = self._rows[np.repeat(self._starts[games], counts) + within]
        level = self.level[rows]
        rows = rows[np.argsort(level, kind="stable")]
        parts = []
        for part in np.split(rows, np.cumsum(np.bincount(level))[:-1]):
            whole = len(part) // self._size
            parts.append(part[: whole * self._size].reshape(whole, self._size))
        return np.concatenate(parts)


@dataclass(frozen=True, eq=False)
class _Readings:
    """What one reader made of one cut."""

    true: Floats
    read: Floats

    @property
    def square(self) -> float:
        return float(((self.read - self.true) ** 2).mean())


def accuracy_table(
    contenders: Mapping[str, Contender],
    spreads: Spreads,
    *,
    sizes: Sequence[int] = SIZES,
    cuts: int = CUTS,
    resamples: int = RESAMPLES,
    seed: int = 2012,
    against: str | None = None,
    progress: Report | None = None,
) -> pl.DataFrame:
    """Return how well each reader does on pieces of each size; all get the same pieces.

    Parameters
    ----------
    contenders
        The readers, by name.
    spreads
        The decisions, with ratings.
    sizes
        Turns of a piece.
    cuts
        Random cuts.
    resamples
        How often games are drawn anew for errors and intervals; 0 = neither.
    seed
        Draws the cuts, then the games.
    against
        The reader whose information is 1 [default: no ratios].
    progress
        Called with the cuts done.

    Returns
    -------
    polars.DataFrame
        One row a reader and size: `pieces` a cut, `cuts`; `rmse`, its mean over cuts, `rmse_sd`,
        its standard deviation over cuts, `rmse_se`, the error of the mean by games drawn anew;
        `calibrated` with `_sd` and `_se` likewise; `bias`, `slope` and `correlation` over all
        cuts; `bound`, the error that the agents' expected information leaves; `ratio`, the
        information of the reader where that of `against` is 1, with `ratio_low` and `ratio_high`.

    Raises
    ------
    InputError
        If there are no ratings, or too few turns to cut a piece from.
    """
    if spreads.rating is None or not np.isfinite(spreads.rating).all():
        raise InputError("the accuracy of ratings needs the rating of every chooser")
    if cuts < 1:
        raise InputError(f"an accuracy needs one cut or more, got {cuts}")
    rows: list[dict[str, Any]] = []
    for number, size in enumerate(sizes):
        cutter = Cutter(spreads, size)
        if len(cutter.cut(np.arange(cutter.games))) < FEWEST_PIECES:
            continue
        table = _Table(contenders, spreads, cutter)

        def tell(done: int, size: int = size, number: int = number) -> None:
            if progress is not None:
                total = cuts + CUTS_EACH * resamples
                progress(Progress(number * total + done, len(sizes) * total, f"{size} turns"))

        rows += _rows(table, size, cuts, resamples, seed, against, tell)
    if not rows:
        raise InputError("no milepost has enough turns to cut pieces from")
    return pl.DataFrame(rows, infer_schema_length=None)


class _Table:
    """The readings of all contenders, cut by cut."""

    def __init__(self, contenders: Mapping[str, Contender], spreads: Spreads, cutter: Cutter):
        assert spreads.rating is not None
        self.contenders = contenders
        self.cutter = cutter
        self._rating, self._weights = spreads.rating, spreads.weights
        self._ends = spreads.rating.min() - BEYOND, spreads.rating.max() + BEYOND
        self._off: dict[str, Floats] = {}

    def read(self, name: str, parts: Ints) -> _Readings:
        """Rate the pieces; readings far away are brought near."""
        true = self._rating[parts].mean(axis=1)
        return _Readings(true, np.clip(self.contenders[name].read(parts), *self._ends))

    def read_about(self, name: str, parts: Ints) -> _Readings:
        """Rate the pieces, taking what a whole level is off the reader's own line for the truth."""
        level = self.cutter.level
        if name not in self._off:
            codes = np.unique(level)
            wholes = [self.read(name, np.flatnonzero(level == code)[None, :]) for code in codes]
            true = np.concatenate([whole.true for whole in wholes])
            read = np.concatenate([whole.read for whole in wholes])
            self._off[name] = np.zeros(level.max() + 1)
            if len(codes) > 2:
                line = np.polyfit(true, read, 1, w=np.sqrt(np.bincount(level)[codes]))
                self._off[name][codes] = read - np.polyval(line, true)
        plain = self.read(name, parts)
        return _Readings(plain.true, plain.read - self._off[name][level[parts[:, 0]]])

    def bound(self, name: str, parts: Ints) -> float:
        """Mean over pieces of the variance that their information leaves."""
        information = self.contenders[name].information
        if information is None:
            return float("nan")
        return float((1 / (self._weights * information)[parts].sum(axis=1)).mean())


def _rows(
    table: _Table,
    size: int,
    cuts: int,
    resamples: int,
    seed: int,
    against: str | None,
    tell: Callable[[int], None],
) -> Iterator[dict[str, Any]]:
    games = table.cutter.games
    readings: dict[str, list[_Readings]] = {name: [] for name in table.contenders}
    bounds: dict[str, list[float]] = {name: [] for name in table.contenders}
    pieces = []
    for number in range(cuts):
        tell(number)
        order = np.random.default_rng((seed, size, number)).permutation(games)
        parts = table.cutter.cut(order)
        pieces.append(len(parts))
        for name, contender in table.contenders.items():
            if contender.cuts is None or number < contender.cuts:
                readings[name].append(table.read(name, parts))
                bounds[name].append(table.bound(name, parts))
    quick = [name for name, contender in table.contenders.items() if contender.cuts is None]
    drawn = _Redrawn(quick, against)
    for number in range(resamples):
        tell(cuts + CUTS_EACH * number)
        rng = np.random.default_rng((seed, size, number, 1))
        sample = rng.integers(0, games, games)
        several = [table.cutter.cut(rng.permutation(sample)) for _ in range(CUTS_EACH)]
        if min(map(len, several)) >= FEWEST_PIECES:
            drawn.add(
                {name: [table.read_about(name, parts) for parts in several] for name in quick}
            )
    squares = {name: calibrated_squares(each)[0] for name, each in readings.items()}
    for name, each in readings.items():
        raw, level = np.sqrt([one.square for one in each]), np.sqrt(squares[name])
        true = np.concatenate([one.true for one in each])
        read = np.concatenate([one.read for one in each])
        row: dict[str, Any] = {
            "map": name,
            "turns": size,
            "pieces": float(np.mean(pieces)),
            "cuts": len(each),
            "rmse": float(raw.mean()),
            "rmse_sd": _sd(raw),
            "rmse_se": float(raw.mean()) * drawn.error(name, "rmse", len(each)),
            "calibrated": float(level.mean()),
            "calibrated_sd": _sd(level),
            "calibrated_se": float(level.mean()) * drawn.error(name, "calibrated", len(each)),
            "bias": float((read - true).mean()),
            "slope": calibrated_squares(each)[1],
            "correlation": float(np.corrcoef(true, read)[0, 1]),
            "bound": float(np.sqrt(np.mean(bounds[name]))),
        }
        if against is not None and against in squares:
            ratio = float(squares[against][: len(each)].mean() / squares[name].mean())
            half = NormalDist().inv_cdf(0.5 + LEVEL / 2) * drawn.error(name, "ratio", len(each))
            row |= {"ratio": ratio}
            row |= {"ratio_low": ratio * np.exp(-half), "ratio_high": ratio * np.exp(half)}
        yield {key: None if _unknown(value) else value for key, value in row.items()}


class _Redrawn:
    """Logarithms of figures of games drawn anew, several cuts each time."""

    def __init__(self, names: Sequence[str], against: str | None):
        self._figures: dict[tuple[str, str], list[Floats]] = {}
        self._names, self._against = names, against

    def add(self, readings: Mapping[str, list[_Readings]]) -> None:
        """Take in what all readers made of one drawing."""
        level = {name: calibrated_squares(each)[0] for name, each in readings.items()}
        for name, each in readings.items():
            self._keep(name, "rmse", np.log([one.square for one in each]) / 2)
            self._keep(name, "calibrated", np.log(level[name]) / 2)
            if self._against in level:
                self._keep(name, "ratio", np.log(level[self._against] / level[name]))

    def _keep(self, name: str, what: str, figures: Floats) -> None:
        self._figures.setdefault((name, what), []).append(figures)

    def error(self, name: str, what: str, cuts: int) -> float:
        """The share by which a mean over cuts may be off: by the games, and by the cuts' luck.

        The cuts of one drawing differ by luck alone; the means of several drawings by the games
        too.
        """
        figures = np.array(self._figures.get((name, what), []))
        if len(figures) < 3:
            return float("nan")
        luck = float(figures.var(axis=1, ddof=1).mean())
        games = max(float(figures.mean(axis=1).var(ddof=1)) - luck / CUTS_EACH, 0.0)
        return float(np.sqrt(games + luck / cuts))


def calibrated_squares(readings: Sequence[_Readings]) -> tuple[Floats, float]:
    """Return the mean square error of each cut once readings are brought to their line, its slope.

    The line is one for all cuts, which hold the same games; two pieces' worth of freedom a cut has
    gone into it.
    """
    true = np.concatenate([each.true for each in readings])
    read = np.concatenate([each.read for each in readings])
    slope, start = np.polyfit(true, read, 1)
    squares = []
    for each in readings:
        gap = each.read - (start + slope * each.true)
        squares.append((gap**2).sum() / max(len(gap) - 2, 1))
    return np.array(squares) / slope**2, float(slope)


def _unknown(value: Any) -> bool:
    return isinstance(value, float) and bool(np.isnan(value))


def _sd(values: Floats) -> float:
    return float(values.std(ddof=1)) if len(values) > 1 else float("nan")


def accuracy_line(table: pl.DataFrame, name: str, size: int) -> str:
    """Return one reader's error at a number of turns in words; empty if it is not in the table."""
    if "map" not in table.columns:
        return ""
    here = table.filter((pl.col("map") == name) & (pl.col("turns") == size))
    if not len(here):
        return ""
    row = here.row(0, named=True)
    text = f"error at {size:,} turns {row['rmse']:.0f}"
    if row.get("rmse_se") is not None:
        text += f" ± {row['rmse_se']:.0f}"
    text += f" Elo ({row['cuts']} cuts"
    if row.get("rmse_sd") is not None:
        text += f", sd {row['rmse_sd']:.0f}"
    if row.get("bound") is not None:
        text += f"; bound {row['bound']:.0f}"
    text += ")"
    if row.get("ratio_low") is not None:
        text += (
            f"; {row['ratio']:.2f} ({row['ratio_low']:.2f} to {row['ratio_high']:.2f}) times the "
            "information of lichess accuracy"
        )
    return text
