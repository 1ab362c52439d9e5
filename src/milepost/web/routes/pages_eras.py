"""The pages of skill through time."""

from __future__ import annotations

import shlex
import warnings
from typing import Annotated, Any

import polars as pl
from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, Response

from milepost import api
from milepost.errors import MilepostError
from milepost.history.result import History, NameWarning
from milepost.web.bench import TheBench
from milepost.web.routes.api_histories import Scale, checked_time, compared_then
from milepost.web.shown.charts import chart_response
from milepost.web.shown.commands import shell_path
from milepost.web.shown.curves import pool_chart
from milepost.web.shown.pages import render

router = APIRouter(include_in_schema=False)
Name = Annotated[str, Query(max_length=200)]
Time = Annotated[str, Query(max_length=20)]
_MOST_RANKED = 30
_MOST_CURVES = 6
_JOINT = (
    "The map from moves to Elo is taken as the same in every era: nothing in the data tests that."
)


@router.get("/eras")
def list_eras(request: Request, bench: TheBench) -> HTMLResponse:
    """List the histories."""
    return render(request, "eras.html", histories=bench.histories())


@router.get("/eras/{history_id}")
def show_era(
    request: Request,
    bench: TheBench,
    history_id: str,
    at: Time = "",
    player: Name = "",
    a: Name = "",
    b: Name = "",
    time_a: Time = "",
    time_b: Time = "",
    scale: Scale = None,
) -> HTMLResponse:
    """Show a history: the list at a date, curves, two players compared, the level of the pool."""
    saved, history = bench.history(history_id)
    scales = _scales_of(history)
    wrong: list[str] = []
    if scale is not None:
        asked = _answer(wrong, lambda: bench.history(history_id, scale)[1], None)
        history = history if asked is None else asked
    shown = scale if scale is not None and not wrong else next(iter(scales))
    joint = shown == "joint"
    times = history.paths["time"].to_list()
    moment = at or _shown_time(times[-1])
    ranked = _answer(wrong, lambda: history.rank(checked_time(moment)), pl.DataFrame())
    typed = [name.strip() for name in player.split(";") if name.strip()][:_MOST_CURVES]
    if not typed and len(ranked):
        typed = ranked["name"].head(3).to_list()
    curves = _answer(wrong, lambda: [history.find(name).name for name in typed], [])
    compared, alone = None, None
    if a and b:
        sides = (a, time_a or moment), (b, time_b or moment)
        compared = _answer(wrong, lambda: compared_then(history, *sides), None)
        if joint and compared is not None:
            alone = _answer(wrong, lambda: compared_then(history.on("points"), *sides), None)
    levels = api.histories.pool_levels(history)
    return render(
        request,
        "era.html",
        saved=saved,
        about=history.about,
        converged=history.converged,
        first=_shown_time(times[0]),
        last=_shown_time(times[-1]),
        at=moment,
        ranked=ranked.head(_MOST_RANKED).to_dicts(),
        count=len(ranked),
        player="; ".join(typed),
        curves=curves,
        folder=shell_path(saved.folder),
        plot_command=f"milepost plot {shell_path(saved.folder)} {shlex.join(curves)} -o curves.svg",
        compared=compared,
        alone=alone,
        a=a, b=b, time_a=time_a, time_b=time_b,
        wrong=wrong,
        levels=levels.to_dicts(),
        level_told=_level_told(levels),
        scale=shown,
        scales=scales,
        joint=joint,
        unit="intrinsic Elo" if joint else history.scale.unit,
        option="" if list(scales) == ["points"] else f" --scale {shown}",
        scale_lines=[_JOINT] if joint else list(history.scale.lines),
    )  # fmt: skip


@router.get("/eras/{history_id}/charts/curves.{form}")
def curves_chart(
    bench: TheBench, history_id: str, form: str, player: Name, narrow: bool = False,
    scale: Scale = None,
) -> Response:  # fmt: skip
    """Draw players' skill through time."""
    _, history = bench.history(history_id, scale)
    names = [name.strip() for name in player.split(";") if name.strip()][:_MOST_CURVES]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NameWarning)
        return chart_response(history.plot(*names, band="95"), form, narrow=narrow)


@router.get("/eras/{history_id}/charts/pool.{form}")
def level_chart(
    bench: TheBench, history_id: str, form: str, narrow: bool = False, scale: Scale = None
) -> Response:
    """Draw the level of the pool over time."""
    _, history = bench.history(history_id, scale)
    levels = api.histories.pool_levels(history)
    unit = "intrinsic Elo" if history.moves is not None else "skill"
    return chart_response(pool_chart(levels, history.period, unit), form, narrow=narrow)


def _answer(wrong: list[str], ask: Any, otherwise: Any) -> Any:
    """The answer to a question, or what is wrong with it in words."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NameWarning)
            return ask()
    except MilepostError as error:
        text = str(error)
        wrong.append(f"{text[:1].upper()}{text[1:]}.")
        return otherwise


def _scales_of(history: History) -> dict[str, str]:
    """The scales that a history has, in words; the first is its own."""
    found = {"points": "points, by results alone"}
    if history.moves is not None:
        found = {"joint": "intrinsic Elo, with move evidence", **found}
    if history.curves["elo"].drop_nulls().len():
        found["elo"] = "Elo, by a line to the printed ones"
    return found


def _shown_time(time: Any) -> str:
    text = str(time)
    return text.removesuffix(".0")


def _level_told(levels: pl.DataFrame) -> str:
    first, last = levels.row(0, named=True), levels.row(-1, named=True)
    return (
        f"Median {first['median']:.0f} in {_shown_time(first['time'])} "
        f"({first['players']:,} players), {last['median']:.0f} in {_shown_time(last['time'])} "
        f"({last['players']:,} players). Shaded: the middle half."
    )
