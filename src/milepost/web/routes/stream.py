"""What happens to a job, as server-sent events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Header, Request
from sse_starlette import EventSourceResponse

from milepost.web.bench import Bench, TheBench
from milepost.web.routes.models import PROBLEMS
from milepost.web.sets.journal import Event, coalesced
from milepost.web.sets.shelf import WORKING, GameSet
from milepost.web.shown.formats import plain

router = APIRouter(prefix="/api/v1", tags=["jobs"], responses=PROBLEMS)

RETRY_MILLISECONDS = 3000
HEARTBEAT_SECONDS = 15
PAUSE_SECONDS = 0.25
"""Four events a second at most."""


@router.get("/jobs/{set_id}/events", response_class=EventSourceResponse)
async def job_events(
    bench: TheBench,
    request: Request,
    set_id: str,
    last_event_id: Annotated[str | None, Header()] = None,
) -> EventSourceResponse:
    """Follow a job: a snapshot, then progress, rating, warning, state, done, failed.

    With Last-Event-ID the stream goes on behind that event; nothing is lost, nothing comes twice.
    """
    chosen = bench.shelf.get(set_id)
    after = int(last_event_id) if last_event_id and last_event_id.isascii() and (
        last_event_id.isdigit()) and len(last_event_id) < 12 else None  # fmt: skip
    return EventSourceResponse(
        _events(bench, chosen, request, after),
        ping=HEARTBEAT_SECONDS,
        headers={"cache-control": "no-store", "x-accel-buffering": "no"},
    )


async def _events(
    bench: Bench, chosen: GameSet, request: Request, after: int | None
) -> AsyncIterator[dict[str, Any]]:
    journal = chosen.journal
    events, place = journal.follow(after or 0)
    if after is None or after > place[1]:
        # Nothing was seen yet, or of another journal: all that matters, in one event.
        yield _sent("snapshot", place[1], bench.jobs.about(chosen), retry=RETRY_MILLISECONDS)
        events, after = [], place[1]
    while True:
        for event in coalesced(events):
            yield _of(event)
            await asyncio.sleep(PAUSE_SECONDS)
        if not chosen.folder.exists() or await request.is_disconnected():
            return
        if not events and chosen.job["state"] not in WORKING:
            events, place = journal.follow(after, place)
            if not events:
                return
            continue
        await asyncio.sleep(PAUSE_SECONDS)
        after = place[1]
        events, place = journal.follow(after, place)


def _of(event: Event) -> dict[str, Any]:
    return _sent(event.kind, event.number, dict(event.data))


def _sent(kind: str, number: int, data: dict[str, Any], **more: Any) -> dict[str, Any]:
    text = json.dumps(plain(data), ensure_ascii=False)
    return {"event": kind, "id": str(number), "data": text, **more}
