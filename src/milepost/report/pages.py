"""Pages: one self-contained HTML file of text, tables and charts, without scripts.

Everything that is not our own template is escaped. A page says how it was made at its end. Sections
can stand side by side, fill a printed sheet, or lie in a fold that is not printed;
`milepost.report.printed` makes a PDF of the same sections.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from milepost.errors import OutputError
from milepost.io.files import write_text
from milepost.report.charts import IN_PAGES, dark_rules, svg_text

if TYPE_CHECKING:
    import altair as alt

_HERE = Path(__file__).parent
_GROUPED_FROM = 10_000
"""Whole numbers from here on have their thousands parted; years never get so far."""
ENDINGS = (".html", ".htm")
"""How a page's name ends."""
_NOTHING = "–"
_MARKS = {"holds": "good", "does not hold": "bad", "too little data": "open"}
"""Cells with these texts are coloured; the text alone says it as well."""


@dataclass(frozen=True)
class Text:
    """A section of plain text."""

    body: str
    """Paragraphs, parted by empty lines; a paragraph of lines that begin with ``- `` is a list."""
    title: str = ""
    """Its heading; empty = none."""
    look: Literal["", "box", "large", "code"] = ""
    """In a frame, in large type, or as typed; empty = as all text."""


@dataclass(frozen=True, eq=False)
class Table:
    """A section with a table."""

    title: str
    """Its heading."""
    frame: pl.DataFrame
    """The table."""
    note: str = ""
    """A sentence below it."""
    digits: Mapping[str, int] = field(default_factory=dict)
    """Decimals by column; other columns of floats get about four digits."""
    most: int | None = None
    """Show only so many rows, and say so."""
    links: Mapping[str, str] = field(default_factory=dict)
    """Where the texts of the first column lead to, by text."""
    numbers: tuple[str, ...] = ()
    """Columns of texts that stand to the right, as numbers do."""


@dataclass(frozen=True, eq=False)
class Chart:
    """A section with a chart."""

    title: str
    """Its heading."""
    chart: alt.TopLevelMixin
    """An Altair chart."""
    alt: str = ""
    """What the picture shows, for those who cannot see it; empty = the title."""
    note: str = ""
    """A sentence below it."""


@dataclass(frozen=True, eq=False)
class Board:
    """A position with what is to be said of it."""

    svg: str
    """The picture, drawn by chess.svg from a position: never a text of somebody else."""
    heading: str
    """Stands above it."""
    lines: tuple[str, ...]
    """Stand below it."""
    link: str | None = None
    """Where the heading leads to."""


@dataclass(frozen=True, eq=False)
class Boards:
    """A section of positions, two or three in a row."""

    title: str
    """Its heading."""
    boards: tuple[Board, ...]
    """What it shows."""
    note: str = ""
    """A sentence below the heading."""


@dataclass(frozen=True, eq=False)
class Beside:
    """Sections side by side, two in a row; below each other where a screen is narrow."""

    sections: tuple[Text | Table | Chart, ...]
    """What stands there, row by row."""


@dataclass(frozen=True, eq=False)
class Sheet:
    """Sections that begin a new page when printed."""

    sections: tuple[Text | Table | Chart | Beside, ...]
    """What it holds, in order."""
    title: str = ""
    """Its heading; empty = none."""


@dataclass(frozen=True, eq=False)
class Fold:
    """Sections that are closed until somebody opens them, and that are never printed."""

    title: str
    """What stands on it."""
    sections: tuple[Text | Table | Chart | Beside, ...]
    """What it holds, in order."""


Section = Text | Table | Chart | Boards | Beside | Sheet | Fold
"""What a page may hold."""


@dataclass(frozen=True, eq=False)
class Page:
    """A page."""

    title: str
    """Its title and first heading."""
    sections: tuple[Section, ...]
    """What it holds, in order."""
    provenance: Mapping[str, Any]
    """How it was made (see `milepost.io.files.provenance`)."""
    lead: str = ""
    """A paragraph below the title."""


def page_text(page: Page) -> str:
    """Return a page as HTML."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    template = Environment(
        loader=FileSystemLoader(_HERE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    ).get_template("page.html")
    numbers = count()
    sections = [_section(section, numbers) for section in page.sections]
    style = (_HERE / "page.css").read_text(encoding="utf-8") + dark_rules(IN_PAGES)
    if any(isinstance(section, Boards) for section in page.sections):
        style += (_HERE / "boards.css").read_text(encoding="utf-8")
    if any(isinstance(section, Beside | Sheet | Fold) for section in page.sections):
        style += (_HERE / "sheets.css").read_text(encoding="utf-8")
    return template.render(
        title=page.title,
        lead=page.lead,
        sections=sections,
        style=Markup(style),  # noqa: S704
        provenance=json.dumps(
            dict(page.provenance), indent=1, sort_keys=True, ensure_ascii=False, default=str
        ),
    )


def check_page_ending(path: str | Path) -> None:
    """Refuse a name whose ending promises something else than a page.

    Raises
    ------
    OutputError
        If it does not end as HTML does.
    """
    if Path(path).suffix.lower() not in ENDINGS:
        raise OutputError(f"{path}: a page is HTML; the name must end in {' or '.join(ENDINGS)}")


def write_page(page: Page, path: str | Path) -> None:
    """Write a page, whole or not at all; folders on the way are made.

    Raises
    ------
    OutputError
        If it cannot be written, or its name promises something else.
    """
    check_page_ending(path)
    target = Path(path)
    text = page_text(page)
    write_text(target, text)


def cell_texts(column: pl.Series, digits: int | None = None) -> list[str]:
    """Return a column's values as people read them."""
    if column.dtype.is_float():
        decimals = _decimals(column) if digits is None else digits
        return [_float_text(value, decimals) for value in column.to_list()]
    return [_cell_text(value) for value in column.to_list()]


def _section(section: Section, numbers: Iterator[int]) -> dict[str, Any]:
    number = next(numbers)
    if isinstance(section, Text):
        return {"kind": "text", "title": section.title, "look": section.look,
                "blocks": text_blocks(section)}  # fmt: skip
    if isinstance(section, Chart):
        return {"kind": "chart", "title": section.title, "note": section.note,
                "svg": _svg(section, number)}  # fmt: skip
    if isinstance(section, Table):
        return table_cells(section)
    if isinstance(section, Boards):
        return {"kind": "boards", "title": section.title, "note": section.note,
                "boards": [_board(each, next(numbers)) for each in section.boards]}  # fmt: skip
    inner = [_section(part, numbers) for part in section.sections]
    kind = type(section).__name__.lower()
    return {"kind": kind, "title": getattr(section, "title", ""), "sections": inner}


def _board(board: Board, number: int) -> dict[str, Any]:
    from markupsafe import Markup

    # The pieces have names in each picture: a page must not have a name twice.
    svg = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>b{number}-", board.svg)
    return {"svg": Markup(svg), "heading": board.heading, "lines": board.lines,  # noqa: S704
            "link": board.link}  # fmt: skip


def table_cells(section: Table) -> dict[str, Any]:
    """Return a table as texts: its `columns` with name and side, its `rows` of cells."""
    frame = section.frame if section.most is None else section.frame.head(section.most)
    columns = [cell_texts(frame[name], section.digits.get(name)) for name in frame.columns]
    numeric = [frame[name].dtype.is_numeric() or name in section.numbers for name in frame.columns]
    rows = []
    for texts in zip(*columns, strict=True):
        cells = [
            {"text": text, "number": is_number, "mark": _MARKS.get(text, ""), "link": None}
            for text, is_number in zip(texts, numeric, strict=True)
        ]
        cells[0]["link"] = section.links.get(texts[0])
        rows.append(cells)
    left_out = section.frame.height - frame.height
    return {
        "kind": "table",
        "title": section.title,
        "note": section.note,
        "columns": [
            {"name": name.replace("_", " "), "number": is_number}
            for name, is_number in zip(frame.columns, numeric, strict=True)
        ],
        "rows": rows,
        "more": f"{left_out:,} more rows are not shown." if left_out else "",
    }


def _svg(section: Chart, number: int) -> Any:
    from markupsafe import Markup

    text = svg_text(
        section.chart, title=section.alt or section.title, prefix=f"chart{number}-", alone=False,
        headed=bool(section.title),
    )  # fmt: skip
    # Drawn by our own renderer from a specification; texts in it are escaped there.
    return Markup(text)  # noqa: S704


def text_blocks(section: Text) -> list[dict[str, Any]]:
    """Return a text as paragraphs (`text`) and lists (`items`)."""
    if section.look == "code":
        return [{"items": [], "text": section.body}]
    blocks = []
    for paragraph in section.body.split("\n\n"):
        lines = [line.strip() for line in paragraph.strip().splitlines()]
        if not lines:
            continue
        if all(line.startswith("- ") for line in lines):
            blocks.append({"items": [line[2:] for line in lines], "text": ""})
        else:
            blocks.append({"items": [], "text": " ".join(lines)})
    return blocks


def _decimals(column: pl.Series) -> int:
    """Four digits or so for the largest value, so that a column lines up."""
    finite = [abs(v) for v in column.to_list() if v is not None and math.isfinite(v)]
    largest = max(finite, default=0.0)
    if largest >= 1000 or all(value == round(value) for value in finite):
        return 0
    return 1 if largest >= 100 else 2 if largest >= 10 else 4


def _float_text(value: float | None, decimals: int) -> str:
    if value is None or math.isnan(value):
        return _NOTHING
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value != 0 and round(value, decimals) == 0:
        text = f"{value:.1e}"
    else:
        grouped = abs(value) >= _GROUPED_FROM
        text = f"{value:,.{decimals}f}" if grouped else f"{value:.{decimals}f}"
    return text.replace("-", "−")


def _cell_text(value: object) -> str:
    if value is None:
        return _NOTHING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        text = f"{value:,}" if abs(value) >= _GROUPED_FROM else str(value)
        return text.replace("-", "−")
    return str(value)
