"""The page of a review: how well, in which phase, beside whom, and which moves mattered."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from milepost.games.turns.notation import numbered
from milepost.intrinsic.review.difference import Difference
from milepost.intrinsic.review.trend import Change
from milepost.io.shown import estimate_text, interval_text
from milepost.report.pages import Board, Boards, Chart, Fold, Page, Section, Table, Text, write_page
from milepost.report.review.charts import gaps_chart, trend_chart

_MOST_GAMES = 60
_NUMBERS = ("rating", "beside equals", "best move found", "lost in 100 turns")
_MATE = 15.0
"""Values from here on are mates or as good as that."""


@dataclass(frozen=True, eq=False)
class ReviewView:
    """What the page is about; see `milepost.api.review_result.Review`."""

    name: str
    """The player's name as written."""
    summary: pl.DataFrame
    """One row a pool."""
    phases: pl.DataFrame
    """One row a phase."""
    opponents: pl.DataFrame
    """One row a kind of opponents."""
    costly: pl.DataFrame
    """The costliest turns."""
    games: pl.DataFrame
    """One row a game."""
    trend: pl.DataFrame
    """One row a day and pool."""
    changes: Mapping[str, Change]
    """From first to last, by pool."""
    traps: pl.DataFrame
    """One row a trap."""
    trap_sums: Mapping[str, float | int | None]
    """All of them together."""
    level: float
    """Probability of the intervals."""
    equals: float
    """Opponents within so many points are equals."""
    notes: tuple[str, ...]
    """What must be known."""
    costly_note: str = ""
    """Whether the costly turns are confirmed."""
    differences: tuple[Difference, ...] = ()
    """Groups compared."""
    calibration_name: str = ""
    """The calibration; empty = none."""


def write_review_page(view: ReviewView, path: str | Path, made: Mapping[str, Any]) -> None:
    """Write the page, whole or not at all.

    Raises
    ------
    OutputError
        If it cannot be written, or its name promises something else.
    """
    write_page(review_page(view, made), path)


def review_page(view: ReviewView, made: Mapping[str, Any]) -> Page:
    """Return the page of a review."""
    turns = int((view.summary["turns"] + view.summary["decided"]).sum())
    dates = view.games["date"].drop_nulls().to_list()
    span = f", {dates[0]} to {dates[-1]}" if dates else ""
    return Page(
        title=f"Review of {view.name}",
        lead=f"{len(view.games)} games, {turns:,} analysed turns{span}.",
        sections=tuple(_sections(view)),
        provenance=made,
    )


def rating_sentences(view: ReviewView) -> list[str]:
    """Return what is known of each pool, a sentence or two each."""
    told = []
    share = f"{view.level:.0%}"
    for row in view.summary.iter_rows(named=True):
        turns = f"{row['turns']:,} turns in {row['games']} games"
        if row["decided"]:
            turns = (
                f"{row['turns']:,} of {row['turns'] + row['decided']:,} turns in {row['games']} "
                "games (in the others one side was far ahead)"
            )
        if row["rating"] is None:
            told.append(f"{row['pool']}: no rating ({turns}; {row['warnings'] or 'no bound'}).")
            continue
        text = (
            f"{row['pool']}: the moves are worth "
            f"{_range_of(row['rating'], row['low'], row['high'])} Elo ({share} interval; for the "
            f"player's strength {_range(row['player_low'], row['player_high'])}), by {turns}."
        )
        if row["pool_rating"] is not None:
            text += (
                f" On {row['pool']} that is about "
                f"{_range_of(row['pool_rating'], row['pool_low'], row['pool_high'])}"
            )
            text += f"; the games give {row['own_rating']:.0f}." if row["own_rating"] else "."
        elif row["own_rating"] is not None:
            text += f" The rating in the tags is {row['own_rating']:.0f}."
        told.append(text)
    return told


def trap_sentence(sums: Mapping[str, float | int | None]) -> str:
    """Return how the player did with traps beside equals."""
    if not sums["traps"]:
        return "No turn held a trap."
    return (
        f"{sums['traps']} turns held a move that looks best at low depth and is refuted deeper. "
        f"Fallen for: {sums['fell']}; equals fall for {sums['expected']:.1f} ± {sums['sd']:.1f} of "
        f"them (p = {sums['p']:.2g})."
    )


def _sections(view: ReviewView) -> Iterator[Section]:
    yield Text("\n".join(f"- {line}" for line in rating_sentences(view)), look="large")
    if view.phases["gap"].is_not_null().any():
        both = pl.concat(
            [
                view.phases.rename({"phase": "group"}),
                view.opponents.rename({"opponents": "group"}).with_columns(
                    ("against " + pl.col("group")).alias("group")
                ),
            ]
        )
        yield Chart(
            "Beside players of equal strength",
            gaps_chart(both.filter(pl.col("gap").is_not_null())),
            alt="Phases and kinds of opponents: Elo above or below equals, with intervals",
            note="Right of the line: played better than equals do in such turns. Bars: "
            f"{view.level:.0%} intervals. One that crosses the line does not tell the two apart.",
        )
    yield _groups_table("Phases", view.phases, "phase")
    if view.differences:
        told = "\n".join(f"- {_minus(str(each))}" for each in view.differences)
        yield Text(told, title="Is the difference real?")
    yield _groups_table(
        "Opponents", view.opponents, "opponents", f"Equals: within {view.equals:.0f} points."
    )
    yield _boards(view)
    yield _games_table(view)
    if len(view.trend):
        told = "; ".join(_change_text(pool, change) for pool, change in view.changes.items())
        yield Chart("Through time", trend_chart(view.trend),
                    alt="Level through time with its band", note=told)  # fmt: skip
    if view.calibration_name:
        yield Text(trap_sentence(view.trap_sums), title="Traps")
        if len(view.traps):
            yield Fold("All traps", (_traps_table(view),))
    yield Text("\n".join(f"- {note}" for note in view.notes), title="What to know")


def _groups_table(title: str, frame: pl.DataFrame, name: str, note: str = "") -> Table:
    rows = [
        {
            name: row[name],
            "turns": row["turns"],
            "decided": row["decided"],
            "rating": _range_of(row["rating"], row["low"], row["high"]),
            "beside equals": _range_of(row["gap"], row["gap_low"], row["gap_high"], sign=True),
            "best move found": _beside(row["match"], row["match_expected"], 100, "%"),
            "lost in 100 turns": _beside(row["points_lost"], row["points_expected"], 100, ""),
            "note": row["note"],
        }
        for row in frame.iter_rows(named=True)
    ]
    known = pl.DataFrame(rows, infer_schema_length=None)
    told = (
        "After the slash: what equals do. Lost: points of the game. Decided: over three pawns "
        "for one side; such turns are not rated."
    )
    return Table(title, known, note=f"{note} {told}".strip(),
                 numbers=_NUMBERS)  # fmt: skip


def _boards(view: ReviewView) -> Boards:
    boards = []
    for place, row in enumerate(view.costly.iter_rows(named=True), start=1):
        played = numbered(row["move_number"], row["colour"], row["san"])
        heading = f"{place}. {played}, against {row['opponent_name'] or row['opponent']}"
        boards.append(Board(board_svg(row), heading, tuple(turn_lines(row)), row["link"]))
    return Boards(
        "The turns that cost most",
        tuple(boards),
        note="What was lost, in points of the game, less what players of equal strength lose there "
        f"on average. Red: played. Green: better.{_sentence(view.costly_note)}",
    )


def _sentence(note: str) -> str:
    return f" {note[0].upper()}{note[1:]}." if note else ""


def turn_lines(row: Mapping[str, Any]) -> Iterator[str]:
    """Return what is to be said of a costly turn, line by line."""
    if row["date"]:
        yield f"{row['date']}, {row['phase']}" + (", decided position" if row["decided"] else "")
    if row["best_san"]:
        found = "" if row["best_chance"] is None or row["decided"] else \
            f": equals find it in {_percent(row['best_chance'])} of such turns"  # fmt: skip
        yield f"Better: {row['best_san']}{found}" + (
            f"; something about as good in {_percent(row['better_chance'])}."
            if row["better_chance"] is not None
            and not row["decided"]
            and row["better_chance"] - (row["best_chance"] or 0) > 0.05
            else "."
        )
    text = f"From {_pawns(row['value'])} to {_pawns(row['value_after'])}: "
    text += f"lost {row['points_lost']:.2f} points"
    if row["points_expected"] is not None:
        text += f"; equals lose {row['points_expected']:.2f} on average"
    yield f"{text}."


def board_svg(row: Mapping[str, Any]) -> str:
    """Return the position as a picture, with the played move and the better one."""
    import chess
    import chess.svg

    board = chess.Board(row["position"])
    arrows = []
    for move, colour in ((row["played"], "#c0392bcc"), (row["best"], "#15781Bcc")):
        if move:
            found = chess.Move.from_uci(move)
            arrows.append(chess.svg.Arrow(found.from_square, found.to_square, color=colour))
    return str(
        chess.svg.board(
            board, orientation=chess.WHITE if row["colour"] == "white" else chess.BLACK,
            arrows=arrows, size=320,
        )
    )  # fmt: skip


def _games_table(view: ReviewView) -> Table:
    frame = view.games.head(_MOST_GAMES)
    rows, links = [], {}
    for row in frame.iter_rows(named=True):
        label = f"{row['date'] or '?'} {row['opponent_name'] or row['opponent']}"
        if row["link"]:
            links[label] = row["link"]
        rows.append(
            {
                "game": label,
                "colour": row["colour"],
                "score": None if row["score"] is None else f"{row['score']:g}",
                "expected": row["expected"],
                "turns": row["turns"],
                "own play": _error(row["own_play"], row["own_play_se"]),
                "opponent's": _error(row["opponent_play"], row["opponent_play_se"]),
                "points cost": None if row["cost"] is None else _two(row["cost"]),
                "in words": row["words"],
            }
        )
    return Table(
        "Game by game",
        pl.DataFrame(rows, infer_schema_length=None),
        note="Own play and the opponent's: Elo above or below the own level, ± one standard error, "
        "drawn towards 0 as one game says little. Points cost: what the moves lost beyond what "
        "equals lose." + (
            f" {len(view.games) - _MOST_GAMES} more games are not shown."
            if len(view.games) > _MOST_GAMES else ""
        ),
        digits={"expected": 2},
        links=links,
        numbers=("own play", "opponent's", "score", "points cost"),
    )  # fmt: skip


def _traps_table(view: ReviewView) -> Table:
    frame = view.traps.select(
        pl.col("date"),
        pl.col("opponent_name").alias("opponent"),
        pl.col("move_number").alias("move"),
        "trap",
        pl.col("san").alias("played"),
        pl.col("best_san").alias("best"),
        "fell",
        pl.col("trap_chance").alias("equals fall"),
        pl.col("trap_points").alias("loses"),
    )
    return Table("", frame, digits={"equals fall": 2, "loses": 2}, most=100)


def _change_text(pool: str, change: Change) -> str:
    return (
        f"{pool}: {_minus(f'{change.value:+.0f}')} Elo from first to last "
        f"({_range(change.low, change.high, sign=True)}); risen with probability "
        f"{change.rising:.0%}"
    )


def _minus(text: str) -> str:
    """Numbers with the minus sign that the tables have."""
    return re.sub(r"(?<![\w.])-(?=\d)", "−", text)


def _range(low: float | None, high: float | None, *, sign: bool = False) -> str:
    return interval_text(low, high, form="+.0f" if sign else ".0f").replace("-", "−")


def _range_of(value: float | None, low: float | None, high: float | None, *, sign: bool = False) \
        -> str | None:  # fmt: skip
    if value is None:
        return None
    text = estimate_text(value, low, high, form="+.0f" if sign else ".0f")
    return text.replace("-", "−")


def _beside(actual: float | None, expected: float | None, scale: float, unit: str) -> str | None:
    if actual is None:
        return None
    digits = 0 if unit else 1
    other = "" if expected is None else f" / {scale * expected:.{digits}f}"
    return f"{scale * actual:.{digits}f}{other}{' ' + unit if unit else ''}"


def _error(value: float | None, error: float | None) -> str | None:
    if value is None or error is None:
        return None
    return f"{round(value):+d} ± {error:.0f}".replace("-", "−")


def _two(value: float) -> str:
    return f"{value:+.2f}".replace("-", "−")


def _percent(chance: float) -> str:
    if chance < 0.005:
        return "under 1 %"
    return "over 99 %" if chance > 0.995 else f"{100 * chance:.0f} %"


def _pawns(value: float) -> str:
    if abs(value) >= _MATE:
        return "mate" if value > 0 else "being mated"
    return f"{value:+.1f}".replace("-", "−")
