"""The page of a player, and players side by side."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Annotated, Any

import polars as pl
from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from milepost.errors import InputError, MilepostError
from milepost.web.bench import Bench, TheBench
from milepost.web.routes.pages_sets import rated_chart, rating_rows
from milepost.web.safety.problems import RefusedError
from milepost.web.sets.shelf import WORKING
from milepost.web.sets.tables import SPLITS, Player, SetTables
from milepost.web.shown.charts import chart_response
from milepost.web.shown.commands import set_command
from milepost.web.shown.pages import interval, points, render

router = APIRouter(include_in_schema=False)

MOST_COMPARED = 6
_WORDS = {
    "phase": "phase of the game", "colour": "colour", "result": "result", "clock": "time left",
    "opponent-band": "strength of the opponent", "move-range": "move number", "event": "event",
}  # fmt: skip
By = Annotated[str, Query(max_length=20)]


@router.get("/sets/{set_id}/players/{player}")
def show_player(
    request: Request,
    bench: TheBench,
    set_id: str,
    player: str,
    by: By = "phase",
    and_by: By = "",
    review: bool = False,
) -> HTMLResponse:
    """Show a player."""
    tables = bench.tables(set_id)
    chosen = tables.player(player)
    groupings = checked_splits(by, and_by)
    whole = tables.ratings()
    rows = [row for row in rating_rows(tables, whole) if row["id"] == player]
    split = split_rows(tables, chosen, groupings) if rows and rows[0]["n"] else []
    history = _history_of(bench, tables, [chosen])
    reviewed = tables.review(chosen, bench.settings.store, now=review) if split else None
    more = [f"--player {shlex.quote(chosen.name)}", *(f"--by {name}" for name in groupings)]
    return render(
        request,
        "player.html",
        set_id=set_id,
        set_title=tables.chosen.about["title"],
        player=chosen,
        row=rows[0] if rows else None,
        level=whole.level,
        notes=whole.notes,
        calibration=whole.calibration,
        split=split,
        splits=_WORDS,
        by=by,
        and_by=and_by,
        heading=" and ".join(_WORDS[name] for name in groupings),
        split_query="&".join(f"by={name}" for name in groupings),
        command=set_command("rate", bench, tables.chosen, *more),
        review_command=set_command("review", bench, tables.chosen, more[0], "--opponents"),
        looking=bench.jobs.about(tables.chosen)["state"] in WORKING,
        engine_found=bench.jobs.engine() is not None,
        history=history is not None,
        history_told=_history_told(history, chosen),
        games=_games_of(tables, chosen),
        review=reviewed,
        costly=[] if reviewed is None else reviewed.costly.to_dicts(),
        phases=[] if reviewed is None else reviewed.phases.to_dicts(),
        opponents=[] if reviewed is None else reviewed.opponents.to_dicts(),
        own_games=[] if reviewed is None else reviewed.games.to_dicts(),
    )


@router.post("/sets/{set_id}/players/{player}/look")
def look_again(bench: TheBench, set_id: str, player: str) -> Response:
    """Let the engine look deeper at the turns that cost a player most."""
    tables = bench.tables(set_id)
    chosen = tables.player(player)
    bench.jobs.start(tables.chosen, look_at=chosen.key)
    return RedirectResponse(f"/sets/{set_id}/players/{player}?review=true", status_code=303)


@router.get("/sets/{set_id}/players/{player}/charts/split.{form}")
def split_chart(
    bench: TheBench, set_id: str, player: str, form: str, by: By = "phase", and_by: By = "",
    narrow: bool = False,
) -> Response:  # fmt: skip
    """Draw the parts of a player's turns."""
    tables = bench.tables(set_id)
    chosen = tables.player(player)
    groupings = checked_splits(by, and_by)
    rated = tables.ratings(groupings, chosen.key)
    label = pl.concat_str([pl.col(name) for name in groupings], separator=", ")
    shown = rated.table.with_columns(label.alias("part"))
    return chart_response(rated_chart(shown, rated.level, "part"), form, narrow=narrow)


@router.get("/sets/{set_id}/charts/history.{form}")
def history_chart(
    bench: TheBench,
    set_id: str,
    form: str,
    player: Annotated[list[str], Query(min_length=1, max_length=MOST_COMPARED)],
    narrow: bool = False,
) -> Response:
    """Draw players' skill through time, from the results of this set."""
    tables = bench.tables(set_id)
    chosen = [tables.player(each) for each in player]
    history = _history_of(bench, tables, chosen)
    if history is None:
        raise RefusedError(404, "No history", "There is no history of these players.")
    keys = [each.key for each in chosen]
    return chart_response(history.plot(*keys, band="95"), form, narrow=narrow)


@router.get("/sets/{set_id}/compare")
def compare(
    request: Request,
    bench: TheBench,
    set_id: str,
    player: Annotated[list[str], Query(max_length=200)] = [],  # noqa: B006 - FastAPI copies it
) -> HTMLResponse:
    """Show players side by side."""
    tables = bench.tables(set_id)
    chosen = [tables.player(each) for each in dict.fromkeys(player)]
    if not 2 <= len(chosen) <= MOST_COMPARED:
        raise InputError(f"choose two to {MOST_COMPARED} players, not {len(chosen)}")
    rated = tables.ratings()
    ids = {each.id for each in chosen}
    return render(
        request,
        "compare.html",
        set_id=set_id,
        set_title=tables.chosen.about["title"],
        rows=[row for row in rating_rows(tables, rated) if row["id"] in ids],
        level=rated.level,
        query="&".join(f"player={each.id}" for each in chosen),
        history=_history_of(bench, tables, chosen) is not None,
        command=set_command(
            "rate", bench, tables.chosen, *(f"--player {shlex.quote(each.name)}" for each in chosen)
        ),
    )


@router.get("/sets/{set_id}/charts/compare.{form}")
def compare_chart(
    bench: TheBench,
    set_id: str,
    form: str,
    player: Annotated[list[str], Query(min_length=1, max_length=MOST_COMPARED)],
    narrow: bool = False,
) -> Response:
    """Draw players side by side."""
    tables = bench.tables(set_id)
    keys = [tables.player(each).key for each in player]
    rated = tables.ratings()
    table = rated.table.filter(pl.col("player").is_in(keys))
    shown = table.with_columns(pl.col("player").replace(tables.names()))
    return chart_response(rated_chart(shown, rated.level), form, narrow=narrow)


def checked_splits(by: str, and_by: str) -> list[str]:
    """Return the one or two groupings that turns are parted by.

    Raises
    ------
    InputError
        If one is not among those that pages have.
    """
    groupings = list(dict.fromkeys(name for name in (by, and_by) if name))
    unknown = [name for name in groupings if name not in SPLITS]
    if unknown or not groupings:
        raise InputError(f"turns are parted by {', '.join(SPLITS)}")
    return groupings


def split_rows(tables: SetTables, player: Player, groupings: Sequence[str]) -> list[dict[str, Any]]:
    """Return the parts of a player's turns as rows of a page."""
    rated = tables.ratings(groupings, player.key)
    return [
        {**row, "id": None, "link": None, "label": ", ".join(row[name] for name in groupings)}
        for row in rated.table.iter_rows(named=True)
    ]


def _history_of(bench: Bench, tables: SetTables, players: Sequence[Player]) -> Any:
    """The history of a set, if it knows all of these players; else None."""
    if not tables.chosen.path("history").is_dir():
        return None
    try:
        _, history = bench.history(tables.chosen.id)
    except MilepostError:
        return None
    known = set(history.curves["player"])
    return history if all(each.key in known for each in players) else None


def _history_told(history: Any, player: Player) -> str:
    """In a sentence, what the results alone say of a player at the end."""
    if history is None:
        return ""
    curve = history.curves.filter(pl.col("player") == player.key)
    last = curve.row(-1, named=True)
    sd = last["sd"] or 0.0
    low, high = last["mean"] - 1.959964 * sd, last["mean"] + 1.959964 * sd
    told = f"By results alone, at the end: {points(last['mean'])} ({interval(low, high)})"
    games = int(curve["games"].sum())
    word = "game" if games == 1 else "games"
    return f"{told}, on the scale of these results; {games} {word}."


def _games_of(tables: SetTables, player: Player) -> list[dict[str, Any]]:
    games = tables.games()
    own = games.filter((pl.col("white_key") == player.key) | (pl.col("black_key") == player.key))
    return own.head(200).to_dicts()
