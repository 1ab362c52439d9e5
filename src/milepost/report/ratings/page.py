"""The page about ratings: who played how well, and how sure that is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from milepost.errors import InputError
from milepost.intrinsic.calibration.calibration import Calibration
from milepost.intrinsic.rating.diagnostics import (
    MOST_ON_CURVE,
    MOST_PANELS,
    Pictures,
    make_pictures,
    with_labels,
)
from milepost.io.shown import interval_text
from milepost.report.pages import Chart, Page, Table, Text, write_page
from milepost.report.ratings.charts import (
    MOST_BARS,
    bars_chart,
    curve_chart,
    moves_chart,
    percentiles_chart,
)

if TYPE_CHECKING:
    import altair as alt

MOST_ROWS = 200
"""Rows of the tables on the page; the whole table is written with ``-o``."""
_NAMED = {"player", "game", "event", "opponent"}
"""Groupings without an order of their own: the page puts the highest rating first."""


@dataclass(frozen=True, eq=False)
class RatingsView:
    """What the page is about."""

    ratings: pl.DataFrame
    """What `milepost.intrinsic.rating.rate.rate` returned."""
    by: Sequence[str]
    """The groupings that were used."""
    level: float
    """Probability of the intervals."""
    calibration: Calibration
    """The calibration that was used."""
    decisions: Any
    """The decisions that were rated."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Players' names as written, by their keys."""
    notes: Sequence[str] = ()
    """Caveats that hold for all rows."""


def write_ratings_page(view: RatingsView, path: str | Path, *, made: Mapping[str, Any]) -> None:
    """Write the page about ratings, whole or not at all.

    Parameters
    ----------
    view
        What it is about.
    path
        Where to.
    made
        Provenance.

    Raises
    ------
    OutputError
        If it cannot be written.
    """
    write_page(ratings_page(view, made=made), path)


def ratings_page(view: RatingsView, *, made: Mapping[str, Any]) -> Page:
    """Return the page about ratings; see `write_ratings_page`."""
    by, level, calibration = view.by, view.level, view.calibration
    named = _in_order(view.ratings, by, view.names)
    pictures = make_pictures(view.ratings, view.decisions, calibration, by, names=view.names)
    sections: list[Text | Table | Chart] = [
        _main_table(named, by, level),
        *_charts(named, pictures, level),
        _details(named, by),
        Text(_meaning(calibration, level), "What the figures mean"),
        Text(_about(calibration, view.notes), "The calibration"),
    ]
    title = f"{_title(by)}{_of_whom(view)}"
    return Page(title, tuple(sections), made, lead=_lead(named, by, calibration))


def plot_ratings(
    ratings: pl.DataFrame, by: Sequence[str], level: float, names: Mapping[str, str]
) -> alt.TopLevelMixin:
    """Return the page's first chart by itself: ratings with their intervals, and own Elo.

    Raises
    ------
    InputError
        If no group has a rating.
    """
    named = _in_order(ratings, by, names).filter(pl.col("rating").is_not_null())
    if named.is_empty():
        raise InputError("no group has a rating, so there is nothing to plot")
    order = named["label"].to_list()
    return bars_chart(named.sort("n", descending=True, maintain_order=True), order, level)


def _in_order(ratings: pl.DataFrame, by: Sequence[str], names: Mapping[str, str]) -> pl.DataFrame:
    """Ratings with labels; the highest first where groups have no order of their own."""
    named = with_labels(ratings, by, names)
    if set(by) & _NAMED:
        named = named.sort(["rating", "label"], descending=[True, False], nulls_last=True)
    return named


def _title(by: Sequence[str]) -> str:
    return f"Ratings from moves, by {' and '.join(by)}" if by else "Rating from moves"


def _of_whom(view: RatingsView) -> str:
    """The player, if the page is about one and its rows do not say who."""
    players = view.decisions["mover"].unique() if "mover" in view.decisions.columns else []
    if "player" in view.by or len(players) != 1:
        return ""
    return f": {view.names.get(players[0], players[0])}"


def _lead(named: pl.DataFrame, by: Sequence[str], calibration: Calibration) -> str:
    rated = named.filter(pl.col("rating").is_not_null())
    engine = (calibration.setup_text or calibration.name).split(",")[0]
    turns = f"{named['n'].sum():,} turns"
    if rated.is_empty():
        return f"No group could be given a rating ({turns} in all)."
    best = rated.sort(["rating", "label"], descending=[True, False]).row(0, named=True)
    if len(named) == 1:
        return f"{_rating_text(best)}: {turns} of {best['games']:,} games, judged by {engine}."
    kind = "players" if list(by) == ["player"] else "groups"
    what = f"{len(named):,} {kind}"
    whole = len(rated) == len(named)
    return (
        f"{f'All {what}' if whole else f'{len(rated):,} of {what}'} are rated, by {turns} that "
        f"{engine} judged. Highest: {best['label']}, {_rating_text(best)}, by {best['n']:,} turns. "
        f"Where intervals overlap widely, these games hardly tell the {kind} apart."
    )


def _rating_text(row: Mapping[str, Any]) -> str:
    played = interval_text(row["low"], row["high"])
    player = interval_text(row["player_low"], row["player_high"])
    return f"Elo {row['rating']:.0f} ({played} for these games, {player} for the player)"


def _heading(by: Sequence[str]) -> str:
    return " · ".join(by) or "group"


def _main_table(named: pl.DataFrame, by: Sequence[str], level: float) -> Table:
    intervals = {
        f"{what}, {level:.0%}": [
            "" if row["se"] is None else interval_text(row[f"{side}low"], row[f"{side}high"])
            for row in named.iter_rows(named=True)
        ]
        for what, side in (("performance", ""), ("player", "player_"))
    }
    frame = named.select(
        pl.col("label").alias(_heading(by)),
        "rating",
        *(pl.Series(name, texts, dtype=pl.String) for name, texts in intervals.items()),
        pl.col("n").alias("turns"),
        "games",
        pl.col("elo").alias("own Elo"),
        "warnings",
    )
    return Table(
        "Who played how well, and how sure that is",
        frame,
        note="The rating is the Elo of the players whose moves look most like these. Performance: "
        "how well these games were played; it holds the uncertainty of the turns and of the "
        "calibration. Player: how strong the player is; it adds how much players of equal Elo, "
        "and events, differ. Turns of the opening and of decided positions do not count, nor do "
        "games that have no others.",
        digits={"rating": 0, "own Elo": 0},
        most=MOST_ROWS,
        numbers=tuple(intervals),
    )


def _charts(named: pl.DataFrame, pictures: Pictures, level: float) -> list[Chart]:
    if pictures.ratings.is_empty() or not pictures.turns:
        return []
    order = [label for label in named["label"] if label in set(pictures.ratings["label"])]
    answer = [
        Chart(
            f"Ratings with their {level:.0%} intervals",
            bars_chart(pictures.ratings, order, level),
            "Ratings with intervals",
            "Thick: how well these games were played. Thin: how strong the player is. "
            "An arrow at the edge: the interval has no bound on that side."
            + (f" The {MOST_BARS} groups with most turns." if len(order) > MOST_BARS else ""),
        ),
        Chart(
            "How large are the errors at each Elo?",
            curve_chart(pictures.curve, pictures.on_curve, level),
            "Mean scaled error against Elo",
            "Line: the error that the model expects of players of each Elo on a fixed part of "
            "these turns; dashed beyond the ratings that the calibration was fitted on. Filled "
            "marks: the error a group made, at its rating, with the rating's interval. Crosses: "
            "what the model expects at that rating on exactly these turns. A group off the line "
            "but near its cross had harder or easier positions than the others. Shows at most the "
            f"{MOST_ON_CURVE} groups with most turns.",
        ),
        Chart(
            "Does the model fit?",
            percentiles_chart(pictures.percentiles),
            "Share of good moves, expected and played",
            "How many of the moves were among the best 20 %, 40 % and so on of what the model "
            "expects at the group's rating, best moves first. If the model fits, the curve lies "
            "on the diagonal; 95 of 100 points should lie in the band, if turns are independent. "
            "Above the diagonal: more good moves than the model expects; below: more poor ones. "
            f"Shows at most {MOST_PANELS} groups, those with most turns.",
        ),
    ]
    if len(pictures.by_move):
        answer.append(
            Chart(
                "Errors by move number",
                moves_chart(pictures.by_move),
                "Errors made and expected, by move number",
                "Points: mean error with 95 % bars that allow for turns of one game being alike. "
                "Lines: what the model expects on the same turns at the rating, and at the "
                "players' own Elo where all are known.",
            )
        )
    return answer


def _details(named: pl.DataFrame, by: Sequence[str]) -> Table:
    frame = named.select(
        pl.col("label").alias(_heading(by)),
        pl.col("se_turns").alias("± turns"),
        pl.col("se_calibration").alias("± calibration"),
        pl.col("se_games").alias("± form"),
        pl.col("se_players").alias("± players"),
        pl.col("se_events").alias("± events"),
        (100 * pl.col("mm_actual")).alias("match %"),
        (100 * pl.col("mm_projected")).alias("at Elo %"),
        _shown_z("z_mm_adjusted").alias("z match"),
        pl.col("ad_actual").alias("error"),
        pl.col("ad_projected").alias("error at Elo"),
        _shown_z("z_ad_adjusted").alias("z error"),
        *(pl.col(name).alias("c 2009") for name in ("competence",) if name in named.columns),
    )
    return Table(
        "Where the uncertainty comes from, and moves compared with own Elo",
        frame,
        note="±: standard errors in Elo points. At Elo: what the model expects of "
        "players of their Elo on the same turns. z: how many standard deviations better than "
        "that, divided by how much more z varies among real players. c 2009: apparent "
        "competence, as in the 2009 paper.",
        digits={"± turns": 0, "± calibration": 0, "± form": 0, "± players": 0, "± events": 0,
                "match %": 1, "at Elo %": 1, "z match": 2, "error": 3,
                "error at Elo": 3, "z error": 2, "c 2009": 2},
        most=MOST_ROWS,
    )  # fmt: skip


def _shown_z(name: str) -> pl.Expr:
    """Next to nothing is 0.00, not a number with an exponent, and never minus nothing."""
    return pl.col(name).round(2) + 0.0


def _meaning(calibration: Calibration, level: float) -> str:
    sd = calibration.variation.player_sd.used
    players = (
        f"players of equal Elo differ in the quality of their moves by about {sd:.0f} points; no "
        "number of turns removes this."
        if sd >= 1
        else "the calibration has not seen players of equal Elo differ in the quality of their "
        "moves; where it rests on few of them, take the intervals for too narrow."
    )
    return (
        "A figure is evidence, never a verdict on a person. A rating says how good these moves "
        "were, in the judgement of one engine; not how strong somebody is in other games, and not "
        "why. Few turns, one opponent, chosen games, prepared openings or a game long decided can "
        "move it by far more than is visible here.\n\n"
        "- Rating: the Elo whose agents would have made these choices with the greatest "
        "probability.\n"
        f"- Performance: with a probability of {level:.0%} these games were played as well as "
        "agents within it play. It has the errors of the turns and of the calibration.\n"
        f"- Player: with a probability of {level:.0%} the player's Elo lies within it, if the "
        "games are like those of the calibration. It has all errors.\n"
        "- ± turns: how much the rating would change with other turns of the same kind; a "
        "player's games vary more than agents' would, and that is allowed for. It shrinks as "
        "turns are added.\n"
        "- ± calibration: how well the map from moves to Elo is known; groups of like rating share "
        "it, so it does not blur the comparison of one with another.\n"
        f"- ± players: {players}\n"
        "- ± events: whole events lie off their Elo, by preparation, deflation or the map; games "
        "of several events average it out.\n"
        "- ± form: how much the same player differs from game to game beyond ± turns; zero where "
        "the calibration has seen none.\n"
        "- Error: how much worse the moves were than the best ones, in pawns scaled so that a "
        "pawn counts less the more one side is ahead.\n"
        "- Match: how often the engine's first move was played; it depends much on how forced the "
        "positions were, so compare it with its projection only.\n"
        "- z: chance alone puts one player in twenty beyond two either way, so among many players "
        "some must lie there. Both z come from the same moves and are no independent evidence.\n"
        "- Warnings: few turns (under 100), one opponent, several players together, a rating "
        "outside the calibrated range. Such rows are there to be doubted."
    )


def _about(calibration: Calibration, notes: Sequence[str]) -> str:
    low, high = calibration.range
    counts = ", ".join(f"{count:,} {what}" for what, count in calibration.counts.items())
    fitted = (
        f"{calibration.name}: map {calibration.map.kind}, fitted on ratings from {low:.0f} to "
        f"{high:.0f}; beyond them it goes on along its tangent, which nothing supports."
    )
    lines = [
        fitted,
        f"It rests on {counts}." if counts else "",
        f"Engine set-up {calibration.setup}: {calibration.setup_text}. Values of another engine, "
        "depth or option have another scale."
        if calibration.setup
        else "",
        *(notes or calibration.notes),
    ]
    return "\n".join(f"- {line}" for line in lines if line)
