"""The command for players and coaches: review."""

from __future__ import annotations

import dataclasses
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from milepost.cli import decisions as shared
from milepost.cli import options, show
from milepost.cli.commands.rate import points
from milepost.io.shown import estimate_text, has_bounds, interval_text

if TYPE_CHECKING:
    from milepost.api.decisions import Decisions
    from milepost.api.review import Review

STORE = "evaluations"
"""Where evaluations are kept, if nothing else is said."""
_ON_THE_PAGE = "the page has them"
"""Here --output writes moves, not these tables."""


def review(
    inputs: options.Inputs,
    player: Annotated[
        str, typer.Option("--player", metavar="ME", help="Whose games: a name or part of it.")
    ],
    store: Annotated[
        str | None,
        typer.Option(
            "--store",
            metavar="DIR",
            help="The evaluation store; made if there is none.",
            show_default=STORE,
        ),
    ] = None,
    report: Annotated[
        str | None,
        typer.Option(
            "--report",
            metavar="FILE",
            help="The page to write.",
            show_default="review.html",
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--output", "-o", metavar="OUT", help="Write every move with its cost to this table."
        ),
    ] = None,
    plan: Annotated[
        str | None,
        options.choice(
            "--plan",
            options.PLANS,
            help="How the engine searches: quick, or bullet for many games.",
            listed=False,
            show_default="as in the store, else quick",
        ),
    ] = None,
    opponents: Annotated[
        bool,
        typer.Option("--opponents", help="Analyse the opponents' moves too; doubles the time."),
    ] = False,
    analyse: Annotated[
        bool,
        typer.Option(
            "--analyse/--no-analyse",
            help="Let the engine analyse missing positions and look again, deeper, at the costly "
            "moves. --no-analyse uses no engine; without a store it reads the %eval comments in "
            "the PGN.",
        ),
    ] = True,
    elo: Annotated[
        float | None,
        typer.Option("--elo", help="Your over-the-board Elo, if the games do not give it."),
    ] = None,
    difference: Annotated[
        list[str] | None,
        typer.Option(
            "--difference",
            metavar="A,B",
            help="Compare two groups: endgame,opening or white,black or win,loss; repeatable.",
            show_default="endgame,opening",
        ),
    ] = None,
    equals: Annotated[
        float, typer.Option("--equals", help="Count opponents within this many points as equals.")
    ] = 100.0,
    most: Annotated[int, typer.Option("--top", min=1, help="How many costly moves to list.")] = 10,
    calibration: shared.Named = None,
    level: shared.Level = 0.95,
    workers: options.Workers = options.ALL_CORES,
    quiet: options.Quiet = False,
) -> None:
    """Review your games: how well you played, which moves cost most.

    Analyses your moves, rates them overall and by phase, with intervals, and lists the moves that
    cost most compared with what players of your strength usually lose there.
    """
    from milepost import api
    from milepost.io.files import format_of

    page = report if report is not None else "review.html"
    # What makes no sense or cannot be written is told before the work.
    how = api.review.ReviewPlan(equals=equals, most=most, level=level, search=plan)
    api.review.check_page_ending(page)
    if output is not None:
        format_of(output, None)
    pairs = [_pair(text) for text in (difference or ["endgame,opening"])]
    given = _decisions(
        inputs, store, plan, [] if opponents else [player], analyse=analyse, workers=workers,
        quiet=quiet,
    )  # fmt: skip
    source: Any = inputs
    look = None
    if given is not None:
        source = given
        chosen = shared.find_calibration(calibration, given, store or STORE, quiet=True)
        look = api.review.SecondLook.beside(store or STORE, engine=analyse)
        how = dataclasses.replace(how, look=look)
    doing = ("second look", "positions") if look is not None and look.engine else ("reviewing", "")
    with show.progress(doing[0], quiet=quiet, unit=doing[1]) as tell:
        found = api.review.review(
            source, player=player, elo=elo, calibration=None if given is None else chosen,
            plan=how, workers=workers, progress=tell,
        )  # fmt: skip
    found.report(page)
    if output is not None:
        found.save(output)
    if output != "-":
        _show(found)
        if found.calibration is not None:
            for first, second in pairs:
                show.say(str(found.difference(first, second)))
    if not quiet:
        for note in found.notes:
            show.say(f"note: {note}", err=True)
        show.say(f"the whole review, with boards -> {page}", err=True)


def _pair(text: str) -> tuple[str, str]:
    from milepost.errors import InputError

    first, comma, second = text.partition(",")
    if not comma or not first.strip() or not second.strip():
        raise InputError(f"--difference: expected two groups with a comma, got {text!r}")
    return first.strip(), second.strip()


def _decisions(
    inputs: list[str],
    store: str | None,
    plan: str | None,
    player: list[str],
    *,
    analyse: bool,
    workers: int,
    quiet: bool,
) -> Decisions | None:
    """The decisions of the games, what is missing analysed first; None = comments will do."""
    from milepost import api
    from milepost.api.games import read_turns
    from milepost.errors import EngineError, MissingEvaluationsWarning, NotAnalysedError

    folder = store or STORE
    there = Path(folder, "store.json").exists()
    if analyse:
        # Read apart from the search: bytes of the files are not positions of the engine.
        with show.progress("reading", quiet=quiet) as tell:
            turns, wrong = read_turns(inputs, workers=workers, progress=tell)
        show.tell_wrong(wrong, quiet=quiet)
        try:
            with show.progress("analysing", quiet=quiet, unit="positions") as tell:
                if there and plan is None:
                    done = api.analyses.complete_store(
                        turns, folder, player=player, workers=workers, progress=tell
                    )
                else:
                    done = api.analyses.analyse(
                        turns, folder, plan or "quick", player=player, workers=workers,
                        progress=tell,
                    )  # fmt: skip
            if not quiet:
                show.say(str(done), err=True)
            there = True
        except EngineError as error:
            if there or store is not None:
                raise
            show.say(f"warning: {error}; going by the %eval comments of the games", err=True)
    if not there:
        return None
    try:
        # Opponents' turns may be missing on purpose; the notes count those of the player.
        with warnings.catch_warnings(), show.progress("reading", quiet=quiet) as tell:
            warnings.simplefilter("ignore", MissingEvaluationsWarning)
            return api.decisions.decisions(
                inputs, folder, plan=plan, rules=api.review.EVERY_TURN, workers=workers,
                progress=tell,
            )  # fmt: skip
    except NotAnalysedError:
        if store is not None:
            raise
        return None


def _show(found: Review) -> None:
    """Ratings, phases, costly turns and games, in tables that fit a terminal."""
    _show_pools(found)
    _show_groups(found, found.phases, "phase", "By phase; equals stand after the slash")
    _show_groups(
        found, found.opponents, "opponents",
        f"Opponents: equals are within {found.equals:.0f} points",
    )  # fmt: skip
    _show_costly(found)
    _show_games(found)
    if found.calibration is not None:
        from milepost import api

        show.say(api.review.trap_sentence(found.trap_sums))
        for pool, change in found.changes.items():
            show.say(
                f"Trend, {pool}: {change.value:+.0f} Elo from first game to last "
                f"({interval_text(change.low, change.high, form='+.0f')})."
            )


def _show_pools(found: Review) -> None:
    rows = []
    for row in found.summary.iter_rows(named=True):
        there = ""
        if row["pool_rating"] is not None:
            there = estimate_text(row["pool_rating"], row["pool_low"], row["pool_high"], to="-")
        rating = "none"
        if row["rating"] is not None:
            rating = estimate_text(row["rating"], row["low"], row["high"], to="-")
        player = ""
        if row["player_low"] is not None or row["player_high"] is not None:
            player = interval_text(row["player_low"], row["player_high"], to="-")
        rows.append(
            [row["pool"], rating, player, there, points(row["own_rating"]), row["turns"],
             row["games"]]
        )  # fmt: skip
    columns = ["pool", "rating (Elo)", "the player", "on its scale", "own", "turns", "games"]
    if not any(row[3] for row in rows):  # over the board the pool's scale is the Elo itself
        columns.pop(3)
        rows = [[*row[:3], *row[4:]] for row in rows]
    show.print_table(
        columns, rows, title=f"{found.name}: what the moves are worth, {found.level:.0%} intervals",
        whole=columns[1:], keep=["rating (Elo)", "turns", "on its scale", "own"],
        drop_first=["games", "the player"],
        elsewhere=_ON_THE_PAGE,
    )  # fmt: skip


def _show_groups(found: Review, frame: Any, name: str, title: str) -> None:
    rated = found.calibration is not None
    rows = []
    for row in frame.iter_rows(named=True):
        gap = ""
        if row["gap"] is not None:
            gap = estimate_text(row["gap"], row["gap_low"], row["gap_high"], form="+.0f")
        told = [row[name], row["turns"], row["decided"]]
        bounded = row["rating"] is not None and has_bounds(row["low"], row["high"])
        told += [points(row["rating"]) if bounded else "", gap] if rated else []
        told += [_beside(row["points_lost"], row["points_expected"])]
        told += [_beside(row["match"], row["match_expected"], 0)] if rated else []
        rows.append([*told, row["note"] or ""])
    columns = [name, "turns", "decided"]
    columns += ["Elo", "against equals"] if rated else []
    columns += ["lost/100"]
    columns += ["best %"] if rated else []
    notes = any(row[-1] for row in rows)
    columns += ["note"]
    if not notes:
        columns, rows = columns[:-1], [row[:-1] for row in rows]
    show.print_table(
        columns, rows, title=title, whole=[each for each in columns if each != "note"],
        keep=["turns", "against equals", "note"], drop_first=["best %", "decided"],
        elsewhere=_ON_THE_PAGE,
    )  # fmt: skip


def _show_costly(found: Review) -> None:
    rows = []
    for row in found.costly.iter_rows(named=True):
        dots = "." if row["colour"] == "white" else "..."
        # In decided positions people take any move that wins: the chance is not to be trusted.
        chance = None if row["decided"] else row["best_chance"]
        rows.append(
            [
                f"{row['move_number']}{dots}{row['san']}",
                row["best_san"] or "?",
                "" if chance is None else f"{100 * chance:.0f} %",
                f"{row['points_lost']:.2f}",
                "" if row["points_expected"] is None else f"{row['points_expected']:.2f}",
                row["date"] or "",
                row["opponent_name"] or row["opponent"] or "",
                row["link"] or "",
            ]
        )
    columns = ["played", "better", "found", "lost", "equals", "date", "against", "link"]
    if not any(row[-1] for row in rows):
        columns, rows = columns[:-1], [row[:-1] for row in rows]
    doubt = ""
    if len(found.costly) and found.costly["looked_depth"].is_null().all() and found.costly_note:
        doubt = " (not confirmed by a deeper search)"
    show.print_table(
        columns, rows, title=f"The most costly moves{doubt}: points lost, what equals lose "
        "there, and how often equals find the better move",
        whole=[each for each in columns if each != "against"], keep=["better", "found", "lost"],
        drop_first=["link", "date"],
        elsewhere=_ON_THE_PAGE,
    )  # fmt: skip


def _show_games(found: Review, most: int = 15) -> None:
    rated = found.calibration is not None
    rows = []
    for row in found.games.tail(most).iter_rows(named=True):
        told = [row["date"] or "", row["opponent_name"] or row["opponent"] or "",
                "" if row["score"] is None else f"{row['score']:g}", row["turns"]]  # fmt: skip
        told += [_error(row["own_play"], row["own_play_se"]),
                 _error(row["opponent_play"], row["opponent_play_se"]),
                 row["words"]] if rated else [f"{row['cost'] or 0:+.2f}"]  # fmt: skip
        rows.append(told)
    columns = ["date", "against", "score", "turns"]
    columns += ["own play", "theirs", "in words"] if rated else ["points cost"]
    show.print_table(
        columns, rows, title="Latest games: Elo above or below your own level (± one standard "
        "error)" if rated else "Games: points lost beyond what equals lose",
        whole=["date", "score", "turns", "own play", "theirs"],
        keep=["own play", "in words", "points cost"], drop_first=["theirs", "date"],
        elsewhere=_ON_THE_PAGE,
    )  # fmt: skip


def _beside(actual: float | None, expected: float | None, digits: int = 1) -> str:
    if actual is None:
        return ""
    told = f"{100 * actual:.{digits}f}"
    return told if expected is None else f"{told}/{100 * expected:.{digits}f}"


def _error(value: float | None, error: float | None) -> str:
    return "" if value is None or error is None else f"{round(value):+d} ± {error:.0f}"
