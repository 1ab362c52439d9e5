"""The first page, and the page of a set."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import polars as pl
from fastapi import APIRouter, File, Form, Query, Request, Response, UploadFile
from fastapi.responses import HTMLResponse, RedirectResponse

from milepost.io.shown import has_bounds
from milepost.web.bench import TheBench
from milepost.web.routes.models import SetInfo, set_info
from milepost.web.sets.shelf import WORKING, read_json
from milepost.web.sets.tables import RatedTable, SetTables
from milepost.web.shown.charts import chart_response
from milepost.web.shown.commands import set_command
from milepost.web.shown.pages import interval, lasting, number, points, render
from milepost.web.work import player_id

router = APIRouter(include_in_schema=False)

_GAMES_A_PAGE = 50
_MOST_ROWS = 1000
_PHASES = {
    "reading": "Reading the games", "history": "Fitting skill through time",
    "analysing": "The engine looks at the moves", "rating": "Rating",
    "looking": "The engine looks deeper at the costly turns",
}  # fmt: skip


@router.get("/")
def start(request: Request, bench: TheBench) -> HTMLResponse:
    """Show the first page."""
    sets = [set_info(bench, each) for each in bench.shelf.all()[:50]]
    return render(request, "start.html", engine=bench.engine, sets=sets)


@router.post("/sets")
def add_set(
    bench: TheBench,
    file: Annotated[UploadFile, File()],
    mapping: Annotated[str, Form(alias="map", max_length=1000)] = "",
    analyse: Annotated[str, Form()] = "",
) -> Response:
    """Take a file in, and go to its page."""
    chosen, new = bench.shelf.add(file.file, file.filename or "", mapping=mapping.strip())
    if new:
        bench.jobs.start(chosen, analyse=bool(analyse))
    return RedirectResponse(f"/sets/{chosen.id}", 303)


@router.post("/sample")
def add_sample(bench: TheBench) -> Response:
    """Open the sample."""
    return RedirectResponse(f"/sets/{bench.add_sample().id}", 303)


@router.post("/sets/{set_id}/start")
def start_job(bench: TheBench, set_id: str) -> Response:
    """Start the analysis, or let it go on."""
    bench.jobs.start(bench.shelf.get(set_id))
    return RedirectResponse(f"/sets/{set_id}", 303)


@router.post("/sets/{set_id}/stop")
def stop_job(bench: TheBench, set_id: str) -> Response:
    """Stop the analysis."""
    bench.jobs.stop(bench.shelf.get(set_id))
    return RedirectResponse(f"/sets/{set_id}", 303)


@router.post("/sets/{set_id}/delete")
def delete_set(bench: TheBench, set_id: str) -> Response:
    """Delete a set."""
    bench.jobs.delete(bench.shelf.get(set_id))
    return RedirectResponse("/", 303)


@router.get("/sets/{set_id}")
def show_set(
    request: Request, bench: TheBench, set_id: str, page: Annotated[int, Query(ge=1)] = 1
) -> HTMLResponse:
    """Show a set."""
    tables = bench.tables(set_id)
    chosen = tables.chosen
    about = set_info(bench, chosen)
    rated = tables.ratings() if tables.rated else None
    rows = rating_rows(tables, rated) if rated is not None else []
    games = tables.games() if about.kind == "games" else pl.DataFrame()
    pages = max(math.ceil(len(games) / _GAMES_A_PAGE), 1)
    told = read_json(chosen.path("decisions.json"))
    counts = told.get("counts", {})
    if counts.get("not analysed"):
        rows = [row if row["n"] else {**row, "warnings": "not scored yet"} for row in rows]
    return render(
        request,
        "set.html",
        about=about,
        working=about.job.state in WORKING,
        told=job_text(about),
        share=about.job.done / about.job.total if about.job.total and about.job.done else None,
        rows=rows[:_MOST_ROWS],
        level=rated.level if rated else 0.95,
        finding=_finding(rows),
        turns=counts.get("kept", 0),
        missing=counts.get("not analysed", 0),
        broken=chosen.counts.get("broken", 0),
        errors=len(tables.errors()),
        events=events_of(games),
        games=games.slice((page - 1) * _GAMES_A_PAGE, _GAMES_A_PAGE).to_dicts(),
        page=min(page, pages),
        pages=pages,
        has_history=chosen.path("history").is_dir(),
        command=set_command("rate", bench, chosen),
        file=shlex.quote(chosen.about["file"]),
        setup=told.get("setup", ""),
        calibration=rated.calibration if rated else "",
    )


@router.get("/sets/{set_id}/charts/ratings.{form}")
def ratings_chart(bench: TheBench, set_id: str, form: str, narrow: bool = False) -> Response:
    """Draw the ratings of a set."""
    tables = bench.tables(set_id)
    rated = tables.ratings()
    return chart_response(rated_chart(tables.shown(rated), rated.level), form, narrow=narrow)


def rated_chart(shown: pl.DataFrame, level: float, label: str = "player") -> Any:
    """Return the chart of ratings with both intervals; players by rating, parts as they come.

    Raises
    ------
    RefusedError
        If nothing has a rating.
    """
    from milepost.report.ratings.charts import bars_chart
    from milepost.web.safety.problems import RefusedError

    table = shown.filter(pl.col("rating").is_not_null()).sort("n", descending=True)
    if table.is_empty():
        raise RefusedError(409, "Nothing to draw", "No group has turns enough for a rating.")
    table = table.with_columns(pl.col(label).alias("label"))
    order = table.sort("rating", "label", descending=[True, False])["label"].to_list()
    if label != "player":
        order = [each for each in shown[label] if each in set(order)]
    return bars_chart(table, order, level)


def rating_rows(tables: SetTables, rated: RatedTable) -> list[dict[str, Any]]:
    """Return ratings by player as rows of a page, the highest first."""
    names = tables.names()
    table = rated.table.sort("rating", "player", descending=[True, False], nulls_last=True)
    rows = []
    for row in table.iter_rows(named=True):
        identity = player_id(tables.chosen.id, row["player"])
        label = names.get(row["player"], row["player"])
        link = f"/sets/{tables.chosen.id}/players/{identity}"
        rows.append({**row, "id": identity, "label": label, "link": link})
    return rows


NAMELESS = "An event without a name"


def events_of(games: pl.DataFrame) -> list[dict[str, Any]]:
    """Return the events of a set with their numbers, in the order in which they appear."""
    if "event" not in games.columns or games.is_empty():
        return []
    if games["event"].null_count() == len(games):  # as of a broadcast: one event, not named
        return [{"number": 1, "name": NAMELESS, "games": len(games)}]
    counted = (
        games.filter(pl.col("event").is_not_null())
        .group_by("event", maintain_order=True)
        .agg(pl.len().alias("games"))
    )
    return [
        {"number": place, "name": row["event"], "games": row["games"]}
        for place, row in enumerate(counted.iter_rows(named=True), start=1)
    ]


def job_text(about: SetInfo) -> str:
    """Return in a sentence what a job does."""
    job = about.job
    if job.state == "waiting":
        return "Waiting for its turn."
    if job.state == "stopping":
        return "Stopping: what is finished is kept."
    if job.state == "running":
        told = _PHASES.get(job.phase or "", "At work")
        if job.phase in {"analysing", "looking"} and job.total:
            told += f": {number(job.done)} of {number(job.total)} positions"
            if job.eta:
                told += f", {lasting(job.eta)} left"
        return told + "."
    words = {
        "none": "Not started.",
        "stopped": "Stopped. What is finished is kept, and it can go on.",
        "failed": "It failed.",
        "done": "The analysis is done.",
    }
    return words[job.state]


def _finding(rows: Sequence[Mapping[str, Any]]) -> str:
    rated = [row for row in rows if row["rating"] is not None]
    if not rated:
        return "No group has turns enough for a rating."
    # Few turns can leave one side open; the best value then lies far out, and would lead the list.
    rated = [row for row in rated if has_bounds(row["low"], row["high"])]
    if not rated:
        return "No group has turns enough for a rating with two bounds."
    highest, lowest = (
        f"{row['label']}, {points(row['rating'])} ({interval(row['low'], row['high'])})"
        for row in (rated[0], rated[-1])
    )
    return f"Highest: {highest}" + (f"; lowest: {lowest}." if len(rated) > 1 else ".")
