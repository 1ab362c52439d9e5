"""The pages that say what ratings rest on: calibrations, and the method."""

from __future__ import annotations

from typing import Annotated, Any

import polars as pl
from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, Response

from milepost import api
from milepost.web.bench import TheBench
from milepost.web.routes.api_histories import shipped
from milepost.web.routes.pages_sets import rating_rows
from milepost.web.safety.problems import RefusedError
from milepost.web.shown.charts import chart_response
from milepost.web.shown.commands import set_command
from milepost.web.shown.curves import error_chart, map_error_chart
from milepost.web.shown.pages import render

router = APIRouter(include_in_schema=False)
Name = Annotated[str, Query(max_length=60)]
_DEFAULT = "stockfish15.1-quick"
_GATE = {
    "mm": "engine's move", "ad": "error", "slips1": "slips over 1 pawn",
    "slips3": "slips over 3 pawns",
}  # fmt: skip


@router.get("/calibration")
def show_calibration(request: Request, name: Name = _DEFAULT) -> HTMLResponse:
    """Show a calibration: what it rests on, how far off it is, where it fails."""
    chosen = shipped(name)
    errors = dict(zip(*(part.tolist() for part in chosen.map_error), strict=True))
    sizes = [1600, 1800, 2000, 2200, 2400, 2600, 2800]
    accuracy = chosen.accuracy.to_dicts() if len(chosen.accuracy) else []
    return render(
        request,
        "calibration.html",
        all=api.ratings.calibrations().to_dicts(),
        chosen=chosen,
        own=chosen.map.kind,
        errors={size: errors.get(float(size)) for size in sizes},
        accuracy=accuracy,
        gate=_gate_rows(chosen.gate),
        variation=_variation_rows(chosen),
    )


@router.get("/calibration/charts/{kind}.{form}")
def calibration_chart(
    kind: str, form: str, name: Name = _DEFAULT, narrow: bool = False
) -> Response:
    """Draw the error of a calibration: of its map, or on held-out games."""
    chosen = shipped(name)
    if kind == "map":
        chart: Any = map_error_chart(*chosen.map_error, chosen.range)
    elif kind == "accuracy" and len(chosen.accuracy):
        chart = error_chart(chosen.accuracy)
    else:
        raise RefusedError(404, "No such chart", "There are map and accuracy.")
    return chart_response(chart, form, narrow=narrow)


def _gate_rows(gate: pl.DataFrame) -> list[dict[str, Any]]:
    """Each band of Elo: projected beside actual, and where they differ by more than chance."""
    rows = []
    for row in gate.iter_rows(named=True):
        cells = [
            {
                "projected": row[f"{name}_projected"], "actual": row[f"{name}_actual"],
                "se": row[f"{name}_se"], "passes": row[f"{name}_passes"],
                "share": name != "ad",
            }
            for name in _GATE
            if f"{name}_projected" in row
        ]  # fmt: skip
        rows.append({"band": row["band"], "n": row["n"], "cells": cells})
    return rows


def _variation_rows(chosen: api.ratings.Calibration) -> list[dict[str, Any]]:
    told = chosen.variation
    parts = (
        ("players of equal Elo differ by", told.player_sd),
        ("events lie off their Elo by", told.event_sd),
        ("a player's games differ, beyond chance, by", told.game_sd),
    )
    return [
        {"what": what, "used": part.used, "low": part.low, "high": part.high}
        for what, part in parts
    ]


@router.get("/method")
def show_method(
    request: Request, bench: TheBench, set_id: Annotated[str, Query(alias="set")] = ""
) -> HTMLResponse:
    """Show the method, with the numbers of a set put in where one is named."""
    row, title, command = None, "", ""
    if set_id:
        tables = bench.tables(set_id)
        title, command = tables.chosen.about["title"], set_command("rate", bench, tables.chosen)
        if tables.rated:
            rated = [each for each in rating_rows(tables, tables.ratings()) if each["se"]]
            row = max(rated, key=lambda each: each["n"], default=None)
    sets = [
        {"id": each.id, "title": each.about["title"]}
        for each in bench.shelf.all()
        if each.path("ratings.parquet").exists()
    ]
    return render(
        request, "method.html", row=row, set_id=set_id, set_title=title, sets=sets, command=command
    )
