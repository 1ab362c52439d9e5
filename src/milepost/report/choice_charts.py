"""Charts of fits to decisions of any field."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from milepost.report.charts import PALETTE

if TYPE_CHECKING:
    import altair as alt

MOST_CHOOSERS = 40
"""More rows than these would make a chart that nobody reads."""


def losses_chart(losses: pl.DataFrame, title: str = "") -> alt.TopLevelMixin:
    """Return what choosers would lose on the same decisions, with 95 % intervals.

    Parameters
    ----------
    losses
        See `milepost.fit.groups.GroupFits.losses`: `group`, `loss`, `low`, `high`.
    title
        Title.
    """
    import altair as alt

    shown = losses.head(MOST_CHOOSERS)
    rows = alt.Y(
        "group:N", sort=shown["group"].to_list(), title=None, axis=alt.Axis(labelLimit=260)
    )
    across = "mean loss on the same decisions (further left is better)"
    scale = alt.Scale(zero=True)
    base = alt.Chart(shown).encode(y=rows)
    chart = alt.layer(
        base.mark_rule(strokeWidth=3, color=PALETTE[0], opacity=0.4).encode(
            x=alt.X("low:Q", title=across, scale=scale), x2="high:Q"
        ),
        base.mark_point(size=70, color=PALETTE[0], opacity=1).encode(
            x=alt.X("loss:Q", title=across, scale=scale)
        ),
    )
    return chart.properties(
        width=560,
        height=max(26 * len(shown), 60),
        title=title or "Who chooses better? With 95 % intervals",
    )
