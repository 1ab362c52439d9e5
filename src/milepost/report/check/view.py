"""What every fair-play report shares: the view, who is called what, notes, texts of numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from milepost.fairplay import words
from milepost.fairplay.full import FullTest
from milepost.fairplay.reference.honest import HonestPlayers
from milepost.fairplay.screen import EventAsAWhole
from milepost.intrinsic.calibration.calibration import Calibration
from milepost.report.check.charts import index_chart, qq_chart
from milepost.report.pages import Chart, Text

_LEAST_SCRUBBED = 4
"""Keys shorter than this are not looked for in texts: they would be found in ordinary words."""
LONG_REPLY = 700
"""A longer reply stands on a page of its own: it must not push figures off theirs."""
_MOST_DIGESTS = 4
"""More inputs than these are counted, not listed."""


@dataclass(frozen=True, eq=False)
class CheckView:
    """What the report is about."""

    table: pl.DataFrame
    """The screening, in the order to be shown; see `milepost.tables.CHECKS`. Players stand there by
    their keys."""
    labels: Mapping[str, str]
    """What to call the players, by their keys: pseudonyms, or names. Who has none is "a player"."""
    event: EventAsAWhole | None = None
    """The indices together; None = nobody has one."""
    full: tuple[FullTest, ...] = ()
    """Full tests; with any, the report is about these."""
    luck: pl.DataFrame | None = None
    """See `milepost.fairplay.results.luck.split_results`; None = results were not split."""
    honest: HonestPlayers | None = None
    """The honest players that were compared with: how many, and where they come from."""
    calibration: Calibration | None = None
    """The calibration that was used."""
    title: str = ""
    """The first heading [default: what kind of report it is]."""
    event_name: str = ""
    """The event; empty = it is kept back."""
    opening: Sequence[str] = words.OPENING
    """The statements that the report begins with."""
    reply: str = ""
    """What the player has to say, as given."""
    notes: Sequence[str] = ()
    """Caveats that hold for all rows."""
    looks: str = ""
    """What the ledger says of looks; empty = there is no ledger."""
    command: str = ""
    """The command that makes the figures anew."""
    hidden: Mapping[str, str] = field(default_factory=dict)
    """Further texts that must not appear, such as names as written, and what stands for them."""


class Labels:
    """What players are called; and keys and names kept out of texts that others wrote."""

    def __init__(self, view: CheckView) -> None:
        """Take the labels of a view, and what must not appear in its texts."""
        self.labels = view.labels
        known = {key: self[key] for key in {*view.labels, *view.table["player"].drop_nulls()}}
        known |= dict(view.hidden)
        kept = {key.casefold(): label for key, label in known.items() if key.strip()}
        self.kept = {key: label for key, label in kept.items() if len(key) >= _LEAST_SCRUBBED}
        # The longest first: a key may be part of another.
        parts = sorted(map(re.escape, self.kept), key=len, reverse=True)
        self.pattern = re.compile(rf"(?<!\w)(?:{'|'.join(parts)})(?!\w)", re.I) if parts else None

    def __getitem__(self, key: str | None) -> str:
        """Return what to call a player."""
        return self.labels.get(key or "", "a player")

    def scrub(self, text: str) -> str:
        """Return a text with labels where keys or names stood."""
        if self.pattern is None:
            return text
        return self.pattern.sub(lambda at: self.kept.get(at[0].casefold(), "a player"), text)


class Marks:
    """Numbers for remarks, so that a table stays narrow; they are told below it."""

    def __init__(self, names: Labels) -> None:
        """Begin without any."""
        self.names = names
        self.numbers: dict[str, int] = {}

    def of(self, remarks: Sequence[str]) -> str:
        """Return the numbers of some remarks; empty ones have none."""
        known = [self.names.scrub(text) for text in remarks if text]
        places = [self.numbers.setdefault(text, len(self.numbers) + 1) for text in known]
        return ", ".join(str(place) for place in dict.fromkeys(places))

    @property
    def told(self) -> str:
        """What the numbers stand for, to be put behind a sentence."""
        return "".join(f" Note {place}: {text}." for text, place in self.numbers.items())


def opening_section(view: CheckView) -> Text:
    """Return the statements that every report begins with."""
    return Text("\n".join(f"- {line}" for line in view.opening), look="box")


def answer_text(view: CheckView, names: Labels) -> str:
    """Return how the player may answer, with a short reply; a long one stands by itself."""
    attached = "" if view.reply else " No reply is attached."
    if len(view.reply) > LONG_REPLY:
        attached = f" The reply stands {'on the next page' if view.full else 'below'}."
    elif view.reply:
        attached = f"\n\nThe reply: {names.scrub(view.reply)}"
    return words.REPLY + attached


def notes_section(view: CheckView, names: Labels) -> Text:
    """Return what holds for all figures: caveats, honest performances, calibration, looks."""
    about = [*(names.scrub(note) for note in view.notes), _reference(view)]
    about = [line for line in about if line]
    if view.calibration is not None:
        setup = f" ({view.calibration.setup_text})" if view.calibration.setup_text else ""
        about.append(f"Calibration {view.calibration.name}{setup}.")
    unknown = "No ledger was kept, so how many looks were taken is not known."
    about.append(names.scrub(view.looks) or unknown)
    return Text("\n".join(f"- {_sentence(line)}" for line in about), "Notes")


def recompute_section(view: CheckView, names: Labels, made: Mapping[str, Any]) -> Text:
    """Return the command and the digests with which every figure can be had again."""
    digests = [
        f"Input {place}: SHA-256 {one['sha256']}"
        for place, one in enumerate(made.get("inputs", ()), start=1)
        if isinstance(one, Mapping) and "sha256" in one
    ]
    if len(digests) > _MOST_DIGESTS:
        digests = [*digests[:_MOST_DIGESTS], f"and {len(digests) - _MOST_DIGESTS:,} more inputs"]
    command = names.scrub(view.command) or "The command was not told."
    lines = [command, f"Made by {made.get('made_by', 'milepost')}", *digests]
    return Text("\n".join(lines), "How to recompute every figure", "code")


def _sentence(text: str) -> str:
    """A note on one line, with a capital and a full stop."""
    line = capital(" ".join(text.split()))
    return line if line.endswith((".", "!", "?")) else f"{line}."


def _reference(view: CheckView) -> str:
    """How many honest performances, and from where; nothing that the notes say already."""
    honest, notes = view.honest, " ".join(view.notes)
    source = honest.rests_on if honest is not None and honest.rests_on not in notes else ""
    if honest is None or not len(honest.reference):
        if "honest performances" in notes:
            return ""
        return (
            "There are no measured honest performances for this calibration: p rests on the model "
            "alone." + (f" Honest play is taken from {source}." if source else "")
        )
    return (
        f"Compared with {len(honest.reference):,} honest performances"
        + (f" ({source})" if source else "")
        + f"; the smallest p they can give is {exact(honest.reference.floor)}."
    )


def qq_section(view: CheckView, names: Labels, tests: Sequence[FullTest]) -> Chart | Text:
    """Return the chart of the event beside honest play, with tested players marked."""
    title = "The event beside honest play"
    if view.event is None:
        return Text("No player has an index.", title)
    marked = {names[test.performance.player]: test.index.z for test in tests}
    return Chart(
        title,
        qq_chart(view.event.quantiles, marked),
        "Standard scores of the event against those expected of honest players, with a 95 % band",
        "One point a player, rising. Dashed: as expected of honest players. In 95 of 100 events a "
        "point lies in the grey band.",
    )


def index_section(
    view: CheckView, names: Labels, tests: Sequence[FullTest], *, named: bool
) -> Chart | Text:
    """Return the chart of all indices, with tested players marked."""
    title = "Index of every player"
    players = view.table.select(
        pl.Series("label", [names[key] for key in view.table["player"]], dtype=pl.String),
        "elo",
        "index",
    )
    if players["index"].null_count() == len(players):
        return Text("No player has an index.", title)
    return Chart(
        title,
        index_chart(players, [names[test.performance.player] for test in tests], named=named),
        "Indices of all players by rating; grey bands from 45 to 55 and from 40 to 60",
        "Ordered by rating, not by index. Of 100 honest players about 68 lie in the inner band, 95 "
        "in both.",
    )


def points_text(value: float | None) -> str:
    """Return a rating; a dash where there is none."""
    return "–" if value is None else f"{value:.0f}"


def p_text(value: float | None) -> str:
    """Return a probability; a dash where there is none."""
    return "–" if value is None else words.p_text(value)


def ratio_text(value: float | None) -> str:
    """Return an evidence ratio; a dash where there is none."""
    return "–" if value is None else words.ratio_text(float(np.log(max(value, 1e-300))))


def of_100(power: float) -> str:
    """Return a power as a number of 100 cases, for a table."""
    return (
        words.cases_text(power).replace("fewer than", "<").replace("more than", ">").split(" of")[0]
    )


def signed(value: float | None) -> str:
    """Return a number with its sign and one decimal."""
    if value is None:
        return "–"
    # Next to nothing has no sign.
    return f"{round(value, 1) + 0.0:+.1f}".replace("-", "−").replace("+0.0", "0.0")


def with_error(value: float | None, error: float | None) -> str:
    """Return a number with its standard error."""
    return "–" if value is None or error is None else f"{signed(value)} ± {error:.1f}"


def exact(value: float) -> str:
    """Return a probability with two digits that count; never 0 or 1."""
    if value >= 0.995:
        return "over 0.99"
    if value < 0.001:
        return f"1 in {float(f'{1 / value:.3g}'):,.0f}" if value > 1e-9 else "next to nothing"
    return f"{value:.2g}" if value < 0.1 else f"{value:.2f}"


def odds_text(odds: float) -> str:
    """Return odds, such as 1 to 50."""
    large = odds if odds >= 1 else 1 / odds
    text = f"{large:,.0f}" if large >= 10 else f"{large:.1f}".removesuffix(".0")
    if large >= 1e6:
        text = words.ratio_text(float(np.log(large)))
    return f"{text} to 1" if odds >= 1 else f"1 to {text}"


def one_in(rate: float) -> str:
    """Return the n of a rate of one in n."""
    return f"{round(1 / rate):,}"


def count_text(number: int, what: str) -> str:
    """Return a number of things, such as 9 games."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def capital(text: str) -> str:
    """Return a text that begins as a sentence does."""
    return text[:1].upper() + text[1:]
