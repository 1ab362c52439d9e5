"""Intrinsic performance ratings of players, games, events, phases …, with their intervals.

Beside each rating stand the match rate and the scaled error with what agents of the player's own
Elo would have done, and the 2009 agents' competence. These are evidence, never a verdict: z is
given raw, divided by how much more it varies among real players, and by the published factors.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import polars as pl

from milepost.analysis.spreads.build import LEFT_OUT_WORDS, NOT_ANALYSED
from milepost.choice.checks import group_codes
from milepost.choice.evaluation.evaluate import Prepared, prepare
from milepost.choice.from_tables import game_labels
from milepost.choice.spreads import Ints, Spreads, concatenate_values
from milepost.errors import InputError
from milepost.fit.methods.reference import fit_reference
from milepost.intrinsic.calibration.calibration import Calibration
from milepost.intrinsic.calibration.player_variation import (
    PUBLISHED_AD,
    PUBLISHED_MM,
    AtOwnElo,
    at_own_elo,
    z_factors,
    z_values,
)
from milepost.intrinsic.rating.groupings import add_groups, columns_needed, in_order
from milepost.intrinsic.rating.interval import Estimate, Shares, estimate
from milepost.intrinsic.rating.likelihood_grid import Ladder, climb
from milepost.intrinsic.rating.older_methods import estimate_by_reading
from milepost.io.progress import Progress, Report
from milepost.tables import RATINGS, as_frame

FEW_TURNS = 100
"""With fewer turns a rating comes with a warning."""
LEAST_TURNS = 10
"""With fewer turns there is no rating."""
_TOLD = ("mover_elo", "speed", "score_doubt", "opponent", "mover")
"""Columns that warnings rest on."""
_AT_ONCE = 1_500
"""Turns worked on at once, 15 kB each with 39 columns and ten depths: more take longer, for memory
that was just used is faster than fresh memory. A kilobyte of each is kept."""


@dataclass(frozen=True, eq=False)
class _Seen:
    """What the agents say of some decisions."""

    spreads: Spreads
    """The decisions; with a ladder their values are enough."""
    ladder: Ladder | None
    """All ratings; None where ratings are not read off the likelihood."""
    own: AtOwnElo
    """The players' own Elo; where it is not known, the middle of the calibration."""


def rate(
    decisions: Any,
    calibration: Calibration,
    by: Sequence[str] = ("player",),
    *,
    setup: str | None = None,
    force: bool = False,
    level: float = 0.95,
    least: int = LEAST_TURNS,
    competence: bool = True,
    left_out: pl.DataFrame | None = None,
    ladder: Ladder | None = None,
    prepared: Prepared | None = None,
    progress: Report | None = None,
) -> pl.DataFrame:
    """Rate groups of decisions.

    Parameters
    ----------
    decisions
        The decisions table, see `milepost.tables.DECISIONS`; a spreads table will do where the
        groupings need no more, but then cautions that need the turn are missing.
    calibration
        The calibration of the engine set-up that made the evaluations.
    by
        Groupings, see `milepost.intrinsic.rating.groupings`; none = all decisions in one.
    setup
        Digest of the set-up; None = not known.
    force
        Use the calibration for another set-up all the same.
    level
        Probability of the intervals.
    least
        Groups with fewer turns get no rating, but a row that says so.
    competence
        Whether to work out the competence of the 2009 agents too.
    left_out
        Turns that could not be rated, with a column `reason`: groups of which nothing else is left
        get a row that says why.
    ladder
        That of just these decisions under the calibration, if it is there already: it is most of
        the work.
    prepared
        With a ladder: just these decisions, prepared for the calibration's agents, if they are.
    progress
        Called with the turns done.

    Returns
    -------
    polars.DataFrame
        One row a group; see `milepost.tables.RATINGS`.

    Raises
    ------
    InputError
        If the calibration is for another set-up, or there is nothing to rate.
    TableError
        If a column is missing.
    """
    forced = calibration.refuse_other(setup or "", force=force)
    frame = as_frame(decisions)
    if not len(frame):
        raise InputError("there are no decisions to rate")
    missing = [name for name in columns_needed(by) if name not in frame.columns]
    if missing:
        raise InputError(
            f"gathering by {', '.join(by)} needs the columns {', '.join(missing)} of the turns"
        )
    by = list(dict.fromkeys(by))
    labels = [f"by {name}" for name in by]
    frame = add_groups(frame, by)
    rows: list[dict[str, Any]] = []
    if calibration.map.reading == "likelihood" or ladder is not None:
        seen = _see_in_parts(frame, calibration, ladder, prepared, progress)
        rows += _rate_part(frame, calibration, labels, level, least, competence, seen)
    else:
        done = 0
        for part in _batches(frame, labels):
            if progress is not None:
                progress(Progress(done, len(frame)))
            seen = _see(part, calibration)
            rows += _rate_part(part, calibration, labels, level, least, competence, seen)
            done += len(part)
    if left_out is not None and len(left_out):
        rows += _rows_of_nothing(frame, left_out, by, labels)
    table = pl.DataFrame(rows, infer_schema_length=None).rename(dict(zip(labels, by, strict=True)))
    if forced is not None:
        both = pl.lit("other engine set-up; ") + pl.col("warnings")
        table = table.with_columns(both.str.strip_suffix("; ").alias("warnings"))
    known = [name for name in RATINGS.names if name in table.columns]
    table = table.select(*by, *known).cast({name: RATINGS.dtypes[name] for name in known})
    return in_order(table, by)


def _rows_of_nothing(
    frame: pl.DataFrame, left_out: pl.DataFrame, by: list[str], labels: list[str]
) -> list[dict[str, Any]]:
    """Rows of groups whose turns were all left out, with the reasons.

    Turns that nobody has analysed make no row: a store may hold a few games of a large file.
    """
    missing = [name for name in columns_needed(by) if name not in left_out.columns]
    if not labels or missing:
        return []
    out = add_groups(left_out.filter(pl.col("reason") != NOT_ANALYSED), by)
    out = out.join(frame, on=labels, how="anti", nulls_equal=True)
    reasons = (
        out.group_by(*labels, "reason", maintain_order=True)
        .len()
        .partition_by(labels, maintain_order=True)
    )
    rows = []
    for group in reasons:
        told = ", ".join(
            f"{count:,} {LEFT_OUT_WORDS.get(reason, reason)}"
            for reason, count in group.select("reason", "len").rows()
        )
        row = group.select(labels).row(0, named=True)
        rows.append({**row, "n": 0, "games": 0, "warnings": f"no turn to rate: {told}"})
    return rows


def _batches(frame: pl.DataFrame, labels: list[str]) -> Iterator[pl.DataFrame]:
    """Parts of whole groups, none much larger than what is worked on at once."""
    if not labels or len(frame) <= _AT_ONCE:
        yield frame
        return
    # Rows are copied once, batch by batch: they are wide.
    rows = frame.select(labels).with_row_index("row").group_by(labels, maintain_order=True)
    waiting: list[pl.Series] = []
    count = 0
    for members in rows.agg("row")["row"]:
        waiting.append(members)
        count += len(members)
        if count >= _AT_ONCE:
            yield frame[pl.concat(waiting)]
            waiting, count = [], 0
    if waiting:
        yield frame[pl.concat(waiting)]


def _see_in_parts(
    frame: pl.DataFrame,
    calibration: Calibration,
    ladder: Ladder | None,
    prepared: Prepared | None,
    progress: Report | None,
) -> _Seen:
    """See decisions a part after the other, as they come: what is kept of them is small."""
    if ladder is not None:
        return _see(frame, calibration, ladder, prepared)
    depths = 0
    if "depth_values" in frame.columns:
        depths = frame.select(pl.col("depth_values").list.len().max()).item() or 0
    parts = []
    for at in range(0, len(frame), _AT_ONCE):
        if progress is not None:
            progress(Progress(at, len(frame)))
        parts.append(_see(frame.slice(at, _AT_ONCE), calibration, depths=depths))
    if len(parts) == 1:
        return parts[0]
    # Numbers of games are those of the whole table.
    games = group_codes(game_labels(frame), len(frame))
    spreads = concatenate_values([part.spreads for part in parts], games)
    ladders = [part.ladder for part in parts if part.ladder is not None]
    return _Seen(spreads, Ladder.joined(ladders, games), AtOwnElo.joined([p.own for p in parts]))


def _see(
    frame: pl.DataFrame,
    calibration: Calibration,
    ladder: Ladder | None = None,
    prepared: Prepared | None = None,
    depths: int = 0,
) -> _Seen:
    path = calibration.map.path
    if ladder is None or prepared is None:
        prepared = prepare(Spreads.from_table(frame, least_depths=depths), path.model)
    spreads = prepared.spreads
    if ladder is None and calibration.map.reading == "likelihood":
        ladder = climb(prepared, path)
    rating = np.full(len(spreads), np.nan) if spreads.rating is None else spreads.rating
    middle = float(np.mean(path.range))
    own = at_own_elo(prepared, path, np.where(np.isfinite(rating), rating, middle))
    # With a ladder the values are enough: what else the decisions bring need not be kept.
    return _Seen(spreads if ladder is None else spreads.values_alone(), ladder, own)


def _rate_part(
    frame: pl.DataFrame,
    calibration: Calibration,
    labels: list[str],
    level: float,
    least: int,
    competence: bool,
    seen: _Seen,
) -> list[dict[str, Any]]:
    codes = np.zeros(len(frame), dtype=np.int64)
    names: list[tuple[Any, ...]] = [()]
    if labels:
        groups = frame.select(labels).with_row_index("row")
        parts = groups.group_by(labels, maintain_order=True).agg("row")
        names = parts.select(labels).rows()
        members = parts["row"].explode().to_numpy()
        codes[members] = np.repeat(np.arange(len(names)), parts["row"].list.len().to_numpy())
    players, events = _codes(frame, "mover"), _codes(frame, "event", "year")
    beside = _beside_own_elo(seen, calibration, codes, len(names), players, events)
    order = np.argsort(codes, kind="stable")
    ends = np.cumsum(np.bincount(codes, minlength=len(names)))
    rows = []
    told = frame.select(name for name in _TOLD if name in frame.columns)
    ladder = seen.ladder
    for code, values in enumerate(names):
        here = order[ends[code - 1] if code else 0 : ends[code]]
        part = seen.spreads.take(here)
        shares = Shares(_share(players[here]), _share(events[here]))
        if len(here) < least:
            found = Estimate.nothing(len(part), part.number_of_groups)
        elif ladder is not None:
            found = estimate(
                ladder.take(here),
                calibration.variation,
                calibration.map_error,
                shares=shares,
                level=level,
            )
        else:
            found = estimate_by_reading(
                part,
                calibration.map,
                calibration.variation,
                calibration.map_error,
                shares=shares,
                level=level,
            )
        row = dict(zip(labels, values, strict=True))
        row |= {each.name: getattr(found, each.name) for each in fields(found)}
        row |= {name: float(each[code]) for name, each in beside.items()}
        if competence and len(here) >= least:
            row |= _competence(part)
        row["warnings"] = "; ".join(_warnings(found, told[here], calibration, least))
        rows.append({name: _finite(value) for name, value in row.items()})
    return rows


def shares_of(decisions: pl.DataFrame) -> Shares:
    """Return over how many players and events decisions are spread."""
    return Shares(_share(_codes(decisions, "mover")), _share(_codes(decisions, "event", "year")))


def _share(codes: Ints) -> float:
    shares = np.unique(codes, return_counts=True)[1] / len(codes)
    return float((shares**2).sum())


def _codes(frame: pl.DataFrame, *columns: str) -> Ints:
    """Codes of what columns say together; what is not known is one."""
    known = [
        pl.col(name).cast(pl.String).fill_null("") for name in columns if name in frame.columns
    ]
    if not known:
        return np.zeros(len(frame), dtype=np.int64)
    texts = frame.select(pl.concat_str(known, separator=" ")).to_series()
    return texts.rank("dense").cast(pl.Int64).to_numpy()


def _beside_own_elo(
    seen: _Seen,
    calibration: Calibration,
    codes: Ints,
    count: int,
    players: Ints,
    events: Ints,
) -> dict[str, Any]:
    """Match rate and scaled error, beside what agents of the players' own Elo would do.

    Groups in which a chooser has no rating get the actual figures alone. The more turns there are,
    the more z varies, for players differ from their Elo, and events do: the adjusted z are divided
    by what the calibration's components make of just these turns.
    """
    spreads, said = seen.spreads, seen.own
    rating = np.full(len(spreads), np.nan) if spreads.rating is None else spreads.rating
    known = np.isfinite(rating)
    weight = np.bincount(codes, weights=spreads.weights, minlength=count)
    whole = np.bincount(codes, weights=~known, minlength=count) == 0

    def mean(values: Any) -> Any:
        with np.errstate(invalid="ignore"):
            return np.bincount(codes, weights=spreads.weights * values, minlength=count) / weight

    z_mm, z_ad = z_values(said, codes, count)
    mm_factor, ad_factor = z_factors(
        said, calibration.variation, codes, count, players=players, games=spreads.groups,
        events=events,
    )  # fmt: skip
    projected = {
        "elo": mean(np.where(known, rating, 0.0)),
        "mm_projected": mean(said.first),
        "z_mm": z_mm,
        "z_mm_adjusted": z_mm / mm_factor,
        "z_mm_published": z_mm / PUBLISHED_MM,
        "ad_projected": mean(said.error),
        "z_ad": z_ad,
        "z_ad_adjusted": z_ad / ad_factor,
        "z_ad_published": z_ad / PUBLISHED_AD,
    }
    return {
        "mm_actual": mean(said.hit),
        "ad_actual": mean(said.actual_error),
        **{name: np.where(whole, values, np.nan) for name, values in projected.items()},
    }


def _competence(part: Spreads) -> dict[str, float]:
    # What it was while decisions came in is not asked for.
    found = fit_reference(part, snapshot_every=len(part))
    low, high = found.region()
    return {
        "competence": found.mean,
        "competence_sd": found.sd,
        "competence_low": low,
        "competence_high": high,
    }


def _warnings(
    found: Estimate, turns: pl.DataFrame, calibration: Calibration, least: int
) -> Iterator[str]:
    low, high = calibration.range
    if found.n < least:
        yield f"fewer than {least} turns: no rating"
    else:
        if found.n < FEW_TURNS:
            yield "few turns"
        if not np.isfinite(found.rating):
            yield "these turns set no bound"
        elif not low <= found.rating <= high:
            yield f"rating outside the calibrated {low:.0f}-{high:.0f}"
    if "mover_elo" in turns.columns:
        own = turns["mover_elo"].drop_nulls()
        if len(own) and not own.is_between(low, high).all():
            yield f"own Elo outside the calibrated {low:.0f}-{high:.0f}"
    if "speed" in turns.columns and turns["speed"].is_in(["rapid", "blitz", "bullet"]).any():
        yield "fast games: the calibration is for slow ones, and online ratings are not Elo"
    if "score_doubt" in turns.columns and (doubts := turns["score_doubt"].sum()):
        yield f"possible errors of the game score: {doubts}"
    if "opponent" in turns.columns and turns["opponent"].n_unique() == 1 and found.games > 1:
        yield "one opponent"
    if "mover" in turns.columns and turns["mover"].n_unique() > 1:
        yield f"{turns['mover'].n_unique()} players together"
    if "mover_elo" in turns.columns and turns["mover_elo"].null_count():
        yield "no Elo for some turns"


def _finite(value: Any) -> Any:
    """NaN and infinities become nulls: a table has no other way to say not known."""
    return None if isinstance(value, float) and not np.isfinite(value) else value
