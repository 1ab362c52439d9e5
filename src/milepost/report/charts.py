"""Charts in the look of the house, as SVG, PNG, PDF, HTML or JSON; the same chart, the same bytes.

A chart is an Altair chart. It is drawn by vl-convert, so no browser and no network are needed.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from milepost.errors import OutputError
from milepost.io.files import write_bytes

if TYPE_CHECKING:
    import altair as alt

PALETTE = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#5D3A9B", "#7F7F7F",
)  # fmt: skip
"""Colours for groups that the colour-blind can tell apart (Okabe & Ito 2008, less their yellow and
black, which are too pale and too much like text; a violet and a grey stand in)."""
INK = "#222222"
"""Lines and marks that belong to no group."""
PAPER = "#FFFFFF"
"""What lies behind a chart."""
FAINT = "#DDDDDD"
"""Grid lines."""
HEAT: Literal["cividis"] = "cividis"
"""The scale for heat maps: even steps for the eye, with and without red-green blindness."""
ENDINGS = (".svg", ".png", ".pdf", ".html", ".json")
"""The endings that `save_chart` knows."""

_FONT = "Liberation Sans, Arial, Helvetica, sans-serif"
_PPI = 144
_FEW_YEARS = 8
_FEW_QUARTERS = 9
_FIRST_YEAR = 1000
"""Times before it are numbers of seasons or rounds, not years."""
_FACES = re.compile(r' font-(?:weight|style)="[^"]*"')
_AUTOMATIC = re.compile(r'"(param|view|concat|layer)_(\d+)"')


def theme() -> dict[str, Any]:
    """Return the house's Vega-Lite config: colours, sizes, quiet grid."""
    return {
        "background": PAPER,
        "font": _FONT,
        "view": {"continuousWidth": 560, "continuousHeight": 320, "stroke": None},
        "range": {"category": list(PALETTE), "heatmap": {"scheme": HEAT}, "ramp": {"scheme": HEAT}},
        "axis": {
            "labelFontSize": 12,
            "titleFontSize": 13,
            "titleFontWeight": "normal",
            "labelColor": INK,
            "titleColor": INK,
            "gridColor": FAINT,
            "domainColor": "#888888",
            "tickColor": "#888888",
        },
        "legend": {
            "labelFontSize": 12,
            "titleFontSize": 13,
            "titleFontWeight": "normal",
            "labelColor": INK,
            "titleColor": INK,
            "labelLimit": 260,
        },
        "header": {
            "labelFontSize": 13,
            "titleFontSize": 13,
            "labelColor": INK,
            "titleColor": INK,
        },
        "title": {
            "fontSize": 15,
            "subtitleFontSize": 12,
            "anchor": "start",
            "color": INK,
            "subtitleColor": "#555555",
            "offset": 12,
        },
        "mark": {"color": PALETTE[0]},
        "line": {"strokeWidth": 2},
        "point": {"size": 45, "filled": True},
        "text": {"fontSize": 12, "color": INK},
    }


DARK = {
    INK: "#e8e8e8", PAPER: "#17191c", FAINT: "#3a3f45", "#888888": "#8d939a", "#555555": "#b4b8bd",
    "#777777": "#9a9fa5", "#E9E9E9": "#2b2f34", "#D2D2D2": "#4a4f55", "#9A9A9A": "#8d939a",
    "#000": "#e8e8e8", "black": "#e8e8e8", "white": "#17191c",
    "#0072B2": "#56aee8", "#D55E00": "#f08a3c", "#009E73": "#3fc79b", "#CC79A7": "#e39ac3",
    "#E69F00": "#f0b838", "#56B4E9": "#8fd0f7", "#5D3A9B": "#a98be0", "#7F7F7F": "#a8a8a8",
    "#93c4e6": "#2f6f9c", "#4d7896": "#8db7d4",
}  # fmt: skip
"""What becomes of the colours of a chart on a dark page."""


IN_PAGES = 'figure svg:not([style*="background"])'
"""The charts of a page that turn dark with it: heat maps keep their paper."""


def dark_rules(scope: str) -> str:
    """Return style rules that turn the charts of a page dark where its reader prefers that.

    Colours stand in a chart as attributes, which rules of the page overrule; on paper, and in a
    file of its own, a chart stays as it was drawn.

    Parameters
    ----------
    scope
        Selects the pictures, as in ``figure svg``.
    """
    lines = ["@media screen and (prefers-color-scheme: dark) {"]
    lines += [
        f'  {scope} [{name}="{colour}" i] {{ {name}: {dark}; }}'
        for colour, dark in DARK.items()
        for name in ("fill", "stroke")
    ]
    return "\n".join([*lines, "}"]) + "\n"


def year_axis(field: str = "year", ends: tuple[float, float] | None = None) -> alt.X:
    """Return a horizontal axis of years: no thousands mark, no zero, no empty ends.

    With the ends of a few years only whole ones are marked: parts of one would all read alike. Of
    two years or so the quarters are.
    """
    import altair as alt

    scale = alt.Scale(zero=False, nice=False)
    axis = alt.Axis(format="d", tickCount=10)
    months_known = ends is not None and ends[0] > _FIRST_YEAR and any(end % 1 for end in ends)
    if ends is not None and months_known and ends[1] - ends[0] < _FEW_QUARTERS / 4:
        first, last = math.ceil(4 * ends[0]), math.floor(4 * ends[1])
        months = "['Jan', 'Apr', 'Jul', 'Oct'][round(4 * datum.value) % 4]"
        axis = alt.Axis(
            values=[quarter / 4 for quarter in range(first, last + 1)],
            labelExpr=f"{months} + ' ' + floor(datum.value + 0.01)",
        )
    elif ends is not None and ends[1] - ends[0] < _FEW_YEARS:
        whole = [float(year) for year in range(math.ceil(ends[0]), math.floor(ends[1]) + 1)]
        axis = alt.Axis(format="d", values=whole)
    return alt.X(f"{field}:Q", title=None, axis=axis, scale=scale)


def legend_below(columns: int = 4) -> alt.Legend:
    """Return a legend of strong strokes below the chart; those of pale areas would be pale."""
    import altair as alt

    return alt.Legend(
        title=None, orient="bottom", columns=columns, symbolType="stroke", symbolOpacity=1.0,
        symbolStrokeWidth=3,
    )  # fmt: skip


def spec_of(chart: alt.TopLevelMixin) -> dict[str, Any]:
    """Return a chart's Vega-Lite specification in the look of the house.

    What the chart configures for itself wins over the theme. Names that Altair counts up from the
    start of the process are numbered anew, so that a chart does not depend on those before it.
    """
    import altair as alt

    with alt.data_transformers.enable("default", max_rows=None), alt.theme.enable("none"):
        spec = chart.to_dict()
    spec["config"] = _merged(theme(), spec.get("config", {}))
    text = json.dumps(spec, ensure_ascii=False)
    numbers: dict[str, int] = {}

    def renumber(found: re.Match[str]) -> str:
        return f'"{found[1]}_{numbers.setdefault(found[0], len(numbers) + 1)}"'

    answer: dict[str, Any] = json.loads(_AUTOMATIC.sub(renumber, text))
    return answer


def _is_heat_map(part: Any) -> bool:
    """Whether cells are coloured by a number: what is written on them keeps its own colour."""
    if isinstance(part, list):
        return any(_is_heat_map(each) for each in part)
    if not isinstance(part, dict):
        return False
    mark = part.get("mark")
    kind = mark.get("type") if isinstance(mark, dict) else mark
    colour = part.get("encoding", {}).get("color", {})
    if kind == "rect" and colour.get("type") == "quantitative":
        return True
    return any(_is_heat_map(part.get(name)) for name in ("layer", "hconcat", "vconcat", "concat"))


def svg_text(
    chart: alt.TopLevelMixin, *, title: str | None = None, prefix: str = "", alone: bool = True,
    headed: bool = False,
) -> str:  # fmt: skip
    """Return a chart as SVG.

    Parameters
    ----------
    chart
        The chart.
    title
        What the picture shows, for those who cannot see it.
    prefix
        Put before the ids inside: two pictures in one page must not share any.
    alone
        Whether it is a file of its own; else it shrinks with the page, and follows its light and
        dark.
    headed
        Whether a heading stands above it; then its own title is left out, not its subtitle.
    """
    # It loads much of the standard library, down to HTTP.
    from xml.sax.saxutils import escape, quoteattr

    import vl_convert

    spec = spec_of(chart)
    if headed:
        _drop_title(spec)
    text: str = vl_convert.vegalite_to_svg(spec)
    # The renderer counts ids up from the start of the process.
    for place, name in enumerate(dict.fromkeys(re.findall(r'\bid="([^"]+)"', text))):
        new = f"{prefix}part{place}"
        text = text.replace(f'id="{name}"', f'id="{new}"').replace(f"url(#{name})", f"url(#{new})")
    if not alone:
        # A fixed size would not shrink on a narrow screen; the view box keeps the shape.
        size = r'^(<svg\b[^>]*?) width="(\d+)" height="\d+"'
        paper = ";background:#fff" if _is_heat_map(spec) else ""
        text = re.sub(size, rf'\1 style="max-width:\2px{paper}"', text)
    if title is not None:
        text = re.sub(
            r"^(<svg\b[^>]*)>",
            lambda tag: (
                f'{tag[1]} role="img" aria-label={quoteattr(title)}><title>{escape(title)}</title>'
            ),
            text,
            count=1,
        )
    return text


def _drop_title(spec: dict[str, Any]) -> None:
    title = spec.pop("title", None)
    subtitle = title.get("subtitle") if isinstance(title, dict) else None
    if subtitle:
        spec["title"] = {**title, "text": "", "subtitle": subtitle}


def save_chart(chart: alt.TopLevelMixin, path: str | Path) -> None:
    """Write a chart; the ending says how: svg, png, pdf, html (works off line) or json.

    Raises
    ------
    OutputError
        If the ending is not known, or the file cannot be written.
    """
    import vl_convert

    target = Path(path)
    check_ending(target)
    ending = target.suffix.lower()
    if ending == ".svg":
        data = (svg_text(chart) + "\n").encode("utf-8")
    elif ending == ".png":
        data = vl_convert.vegalite_to_png(spec_of(chart), ppi=_PPI, scale=1.0)
    elif ending == ".pdf":
        # From our own SVG, for the renderer's ids, counted up, would stand in the file. With two
        # faces of type it writes them in random order: so all text has the plain one here.
        data = vl_convert.svg_to_pdf(_FACES.sub("", svg_text(chart)))
    elif ending == ".html":
        data = _alone_in_a_page(spec_of(chart))
    else:
        data = (json.dumps(spec_of(chart), ensure_ascii=False, indent=1) + "\n").encode("utf-8")
    write_bytes(target, data)


def _alone_in_a_page(spec: dict[str, Any]) -> bytes:
    """Let a chart in a page of its own shrink on a phone, and follow light and dark."""
    import vl_convert

    style = (
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        "<style>\nbody { margin: 0.5rem; }\n"
        # vega-embed writes its own styles later: these must win.
        ".vega-embed { display: block !important; max-width: 100%; overflow-x: auto; }\n"
        ".vega-embed svg { max-width: 100%; height: auto !important; }\n"
        # As in our pages, a phone moves a chart sideways: shrunk, it could not be read.
        "@media (max-width: 40rem) { .vega-embed svg { max-width: none; min-width: 34rem; } }\n"
        "@media screen and (prefers-color-scheme: dark) {\n"
        f"  body, .vega-embed svg {{ background: {DARK[PAPER]} !important; }}\n}}\n"
        f"{'' if _is_heat_map(spec) else dark_rules('.vega-embed svg')}</style>\n"
    )
    text: str = vl_convert.vegalite_to_html(spec, bundle=True, renderer="svg")
    # Behind the first tag: further down the text of a script may hold tags too.
    return text.replace("<head>", f"<head>\n{style}", 1).encode("utf-8")


def check_ending(path: str | Path) -> None:
    """Refuse a name whose ending no chart can have, before any work is done.

    Raises
    ------
    OutputError
        If the ending is not known.
    """
    if Path(path).suffix.lower() not in ENDINGS:
        raise OutputError(f"{path}: a chart's name ends in one of {', '.join(ENDINGS)}")


def _merged(base: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    answer = dict(base)
    for name, value in own.items():
        known = answer.get(name)
        both = isinstance(value, Mapping) and isinstance(known, Mapping)
        answer[name] = _merged(known, value) if both and known is not None else value
    return answer
