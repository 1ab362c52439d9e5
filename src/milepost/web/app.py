"""The application: routes, errors, and the guard before them."""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException as StarletteHTTPException

from milepost import __version__
from milepost.errors import MilepostError
from milepost.web.bench import Bench
from milepost.web.routes import (
    api_histories,
    api_sets,
    api_tables,
    pages_check,
    pages_eras,
    pages_events,
    pages_files,
    pages_games,
    pages_method,
    pages_players,
    pages_sets,
    play,
    stream,
)
from milepost.web.routes.models import ProblemBody
from milepost.web.safety.guard import App, Guard, TooLargeError, too_large
from milepost.web.safety.problems import Problem, problem_of, problem_response
from milepost.web.settings import Settings

_HERE = Path(__file__).parent
_log = logging.getLogger(__name__)


def create_app(settings: Settings) -> App:
    """Return the workbench as an ASGI application, guarded."""
    return Guard(bare_app(settings), settings)


def bare_app(settings: Settings) -> FastAPI:
    """Return the application without its guard: for its OpenAPI, and for tests."""
    bench = Bench(settings)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        bench.jobs.begin()
        yield
        bench.jobs.end()
        bench.opponent.close()

    app = FastAPI(
        title="Milepost workbench",
        version=__version__,
        description="Ratings by moves and by results, with their intervals. Every answer has the "
        "numbers that the command line prints.",
        openapi_url="/api/v1/openapi.json",
        docs_url=None,  # they would load scripts from elsewhere
        redoc_url=None,
        lifespan=lifespan,
    )
    app.state.bench = bench
    routers = (
        api_sets, stream, api_tables, api_histories, pages_files, pages_sets, pages_players,
        pages_events, pages_eras, pages_method, pages_games,
        pages_check, play,
    )  # fmt: skip
    for routes in routers:
        app.include_router(routes.router)
    app.mount("/static", StaticFiles(directory=_HERE / "static"), name="static")
    _add_errors(app)
    _add_log(app)
    _describe_problems(app)
    return app


def _add_errors(app: FastAPI) -> None:
    async def told(request: Request, error: Exception) -> Response:
        return problem_response(
            _problem(error), request.headers.get("accept", ""), request.url.path
        )

    kinds = (MilepostError, TooLargeError, RequestValidationError, StarletteHTTPException)
    for kind in kinds:
        app.add_exception_handler(kind, told)
    app.add_exception_handler(Exception, told)


def _problem(error: Exception) -> Problem:
    cause: BaseException | None = error
    while cause is not None:  # whoever parsed the body may have put errors of its own around it
        if isinstance(cause, TooLargeError):
            return too_large(cause.args[0])
        cause = cause.__cause__ or cause.__context__
    if isinstance(error, RequestValidationError):
        parts = [f"{'.'.join(map(str, each['loc'][1:]))}: {each['msg']}" for each in error.errors()]
        return Problem(422, "Cannot be used", "; ".join(parts[:5]))
    if isinstance(error, StarletteHTTPException | HTTPException):
        titles = {404: "Not here", 405: "Not in this way"}
        title = titles.get(error.status_code, "Cannot be read")
        detail = str(error.detail)
        if (error.status_code, detail) == (404, "Not Found"):
            detail = "There is nothing at this address."
        return Problem(error.status_code, title, detail)
    return problem_of(error)


def _add_log(app: FastAPI) -> None:
    @app.middleware("http")
    async def log(request: Request, answer: Callable[[Request], Awaitable[Response]]) -> Response:
        begun = time.perf_counter()
        response = await answer(request)
        # The pattern and not the address: no ids, no names.
        route: Any = request.scope.get("route")
        pattern = getattr(route, "path", "-")
        milliseconds = 1000 * (time.perf_counter() - begun)
        _log.info("%s %s %s %.0f ms", request.method, pattern, response.status_code, milliseconds)
        return response


def _describe_problems(app: FastAPI) -> None:
    """Put the body of problems into the OpenAPI, which no route returns by itself."""
    original = app.openapi

    def described() -> dict[str, Any]:
        if app.openapi_schema is None:
            schema = original()
            parts = schema.setdefault("components", {}).setdefault("schemas", {})
            parts["ProblemBody"] = ProblemBody.model_json_schema()
            app.openapi_schema = schema
        return app.openapi_schema

    app.openapi = described  # type: ignore[method-assign]
