"""Names beside the lines and points that they belong to, pushed apart where they would overlap."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from milepost.report.charts import PAPER

if TYPE_CHECKING:
    import altair as alt

MOST = 12
"""More names than these crowd a chart: then a legend names the lines."""
HALO: dict[str, Any] = {"stroke": PAPER, "strokeWidth": 4, "strokeJoin": "round"}
"""The edge that keeps a text readable where it stands on a line."""
_HEIGHT = 15.0
"""Pixels that a line of text of 12 points takes, with a little air."""
_LETTER = 6.8
"""Pixels that a letter takes on average."""


@dataclass(frozen=True)
class Frame:
    """The plot that names are put into: its size in pixels, and the data at its edges."""

    width: float
    height: float
    x: tuple[float, float]
    """The data at the left and the right edge."""
    y: tuple[float, float]
    """The data at the lower and the upper edge."""

    def across(self, value: float) -> float:
        """Return where a value lies, in pixels from the left."""
        return self.width * (value - self.x[0]) / ((self.x[1] - self.x[0]) or 1.0)

    def down(self, value: float) -> float:
        """Return where a value lies, in pixels from the top."""
        return self.height * (self.y[1] - value) / ((self.y[1] - self.y[0]) or 1.0)

    def value(self, down: float) -> float:
        """Return the value that lies so many pixels from the top."""
        return self.y[1] - (self.y[1] - self.y[0]) * down / self.height


def put_apart(points: Sequence[tuple[float, float, str]], frame: Frame) -> list[float]:
    """Return at which heights names stand, so that none covers another.

    Each name begins to the right of its point. It moves up or down by as little as will do.

    Parameters
    ----------
    points
        Where each name belongs, and the name: x, y, text.
    frame
        The plot.

    Returns
    -------
    list of float
        The heights, as data.
    """
    taken: list[tuple[float, float, float]] = []
    heights = [0.0] * len(points)
    for place in sorted(range(len(points)), key=lambda each: -points[each][1]):
        x, y, text = points[place]
        left = frame.across(x)
        right = left + _LETTER * len(text) + 10
        wish = min(max(frame.down(y), _HEIGHT / 2), frame.height - _HEIGHT / 2)
        steps = (side * step for step in range(4 * len(points) + 1) for side in (1, -1))
        for step in steps:
            at = wish + step * _HEIGHT / 4
            inside = _HEIGHT / 2 <= at <= frame.height - _HEIGHT / 2
            free = all(
                right <= other_left or other_right <= left or abs(at - other) >= _HEIGHT
                for other_left, other_right, other in taken
            )
            if inside and free:
                wish = at
                break
        taken.append((left, right, wish))
        heights[place] = frame.value(wish)
    return heights


def ends_of_lines(table: pl.DataFrame) -> list[tuple[float, float, str]]:
    """Return where each player's line ends: of a table with time, mean and player."""
    last = table.sort("time").unique("player", keep="last", maintain_order=True)
    return list(last.select("time", "mean", "player").iter_rows())


def names_beside(
    points: Sequence[tuple[float, float, str]], frame: Frame, x: alt.X, y: Callable[[str], alt.Y],
    colour: alt.Color,
) -> list[Any]:  # fmt: skip
    """Return the layers that write names to the right of where their lines end.

    Parameters
    ----------
    points
        The ends, and the names: x, y, text.
    frame
        The plot.
    x
        The horizontal channel; its field is filled here.
    y
        Gives the vertical channel of a field.
    colour
        The colour channel; its field is filled here.
    """
    import altair as alt

    fields: list[Any] = [channel.to_dict() for channel in (x, colour)]
    across, named = (str(field["field"]) for field in fields)
    table = pl.DataFrame(
        {
            across: [point[0] for point in points],
            named: [point[2] for point in points],
            "at": put_apart(points, frame),
        }
    )
    names = alt.Chart(table).encode(x=x, y=y("at"), text=f"{named}:N")
    return [
        names.mark_text(align="left", dx=7, fontWeight="bold", **HALO),
        names.mark_text(align="left", dx=7, fontWeight="bold").encode(color=colour),
    ]
