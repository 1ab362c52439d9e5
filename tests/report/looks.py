"""What a chart looks like, read off what the renderer would paint: marks, ticks and texts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import vl_convert

from milepost.report.charts import spec_of

_WIDE = 0.46
"""How wide a letter is on average, as a share of the size of the type."""
_SLACK = 1.5


@dataclass(frozen=True)
class Box:
    """A rectangle on the picture, in pixels; `what` it holds."""

    left: float
    top: float
    right: float
    bottom: float
    what: str = ""

    def overlaps(self, other: Box, by: float = 2.0) -> bool:
        """Whether both share more than a rim."""
        across = min(self.right, other.right) - max(self.left, other.left)
        down = min(self.bottom, other.bottom) - max(self.top, other.top)
        return across > by and down > by

    def within(self, other: Box) -> bool:
        return (
            self.left >= other.left - _SLACK
            and self.right <= other.right + _SLACK
            and self.top >= other.top - _SLACK
            and self.bottom <= other.bottom + _SLACK
        )


def faults(chart: Any) -> list[str]:
    """Return what is wrong with a chart to the eye; empty = nothing."""
    drawn = vl_convert.vegalite_to_scenegraph(spec_of(chart))
    plots: list[tuple[Box, list[tuple[str, Box]]]] = []
    texts: list[Box] = []
    axes: list[tuple[str, int]] = []
    _walk(drawn["scenegraph"], 0.0, 0.0, plots, texts, axes)
    return [*_of_marks(plots), *_of_axes(axes), *_of_texts(texts, drawn)]


def _of_marks(plots: list[tuple[Box, list[tuple[str, Box]]]]) -> Iterator[str]:
    if not any(marks for _, marks in plots):
        yield "nothing is drawn"
    for plot, marks in plots:
        for kind, box in marks:
            # A point may stand on the edge with half of itself; a name may begin inside.
            if kind != "text" and not box.within(plot):
                yield f"a {kind} lies outside the plot: {box} not in {plot}"
        # Lines and areas that all run along one edge of the plot are a scale gone wrong.
        paths = [box for kind, box in marks if kind in ("line", "area")]
        if paths and all(
            box.right - box.left > 20
            and box.bottom - box.top < _SLACK
            and min(abs(box.top - plot.top), abs(box.top - plot.bottom)) < _SLACK
            for box in paths
        ):
            yield "a line or area is flat along the edge of the plot"


def _of_axes(axes: list[tuple[str, int]]) -> Iterator[str]:
    if not axes:
        yield "there are no axes"
    for orient, labels in axes:
        if labels == 0:
            yield f"the {orient} axis has no labels"


def _of_texts(texts: list[Box], drawn: dict[str, Any]) -> Iterator[str]:
    left, top = (-origin for origin in drawn["origin"])
    whole = Box(left, top, left + drawn["width"], top + drawn["height"])
    for place, text in enumerate(texts):
        # The width of letters is a guess here: a little beyond the picture is no fault.
        more = 0.2 * (text.right - text.left) + 4
        if text.left < whole.left - more or text.right > whole.right + more:
            yield f"{text.what!r} is cut at the edge of the picture"
        for other in texts[:place]:
            if other.what != text.what and text.overlaps(other):
                yield f"{text.what!r} and {other.what!r} overlap"


def _walk(
    node: dict[str, Any], x: float, y: float, plots: Any, texts: list[Box], axes: Any
) -> None:
    """Gather plots with their marks, texts and axes, wherever groups have moved them."""
    role, kind = node.get("role", ""), node.get("marktype")
    for item in node.get("items", []):
        if kind != "group":
            continue
        left, top = x + item.get("x", 0), y + item.get("y", 0)
        if role in ("frame", "scope"):
            size = Box(left, top, left + item.get("width", 0), top + item.get("height", 0))
            inner = [part for part in item.get("items", []) if part.get("role") == "mark"]
            marks = [pair for part in inner for pair in _boxes(part, left, top)]
            if marks and size.right > size.left:
                plots.append((size, marks))
        if role == "axis":
            labels = [part for part in item.get("items", []) if part.get("role") == "axis-label"]
            if labels:
                shown = sum(1 for part in labels for text in part["items"] if _seen(text))
                axes.append((item.get("orient", "?"), shown))
            elif any(part.get("role") == "axis-title" for part in item.get("items", [])):
                axes.append((item.get("orient", "?"), 0))
        for part in item.get("items", []):
            if part.get("marktype") == "text":
                texts.extend(box for text in part["items"] if (box := _text(text, left, top)))
            else:
                _walk(part, left, top, plots, texts, axes)


def _seen(item: dict[str, Any]) -> bool:
    return bool(str(item.get("text", "")).strip()) and item.get("opacity", 1) != 0


def _text(item: dict[str, Any], x: float, y: float) -> Box | None:
    """The rectangle of a text, by its size, alignment and turn; of an edge around one none."""
    if not _seen(item) or item.get("strokeWidth"):
        return None
    lines = item["text"] if isinstance(item["text"], list) else [item["text"]]
    size = float(item.get("fontSize", 11))
    width = _WIDE * size * max(len(str(line)) for line in lines)
    height = size * 1.1 * len(lines)
    align = {"center": 0.5, "right": 1.0}.get(item.get("align", "left"), 0.0)
    base = {"top": 0.0, "middle": 0.5, "line-top": 0.0}.get(item.get("baseline", ""), 0.85)
    across, down = float(item.get("dx", 0)), float(item.get("dy", 0))
    at_x, at_y = x + item.get("x", 0), y + item.get("y", 0)
    what = " ".join(str(line) for line in lines)
    if abs(item.get("angle", 0)) in (90, 270):
        at_x, at_y = at_x + down, at_y - across
        top = at_y - width * (1 - align)
        return Box(at_x - height * base, top, at_x + height * (1 - base), top + width, what)
    left, top = at_x + across - width * align, at_y + down - height * base
    return Box(left, top, left + width, top + height, what)


def _place(item: dict[str, Any], name: str) -> float:
    """Where an item stands; no number where its scale cannot show its value."""
    value = item.get(name, 0)
    return float("nan") if value is None else float(value)


def _boxes(mark: dict[str, Any], x: float, y: float) -> Iterator[tuple[str, Box]]:
    """The rectangles of marks, without the thickness of their strokes."""
    kind = mark["marktype"]
    items = mark["items"]
    if mark.get("clip"):
        return
    if kind in ("line", "area", "trail"):
        shown = [item for item in items if item.get("defined", True)]
        if shown:
            across = [x + _place(item, "x") for item in shown]
            down = [y + _place(item, "y") for item in shown]
            if kind == "area":
                down += [y + _place(item, "y2") for item in shown]
            yield kind, Box(min(across), min(down), max(across), max(down))
        return
    if kind == "group":
        for item in items:
            for part in item.get("items", []):
                yield from _boxes(part, x + item.get("x", 0), y + item.get("y", 0))
        return
    for item in items:
        left, top = x + item.get("x", 0), y + item.get("y", 0)
        right = left + item.get("width", 0) if "width" in item else x + item.get("x2", left - x)
        bottom = top + item.get("height", 0) if "height" in item else y + item.get("y2", top - y)
        yield kind, Box(min(left, right), min(top, bottom), max(left, right), max(top, bottom))
