"""What a page about ratings shows, as tables: the numbers behind every picture, drawn elsewhere.

All of them ask the same thing in another way: does the agent of a group's rating do what the group
did? Groups without a rating, and their turns, are left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from scipy.special import ndtri

from milepost.choice.evaluation.evaluate import Evaluated, Prepared, evaluate, prepare
from milepost.choice.evaluation.summaries import up_share_cross_moments
from milepost.choice.spreads import Floats, Ints, Spreads
from milepost.fit.methods.percentile import GRID, up_shares
from milepost.intrinsic.calibration.calibration import Calibration
from milepost.intrinsic.calibration.maps import reference_set
from milepost.intrinsic.rating.groupings import add_groups
from milepost.intrinsic.rating.likelihood_grid import RUNGS
from milepost.tables import as_frame

PLAYERS = ("player", "opponent")
"""Groupings whose values are keys of players."""
EVERYTHING = "all turns"
"""The label where turns were not gathered by anything, and of all groups together."""
MOST_TURNS = 60_000
"""Of more turns an even part is taken for the pictures: nobody sees the difference."""
CURVE_TURNS = 500
"""Turns of the part on which the expected error is worked out along all ratings."""
MOST_ON_CURVE = 12
MOST_PANELS = 6
BAND = 0.95
"""Probability of the bands and bars made here."""
_REACH = float(ndtri(0.5 + BAND / 2))
_MOVES = (8, 12, 16, 20, 25, 30, 35, 40, 50, 60)
"""Last move of each stretch of moves; one more stretch is without end."""
_LEAST_IN_STRETCH = 10
_STEP = 50.0
"""Points between the ratings of the curve."""
_TEXT, _NUMBER, _COUNT = pl.String(), pl.Float64(), pl.Int64()
_CURVE = {"rating": _NUMBER, "expected": _NUMBER, "inside": pl.Boolean()}
_ON_CURVE = {"label": _TEXT, "rating": _NUMBER, "low": _NUMBER, "high": _NUMBER, "n": _COUNT,
             "actual": _NUMBER, "expected": _NUMBER}  # fmt: skip
_PERCENTILES = {"label": _TEXT, "n": _COUNT, "q": _NUMBER, "up": _NUMBER, "low": _NUMBER,
                "high": _NUMBER}  # fmt: skip
_BY_MOVE = {"moves": _TEXT, "n": _COUNT, "games": _COUNT, "actual": _NUMBER, "low": _NUMBER,
            "high": _NUMBER, "at_rating": _NUMBER, "at_elo": _NUMBER}  # fmt: skip
_SCHEMAS = (_CURVE, _ON_CURVE, _PERCENTILES, _BY_MOVE)


@dataclass(frozen=True, eq=False)
class Pictures:
    """The tables behind the pictures."""

    ratings: pl.DataFrame
    """One row a group, most turns first: label, rating, low, high, player_low, player_high,
    elo, n, games."""
    curve: pl.DataFrame
    """rating, expected: mean scaled error that agents of a rating make on a part of these turns;
    inside: whether the rating is one that the calibration was fitted on."""
    on_curve: pl.DataFrame
    """The groups with most turns: label, rating, low, high, n, actual (their mean scaled error),
    expected (of the agent of their rating, on the very same turns)."""
    percentiles: pl.DataFrame
    """label, n, q, up (share of choices below q among what the agent might have chosen; q if the
    agent plays like the group), low, high (95 % band under the agent)."""
    by_move: pl.DataFrame
    """moves, n, games, actual, low, high (95 % bars, clustered by game), at_rating, at_elo: what
    agents of the groups' ratings, and of the players' own Elos, would err; empty = no move numbers
    are known."""
    turns: int
    """Turns that the last two rest on."""


def make_pictures(
    ratings: pl.DataFrame,
    decisions: Any,
    calibration: Calibration,
    by: Sequence[str],
    *,
    names: Mapping[str, str] | None = None,
) -> Pictures:
    """Work out the tables behind the pictures.

    Parameters
    ----------
    ratings
        What `milepost.intrinsic.rating.rate.rate` said of the decisions.
    decisions
        The decisions it rated.
    calibration
        The calibration it used.
    by
        The groupings it used.
    names
        Players' names as written, by their keys; they stand in the labels.
    """
    rated = (
        with_labels(ratings, by, names)
        .filter(pl.col("rating").is_not_null())
        .sort(["n", "label"], descending=[True, False])
        .with_row_index("code")
    )
    ends = ("low", "high", "player_low", "player_high")
    shown = rated.select("label", "rating", *ends, "elo", "n", "games")
    frame = _with_ratings(as_frame(decisions), rated, by)
    if frame.is_empty():
        curve, on_curve, percentiles, by_move = (pl.DataFrame(schema=each) for each in _SCHEMAS)
        return Pictures(shown, curve, on_curve, percentiles, by_move, turns=0)
    seen = _see(frame, calibration)
    return Pictures(
        ratings=shown,
        curve=_curve(seen, rated, calibration),
        on_curve=_on_curve(seen, rated),
        percentiles=_percentiles(seen, rated),
        by_move=_by_move(seen, frame, calibration),
        turns=len(frame),
    )


def with_labels(
    ratings: pl.DataFrame, by: Sequence[str], names: Mapping[str, str] | None = None
) -> pl.DataFrame:
    """Return ratings with a column `label` before the others: what the group is, in one text.

    Two keys may have one name; then the key stands behind it.
    """
    named = []
    for grouping in by:
        text = pl.col(grouping).cast(pl.String).fill_null("not known")
        named.append(text.replace(unique_names(names)) if grouping in PLAYERS and names else text)
    label = pl.concat_str(named, separator=" · ") if named else pl.lit(EVERYTHING)
    return ratings.select(label.alias("label"), *ratings.columns)


def unique_names(names: Mapping[str, str]) -> dict[str, str]:
    """Return names by key, told apart by the key where two players have the same."""
    taken = Counter(names.values())
    return {key: name if taken[name] == 1 else f"{name} ({key})" for key, name in names.items()}


@dataclass(frozen=True, eq=False)
class _Seen:
    """The turns, and what the agents of their groups' ratings say of them."""

    spreads: Spreads
    prepared: Prepared
    ratings: Floats
    groups: Ints
    actual: Floats
    said: Evaluated


def _with_ratings(frame: pl.DataFrame, rated: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """The turns of rated groups, an even part of them, each with its group's number and rating."""
    known = rated.select(
        *by, pl.col("code").alias("group code"), pl.col("rating").alias("group rating")
    )
    if by:
        keys = [f"by {name}" for name in by]
        frame = add_groups(frame, by).join(
            known,
            left_on=keys,
            right_on=list(by),
            how="inner",
            nulls_equal=True,
            maintain_order="left",
        )
    else:
        frame = frame.join(known, how="cross")
    if len(frame) <= MOST_TURNS:
        return frame
    return frame[np.linspace(0, len(frame) - 1, MOST_TURNS).astype(np.int64)]


def _see(frame: pl.DataFrame, calibration: Calibration) -> _Seen:
    path = calibration.map.path
    spreads = Spreads.from_table(frame)
    ratings = frame["group rating"].to_numpy()
    prepared = prepare(spreads, path.model)
    return _Seen(
        spreads,
        prepared,
        ratings,
        frame["group code"].cast(pl.Int64).to_numpy(),
        prepared.delta[spreads.offsets[:-1] + spreads.chosen],
        evaluate(path.model, prepared, path.theta(ratings), probabilities=True),
    )


def _curve(seen: _Seen, rated: pl.DataFrame, calibration: Calibration) -> pl.DataFrame:
    """Expected error by rating, as far as the calibration and the intervals reach."""
    low, high = calibration.range
    ends = [low, high]
    for name in ("rating", "low", "high"):
        ends += rated.head(MOST_ON_CURVE)[name].drop_nulls().to_list()
    # A step beyond, so that an interval that is bounded does not touch the edge.
    first = max((min(ends) // _STEP - 1) * _STEP, float(RUNGS[0]))
    last = min((max(ends) // _STEP + 2) * _STEP, float(RUNGS[-1]))
    grid = np.arange(first, last + _STEP / 2, _STEP)
    part = reference_set(seen.spreads, CURVE_TURNS)
    path = calibration.map.path
    prepared = prepare(part, path.model)
    share = part.weights / part.weights.sum()
    errors = [share @ evaluate(path.model, prepared, path.theta(each)).error for each in grid]
    inside = (grid >= low) & (grid <= high)
    return pl.DataFrame({"rating": grid, "expected": errors, "inside": inside}, schema=_CURVE)


def _on_curve(seen: _Seen, rated: pl.DataFrame) -> pl.DataFrame:
    rows = []
    for row in rated.head(MOST_ON_CURVE).iter_rows(named=True):
        here = seen.groups == row["code"]
        if not here.any():  # a small group of very many turns may miss the part that was taken
            continue
        weight = seen.spreads.weights[here]
        rows.append({
            **{name: row[name] for name in ("label", "rating", "low", "high", "n")},
            "actual": float(weight @ seen.actual[here] / weight.sum()),
            "expected": float(weight @ seen.said.error[here] / weight.sum()),
        })  # fmt: skip
    return pl.DataFrame(rows, schema=_ON_CURVE)


def _percentiles(seen: _Seen, rated: pl.DataFrame) -> pl.DataFrame:
    """Up shares of all turns together, and of the groups with most turns."""
    offsets = seen.spreads.offsets
    panels = [(EVERYTHING, np.arange(len(seen.groups)))] if len(rated) > 1 else []
    largest = rated.head(MOST_PANELS - len(panels)).select("label", "code").rows()
    panels += [(label, np.flatnonzero(seen.groups == code)) for label, code in largest]
    frames = []
    for name, rows in panels:
        if not len(rows):
            continue
        weights = seen.spreads.weights[rows]
        share = weights / weights.sum()
        up = np.empty((len(rows), len(GRID)))
        up_shares(seen.said.before[rows], seen.said.ln_chosen[rows], GRID, up)
        counts = np.diff(offsets)[rows]
        bounds = np.concatenate([[0], np.cumsum(counts)])
        options = np.repeat(offsets[rows] - bounds[:-1], counts) + np.arange(bounds[-1])
        cross = np.zeros((len(GRID), len(GRID)))
        up_share_cross_moments(bounds, seen.said.probabilities[options], share, GRID, cross)
        reach = _REACH * np.sqrt(np.diag(cross))
        columns = {"q": GRID, "up": share @ up, "low": GRID - reach, "high": GRID + reach}
        frames.append(
            pl.DataFrame(columns)
            .with_columns(pl.lit(name).alias("label"), pl.lit(len(rows), pl.Int64).alias("n"))
            .select(list(_PERCENTILES))
        )
    return pl.concat(frames)


def _by_move(seen: _Seen, frame: pl.DataFrame, calibration: Calibration) -> pl.DataFrame:
    """Errors by stretches of moves; stretches with hardly a turn are left out."""
    if "move_number" not in frame.columns:
        return pl.DataFrame(schema=_BY_MOVE)
    moves = frame["move_number"].cast(pl.Float64).fill_null(np.nan).to_numpy()
    known = np.isfinite(moves)
    stretch = np.searchsorted(_MOVES, moves)  # one that is not known sorts last: left out below
    at_elo = _error_at_elo(seen, calibration)
    rows = []
    for place in np.unique(stretch[known]):
        here = np.flatnonzero(known & (stretch == place))
        if len(here) < _LEAST_IN_STRETCH:
            continue
        share = seen.spreads.weights[here] / seen.spreads.weights[here].sum()
        mean = float(share @ seen.actual[here])
        games = seen.spreads.groups[here]
        reach = _REACH * _clustered_error(share * (seen.actual[here] - mean), games)
        elo_error = float(share @ at_elo[here])
        rows.append({
            "moves": _stretch_name(int(place)),
            "n": len(here),
            "games": len(np.unique(games)),
            "actual": mean,
            "low": mean - reach if np.isfinite(reach) else None,
            "high": mean + reach if np.isfinite(reach) else None,
            "at_rating": float(share @ seen.said.error[here]),
            "at_elo": elo_error if np.isfinite(elo_error) else None,
        })  # fmt: skip
    return pl.DataFrame(rows, schema=_BY_MOVE)


def _error_at_elo(seen: _Seen, calibration: Calibration) -> Floats:
    """Expected error of an agent of the player's own Elo; NaN = the Elo is not known."""
    path, elo = calibration.map.path, seen.spreads.rating
    if elo is None or not np.isfinite(elo).any():
        return np.full(len(seen.spreads), np.nan)
    known = np.isfinite(elo)
    anybody = float(np.mean(path.range))
    said = evaluate(path.model, seen.prepared, path.theta(np.where(known, elo, anybody)))
    answer: Floats = np.where(known, said.error, np.nan)
    return answer


def _clustered_error(parts: Floats, groups: Ints) -> float:
    """Standard error of a mean from its parts, each less its share of the mean, by game."""
    _, code = np.unique(groups, return_inverse=True)
    sums = np.bincount(code, weights=parts)
    count = len(sums)
    return float(np.sqrt((sums**2).sum() * count / (count - 1))) if count > 1 else float("inf")


def _stretch_name(place: int) -> str:
    if place == len(_MOVES):
        return f"over {_MOVES[-1]}"
    return f"{_MOVES[place - 1] + 1 if place else 1}-{_MOVES[place]}"
