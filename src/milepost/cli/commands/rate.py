"""The command that reads ratings off moves: rate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from milepost.cli import decisions as shared
from milepost.cli import options, show
from milepost.io.shown import interval_text

if TYPE_CHECKING:
    from milepost.api.decisions import Decisions
    from milepost.api.ratings import Calibration, Ratings

_MATCH_AND_ERROR = "Match and error: actual/projected at own Elo."
_STANDARD_SCORES = "z allows for how players vary."
MEANINGS = {
    "performance": "Performance: how well these games were played.",
    "the player": "The player: how strong.",
    "match %": _MATCH_AND_ERROR,
    "error": _MATCH_AND_ERROR,
    "z match": _STANDARD_SCORES,
    "z error": _STANDARD_SCORES,
}
"""What the columns of ratings mean."""

_DROPPED_FIRST = ("c 2009", "games", "z error", "error", "z match", "match %")
"""Columns that a narrow terminal does without, in this order."""


def _groupings(incomplete: str) -> list[str]:
    """Words that the shell may complete behind --by."""
    from milepost.api.ratings import GROUPINGS

    return [name for name in (*GROUPINGS, "none") if name.startswith(incomplete)]


def rate(
    inputs: options.Inputs,
    store: shared.Store = None,
    by: Annotated[
        list[str] | None,
        typer.Option(
            "--by",
            metavar="GROUPING",
            help="player, game, event, year, phase, colour, opponent, opponent-band, time-control, "
            "result, clock, move-range, milepost; repeatable, all combine; none = everything in "
            "one.",
            show_default="player",
            autocompletion=_groupings,
        ),
    ] = None,
    player: shared.Players = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="OUT",
            help="Write the ratings to this table; - is standard output.",
        ),
    ] = None,
    report: Annotated[
        str | None,
        typer.Option("--report", metavar="FILE", help="Write a page with charts (HTML)."),
    ] = None,
    sites: Annotated[
        str | None,
        typer.Option(
            "--sites",
            metavar="FILE",
            help="Write move evidence for milepost history --moves (by player and year) instead "
            "of ratings.",
        ),
    ] = None,
    reference: Annotated[
        str | None,
        typer.Option(
            "--reference",
            metavar="ELO|HISTORY_DIR",
            help="With --sites: an Elo for players without one, or a joint history to take it "
            "from.",
        ),
    ] = None,
    first_move: Annotated[
        int | None,
        typer.Option("--first-move", min=1, help="With --sites: skip the moves before this one."),
    ] = None,
    aliases: Annotated[
        str | None,
        typer.Option(
            "--aliases",
            metavar="TABLE",
            help="With --sites: a table of spellings, columns spelling and name.",
        ),
    ] = None,
    analyse: Annotated[
        bool,
        typer.Option(
            "--analyse",
            help="Analyse missing positions first (plan quick); makes the store if there is none.",
        ),
    ] = False,
    calibration: shared.Named = None,
    force: shared.Force = False,
    level: shared.Level = 0.95,
    least: Annotated[
        int, typer.Option("--min-turns", min=2, help="Do not rate groups with fewer turns.")
    ] = 10,
    most: Annotated[
        int, typer.Option("--top", min=1, help="How many rows to show, those with most turns.")
    ] = 40,
    setup: shared.Setup = None,
    form: options.Format = None,
    workers: options.Workers = options.ALL_CORES,
    quiet: options.Quiet = False,
) -> None:
    """Rate players, games, phases and more by the moves played.

    Shows for each group the rating with two intervals, and how match rate and error compare with
    what the players' own Elo predicts.
    """
    from milepost import api
    from milepost.io.files import format_of

    # What cannot be written is told before the work.
    if output is not None:
        format_of(output, form)
    if report is not None:
        api.ratings.check_page_ending(report)
    how = {"reference": reference, "first_move": first_move, "aliases": aliases}
    _check_sites(sites, how, other=by is not None or bool(output) or bool(report), form=form)
    groupings = [name for name in (by if by is not None else ["player"]) if name != "none"]
    api.ratings.columns_needed(groupings)
    if analyse:
        shared.analyse_missing(inputs, store, setup, player, workers=workers, quiet=quiet)
    decisions = shared.read_decisions(
        inputs, store, setup=setup, player=player, workers=workers, quiet=quiet
    )
    chosen = shared.find_calibration(calibration, decisions, store, quiet=quiet)
    if sites is not None:
        _write_sites(decisions, chosen, sites, how, force=force, form=form, quiet=quiet)
        return
    with show.progress("rating", quiet=quiet, total=len(decisions), unit="turns") as tell:
        ratings = api.ratings.rate(
            decisions, by=groupings, calibration=chosen, force=force, level=level, least=least,
            progress=tell,
        )  # fmt: skip
    if output is not None:
        ratings.save(output, form=form)
    if report is not None:
        if not quiet:
            show.say("drawing the page", err=True)
        ratings.report(report)
    if output != "-":
        _show(ratings, most)
    doubts = api.decisions.score_doubts_told(decisions.table)
    if doubts and not quiet:
        show.say(doubts, err=True)
    for path in (output, report):
        if not quiet and path not in {None, "-"}:
            show.say(f"{len(ratings):,} ratings -> {path}", err=True)


def _check_sites(sites: str | None, how: dict[str, Any], *, other: bool, form: str | None) -> None:
    """Refuse what cannot be, before the work."""
    from milepost import api
    from milepost.errors import InputError

    if sites is None:
        if any(value is not None for value in how.values()):
            raise InputError("--reference, --first-move and --aliases go with --sites")
        return
    if other:
        raise InputError("--sites goes by player and year, and writes nothing else")
    api.sites.check_form(sites, form)


def _write_sites(
    decisions: Decisions,
    calibration: Calibration,
    path: str,
    how: dict[str, Any],
    *,
    force: bool,
    form: str | None,
    quiet: bool,
) -> None:
    """Write the move evidence for a history, and say what it rests on."""
    from milepost import api

    with show.progress("taking sites", quiet=quiet, unit="turns") as tell:
        evidence = api.sites.sites(
            decisions, calibration=calibration, force=force, progress=tell,
            **(how | {"reference": _reference(how["reference"])}),
        )  # fmt: skip
    evidence.save(path, form=form)
    if not quiet:
        show.say(f"{evidence}\n-> {path}", err=True)


def _reference(text: str | None) -> Any:
    """An Elo, or a saved joint history."""
    if text is None:
        return None
    try:
        return float(text)
    except ValueError:
        from milepost.api.histories import load_history

        return load_history(text)


def _show(ratings: Ratings, most: int) -> None:
    """One line a group: rating, both intervals, turns; match and error beside what Elo projects."""
    table = ratings.shown
    shown = table if len(table) <= most else table.sort("n", descending=True).head(most)
    texts = dict.fromkeys(
        text for told in shown["warnings"] for text in (told or "").split("; ") if text
    )
    numbers = {text: number for number, text in enumerate(texts, start=1)}
    columns = [*ratings.by, "IPR", "performance", "the player", "turns", "games", "Elo", "match %",
               "z match", "error", "z error", "c 2009", "notes"]  # fmt: skip
    rows = [
        [
            *(row[name] for name in ratings.by),
            points(row["rating"]),
            interval_text(row["low"], row["high"], to="-"),
            interval_text(row["player_low"], row["player_high"], to="-"),
            row["n"],
            row["games"],
            points(row["elo"]),
            beside(row["mm_actual"], row["mm_projected"], 100, 1),
            decimal(row["z_mm_adjusted"]),
            beside(row["ad_actual"], row["ad_projected"], 1, 3),
            decimal(row["z_ad_adjusted"]),
            decimal(row.get("competence")),
            ",".join(str(numbers[text]) for text in (row["warnings"] or "").split("; ") if text),
        ]
        for row in shown.iter_rows(named=True)
    ]
    calibration = ratings.calibration
    title = f"Ratings from moves ({calibration.name}), {ratings.level:.0%} intervals."
    # A number broken over two lines would be misread.
    whole = [name for name in columns if name not in ratings.by]
    # The lines under the table explain the numbers in the notes: these stay where they are.
    keep = [*ratings.by, "turns", *(["notes"] if numbers else [])]
    show.print_table(
        columns, rows, title=title, meanings=MEANINGS, whole=whole, keep=keep,
        drop_first=_DROPPED_FIRST,
    )  # fmt: skip
    for text, number in numbers.items():
        typer.echo(f"  {number}: {text}")
    if len(shown) < len(table):
        show.say(f"{len(table) - len(shown):,} more groups; -o FILE writes them all", err=True)
    if "phase" in ratings.by:
        from milepost.api.ratings import phases_told

        show.note(phases_told(calibration))
    show.note("These figures are evidence, never a verdict on a person (docs/intrinsic.md).")


def points(value: float | None) -> str:
    """Rating points, or a question mark."""
    return "?" if value is None else f"{value:.0f}"


def decimal(value: float | None) -> str:
    """Two decimals, or nothing."""
    return "" if value is None else f"{value:.2f}"


def beside(actual: float | None, projected: float | None, scale: float, digits: int) -> str:
    """An actual figure with the projected one behind a stroke, as far as they are known."""
    if actual is None:
        return ""
    shown = f"{scale * actual:.{digits}f}"
    return shown if projected is None else f"{shown}/{scale * projected:.{digits}f}"


def numbers_of(text: str, option: str) -> list[Any]:
    """Read numbers with commas; the option is named if they are none."""
    from math import isfinite

    from milepost.errors import InputError

    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if not numbers or not all(isfinite(number) for number in numbers):
        raise InputError(f"{option}: expected numbers with commas, got {text!r}")
    return numbers
