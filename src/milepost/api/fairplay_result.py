"""What a fair-play check gives back, and how it is asked for; see `milepost.check`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from milepost.api.decisions import Decisions
from milepost.api.ratings import LEVEL
from milepost.errors import InputError
from milepost.fairplay.evidence.simulate import DRAWS
from milepost.fairplay.full import PRIOR_ODDS, FullTest
from milepost.fairplay.full import sequence as each_after_each
from milepost.fairplay.performances import Performance
from milepost.fairplay.reference.honest import HonestPlayers
from milepost.fairplay.screen import EventAsAWhole
from milepost.intrinsic.calibration.calibration import Calibration
from milepost.io.files import write_table


@dataclass(frozen=True)
class CheckPlan:
    """How performances are checked; see `milepost.check`."""

    full: bool = False
    """Test the named players in full, and not only screen."""
    after_round: int | None = None
    """Only games of rounds up to this one: what was known then."""
    search: str | None = None
    """Only evaluations of this search plan, where the store holds several."""
    setup: str | None = None
    """Digest of the set-up, where the store holds several."""
    order: str = "seed"
    """Order of the rows: seed, name, or, if somebody insists, index."""
    level: float = LEVEL
    """Probability of the intervals of ratings."""
    draws: int = DRAWS
    """Honest performances to simulate in a full test, and as many helped ones."""
    seed: int = 2011
    """Draws them."""
    prior_odds: tuple[float, ...] = PRIOR_ODDS
    """Odds of help beforehand, for the table of posteriors of a full test."""
    later_elos: Mapping[str, float] = field(default_factory=dict)
    """Ratings from after the event, by player: for the sensitivity table of a full test alone."""

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        if self.order not in {"seed", "name", "index"}:
            raise InputError(f"the order is seed, name or index, got {self.order!r}")
        if self.draws < 20:
            raise InputError(f"a simulation needs at least 20 draws, got {self.draws}")
        if any(not odds > 0 for odds in self.prior_odds):
            raise InputError("prior odds are over 0")


@dataclass(frozen=True, eq=False, repr=False)
class Check:
    """Performances beside honest play: evidence, never a judgement on a person."""

    table: pl.DataFrame
    """One row a performance; see `milepost.tables.CHECKS`. Players stand there by their keys."""
    event: EventAsAWhole | None
    """The indices together; None = nobody has one."""
    full: tuple[FullTest, ...]
    """The full tests that were asked for."""
    luck: pl.DataFrame
    """Where scores came from: own play, the opponents' play, the rest; one row a player."""
    performances: tuple[Performance, ...]
    """All performances of players with a rating."""
    calibration: Calibration
    """The calibration that was used."""
    honest: HonestPlayers
    """The honest players that were compared with."""
    decisions: Decisions
    """What was checked."""
    notes: tuple[str, ...]
    """Caveats that hold for all rows; they name nobody."""
    looks: str
    """What the ledger says of looks; empty = there is no ledger."""
    made: Mapping[str, Any]
    """How it was made: version, options, digests of the inputs."""

    def __len__(self) -> int:
        """Return the number of performances."""
        return len(self.table)

    @property
    def names(self) -> dict[str, str]:
        """The players' names as written, by their keys."""
        return self.decisions.names

    @property
    def pseudonyms(self) -> dict[str, str]:
        """What players are called where names are kept back, by their keys."""
        keys = self.table.sort("seed", "player", nulls_last=True)["player"].to_list()
        width = max(2, len(str(len(keys))))
        return {key: f"Player {place:0{width}d}" for place, key in enumerate(keys, start=1)}

    def labels(self, *, names: bool = False) -> dict[str, str]:
        """Return what to call each player: pseudonyms, or the names as written."""
        known = self.names
        return {key: known.get(key, key) for key in self.pseudonyms} if names else self.pseudonyms

    def shown(self, *, names: bool = False) -> pl.DataFrame:
        """Return the table as people read it: with pseudonyms, or with names."""
        return self.table.with_columns(pl.col("player").replace(self.labels(names=names)))

    def sequence(self, *, names: bool = False) -> pl.DataFrame:
        """Return the evidence after each game of each player, carried forward.

        One row a game in the order of the rounds: `player`, `round`, `opponent`, `turns`, `ln_e`,
        `e_value`, `ln_e_worst`. After the last game it is that of the table.
        """
        labels = self.labels(names=names)
        parts = [
            each_after_each(real).with_columns(pl.lit(labels[real.player]).alias("player"))
            for real in self.performances
        ]
        table = pl.concat(parts).with_columns(
            pl.col("opponent").replace(labels),
            pl.col("ln_e").clip(None, 600).exp().alias("e_value"),
        )
        wanted = ["player", "round", "opponent", "turns", "ln_e", "e_value", "ln_e_worst"]
        return table.select(wanted)

    def __repr__(self) -> str:
        """Return the screening with turns and power, a line a performance, without names."""
        return str(self._short())

    def _repr_html_(self) -> str:
        return self._short()._repr_html_()

    def _short(self) -> pl.DataFrame:
        wanted = ["player", "elo", "turns", "games", "rating", "low", "high", "index", "p",
                  "e_value", "noticed", "reason"]  # fmt: skip
        return self.shown().select(wanted)

    def to_pandas(self) -> Any:
        """Return the table as a pandas frame, with pseudonyms."""
        return self.shown().to_pandas()

    def to_polars(self) -> pl.DataFrame:
        """Return the table, with pseudonyms."""
        return self.shown()

    def save(self, path: str | Path, *, names: bool = False, form: str | None = None) -> None:
        """Write the table as Parquet, CSV or NDJSON, or all figures as JSON; see `figures`."""
        if form is None and str(path).lower().endswith(".json"):
            from milepost.fairplay.figures import write_figures

            write_figures(self.figures(names=names), path)
            return
        write_table(self.shown(names=names), path, form=form, made=self._made(names=names))

    def figures(self, *, names: bool = False) -> dict[str, Any]:
        """Return all figures as plain values: screening, event, full tests, luck."""
        from milepost.fairplay.figures import figures_of

        labels = self.labels(names=names)
        return {
            "made": self._made(names=names),
            "notes": list(self.notes),
            "looks": self.looks,
            **figures_of(self.shown(names=names), self.event, self.full, self.luck, labels),
        }

    def report(
        self, path: str | Path, *, names: bool = False, reply: str = "", command: str = ""
    ) -> None:
        """Write a printable report (HTML or PDF).

        Parameters
        ----------
        path
            Where to; its ending says what.
        names
            Whether to write names; without, players are numbered.
        reply
            What the player has to say: it travels with the report.
        command
            The command that makes it anew.
        """
        from milepost.report.check.page import CheckView, write_check_report

        view = CheckView(
            table=self.table,
            labels=self.labels(names=names),
            event=self.event,
            full=self.full,
            luck=self.luck,
            honest=self.honest,
            calibration=self.calibration,
            event_name=self._event_name(names=names),
            notes=self.notes,
            looks=self.looks,
            reply=reply,
            command=command,
            hidden={} if names else self._hidden(),
        )
        write_check_report(view, path, made=self._made(names=names))

    def _made(self, *, names: bool) -> dict[str, Any]:
        """How it was made; files may be called after people, so without names they are numbered."""
        made = dict(self.made)
        if not names:
            inputs = enumerate(made["inputs"], start=1)
            made["inputs"] = [{**about, "name": f"input {place}"} for place, about in inputs]
        return made

    def _hidden(self) -> dict[str, str]:
        """Names as written, and what stands for them where they are kept back."""
        numbers = self.pseudonyms
        return {name: numbers.get(key, "a player") for key, name in self.names.items()}

    def _event_name(self, *, names: bool) -> str:
        if "event" not in self.decisions.table.columns:
            return ""
        events = self.decisions.table["event"].drop_nulls().unique(maintain_order=True).to_list()
        # With the event's name alone anybody could look the players up.
        return ", ".join(events[:3]) if names else ""
