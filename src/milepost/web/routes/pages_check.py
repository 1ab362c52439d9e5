"""The fair-play pages: there only if the server was started with them, players numbered."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import time
from datetime import datetime
from typing import Annotated, Any

import polars as pl
from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from milepost import api
from milepost.web.bench import Bench, TheBench
from milepost.web.routes.models import PROBLEMS
from milepost.web.safety.guard import POLICY
from milepost.web.safety.problems import RefusedError
from milepost.web.sets.tables import SetTables
from milepost.web.shown.commands import set_command
from milepost.web.shown.formats import Format, table_response
from milepost.web.shown.pages import render

router = APIRouter()
_MOST_REPLY = 5000


def _checking(bench: Bench, set_id: str) -> SetTables:
    if not bench.settings.enable_check:
        raise RefusedError(
            404, "Not switched on",
            "Fair-play pages are there only if the workbench is started with them.",
        )  # fmt: skip
    return bench.tables(set_id)


@router.post("/api/v1/sets/{set_id}/check", tags=["check"], responses=PROBLEMS)
def check(
    bench: TheBench, set_id: str, form: Annotated[Format, Query(alias="format")] = Format.JSON
) -> Response:
    """Compare the performances of a set with honest play; players are numbered."""
    tables = _checking(bench, set_id)
    _look(bench, tables, "")
    return table_response(_saved(tables), form, "check")


@router.get("/api/v1/sets/{set_id}/check", tags=["check"], responses=PROBLEMS)
def last_check(
    bench: TheBench, set_id: str, form: Annotated[Format, Query(alias="format")] = Format.JSON
) -> Response:
    """Return the last look again: no new one is taken, and the ledger stays as it is."""
    tables = _checking(bench, set_id)
    if not (tables.chosen.path("check") / "table.parquet").exists():
        raise RefusedError(404, "No look yet", "Check the set first.")
    return table_response(_saved(tables), form, "check")


@router.get("/sets/{set_id}/check", include_in_schema=False)
def show_check(request: Request, bench: TheBench, set_id: str) -> HTMLResponse:
    """Show what a check says, or offer one."""
    tables = _checking(bench, set_id)
    folder = tables.chosen.path("check")
    rows: list[dict[str, Any]] = []
    figures: dict[str, Any] = {}
    if (folder / "table.parquet").exists():
        rows = [_worded(row) for row in _saved(tables).iter_rows(named=True)]
        figures = json.loads((folder / "figures.json").read_text(encoding="utf-8"))
    return render(
        request,
        "check.html",
        set_id=set_id,
        set_title=tables.chosen.about["title"],
        command=set_command("check", bench, tables.chosen),
        rows=rows,
        notes=figures.get("notes", []),
        looks=figures.get("looks", ""),
        days=bench.settings.check_days,
    )


@router.post("/sets/{set_id}/check", include_in_schema=False)
def do_check(
    bench: TheBench, set_id: str,
    reply: Annotated[str, Form(max_length=_MOST_REPLY)] = "",
) -> Response:  # fmt: skip
    """Compare performances with honest play, and show it."""
    _look(bench, _checking(bench, set_id), reply.strip())
    return RedirectResponse(f"/sets/{set_id}/check", 303)


@router.get("/sets/{set_id}/check/report", include_in_schema=False)
def show_report(bench: TheBench, set_id: str) -> HTMLResponse:
    """Show the printable report: a page of its own, with its own style and no script."""
    path = _checking(bench, set_id).chosen.path("check") / "report.html"
    if not path.exists():
        raise RefusedError(404, "No report yet", "Check the set first.")
    text = path.read_text(encoding="utf-8")
    # Its style is inline: the policy allows just this text, by its digest, and no attributes.
    text = re.sub(r' style="max-width:\d+px"', "", text)
    styles = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    digests = [base64.b64encode(hashlib.sha256(each.encode()).digest()).decode() for each in styles]
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    policy = POLICY.replace("style-src 'self'", f"style-src 'self' {allowed}")
    return HTMLResponse(text, headers={"content-security-policy": policy})


def _look(bench: Bench, tables: SetTables, reply: str) -> None:
    """Take a look: it is entered into the ledger, and the set is kept for a shorter time."""
    found = api.fairplay.check(
        tables.decisions(),
        bench.settings.store,
        looked_at=datetime.now().astimezone().isoformat(timespec="seconds"),
    )
    folder = tables.chosen.path("check")
    folder.mkdir(exist_ok=True, mode=0o700)
    found.save(folder / "table.parquet")
    found.save(folder / "figures.json")
    found.report(
        folder / "report.html", reply=reply, command="milepost check EVENT.pgn --store STORE"
    )
    tables.chosen.tell(checked=time.time())


def _saved(tables: SetTables) -> pl.DataFrame:
    return pl.read_parquet(tables.chosen.path("check") / "table.parquet")


def _worded(row: dict[str, Any]) -> dict[str, Any]:
    words = api.fairplay.words
    told = [text for text in (row["reason"], *(row["warnings"] or "").split("; ")) if text]
    return {
        **row,
        "p_text": "" if row["p"] is None else words.p_text(row["p"]),
        "e_text": "" if row["ln_e"] is None else words.ratio_text(row["ln_e"]),
        "mirror_text": "" if row["mirror_p"] is None else words.p_text(row["mirror_p"]),
        "told": "; ".join(told),
    }
