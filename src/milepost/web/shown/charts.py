"""Charts as pictures that follow light and dark, wide and narrow; and as specifications.

A page shows a chart as an image, so that its text comes first and no script is needed. The same
specification, drawn by Vega in the browser, has the values at each mark.
"""

from __future__ import annotations

import hashlib
import json
import re
import textwrap
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from starlette.responses import JSONResponse, Response

from milepost.errors import InputError
from milepost.report.charts import dark_rules, spec_of

if TYPE_CHECKING:
    import altair as alt

_NARROW_WIDTH = 250
_NARROW_LETTERS = 40
_WIDE_LETTERS = 95
_LABELS = 110
_drawn: OrderedDict[str, str] = OrderedDict()
_MOST_DRAWN = 64


def chart_response(chart: alt.TopLevelMixin, form: str, *, narrow: bool = False) -> Response:
    """Return a chart as SVG, or as its Vega-Lite specification.

    Parameters
    ----------
    chart
        The chart.
    form
        svg or json.
    narrow
        For a phone.

    Raises
    ------
    InputError
        If the form is another one.
    """
    spec = spec_of(chart)
    wrap(spec, _NARROW_LETTERS if narrow else _WIDE_LETTERS)
    if narrow:
        narrowed(spec)
    if form == "json":
        return JSONResponse(spec)
    if form == "svg":
        return Response(svg_of(spec), media_type="image/svg+xml")
    raise InputError(f"a chart is svg or json, not {form[:10]!r}")


def svg_of(spec: dict[str, Any]) -> str:
    """Return a specification as SVG whose colours follow light and dark; drawn once."""
    import vl_convert

    text = json.dumps(spec, sort_keys=True)
    key = hashlib.sha256(text.encode()).hexdigest()
    if key not in _drawn:
        style = f"<style>{dark_rules('svg')}</style>"
        drawn = vl_convert.vegalite_to_svg(spec)
        _drawn[key] = re.sub(r"^(<svg\b[^>]*>)", rf"\1{style}", drawn, count=1)
        while len(_drawn) > _MOST_DRAWN:
            _drawn.popitem(last=False)
    return _drawn[key]


def narrowed(spec: dict[str, Any]) -> None:
    """Make a specification fit a phone."""
    spec["width"] = _NARROW_WIDTH
    config = spec.setdefault("config", {})
    config.setdefault("axis", {})["labelLimit"] = _LABELS
    config["axis"]["tickCount"] = 4
    config.setdefault("legend", {}).update({"columns": 1, "direction": "vertical"})

    def visit(part: Any) -> None:
        if isinstance(part, dict):
            for name, value in part.items():
                if name == "axis" and isinstance(value, dict):
                    value["labelLimit"] = _LABELS
                    value["tickCount"] = 4
                elif name == "legend" and isinstance(value, dict):
                    value |= {"columns": 1, "direction": "vertical", "labelLimit": _NARROW_WIDTH}
                elif name != "data":
                    visit(value)
        elif isinstance(part, list):
            for value in part:
                visit(value)

    visit({name: value for name, value in spec.items() if name not in {"datasets", "config"}})


def wrap(spec: dict[str, Any], letters: int) -> None:
    """Break the title of a chart into lines that fit."""
    title = spec.get("title")
    if isinstance(title, str):
        spec["title"] = title = {"text": title}
    if not isinstance(title, dict):
        return
    for name in ("text", "subtitle"):
        lines = title.get(name)
        if isinstance(lines, str):
            lines = [lines]
        if isinstance(lines, list):
            title[name] = [part for line in lines for part in textwrap.wrap(str(line), letters)]
