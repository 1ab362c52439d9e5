"""Intrinsic performance ratings of players, games, events, phases …, with their intervals.

Beside each rating stand the match rate and the scaled error with what agents of the player's own
Elo would have done, and the 2009 agents' competence. These are evidence, never a verdict: z is
given raw, divided by how much more it varies among real players, and by the published factors.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from milepost.analysis.spreads.build import LEFT_OUT_WORDS, NOT_ANALYSED
from milepost.choice.checks import group_codes
from milepost.choice.evaluation.evaluate import Prepared, prepare
from milepost.choice.from_tables import game_labels
from milepost.choice.spreads import Floats, Ints, Spreads, concatenate_values
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
from milepost.intrinsic.rating.interval import Estimate, GameSums, Shares, estimate_games
from milepost.intrinsic.rating.likelihood_grid import Ladder, climb_beside_own
from milepost.intrinsic.rating.older_methods import estimate_by_reading
from milepost.io.progress import Progress, Report
from milepost.tables import RATINGS, as_frame

FEW_TURNS = 100
"""With fewer turns a rating comes with a warning."""
LEAST_TURNS = 10
"""With fewer turns there is no rating."""
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
    own: AtOwnElo | None = None,
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
    own
        With both: what the agents of the players' own Elo say of these decisions, if they were
        asked; see `own_elo`.
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
        seen = _see_in_parts(frame, calibration, ladder, prepared, own, progress)
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
    own: AtOwnElo | None,
    progress: Report | None,
) -> _Seen:
    """See decisions a part after the other, as they come: what is kept of them is small."""
    if ladder is not None:
        return _see(frame, calibration, ladder, prepared, own)
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
    own: AtOwnElo | None = None,
    depths: int = 0,
) -> _Seen:
    path = calibration.map.path
    if ladder is None or prepared is None:
        prepared = prepare(Spreads.from_table(frame, least_depths=depths), path.model)
    spreads = prepared.spreads
    if ladder is None and calibration.map.reading == "likelihood":
        rating = own_elo(spreads, calibration)
        ladder, agents = climb_beside_own(prepared, path, rating)
        own = at_own_elo(prepared, path, rating, agents=agents)
    if own is None:
        own = at_own_elo(prepared, path, own_elo(spreads, calibration))
    # With a ladder the values are enough: what else the decisions bring need not be kept.
    return _Seen(spreads if ladder is None else spreads.values_alone(), ladder, own)


def own_elo(spreads: Spreads, calibration: Calibration) -> Floats:
    """Return the Elo of each chooser; where it is not known, the middle of the calibration."""
    if spreads.rating is None:
        return np.full(len(spreads), np.mean(calibration.map.path.range))
    known = np.isfinite(spreads.rating)
    answer: Floats = np.where(known, spreads.rating, np.mean(calibration.map.path.range))
    return answer


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
    players, events = _codes(frame, ("mover",), ("event", "year"))
    beside = _beside_own_elo(seen, calibration, codes, len(names), players, events)
    order = np.argsort(codes, kind="stable")
    ends = np.cumsum(np.bincount(codes, minlength=len(names)))
    rows = []
    cautions = _cautions(frame, labels)
    # What one game gives to one group is summed once: then a group is some of these sums.
    _, first, game = np.unique(
        codes * (seen.spreads.groups.max(initial=0) + 1) + seen.spreads.groups,
        return_index=True,
        return_inverse=True,
    )
    group_of = codes[first]
    games = None if seen.ladder is None else GameSums.of(seen.ladder, game, len(first))
    last_games = np.searchsorted(group_of, np.arange(len(names)), side="right")
    player_shares, event_shares = (_shares(codes, each, len(names)) for each in (players, events))
    for code, values in enumerate(names):
        here = order[ends[code - 1] if code else 0 : ends[code]]
        mine = slice(last_games[code - 1] if code else 0, last_games[code])
        shares = Shares(float(player_shares[code]), float(event_shares[code]))
        if len(here) < least:
            found = Estimate.nothing(len(here), mine.stop - mine.start)
        elif games is not None:
            found = estimate_games(
                games.take(mine),
                calibration.variation,
                calibration.map_error,
                shares=shares,
                level=level,
            )
        else:
            found = estimate_by_reading(
                seen.spreads.take(here),
                calibration.map,
                calibration.variation,
                calibration.map_error,
                shares=shares,
                level=level,
            )
        row = dict(zip(labels, values, strict=True))
        row |= vars(found)
        row |= {name: float(each[code]) for name, each in beside.items()}
        if competence and len(here) >= least:
            row |= _competence(seen.spreads.take(here))
        row["warnings"] = "; ".join(_warnings(found, cautions[code], calibration, least))
        rows.append({name: _finite(value) for name, value in row.items()})
    return rows


def shares_of(decisions: pl.DataFrame) -> Shares:
    """Return over how many players and events decisions are spread."""
    one = np.zeros(len(decisions), dtype=np.int64)
    of_what = _codes(decisions, ("mover",), ("event", "year"))
    return Shares(*(float(_shares(one, labels, 1)[0]) for labels in of_what))


def _shares(codes: Ints, labels: Ints, count: int) -> Floats:
    """Σ (share of the turns)² over the labels, of each group."""
    span = int(labels.max(initial=0)) + 1
    pairs, turns = np.unique(codes * span + labels, return_counts=True)
    of_group = np.bincount(codes, minlength=count)
    squares = np.bincount(pairs // span, weights=turns**2.0, minlength=count)
    answer: Floats = squares / of_group**2
    return answer


def _codes(frame: pl.DataFrame, *wanted: tuple[str, ...]) -> list[Ints]:
    """Codes of what columns say together, for each of several; what is not known is one."""
    asked = []
    for columns in wanted:
        known = [
            pl.col(name).cast(pl.String).fill_null("") for name in columns if name in frame.columns
        ]
        together = pl.concat_str(known, separator=" ") if known else pl.lit("")
        asked.append(together.rank("dense").cast(pl.Int64).alias(str(columns)))
    codes = frame.select(pl.int_range(pl.len()).alias(""), *asked)
    return [codes[str(columns)].to_numpy() for columns in wanted]


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


_FAST = ["rapid", "blitz", "bullet"]
_CAUTIONS: Mapping[str, tuple[pl.Expr, ...]] = {
    "mover_elo": (
        pl.col("mover_elo").min().alias("least_elo"),
        pl.col("mover_elo").max().alias("most_elo"),
        pl.col("mover_elo").null_count().alias("unrated"),
    ),
    "speed": (pl.col("speed").is_in(_FAST).any().alias("fast"),),
    "score_doubt": (pl.col("score_doubt").sum().alias("doubts"),),
    "opponent": (pl.col("opponent").n_unique().alias("opponents"),),
    "mover": (pl.col("mover").n_unique().alias("movers"),),
}
"""What warnings rest on, by the column that it needs."""


def _cautions(frame: pl.DataFrame, labels: list[str]) -> list[dict[str, Any]]:
    """What warnings rest on, of each group, in the order of the groups' first rows."""
    asked = [each for name, all_ in _CAUTIONS.items() if name in frame.columns for each in all_]
    told = frame.select(*labels, *(name for name in _CAUTIONS if name in frame.columns))
    if not labels:
        return told.select(asked).rows(named=True) if asked else [{}]
    return told.group_by(labels, maintain_order=True).agg(asked).rows(named=True)


def _warnings(
    found: Estimate, turns: Mapping[str, Any], calibration: Calibration, least: int
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
    if turns.get("least_elo") is not None and not (
        low <= turns["least_elo"] and turns["most_elo"] <= high
    ):
        yield f"own Elo outside the calibrated {low:.0f}-{high:.0f}"
    if turns.get("fast"):
        yield "fast games: the calibration is for slow ones, and online ratings are not Elo"
    if doubts := turns.get("doubts"):
        yield f"possible errors of the game score: {doubts}"
    if turns.get("opponents") == 1 and found.games > 1:
        yield "one opponent"
    if (movers := turns.get("movers", 1)) > 1:
        yield f"{movers} players together"
    if turns.get("unrated"):
        yield "no Elo for some turns"


def _finite(value: Any) -> Any:
    """NaN and infinities become nulls: a table has no other way to say not known."""
    return None if isinstance(value, float) and not np.isfinite(value) else value
