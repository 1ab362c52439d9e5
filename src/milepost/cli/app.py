"""The `milepost` command; the one place where errors become exit codes.

Exit codes: 0 done (perhaps with warnings), 1 failed or `--strict` found errors, 2 an unknown
command or option, 130 interrupted.
"""

from __future__ import annotations

import os
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from milepost import __version__
from milepost.cli.commands import (
    analyse,
    calibrate,
    check,
    demo,
    fit_rows,
    fits,
    follow,
    games,
    history,
    likelihood,
    models,
    players,
    plot,
    questions,
    rate,
    reproduce,
    review,
    select,
    spreads,
    tune,
)
from milepost.cli.commands.store import store_app
from milepost.cli.moved import pointing
from milepost.errors import MilepostError

_RESUMES = {
    "games",
    "results",
    "turns",
    "players",
    "select",
    "analyse",
    "check",
    "fit-row",
    "demo",
    "reproduce",
}
"""Commands that keep what they have done when they are interrupted."""


class _Group(TyperGroup):
    """The commands, with errors turned into messages and exit codes."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except MilepostError as error:
            typer.echo(f"milepost: {error}", err=True)
            raise typer.Exit(1) from error
        except KeyboardInterrupt:
            kept = ctx.invoked_subcommand in _RESUMES
            later = "goes on where this one stopped" if kept else "begins anew"
            typer.echo(f"\nmilepost: interrupted; the same command {later}", err=True)
            raise typer.Exit(130) from None
        except BrokenPipeError:
            # The reader of our output (head, less) has left: not an error of ours.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(0) from None


app = typer.Typer(
    cls=_Group,
    name="milepost",
    help="Measure skill: by the quality of moves, by results through time, with honest error bars.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"milepost {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Measure skill: by the quality of moves, by results through time, with honest error bars."""


app.command("games")(games.games)
app.command("results")(games.results)
app.command("turns")(games.turns)
app.command("players")(players.players)
app.command("select", cls=pointing(select.MOVED))(select.select)
app.command("analyse")(analyse.analyse)
app.command("spreads")(spreads.spreads)
app.command("fit", cls=pointing(fits.MOVED))(fits.fit)
app.command("fit-line")(fits.fit_line)
app.command("fit-row")(fit_rows.fit_row)
app.command("models")(models.models)
app.command("follow")(follow.follow)
app.command("calibrate")(calibrate.calibrate)
app.command("calibrations")(calibrate.calibrations)
app.command("rate")(rate.rate)
app.command("check")(check.check)
app.command("review")(review.review)
app.command("likelihood")(likelihood.likelihood)
app.command("history", cls=pointing(history.MOVED))(history.history)
app.command("rank")(questions.rank)
app.command("predict")(questions.predict)
app.command("compare")(questions.compare)
app.command("tune", cls=pointing(tune.MOVED))(tune.tune)
app.command("plot")(plot.plot)
app.command("reproduce")(reproduce.reproduce)
app.add_typer(store_app, name="store")
app.command("demo")(demo.demo)


def main() -> None:
    """Run the command line."""
    app()
