"""The `milepost` command; the one place where errors become exit codes.

Exit codes: 0 done (perhaps with warnings), 1 failed or `--strict` found errors, 2 an unknown
command or option or a value out of its bounds, 130 interrupted, 143 terminated (SIGTERM), 129 hung
up (SIGHUP); the messages are listed in docs/exit_codes.md.
"""

from __future__ import annotations

import atexit
import copy
import gc
import os
import signal
import sys
from types import FrameType
from typing import Annotated, Any

import typer

from milepost import __version__
from milepost.cli import show
from milepost.cli.commands import (
    analyse,
    bots,
    calibrate,
    career,
    check,
    demo,
    fit_rows,
    fits,
    follow,
    games,
    history,
    inflation,
    likelihood,
    models,
    norm,
    play,
    players,
    plot,
    questions,
    rate,
    reproduce,
    review,
    select,
    serve,
    spreads,
    tune,
)
from milepost.cli.commands.store import store_app
from milepost.cli.help import Command, Group, pointing
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
    "serve",
    "match",
    "personify",
    "review",
}
"""Commands that keep what they have done when they are interrupted."""


_STOPS = {"SIGTERM": "terminated", "SIGHUP": "hung up"}
"""Signals that schedulers and closed terminals send: they stop a command as Ctrl-C does."""


_INTERRUPTED = 130
"""The exit code after Ctrl-C; also what typer makes of every interrupt outside a command."""


class _StopSignals:
    """Turns the signals of `_STOPS` into the interrupt that every job knows how to end by."""

    def __init__(self) -> None:
        self.word, self.code = "interrupted", _INTERRUPTED
        self.begun = False
        """Whether the command has begun."""
        self._listening = False

    def listen(self) -> None:
        self._listening = True
        for name in _STOPS:
            number = getattr(signal, name, None)  # Windows has no SIGHUP
            # nohup has a command ignore SIGHUP: then it stays ignored.
            if number is not None and signal.getsignal(number) == signal.SIG_DFL:
                signal.signal(number, self._stop)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        # One is enough: a second one shall not disturb the saving.
        signal.signal(number, signal.SIG_IGN)
        self.word, self.code = _STOPS[signal.Signals(number).name], 128 + number
        raise KeyboardInterrupt

    def ignore(self) -> None:
        """Let no signal change the exit code of a command that has ended."""
        if not self._listening:
            return  # the signals are somebody else's
        for name in ("SIGINT", *_STOPS):
            if (number := getattr(signal, name, None)) is not None:
                signal.signal(number, signal.SIG_IGN)


_stops = _StopSignals()


class _Group(Group):
    """The commands, with errors turned into messages and exit codes."""

    def invoke(self, ctx: Any) -> Any:
        try:
            _stops.begun = True
            answer = super().invoke(ctx)
            _stops.ignore()
            return answer
        except MilepostError as error:
            show.explain(error)
            show.say(f"milepost: {error}", err=True)
            raise typer.Exit(1) from error
        except KeyboardInterrupt:
            kept = ctx.invoked_subcommand in _RESUMES
            later = "goes on where this one stopped" if kept else "begins anew"
            typer.echo(f"\nmilepost: {_stops.word}; the same command {later}", err=True)
            raise typer.Exit(_stops.code) from None
        except BrokenPipeError:
            # The reader of our output (head, less) has left: not an error of ours.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(0) from None


app = typer.Typer(
    cls=_Group,
    name="milepost",
    help="Measure skill: by the quality of moves, by results through time, with honest error bars.",
    no_args_is_help=True,
    add_completion=True,
    context_settings={"help_option_names": ["-h", "--help"]},
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


app.command("games", cls=Command)(games.games)
app.command("results", cls=Command)(games.results)
app.command("turns", cls=Command)(games.turns)
app.command("players", cls=Command)(players.players)
app.command("select", cls=pointing(select.MOVED))(select.select)
app.command("analyse", cls=Command)(analyse.analyse)
app.command("spreads", cls=Command)(spreads.spreads)
app.command("fit", cls=pointing(fits.MOVED))(fits.fit)
app.command("fit-line", cls=Command)(fits.fit_line)
app.command("fit-row", cls=Command)(fit_rows.fit_row)
app.command("models", cls=Command)(models.models)
app.command("follow", cls=Command)(follow.follow)
app.command("calibrate", cls=Command)(calibrate.calibrate)
app.command("calibrations", cls=Command)(calibrate.calibrations)
app.command("rate", cls=Command)(rate.rate)
app.command("check", cls=Command)(check.check)
app.command("review", cls=Command)(review.review)
app.command("likelihood", cls=Command)(likelihood.likelihood)
app.command("play", cls=Command)(play.play)
app.command("guess", cls=play.OfPosition)(play.guess)
app.command("match", cls=bots.OfContenders)(bots.match)
app.command("book", cls=Command)(bots.book)
app.command("personify", cls=Command)(bots.personify)
app.command("history", cls=pointing(history.MOVED))(history.history)
app.command("rank", cls=Command)(questions.rank)
app.command("predict", cls=Command)(questions.predict)
app.command("compare", cls=Command)(questions.compare)
app.command("career", cls=Command)(career.career)
app.command("search", cls=Command)(career.search)
app.command("norm", cls=Command)(norm.norm)
app.command("inflation", cls=Command)(inflation.inflation)
app.command("tune", cls=pointing(tune.MOVED))(tune.tune)
app.command("plot", cls=Command)(plot.plot)
app.command("reproduce", cls=Command)(reproduce.reproduce)
app.command("serve", cls=Command)(serve.serve)
app.add_typer(store_app, name="store")
app.command("demo", cls=Command)(demo.demo)


def _with_one_command(words: list[str]) -> typer.Typer:
    """Return the command line with the one command that is called, where there is such a command.

    Making all forty of them takes a fifth of a second.
    """
    chosen = [each for each in app.registered_commands if words[:1] == [each.name]]
    if not chosen or "_MILEPOST_COMPLETE" in os.environ:
        return app
    narrow = copy.copy(app)
    narrow.registered_commands, narrow.registered_groups = chosen, []
    return narrow


def main() -> None:
    """Run the command line."""
    _stops.listen()
    # Python takes a moment to close down what was imported. All is done and said by then.
    atexit.register(_stops.ignore)
    # Our matrices are small: threads of the linear algebra only wait for each other (a mixed model
    # took ten times as long on two busy cores), and their number could change the last digit.
    # Numba's and Polars' threads, which do share out work, have settings of their own.
    for library in ("OPENBLAS", "MKL"):
        os.environ.setdefault(f"{library}_NUM_THREADS", "1")
    # Imports make a hundred thousand objects that stay: to look for cycles among them again and
    # again takes a tenth of a second. A server that stays would grow by it: after 1,600 pages it
    # held 631 MB in place of 562. A bot's memory is the same either way.
    if sys.argv[1:2] != ["serve"]:
        gc.set_threshold(50_000, 20, 20)
    # Other programs ask for a script by bash_source, typer by source_bash: both work here.
    asked = os.environ.get("_MILEPOST_COMPLETE", "").split("_")
    if len(asked) == 2 and asked[1] in ("source", "complete"):
        os.environ["_MILEPOST_COMPLETE"] = "_".join(reversed(asked))
    try:
        _with_one_command(sys.argv[1:])()
    except (KeyboardInterrupt, SystemExit) as end:
        if getattr(end, "code", _INTERRUPTED) != _INTERRUPTED:
            raise
        if not _stops.begun:
            typer.echo(f"\nmilepost: {_stops.word}; nothing was begun", err=True)
        sys.exit(_stops.code)
