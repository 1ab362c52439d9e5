"""What people see: progress and summaries on standard error, tables on standard output."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    import polars as pl

    from milepost.analysis.run.run import RunState
    from milepost.games.stream import Summary
    from milepost.io.work import Progress, Report

_NAMED = {
    "variant": "of another variant",
    "duplicate": "duplicate",
    "doubt": "doubtful",
    "no result": "without a result",
    "no name": "with a nameless player",
    "no moves": "without moves",
    "no date": "without a date",
}


@contextmanager
def progress_bar(what: str, *, quiet: bool) -> Iterator[Report | None]:
    """Show a progress bar with an estimate of the time left, on standard error."""
    if quiet:
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[games]:,} games"),
        TimeRemainingColumn(elapsed_when_finished=True),
    )
    with Bar(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(what, total=None, games=0)

        def report(state: Progress) -> None:
            bar.update(task, completed=state.done, total=state.total, games=state.games)
            if not console.is_terminal:
                log(state)

        log = _LineLog(what)
        yield report


@contextmanager
def analysis_bar(*, quiet: bool) -> Iterator[Callable[[RunState], None] | None]:
    """Show positions done, found in the store, the rate and the time left, on standard error."""
    if quiet:
        yield None
        return
    import time

    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    console = Console(stderr=True)
    begun = last = time.monotonic()

    def line(state: RunState) -> str:
        spent = max(time.monotonic() - begun, 1e-9)
        rate = state.done / spent
        left = state.total - state.hits - state.done - len(state.failed)
        until = f"about {left / rate:,.0f} s left" if rate else "no estimate yet"
        return (
            f"analysing: {state.done:,} done, {state.hits:,} in the store, {left:,} to do, "
            f"{rate:.2f} a second, {until}"
        )

    with Live(Text(""), console=console, transient=True, auto_refresh=False) as live:

        def report(state: RunState) -> None:
            nonlocal last
            now = time.monotonic()
            if console.is_terminal:
                live.update(Text(line(state)), refresh=True)
            elif now - last >= 10:
                last = now
                typer.echo(line(state), err=True)

        yield report


@contextmanager
def counting_bar(
    what: str, *, quiet: bool, total: int | None = None
) -> Iterator[Callable[[int], None] | None]:
    """Show how many of something are done, with an estimate of the time left."""
    if quiet:
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(elapsed_when_finished=True),
    )
    import time

    begun = last = time.monotonic()
    with Bar(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(what, total=total)

        def tell(done: int) -> None:
            nonlocal last
            bar.update(task, completed=done)
            now = time.monotonic()
            if not console.is_terminal and now - last >= 10:
                last = now
                left = ""
                if total and done:
                    left = f" of {total:,}, about {(now - begun) * (total / done - 1):.0f} s left"
                typer.echo(f"{what}: {done:,} done{left}", err=True)

        yield tell


class _LineLog:
    """A line now and then, where standard error is a file and a bar would only litter it."""

    def __init__(self, what: str):
        import time

        self._what = what
        self._clock = time.monotonic
        self._begun = self._last = self._clock()

    def __call__(self, state: Progress) -> None:
        now = self._clock()
        if now - self._last < 10:
            return
        self._last = now
        left = ""
        if state.total and state.done:
            seconds = (now - self._begun) * (state.total / state.done - 1)
            left = f", {100 * state.done / state.total:.0f} %, about {seconds:.0f} s left"
        typer.echo(f"{self._what}: {state.games:,} games{left}", err=True)


def summarise(summary: Summary, output: str, errors_path: str | None, *, rows: str) -> None:
    """Print the summary of a command on standard error."""
    files = "1 file" if summary.files == 1 else f"{summary.files:,} files"
    where = "standard output" if output == "-" else output
    say = [f"{summary.games:,} games in {files}, {summary.kept:,} kept"]
    say.append(f"  {summary.rows:,} {rows} -> {where}")
    if summary.resumed:
        say.append(f"  {summary.resumed:,} parts were there already from an interrupted run")
    findings = summary.findings
    say.append(
        f"  errors: {findings['broken']:,} broken, {findings['unreadable']:,} unreadable "
        f"({summary.errors_per_thousand:.1f} per thousand games)"
    )
    others = [f"{findings[kind]:,} {name}" for kind, name in _NAMED.items() if findings[kind]]
    if others:
        say.append("  also: " + ", ".join(others))
    joined = ""
    if summary.joined:
        joined = f" ({summary.joined:,} spellings joined by FIDE id or alias: see milepost players)"
    say.append(f"  {summary.players:,} players{joined}")
    if errors_path and any(
        findings[kind] for kind in ("broken", "unreadable", "variant", "duplicate", "doubt")
    ):
        say.append(f"  what and where: {errors_path}")
    typer.echo("\n".join(say), err=True)


def leave_if_strict(summary: Summary, *, strict: bool) -> None:
    """Warn of errors; with `--strict` end with exit code 1."""
    if not summary.lost:
        return
    typer.echo(f"warning: {summary.lost:,} games could not be read, or not to their end", err=True)
    if strict:
        raise typer.Exit(1)


def tell_wrong(wrong: pl.DataFrame, *, quiet: bool) -> int:
    """Say what was wrong with the games; return how many could not be read to their end."""
    lost = len(wrong.filter(wrong["kind"].is_in(["broken", "unreadable"])))
    if lost or (len(wrong) and not quiet):
        kinds = (
            wrong["kind"].value_counts(sort=True).sort("count", "kind", descending=[True, False])
        )
        said = ", ".join(f"{count:,} {kind}" for kind, count in kinds.iter_rows())
        typer.echo(f"warning: games with something wrong: {said} (see milepost turns)", err=True)
    return lost


def print_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[Any]],
    *,
    title: str | None = None,
    whole: Sequence[str] = (),
) -> None:
    """Print a table for people; numbers stand to the right, columns in `whole` are not broken."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    numeric = [
        all(row[place] is None or isinstance(row[place], int | float) for row in rows)
        for place in range(len(columns))
    ]
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    for place, (name, is_numeric) in enumerate(zip(columns, numeric, strict=True)):
        least = max([len(name), *(len(str(row[place])) for row in rows)]) if name in whole else None
        table.add_column(
            name,
            justify="right" if is_numeric else "left",
            overflow="fold",
            min_width=least,
            no_wrap=name in whole,
        )
    for row in rows:
        table.add_row(*(_cell(value) for value in row))
    width = None if sys.stdout.isatty() else 120
    Console(width=width, highlight=False, soft_wrap=False).print(table)


def print_frame(frame: pl.DataFrame, *, title: str | None = None, most: int | None = None) -> None:
    """Print a frame for people, or its first rows."""
    shown = frame if most is None else frame.head(most)
    print_table(frame.columns, shown.rows(), title=title)
    if len(shown) < len(frame):
        typer.echo(f"... and {len(frame) - len(shown):,} more")


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.1f}"
    return str(value)
