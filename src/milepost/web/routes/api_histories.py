"""The API of histories and calibrations."""

from __future__ import annotations

import math
import warnings
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel

from milepost import api
from milepost.errors import InputError
from milepost.history.comparison import Comparison
from milepost.history.result import History, NameWarning
from milepost.web.bench import TheBench
from milepost.web.routes.models import PROBLEMS
from milepost.web.safety.problems import RefusedError
from milepost.web.shown.formats import Format, plain, table_response

router = APIRouter(prefix="/api/v1", responses=PROBLEMS)
As = Annotated[Format, Query(alias="format")]
Text = Annotated[str, Query(max_length=200)]
Time = Annotated[str, Query(max_length=20, description="a year, or a date as YYYY-MM-DD")]
Scale = Annotated[
    Literal["points", "elo", "joint"] | None,
    Query(
        description="results alone; a line to printed Elos; with move evidence, intrinsic Elo "
        "[default: joint where there is move evidence, else points]"
    ),
]


class HistoryInfo(BaseModel):
    """A history that can be asked."""

    id: str
    title: str


class Chances(BaseModel):
    """Probabilities of a game's results for the first player named."""

    win: float
    draw: float
    loss: float


class Compared(BaseModel):
    """Two players, each at a time of his own."""

    players: tuple[str, str]
    difference: float
    sd: float
    probability: float | None
    caution: str


@router.get("/histories", tags=["histories"])
def list_histories(bench: TheBench) -> list[HistoryInfo]:
    """List the histories."""
    return [HistoryInfo(id=each.id, title=each.title) for each in bench.histories()]


@router.get("/histories/{history_id}/rank", tags=["histories"], response_class=Response)
def rank(
    bench: TheBench,
    history_id: str,
    at: Time,
    within: Annotated[float, Query(ge=0, le=100)] = 1.0,
    games: Annotated[
        int | None,
        Query(
            ge=0,
            le=1_000_000,
            description="so many games by then; 0 = all [default: 30, and only players whose skill "
            "is fairly known; all if few are]",
        ),
    ] = None,
    scale: Scale = None,
    form: As = Format.JSON,
) -> Response:
    """Return the ranking at a time."""
    _, history = bench.history(history_id, scale)
    table = history.rank(checked_time(at), within=within, games=games)
    return table_response(table, form, "rank", made=history.made)


@router.get("/histories/{history_id}/curves", tags=["histories"], response_class=Response)
def curves(
    bench: TheBench,
    history_id: str,
    player: Annotated[list[str], Query(max_length=6)] = [],  # noqa: B006 - FastAPI copies it
    scale: Scale = None,
    form: As = Format.JSON,
) -> Response:
    """Return players' skill over time; without players, everybody's."""
    from milepost.report.history.curves import curve_points

    _, history = bench.history(history_id, scale)
    table = curve_points(history, player) if player else history.to_polars()
    return table_response(table, form, "curves", made=history.made)


@router.get("/histories/{history_id}/pool", tags=["histories"], response_class=Response)
def pool(bench: TheBench, history_id: str, scale: Scale = None, form: As = Format.JSON) -> Response:
    """Return the level of all players over time: quarters, median and the ten best."""
    _, history = bench.history(history_id, scale)
    table = api.histories.pool_levels(history)
    return table_response(table, form, "pool", made=history.made)


@router.get("/histories/{history_id}/predict", tags=["histories"])
def predict(bench: TheBench, history_id: str, a: Text, b: Text, at: Time) -> Chances:
    """Return the probabilities that A beats, draws with and loses to B."""
    _, history = bench.history(history_id)
    when = checked_time(at)
    one, two = (_found(history, typed, when) for typed in (a, b))
    found = history.predict(one, two, when)
    if any(math.isnan(each) for each in found):
        raise InputError("the model of this history has no answer to that")
    return Chances(win=found.win, draw=found.draw, loss=found.loss)


@router.get("/histories/{history_id}/compare", tags=["histories"])
def compare(
    bench: TheBench, history_id: str, a: Text, b: Text, time_a: Time, time_b: Time,
    scale: Scale = None,
) -> Compared:  # fmt: skip
    """Return whether A then was stronger than B then."""
    _, history = bench.history(history_id, scale)
    found = compared_then(history, (a, time_a), (b, time_b))
    return Compared(
        players=found.players, difference=found.difference.mean, sd=found.sd,
        probability=plain(found.probability), caution=found.caution,
    )  # fmt: skip


def compared_then(history: History, *sides: tuple[str, str]) -> Comparison:
    """Compare two players, each found by name among those with games at the time typed."""
    times = [checked_time(time) for _, time in sides]
    one, two = (_found(history, name, time) for (name, _), time in zip(sides, times, strict=True))
    return history.compare(one, two, *times)


def _found(history: History, name: str, time: str) -> str:
    """The player that a name means at a time; the answer says who it is."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NameWarning)
        return history.find(name, at=time).key


def checked_time(text: str) -> str:
    """Return a time as typed.

    Raises
    ------
    InputError
        If it is no year and no date.
    """
    parts = text.strip().replace(".", "-").split("-")
    if 1 <= len(parts) <= 3 and all(part.isascii() and part.isdigit() for part in parts):
        return text.strip()
    raise InputError(f"expected a year or a date (YYYY-MM-DD), got {text[:20]!r}")


@router.get("/calibrations", tags=["calibrations"], response_class=Response)
def list_calibrations(form: As = Format.JSON) -> Response:
    """Return the calibrations that come with the package, and what each rests on."""
    return table_response(api.ratings.calibrations(), form, "calibrations")


@router.get("/calibrations/{name}", tags=["calibrations"])
def get_calibration(name: str) -> dict[str, Any]:
    """Return a calibration whole."""
    found: dict[str, Any] = plain(shipped(name).to_dict())
    return found


def shipped(name: str) -> api.ratings.Calibration:
    """Return a calibration that comes with the package.

    Raises
    ------
    RefusedError
        If there is none of that name; files are never looked for.
    """
    if name not in api.ratings.calibrations()["name"].to_list():
        raise RefusedError(404, "No such calibration", "The list has those that there are.")
    return api.ratings.load_calibration(name)
