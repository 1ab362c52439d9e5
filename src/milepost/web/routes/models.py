"""What the API says, as OpenAPI describes it."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field

from milepost.web.bench import Bench
from milepost.web.sets.shelf import GameSet

State = Literal["none", "waiting", "running", "stopping", "stopped", "done", "failed"]


class ProblemBody(BaseModel):
    """What is wrong with a request (RFC 9457)."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str


class Job(BaseModel):
    """The job of a set; a set has one."""

    id: str
    set: str
    state: State
    error: str | None = None
    phase: str | None = None
    done: float | None = None
    total: float | None = None
    rate: float | None = Field(None, description="a second")
    eta: float | None = Field(None, description="seconds")
    last_event: int = 0


class SetInfo(BaseModel):
    """A set of games or results."""

    id: str = Field(description="digest of what came in")
    kind: Literal["games", "results"]
    title: str
    created: float = Field(description="seconds since 1970")
    expires: float
    bytes: int
    sha256: str
    found: int | None = Field(None, description="games or results found; null = not read yet")
    kept: int | None = None
    skipped: dict[str, int] = Field(default_factory=dict, description="by reason")
    players: int | None = None
    note: str = ""
    job: Job


class Deleted(BaseModel):
    """What became of a deleted set."""

    deleted: str
    stays: str


class PlayerInfo(BaseModel):
    """A player of a set."""

    id: str
    key: str
    name: str


def set_info(bench: Bench, chosen: GameSet) -> SetInfo:
    """Return what is known of a set."""
    about, counts = chosen.about, chosen.counts
    return SetInfo(
        id=chosen.id,
        kind=about["kind"],
        title=about["title"],
        created=about["created"],
        expires=bench.shelf.expires(chosen),
        bytes=about["bytes"],
        sha256=about["sha256"],
        found=counts.get("found"),
        kept=counts.get("kept"),
        skipped=counts.get("skipped", {}),
        players=counts.get("players"),
        note=about.get("note", ""),
        job=Job(**bench.jobs.about(chosen)),
    )


PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {
        "description": text,
        "content": {"application/problem+json": {
            "schema": {"$ref": "#/components/schemas/ProblemBody"}}},
    }
    for status, text in (
        (400, "cannot be read"), (401, "token needed"), (403, "from another site"),
        (404, "not there"), (409, "not now"), (413, "too large"), (415, "another kind of file"),
        (422, "cannot be used"),
    )
}  # fmt: skip
"""What any request may be answered with."""
