"""What people see: progress and summaries on standard error, tables on standard output."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

from milepost.io.processes import interrupts_held
from milepost.io.progress import Progress

if TYPE_CHECKING:
    import polars as pl
    from rich.console import Console

    from milepost.games.stream import Summary

_NAMED = {
    "variant": "of another variant",
    "duplicate": "duplicate",
    "doubt": "doubtful",
    "no result": "without a result",
    "no name": "with a nameless player",
    "no moves": "without moves",
    "no date": "without a date",
}


class _Volume:
    """How much the running command says: set by -q and -v, reset when a command ends."""

    quiet = False
    verbose = False


def reset_volume() -> None:
    """Say as much as usual."""
    _Volume.quiet = _Volume.verbose = False


def set_quiet(value: bool) -> bool:
    """Take `-q`: no notes."""
    _Volume.quiet = value
    return value


def set_verbose(value: bool) -> bool:
    """Take `-v`: details as well."""
    _Volume.verbose = value
    return value


def note(text: str, *, prose: bool = False) -> None:
    """Tell something worth knowing on standard error, unless the command is quiet."""
    if not _Volume.quiet:
        say(text, err=True, prose=prose)


def detail(text: str) -> None:
    """Tell on standard error how a figure was made, if details are asked for."""
    if _Volume.verbose:
        say(text, err=True)


def explain(error: BaseException) -> None:
    """Tell where an error arose, if details are asked for."""
    import traceback

    if _Volume.verbose:
        typer.echo("".join(traceback.format_exception(error)), err=True)


def warn(text: str) -> None:
    """Warn on standard error, however quiet the command is."""
    say(f"warning: {text}", err=True)


class Teller:
    """Takes the news of one job; itself a `milepost.io.progress.Report`, and does nothing."""

    def __call__(self, done: float | Progress, total: float | None = None, note: str = "") -> None:
        """Take a `Progress`, or its parts."""


class _Shown(Teller):
    """Keeps the latest news of a job, and says it in words."""

    def __init__(self, what: str, total: float | None, unit: str):
        self.what = what
        self._unit = unit
        self._begun = time.monotonic()
        self._listeners: list[Callable[[float, float | None], None]] = []
        self.news = Progress(0, total)

    def __call__(self, done: float | Progress, total: float | None = None, note: str = "") -> None:
        news = done if isinstance(done, Progress) else Progress(done, total, note)
        # What was said of the whole at the beginning holds until something else is said.
        known = self.news.total if news.total is None else news.total
        if news.step and news.step != self.what:  # another count, which takes its own time
            self.what, self._unit, self._begun = news.step, news.unit, time.monotonic()
            known = news.total
        self.news = Progress(news.done, known, news.note, before=news.before)
        for listen in self._listeners:
            listen(news.done, known)

    def listen(self, listener: Callable[[float, float | None], None]) -> None:
        """Have the numbers handed on."""
        self._listeners.append(listener)

    def words(self) -> str:
        """How far the job is, and how long it will still take."""
        news, spent = self.news, time.monotonic() - self._begun
        parts = []
        if self._unit:
            whole = "" if news.total is None else f" of {news.total:,.0f}"
            parts.append(f"{news.done:,.0f}{whole} {self._unit}")
        elif news.total:
            parts.append(f"{100 * news.done / news.total:.0f} %")
        if news.total and news.done > news.before:
            left = spent * (news.total - news.done) / (news.done - news.before)
            parts.append(f"about {duration(max(left, 0.0))} left")
        else:
            parts.append(duration(spent))
        if news.note:  # last, where a narrow terminal cuts it off
            parts.append(news.note)
        return ", ".join(parts)

    def line(self) -> str:
        """The same with what is done."""
        return f"{self.what}: {self.words()}"


LINE_SECONDS = 10.0
"""How often a line is written where standard error is no terminal."""


@contextmanager
def progress(
    what: str, *, quiet: bool = False, total: float | None = None, unit: str = ""
) -> Iterator[Teller]:
    """Show on standard error how far a job is, and how long it will still take.

    A terminal gets a bar; anything else a line every ten seconds, since a bar would only litter a
    file. Nothing is left on the terminal at the end.

    Parameters
    ----------
    what
        What is being done: ``"reading"``.
    quiet
        Show nothing. What is yielded can be called all the same.
    total
        How much there is to do, if it is known before the job tells it.
    unit
        What is counted: ``"turns"``; without one the share of the whole is shown.

    Yields
    ------
    Teller
        To be given to a library function as its `progress`, or called as
        ``tell(done, total, note)``.
    """
    if quiet or _Volume.quiet:
        yield Teller()
        return
    from rich.console import Console

    console = Console(stderr=True)
    shown = _Shown(what, total, unit)
    with _bar(shown, what, console) if console.is_terminal else _lines(shown):
        yield shown


@contextmanager
def _bar(shown: _Shown, what: str, console: Console) -> Iterator[None]:
    from rich.markup import escape
    from rich.progress import BarColumn, ProgressColumn, TextColumn
    from rich.progress import Progress as Bar
    from rich.text import Text

    class Words(ProgressColumn):
        def render(self, task: Any) -> Text:
            return Text(shown.words(), no_wrap=True, overflow="ellipsis")

    # The words matter more than the bar: in a narrow terminal it is short.
    width = 20 if console.width >= 110 else 8
    columns = (TextColumn("{task.description}"), BarColumn(bar_width=width), Words())
    with interrupts_held():  # the thread that draws must not take an interrupt meant for the job
        bar = Bar(*columns, console=console, transient=True)
        task = bar.add_task(escape(what), total=shown.news.total)
        bar.start()
    shown.listen(
        lambda done, total: bar.update(
            task, description=escape(shown.what), completed=done, total=total
        )
    )
    try:
        yield
    finally:
        bar.stop()


@contextmanager
def _lines(shown: _Shown) -> Iterator[None]:
    ended = threading.Event()

    def write() -> None:
        while not ended.wait(LINE_SECONDS):
            typer.echo(shown.line(), err=True)

    clock = threading.Thread(target=write, daemon=True)
    with interrupts_held():
        clock.start()
    try:
        yield
    finally:
        ended.set()
        clock.join()


def duration(seconds: float) -> str:
    """A time as people say it: ``40 s``, ``3 min 20 s``, ``2 h 5 min``."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


@contextmanager
def warnings_told(word: Callable[[Warning], str] | None = None) -> Iterator[None]:
    """Tell caveats of ours in a line each; others go their way.

    Parameters
    ----------
    word
        Words a caveat as the command's users need it; empty = do not tell it.
    """
    import warnings

    from milepost.errors import MilepostWarning

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", MilepostWarning)
        yield
    for caveat in caught:
        if isinstance(caveat.message, MilepostWarning):
            text = _with_remedy(caveat.message) if word is None else word(caveat.message)
            if text:
                warn(text)
        else:
            warnings.warn_explicit(caveat.message, caveat.category, caveat.filename, caveat.lineno)


def _with_remedy(caveat: Warning) -> str:
    """A caveat, and the option that mends its cause: the library itself knows no options."""
    if getattr(caveat, "other_spellings", False):
        return f"{caveat} (milepost history --aliases joins spellings)"
    if getattr(caveat, "far_sites", False):
        return f"{caveat} (milepost rate --sites OUT --reference HISTORY_DIR)"
    return str(caveat)


def warn_of_lost(lost: int, first: str) -> None:
    """Warn of games or rows that could not be read, and tell the first of them."""
    if lost:
        warn(
            f"{lost:,} games or rows could not be read; the first: {first} "
            "(milepost results lists all)"
        )


def summarise(summary: Summary, output: str, errors_path: str | None, *, rows: str) -> None:
    """Print the summary of a command on standard error."""
    files = "1 file" if summary.files == 1 else f"{summary.files:,} files"
    where = "standard output" if output == "-" else output
    lines = [f"{summary.games:,} games in {files}, {summary.kept:,} kept"]
    lines.append(f"  {summary.rows:,} {rows} -> {where}")
    if summary.resumed:
        lines.append(f"  {summary.resumed:,} parts were there already from an interrupted run")
    findings = summary.findings
    lines.append(
        f"  errors: {findings['broken']:,} broken, {findings['unreadable']:,} unreadable "
        f"({summary.errors_per_thousand:.1f} per thousand games)"
    )
    others = [f"{findings[kind]:,} {name}" for kind, name in _NAMED.items() if findings[kind]]
    if others:
        lines.append("  also: " + ", ".join(others))
    joined = ""
    if summary.joined:
        joined = f" ({summary.joined:,} spellings joined by FIDE id or alias: see milepost players)"
    lines.append(f"  {summary.players:,} players{joined}")
    if errors_path and any(
        findings[kind] for kind in ("broken", "unreadable", "variant", "duplicate", "doubt")
    ):
        lines.append(f"  what and where: {errors_path}")
    say("\n".join(lines), err=True)


def refuse_nothing(games: int | None, inputs: Sequence[str]) -> None:
    """Refuse input in which there is no game: it is hardly what was meant.

    Parameters
    ----------
    games
        How many were found; `None` before reading, when only empty files are refused.
    inputs
        What the user has named.
    """
    from milepost.errors import InputError
    from milepost.io.sources import find_sources

    names = f"{', '.join(inputs[:3])}{' …' if len(inputs) > 3 else ''}"
    if games is None:
        sources = list(find_sources(inputs))
        if sources and all(source.size == 0 for source in sources):
            raise InputError(f"no games in {names}: nothing is in it")
    elif not games:
        if find_sources(inputs).are_tables:
            raise InputError(f"no games in {names}: the table has no rows")
        raise InputError(f"no games in {names}: is it PGN, or a table with rows?")


def refuse_unread(summary: Summary, inputs: Sequence[str], errors_path: str | None) -> None:
    """Refuse input without a game, or of which nothing could be read; the errors are written."""
    from milepost.errors import InputError

    if summary.nothing_read:
        others = errors_path is not None and summary.lost > 1
        where = f" (all {summary.lost:,}: {errors_path})" if others else ""
        doubt = "; is it PGN?" if summary.games else ""
        raise InputError(f"no games could be read: {summary.first_lost}{doubt}{where}")
    refuse_nothing(summary.games, inputs)


def leave_if_strict(summary: Summary, *, strict: bool) -> None:
    """Warn of errors; with `--strict` end with exit code 1."""
    if not summary.lost:
        return
    say(f"warning: {summary.lost:,} games could not be read, or not to their end", err=True)
    if strict:
        raise typer.Exit(1)


def tell_wrong(wrong: pl.DataFrame, *, quiet: bool) -> int:
    """Say what was wrong with the games; return how many could not be read to their end."""
    from milepost.games.lost import LOST, first_lost

    lost = len(wrong.filter(wrong["kind"].is_in(LOST)))
    if lost or (len(wrong) and not quiet):
        kinds = (
            wrong["kind"].value_counts(sort=True).sort("count", "kind", descending=[True, False])
        )
        said = ", ".join(f"{count:,} {kind}" for kind, count in kinds.iter_rows())
        first = f"; the first: {first_lost(wrong)}" if lost else ""
        warn(f"games with something wrong: {said}{first} (milepost turns lists all)")
    return lost


def print_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[Any]],
    *,
    title: str | None = None,
    meanings: Mapping[str, str] | None = None,
    whole: Sequence[str] = (),
    keep: Sequence[str] = (),
    drop_first: Sequence[str] = (),
    elsewhere: str = "-o FILE writes them",
) -> None:
    """Print a table for people, as wide as the terminal allows; numbers stand to the right.

    The first column says whose row it is and always stays. Where the table is too wide, columns
    stand closer together; if that is not enough, first the columns in `drop_first` are left out,
    one by one in that order, then others from the right; a line says which.

    Parameters
    ----------
    columns, rows
        Names and values.
    title
        Stands above.
    meanings
        Sentences that explain columns; those of the columns shown follow the title.
    whole
        Columns whose cells are not broken over lines; numbers never are.
    keep
        Columns that are never left out.
    drop_first
        Columns that can be spared, the rarest first.
    elsewhere
        Where columns that are left out can be found.
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table

    width = _table_width()
    cells = [[_cell(value) for value in row] for row in rows]
    least = _least_widths(columns, rows, cells, whole)
    console = Console(width=width, highlight=False, soft_wrap=False)
    gap = _WIDE_GAP if _width(least, _WIDE_GAP) <= console.width else _NARROW_GAP
    places = _fitting(columns, least, console.width, keep, drop_first, gap)
    numeric = {place for place in places if _is_numeric(rows, place)}
    told = dict.fromkeys((meanings or {}).get(columns[place]) for place in places)
    table = Table(
        title=" ".join(text for text in (title, *told) if text) or None,
        title_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, 1) if gap == _WIDE_GAP else (0, 1, 0, 0),
    )
    for place in places:
        table.add_column(
            columns[place],
            justify="right" if place in numeric else "left",
            overflow="fold",
            min_width=least[place],
            no_wrap=columns[place] in whole,
        )
    for row in cells:
        table.add_row(*(row[place] for place in places))
    console.print(table)
    lost = [name for place, name in enumerate(columns) if place not in places]
    if lost:
        names = ", ".join(lost)
        say(f"no room for: {names} (a wider terminal shows them, {elsewhere})")


def say(text: str, *, err: bool = False, prose: bool = False) -> None:
    """Print lines for people: a terminal gets them broken between words, what goes on indented.

    Messages on standard error stay one line each unless a person sees them: programs read those.
    Whole sentences (`prose`) are for people wherever they go: 80 columns without a terminal.
    """
    from rich.console import Console

    stream = sys.stderr if err else sys.stdout
    asked = os.environ.get("COLUMNS", "").isdigit() and (prose or not err)
    if stream.isatty() or asked or prose:
        width = Console(stderr=err).width if stream.isatty() or asked else _PROSE_WIDTH
        text = "\n".join(_broken(line, width) for line in text.split("\n"))
    typer.echo(text, err=err)


def _broken(line: str, width: int) -> str:
    import textwrap

    indent = " " * (len(line) - len(line.lstrip()) + 2)
    parts = textwrap.wrap(
        line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
    return "\n".join(parts)


_PROSE_WIDTH = 80
"""Of sentences that go to a file or a pipe."""
_WIDE_GAP, _NARROW_GAP = 3, 2
"""Blanks between columns, where there is room and where there is not."""
_TEXT_WIDTH = 16
"""Texts wider than this may be broken over lines before a column is left out."""
_NAME_WIDTH = 24
"""The same for the first column, which holds names."""


def _table_width() -> int | None:
    """The terminal's width, or what is asked for by COLUMNS; 120 for a file or a pipe."""
    if sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdigit():
        return None
    return 120


def _is_numeric(rows: Sequence[Sequence[Any]], place: int) -> bool:
    return all(row[place] is None or isinstance(row[place], int | float) for row in rows)


def _least_widths(
    columns: Sequence[str],
    rows: Sequence[Sequence[Any]],
    cells: list[list[str]],
    whole: Sequence[str],
) -> list[int]:
    """How narrow each column may become, by its cells and its name."""
    from rich.cells import cell_len

    widths = []
    for place, name in enumerate(columns):
        widest = max((cell_len(row[place]) for row in cells), default=0)
        if name not in whole and not _is_numeric(rows, place):
            widest = min(widest, _TEXT_WIDTH if place else _NAME_WIDTH)
        # A heading of several words may stand on several lines.
        heading = [name] if name in whole else name.split()
        widths.append(max([widest, *(cell_len(word) for word in heading)]))
    return widths


def _width(least: Sequence[int], gap: int) -> int:
    """How wide a table of such columns is: blanks beside and between them, and one at the edge."""
    return sum(width + gap for width in least) + 1


def _fitting(
    columns: Sequence[str],
    least: list[int],
    room: int,
    keep: Sequence[str],
    drop_first: Sequence[str],
    gap: int,
) -> list[int]:
    """The places of the columns that there is room for."""
    places = list(range(len(columns)))
    spare = [columns.index(name) for name in drop_first if name in columns]
    spare += [place for place in reversed(places) if place not in spare]
    for place in spare:
        if _width([least[each] for each in places], gap) <= room:
            break
        if place != 0 and columns[place] not in keep:
            places.remove(place)
    return places


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
