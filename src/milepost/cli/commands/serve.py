"""The command that opens the workbench in the browser: serve."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from milepost.cli import options

if TYPE_CHECKING:
    from pathlib import Path


def serve(
    host: Annotated[
        str,
        typer.Option(
            "--host", help="Address to listen on; any but this machine needs --allow-remote."
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", min=1, max=65535, help="Port to listen on.")
    ] = 8765,
    folder: Annotated[
        str | None,
        typer.Option(
            "--folder",
            metavar="DIR",
            help="Folder for sets of games.",
            show_default="the user's data folder",
        ),
    ] = None,
    store: Annotated[
        str | None,
        typer.Option(
            "--store",
            metavar="DIR",
            help="The evaluation store.",
            show_default="one in the folder",
        ),
    ] = None,
    engine: options.Engine = None,
    plan: Annotated[
        str,
        options.choice(
            "--plan",
            options.PLANS,
            help="How the engine searches: quick, bullet or standard.",
            listed=False,
        ),
    ] = "quick",
    history: Annotated[
        list[str] | None,
        typer.Option("--history", metavar="DIR", help="Also show this saved history; repeatable."),
    ] = None,
    enable_check: Annotated[
        bool, typer.Option("--enable-check", help="Show the fair-play pages.")
    ] = False,
    keep_days: Annotated[
        float, typer.Option("--keep-days", min=0.01, help="Delete sets after this many days.")
    ] = 30.0,
    allow_remote: Annotated[
        bool, typer.Option("--allow-remote", help="Let other machines connect, with the token.")
    ] = False,
    name: Annotated[
        list[str] | None,
        typer.Option("--name", help="Another host name of this machine; repeatable."),
    ] = None,
    token: Annotated[
        str | None,
        typer.Option(
            "--token",
            envvar="MILEPOST_TOKEN",
            help="Token that other machines must show.",
            show_default="a new one",
        ),
    ] = None,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the first page in a browser.")
    ] = True,
    workers: options.Workers = options.ALL_CORES,
) -> None:
    """Open the workbench in your browser: drop a PGN, see ratings."""
    import secrets
    from pathlib import Path

    from milepost import api
    from milepost.errors import InputError

    try:
        from milepost.web.serve import serve as run
        from milepost.web.settings import Settings
    except ImportError as error:
        raise InputError(
            f"the workbench needs the extra web (pip install 'milepost[web]'): {error}"
        ) from error
    if host not in {"127.0.0.1", "localhost", "::1"} and not allow_remote:
        raise InputError(f"--host {host} lets other machines in: say --allow-remote too")
    api.analyses.make_plan(plan)  # an unknown one is told now
    for given in history or []:
        api.histories.load_history(given)
    settings = Settings(
        folder=Path(folder) if folder else _data_folder(),
        token=token or secrets.token_urlsafe(24),
        host=host,
        port=port,
        allow_remote=allow_remote,
        names=tuple(name or ()),
        store_folder=Path(store) if store else None,
        engine=engine,
        plan=plan,
        workers=workers,
        histories=tuple(Path(given) for given in history or ()),
        enable_check=enable_check,
        expiry_days=keep_days,
    )
    run(settings, open_browser=browser, tell=typer.echo)


def _data_folder() -> Path:
    from platformdirs import user_data_path

    return user_data_path("milepost") / "workbench"
