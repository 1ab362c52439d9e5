"""The page of an event: crosstable, and performance by moves and by results side by side."""

from __future__ import annotations

from typing import Any

import polars as pl
from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

import milepost as mp
from milepost.errors import InputError
from milepost.web.bench import TheBench
from milepost.web.routes.pages_sets import NAMELESS, events_of
from milepost.web.safety.problems import RefusedError
from milepost.web.sets.tables import SetTables
from milepost.web.shown.commands import set_command
from milepost.web.shown.pages import render
from milepost.web.work import player_id

router = APIRouter(include_in_schema=False)
_MOST_ACROSS = 20
_HALF = {0.0: "0", 0.5: "½", 1.0: "1"}


@router.get("/sets/{set_id}/events/{number}")
def show_event(request: Request, bench: TheBench, set_id: str, number: int) -> HTMLResponse:
    """Show an event."""
    tables = bench.tables(set_id)
    games = tables.games()
    events = events_of(games)
    if not 1 <= number <= len(events):
        raise RefusedError(404, "No such event", "This set has no event of that number.")
    name = events[number - 1]["name"]
    played = games if name == NAMELESS else games.filter(pl.col("event") == name)
    results = mp.results_of_games(played)
    table = mp.result_performances(results)
    by_moves = _by_moves(tables, name, alone=played.height == games.height)
    names = tables.names()
    rows = []
    for place, row in enumerate(table.iter_rows(named=True), start=1):
        key = row["player"]
        rated = by_moves.get(key)
        identity = player_id(set_id, key)
        rows.append({
            **row, "place": place, "name": names.get(key, key),
            "link": f"/sets/{set_id}/players/{identity}", "moves": rated,
        })  # fmt: skip
    return render(
        request,
        "event.html",
        set_id=set_id,
        set_title=tables.chosen.about["title"],
        number=number,
        name=name,
        games=len(played),
        rows=rows,
        crosses=_crosses(results, table) if len(table) <= _MOST_ACROSS else [],
        rated=bool(by_moves),
        command=set_command("rate", bench, tables.chosen, "--by event", "--by player"),
    )


def _by_moves(tables: SetTables, event: str, *, alone: bool) -> dict[str, dict[str, Any]]:
    """The ratings by moves of an event's players; empty if nothing is analysed."""
    if not tables.rated:
        return {}
    try:
        rated = tables.ratings() if alone else tables.ratings(("player",), event=event)
    except InputError:  # nothing of this event is analysed yet
        return {}
    return {row["player"]: row for row in rated.table.iter_rows(named=True)}


def _crosses(results: pl.DataFrame, table: pl.DataFrame) -> list[list[str]]:
    """Each player's results against each other one, in the order of the table."""
    order = {key: place for place, key in enumerate(table["player"])}
    cells: list[list[list[str]]] = [[[] for _ in order] for _ in order]
    for row in results.iter_rows(named=True):
        one, two = order[row["player_1"]], order[row["player_2"]]
        cells[one][two].append(_HALF.get(row["score"], "?"))
        cells[two][one].append(_HALF.get(1.0 - row["score"], "?"))
    return [
        ["" if place == other else " ".join(cell) or "·" for other, cell in enumerate(line)]
        for place, line in enumerate(cells)
    ]
