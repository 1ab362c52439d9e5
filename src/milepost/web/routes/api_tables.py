"""The API of what came out of a set: ratings, players, games, turns."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import polars as pl
from fastapi import APIRouter, Query, Response

from milepost.web.bench import TheBench
from milepost.web.routes.models import PROBLEMS, PlayerInfo
from milepost.web.sets.tables import RatedTable, SetTables
from milepost.web.shown.formats import Format, table_response


class Reviewed(StrEnum):
    """The tables of a review."""

    COSTLY = "costly"
    PHASES = "phases"
    OPPONENTS = "opponents"
    GAMES = "games"


router = APIRouter(prefix="/api/v1", tags=["tables"], responses=PROBLEMS)

By = Annotated[list[str], Query(max_length=3, description="groupings, as milepost rate --by")]
As = Annotated[Format, Query(alias="format")]


@router.get("/sets/{set_id}/ratings", response_class=Response)
def get_ratings(
    bench: TheBench,
    set_id: str,
    by: By = ["player"],  # noqa: B006 - FastAPI copies it
    player: str | None = None,
    form: As = Format.JSON,
) -> Response:
    """Return ratings by moves, with both intervals, turns and warnings."""
    tables = bench.tables(set_id)
    groupings = [name for name in by if name != "none"]
    key = None if player is None else tables.player(player).key
    rated = tables.ratings(groupings, key)
    return table_response(rated.table, form, "ratings", made=_made(tables, rated), more={
        "by": list(rated.by), "level": rated.level, "calibration": rated.calibration,
        "notes": list(rated.notes), "names": tables.names(),
    })  # fmt: skip


def _made(tables: SetTables, rated: RatedTable) -> dict[str, Any]:
    from milepost.io.provenance import provenance

    about = tables.chosen.about
    inputs = [{"name": about["title"], "bytes": about["bytes"], "sha256": about["sha256"]}]
    told = {"by": list(rated.by), "calibration": rated.calibration, "level": rated.level}
    return provenance("rate", told, inputs)


@router.get("/sets/{set_id}/players", response_model=list[PlayerInfo])
def list_players(
    bench: TheBench, set_id: str, form: As = Format.JSON
) -> list[PlayerInfo] | Response:
    """List the players of a set, by name."""
    players = [PlayerInfo(**vars(each)) for each in bench.tables(set_id).players()]
    if form is Format.JSON:
        return players
    frame = pl.DataFrame([vars(each) for each in players], schema=list(PlayerInfo.model_fields))
    return table_response(frame, form, "players")


@router.get("/sets/{set_id}/players/{player_id}", response_class=Response)
def get_player(
    bench: TheBench,
    set_id: str,
    player_id: str,
    by: By = [],  # noqa: B006 - FastAPI copies it
    form: As = Format.JSON,
) -> Response:
    """Return a player's rating, whole or parted by groupings."""
    tables = bench.tables(set_id)
    player = tables.player(player_id)
    if by:
        rated = tables.ratings(by, player.key)
        table = rated.table
    else:
        rated = tables.ratings()
        table = rated.table.filter(pl.col("player") == player.key)
    return table_response(table, form, "player", made=_made(tables, rated), more={
        "player": vars(player), "by": list(by), "level": rated.level,
        "calibration": rated.calibration, "notes": list(rated.notes),
    })  # fmt: skip


@router.get("/sets/{set_id}/players/{player_id}/review", response_class=Response)
def get_review(
    bench: TheBench,
    set_id: str,
    player_id: str,
    table: Reviewed = Reviewed.COSTLY,
    form: As = Format.JSON,
) -> Response:
    """Return a table of a player's review, as milepost review has it."""
    tables = bench.tables(set_id)
    player = tables.player(player_id)
    found = tables.review(player, bench.settings.store, now=True)
    assert found is not None
    return table_response(getattr(found, table.value), form, table.value, more={
        "player": vars(player), "traps": found.traps, "notes": list(found.notes),
    })  # fmt: skip


@router.get("/sets/{set_id}/games", response_class=Response)
def list_games(bench: TheBench, set_id: str, form: As = Format.JSON) -> Response:
    """Return the games of a set, without their moves."""
    return table_response(bench.tables(set_id).games(), form, "games")


@router.get("/sets/{set_id}/errors", response_class=Response)
def list_errors(bench: TheBench, set_id: str, form: As = Format.JSON) -> Response:
    """Return what was wrong with the games."""
    return table_response(bench.tables(set_id).errors(), form, "errors")
