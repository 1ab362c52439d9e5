"""What results share: they turn into polars and pandas tables, and show themselves in notebooks."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl


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
