"""Pages as PDF, by typst: no browser, and the same bytes for the same page.

What a page says never becomes typst's own language: it is handed over as data, which the fixed
template shows as it stands. So a name such as ``#eval("…")`` is just a name.
"""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path
from typing import Any

from milepost.errors import OutputError
from milepost.io.files import write_bytes
from milepost.report.charts import svg_text
from milepost.report.pages import (
    Beside,
    Boards,
    Chart,
    Fold,
    Page,
    Section,
    Table,
    Text,
    table_cells,
    text_blocks,
)

_TEMPLATE = Path(__file__).parent / "page.typ"
_FONT = re.compile(r'font-family="[^"]*"')
_BUNDLED = re.compile(r"[\u0000-\u052f\u05d0-\u05ea\u1e00-\u22ff\u25a0-\u25ff]*")
"""Writing that typst's own fonts have: Latin, Greek, Cyrillic, Hebrew, signs."""


def write_pdf(page: Page, path: str | Path) -> None:
    """Write a page as PDF, whole or not at all; folders on the way are made.

    Raises
    ------
    OutputError
        If it cannot be written, or typst is not installed.
    """
    target = Path(path)
    data = page_pdf(page)
    write_bytes(target, data)


def page_pdf(page: Page) -> bytes:
    """Return a page as PDF; folds and the provenance below an HTML page are left out.

    Raises
    ------
    OutputError
        If typst is not installed.
    """
    try:
        import typst
    except ImportError as error:
        raise OutputError(
            "a PDF needs typst, which is not installed: pip install 'milepost[pdf]', or write HTML "
            "and print that"
        ) from error
    text, charts = page_data(page)
    with tempfile.TemporaryDirectory(prefix="milepost-") as folder:
        main = Path(folder) / "page.typ"
        main.write_bytes(_TEMPLATE.read_bytes())
        (Path(folder) / "page.json").write_text(text, encoding="utf-8")
        for name, svg in charts.items():
            (Path(folder) / name).write_text(svg, encoding="utf-8")
        data: bytes = typst.compile(
            str(main),
            root=folder,
            format="pdf",
            # Fonts of the machine would change the bytes; they are asked only for other writing.
            ignore_system_fonts=_BUNDLED.fullmatch(text) is not None,
            timestamp=0,
        )
    return data


def page_data(page: Page) -> tuple[str, dict[str, str]]:
    """Return what the template shows: a page's texts as JSON, and its charts by file name."""
    charts: dict[str, str] = {}
    shown = [section for section in page.sections if not isinstance(section, Fold)]
    sections = [_section(section, charts) for section in shown]
    values = {"title": page.title, "lead": page.lead, "sections": sections}
    return json.dumps(values, ensure_ascii=False, sort_keys=True), charts


def _section(section: Section, charts: dict[str, str]) -> dict[str, Any]:
    if isinstance(section, Text):
        return {"kind": "text", "title": section.title, "look": section.look,
                "blocks": text_blocks(section)}  # fmt: skip
    if isinstance(section, Table):
        return table_cells(section)
    if isinstance(section, Chart):
        name = f"chart{len(charts)}.svg"
        svg = svg_text(section.chart, prefix=f"chart{len(charts)}-", headed=bool(section.title))
        charts[name] = _FONT.sub('font-family="Libertinus Serif"', svg)
        return {"kind": "chart", "title": section.title, "note": section.note, "file": name,
                "alt": section.alt or section.title}  # fmt: skip
    if isinstance(section, Boards):
        raise OutputError("a page with boards is printed from HTML, not written as PDF")
    inner = [_section(part, charts) for part in section.sections]
    kind = "beside" if isinstance(section, Beside) else "sheet"
    return {"kind": kind, "title": getattr(section, "title", ""), "sections": inner}
