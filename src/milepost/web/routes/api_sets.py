"""The API of sets and jobs."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, File, Form, Response, UploadFile

from milepost.web.bench import TheBench
from milepost.web.routes.models import PROBLEMS, Deleted, Job, SetInfo, set_info

router = APIRouter(prefix="/api/v1", responses=PROBLEMS)

STAYS = "The engine's evaluations stay: they are kept by position, and hold no names and no games."
_MOST_MAPPING = 1000


@router.post("/sets", status_code=201, tags=["sets"])
def add_set(
    bench: TheBench,
    response: Response,
    file: Annotated[UploadFile, File(description="PGN (plain, .zst, .gz, .bz2), CSV or Parquet")],
    mapping: Annotated[
        str, Form(alias="map", max_length=_MOST_MAPPING, description="for tables: time=date,…")
    ] = "",
    analyse: Annotated[bool, Form(description="start the analysis at once")] = True,
) -> SetInfo:
    """Add a set; the same file twice is the same set."""
    chosen, new = bench.shelf.add(file.file, file.filename or "", mapping=mapping)
    if new:
        bench.jobs.start(chosen, analyse=analyse)
    else:
        response.status_code = 200
    response.headers["location"] = f"/api/v1/sets/{chosen.id}"
    return set_info(bench, chosen)


@router.post("/sample", status_code=201, tags=["sets"])
def add_sample(bench: TheBench) -> SetInfo:
    """Add the sample league: simulated players of known strength; it needs no engine."""
    return set_info(bench, bench.add_sample())


@router.get("/sets", tags=["sets"])
def list_sets(bench: TheBench) -> list[SetInfo]:
    """List the sets, newest first."""
    return [set_info(bench, each) for each in bench.shelf.all()]


@router.get("/sets/{set_id}", tags=["sets"])
def get_set(bench: TheBench, set_id: str) -> SetInfo:
    """Return what is known of a set."""
    return set_info(bench, bench.shelf.get(set_id))


@router.delete("/sets/{set_id}", tags=["sets"])
def delete_set(bench: TheBench, set_id: str) -> Deleted:
    """Delete a set, its tables and its job."""
    bench.jobs.delete(bench.shelf.get(set_id))
    return Deleted(deleted=set_id, stays=STAYS)


@router.post("/sets/{set_id}/jobs", status_code=202, tags=["jobs"])
def start_job(bench: TheBench, set_id: str) -> Job:
    """Start the job of a set, or let it go on; a running one is left alone."""
    return Job(**bench.jobs.start(bench.shelf.get(set_id)))


@router.get("/jobs/{set_id}", tags=["jobs"])
def get_job(bench: TheBench, set_id: str) -> Job:
    """Return what a job is doing."""
    return Job(**bench.jobs.about(bench.shelf.get(set_id)))


@router.delete("/jobs/{set_id}", status_code=202, tags=["jobs"])
def stop_job(bench: TheBench, set_id: str) -> Job:
    """Stop a job; what is finished stays, and it can go on later."""
    return Job(**bench.jobs.stop(bench.shelf.get(set_id)))
