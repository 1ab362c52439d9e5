"""What depth, number of moves and engine do to c (2009 paper, sections III.A and VI): its own wish.

One store may hold values at many depths, all legal moves, and another engine's view of the same
positions. Ratios are taken on the same turns, so their errors come from drawing games anew.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt
import polars as pl

from milepost.choice import Spreads
from milepost.choice.spreads import Floats
from milepost.fit import fit_reference
from milepost.fit.methods.reference import WIDTH, likeliest_competence
from milepost.papers.agents2009.bands import BOOK, band_decisions, clustered_error
from milepost.papers.charts import points
from milepost.papers.experiment import Finding, MissingDataError, Outcome, experiment
from milepost.papers.folder import Folder
from milepost.papers.ipr2011.data import EXTRA, FEWEST
from milepost.papers.ipr2011.depths import at_depth
from milepost.papers.ledger.answers import judge, too_little
from milepost.papers.statistics import Estimate, first_options, mean_of

DEEP = "quick"
"""The plan with the paper's depth of ten."""
OTHER = "apart"
"""The plan of another engine's evaluations: Toga II gives values in no other."""
SHALLOW = 6
WIDTHS = (3, 5, 7, 10)
BANDS = (2000.0, 2300.0, 2500.0)
"""Elo at which wide bands begin: too few turns for every milepost."""
Competence = Callable[[Spreads], float]
"""Finds c of some decisions."""
_DRAWS = 100
_SEED = 2009
_SLIP = 0.3
"""Pawns: a move that cost so much is an inaccuracy."""


@experiment(
    "2009-robustness", paper="2009", title="c over depth, number of moves and engine (section VI)"
)
def robustness(folder: Folder) -> Outcome:
    """Fit c by band at several depths and widths, and by another engine on the same positions."""
    frame = deep_decisions(folder)
    spreads = Spreads.from_table(frame)
    depths = [depth for depth in spreads.depths if depth >= 2]
    ways: dict[str, Callable[[Spreads], Spreads]] = {
        f"depth {depth}": lambda each, depth=depth: at_depth(each, depth)  # type: ignore[misc]
        for depth in depths
    }
    ways |= {
        f"{width} moves": lambda each, width=width: first_options(each, width, bounded=False)  # type: ignore[misc]
        for width in WIDTHS
    }
    table = way_table(frame, ways)
    engine, engine_rows = engine_finding(folder)
    return Outcome(
        data=f"whole events or mileposts; bands from {', '.join(f'{b:.0f}' for b in BANDS)}",
        n=len(frame),
        findings=(
            *ratio_findings(spreads, depths),
            engine,
            slip_finding(spreads, depths),
        ),
        tables={"c by band": table} | ({"Engines": engine_rows} if len(engine_rows) else {}),
        charts={
            "c by depth": points(
                _numbered(table, "depth", "Depth"), "Depth", "c", error="se", colour="Band",
                line=True,
            ),
            "c by number of moves": points(
                _numbered(table, "moves", "Moves"), "Moves", "c", error="se", colour="Band",
                line=True,
            ),
        },
        notes=(
            "at a lower depth the best move may be another: options are put in its order",
            f"ratios have errors from {_DRAWS} bootstrap samples of games",
        ),
    )  # fmt: skip


def deep_decisions(folder: Folder, plan: str = DEEP) -> pl.DataFrame:
    """Return decisions with the paper's depth: whole events if turns were drawn, else mileposts."""
    if folder.drawn is None:
        return band_decisions(folder, plan=plan)
    frame = folder.decisions("events", "whole", extra=EXTRA, plan=plan, limit_pawns=math.inf)
    milepost = (pl.col("mover_elo") / 100).round() * 100
    frame = frame.drop_nulls("mover_elo").with_columns(milepost.alias("milepost"))
    return frame.filter(pl.col("move_number") > BOOK)


def band_of(elo: Floats) -> npt.NDArray[np.intp]:
    """Return the number of each Elo's wide band, from 0."""
    return np.searchsorted(np.asarray(BANDS), np.nan_to_num(elo), side="right")


def way_table(
    frame: pl.DataFrame, ways: Mapping[str, Callable[[Spreads], Spreads]]
) -> pl.DataFrame:
    """Return c for each way of analysis and wide band."""
    rows = []
    bands = band_of(frame["milepost"].to_numpy())
    names = [f"under {BANDS[0]:.0f}"]
    names += [f"{low:.0f} to {high - 1:.0f}" for low, high in itertools.pairwise(BANDS)]
    names += [f"{BANDS[-1]:.0f} and more"]
    for band in np.unique(bands):
        spreads = Spreads.from_table(frame.filter(pl.Series(bands == band)))
        if len(spreads) < FEWEST:
            continue
        for name, way in ways.items():
            seen = way(spreads)
            found = fit_reference(seen)
            error = clustered_error(seen)
            se = max(found.sd, error) if np.isfinite(error) else found.sd
            rows.append((name, names[int(band)], found.n, found.mean, se))
    if not rows:
        raise MissingDataError(f"no wide band has {FEWEST} turns")
    return pl.DataFrame(rows, schema=["way", "Band", "n", "c", "se"], orient="row")


def _numbered(table: pl.DataFrame, word: str, axis: str) -> pl.DataFrame:
    part = table.filter(pl.col("way").str.contains(word))
    return part.with_columns(pl.col("way").str.extract(r"(\d+)").cast(pl.Int64).alias(axis))


def posterior_mean(spreads: Spreads) -> float:
    """Return c as the paper states it."""
    return fit_reference(spreads).mean


def rise(spreads: Spreads, competence: Competence = posterior_mean) -> float:
    """Return the rise of c in 100 Elo: a line in Elo through c of each half of the ratings."""
    if spreads.rating is None:
        raise MissingDataError("these turns have no Elo")
    elo = np.nan_to_num(spreads.rating)
    upper = elo >= np.median(elo)
    low, high = spreads.take(~upper), spreads.take(upper)
    apart = elo[upper].mean() - elo[~upper].mean()
    return 100 * (competence(high) - competence(low)) / float(apart)


def ratio_of(
    one: Spreads, two: Spreads, measure: Callable[[Spreads, Competence], float],
    draws: int = _DRAWS,
) -> Estimate:  # fmt: skip
    """Return a measure of one view of some games over that of another, less one, in per cent.

    Both views hold the same games, so games are drawn anew for both at once. In the draws the
    likeliest c stands for the posterior's mean: it is as uncertain, and found in no time.
    """
    rng = np.random.default_rng(_SEED)
    games = np.unique(np.concatenate([one.groups, two.groups]))
    rows = [[np.flatnonzero(view.groups == game) for game in games] for view in (one, two)]

    def ratio(first: Spreads, second: Spreads, competence: Competence) -> float:
        return 100 * (measure(first, competence) / measure(second, competence) - 1)

    drawn = []
    for _ in range(draws):
        some = rng.integers(len(games), size=len(games))
        parts = [
            view.take(np.concatenate([own[game] for game in some]))
            for view, own in zip((one, two), rows, strict=True)
        ]
        drawn.append(ratio(parts[0], parts[1], likeliest_competence))
    error = float(np.subtract(*np.percentile(drawn, [84.13, 15.87])) / 2)
    return Estimate(ratio(one, two, posterior_mean), error)


def ratio_findings(spreads: Spreads, depths: list[int]) -> tuple[Finding, Finding]:
    """Judge whether the rise of c with Elo stays the same with less depth and fewer moves."""
    n = len(spreads)
    if SHALLOW not in depths or depths[-1] <= SHALLOW or n < FEWEST:
        few = f"{n} turns with depths up to {depths[-1] if depths else 0}"
        return too_little("2009-depths", few, n=n), too_little("2009-width", few, n=n)
    ten = first_options(spreads, WIDTH, bounded=False)
    shallow = first_options(at_depth(spreads, SHALLOW), WIDTH, bounded=False)
    depth = ratio_of(shallow, ten, rise)
    width = ratio_of(first_options(spreads, WIDTH // 2, bounded=False), ten, rise)
    whole = f"rise {rise(spreads):.4f} in 100 Elo with depth {depths[-1]} and {WIDTH} moves"
    return (
        judge("2009-depths", depth, f"{depth.show(0, sign=True)} %; {whole}", n=n),
        judge("2009-width", width, f"{width.show(0, sign=True)} %; {whole}", n=n),
    )


def slip_finding(spreads: Spreads, depths: list[int]) -> Finding:
    """Judge whether two plies less find most of the inaccuracies."""
    if len(depths) < 3 or spreads.depth_values is None:
        return too_little("2009-depth-10", "no values at several depths", n=len(spreads))
    starts = spreads.offsets[:-1]
    lost = []
    for depth in (depths[-1], depths[-3]):
        values = spreads.depth_values[:, spreads.depths.index(depth)]
        best = np.maximum.reduceat(np.nan_to_num(values, nan=-np.inf), starts)
        lost.append(best - values[starts + spreads.chosen])
    slips = (lost[0] >= _SLIP) & (spreads.chosen >= 0)
    n = int(slips.sum())
    if n < FEWEST // 2:
        return too_little("2009-depth-10", f"{n} inaccuracies", n=n)
    share = mean_of(100.0 * (lost[1][slips] >= _SLIP), spreads.groups[slips])
    return judge("2009-depth-10", share, f"{share.show(1)} % of {n}", n=n)


def engine_ratio(mine: Spreads, theirs: Spreads, draws: int = _DRAWS) -> Estimate:
    """Return c by another engine over c by ours, less one, in per cent.

    Each engine leaves out choices beyond its own first ten moves.
    """
    return ratio_of(theirs, mine, lambda view, competence: competence(view), draws)


def engine_finding(folder: Folder) -> tuple[Finding, pl.DataFrame]:
    """Judge c by another engine against c by ours on the same turns, at the same depth."""
    try:
        if folder.setup(OTHER) == folder.setup(DEEP):
            return too_little("2009-engine", "the store holds one engine only"), pl.DataFrame()
        other, ours = deep_decisions(folder, OTHER), deep_decisions(folder)
    except MissingDataError as error:
        return too_little("2009-engine", str(error)), pl.DataFrame()
    key = ["game_id", "ply"]
    both = ours.join(other.select(key), on=key, how="semi").sort(key)
    same = other.join(ours.select(key), on=key, how="semi").sort(key)
    n = len(both)
    if n < FEWEST:
        return too_little("2009-engine", f"{n} turns seen by both", n=n), pl.DataFrame()
    mine, theirs = (Spreads.from_table(each) for each in (both, same))
    depth = min(mine.depths[-1], theirs.depths[-1])
    mine, theirs = at_depth(mine, depth), at_depth(theirs, depth)
    number = engine_ratio(mine, theirs)
    fits = {"ours": fit_reference(mine), "other": fit_reference(theirs)}
    errors = {"ours": clustered_error(mine), "other": clustered_error(theirs)}
    rows = pl.DataFrame(
        [(name, depth, fits[name].n, fits[name].mean, errors[name]) for name in fits],
        schema=["engine", "depth", "n", "c", "se"], orient="row",
    )  # fmt: skip
    found = (
        f"{number.show(1, sign=True)} %: c {fits['other'].mean:.3f} against {fits['ours'].mean:.3f}"
        f" at depth {depth}"
    )
    return judge("2009-engine", number, found, n=n), rows
