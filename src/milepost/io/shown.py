"""What results share: tables for polars and pandas, a view in notebooks, intervals in words."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl


def interval_text(
    low: float | None, high: float | None, *, form: str = ".0f", to: str = " to "
) -> str:
    """Return an interval in words; a side that is infinite or null has no bound.

    >>> interval_text(1716, 2414, to="-"), interval_text(-math.inf, 877, form="+.0f")
    ('1716-2414', 'at most +877')
    """
    bounds = [end for end in (low, high) if end is not None and math.isfinite(end)]
    if not bounds:
        return "–"
    texts = [_number(end, form) for end in bounds]
    if len(texts) == 2:
        return to.join(texts)
    return f"{'at least' if bounds[0] == low else 'at most'} {texts[0]}"


def estimate_text(
    value: float, low: float | None, high: float | None, *, form: str = ".0f", to: str = " to "
) -> str:
    """Return an estimate with its interval; without both bounds, the interval alone.

    Where few data leave one side open, the best value lies far out, and says nothing by itself.

    >>> estimate_text(2054, 1875, 2223, to="-"), estimate_text(134, -math.inf, 1667)
    ('2054 (1875-2223)', 'at most 1667')
    """
    between = interval_text(low, high, form=form, to=to)
    return f"{_number(value, form)} ({between})" if has_bounds(low, high) else between


def has_bounds(low: float | None, high: float | None) -> bool:
    """Whether an interval is bounded on both sides."""
    return all(end is not None and math.isfinite(end) for end in (low, high))


def _number(value: float, form: str) -> str:
    # Adding nothing to what is rounded: minus nought is nought.
    return f"{round(value) + 0.0 if form.endswith('.0f') else value:{form}}"


def percent(probability: float, finest: float = 0.001) -> str:
    """Return a probability in per cent, or that it lies beyond the finest that can be told."""
    if 0.0 < probability < finest:
        return f"under {100 * finest:g} %"
    if 1.0 - finest < probability < 1.0:
        return f"over {100 * (1.0 - finest):g} %"
    return f"{100 * probability:.1f} %"


class Shown:
    """A result with a table; whoever inherits this says which, in `to_frame`."""

    def to_frame(self) -> pl.DataFrame:
        """Return the result as a polars table."""
        raise NotImplementedError

    def to_polars(self) -> pl.DataFrame:
        """Return the result as a polars table."""
        return self.to_frame()

    def to_pandas(self) -> Any:
        """Return the result as a pandas table; pandas must be installed."""
        return self.to_frame().to_pandas()

    def _repr_html_(self) -> str:
        """Show the result in a notebook: a line, and the table."""
        return f"<p>{escape(repr(self))}</p>\n{self.to_frame()._repr_html_()}"
