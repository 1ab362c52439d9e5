"""The variants of the sensitivity table: which turns are left out besides, decided before looking.

An answer that rests on one choice of turns is a weak one. So every statistic is computed again
under each variant of this list. The list is fixed: whoever adds one after having seen a result has
chosen it by the result. That is also why there is no "only middlegames" or "only moves 20 to 35".

A variant that cannot be made of some decisions, since they have no clocks or since there is no
table of known games, stays in the list and says why.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Any

import polars as pl

from milepost.errors import InputError, TableError
from milepost.tables import as_frame

KNOWN_TIMES = 2
"""A position is known if it stood in so many earlier games."""
WON_PAWNS = 1.5
"""A position is won or lost if its best option is worth more, for either side."""
LOW_CLOCK_SECONDS = 30.0
FAST_SECONDS = 10.0
EARLY_SHARE = 0.8
"""Fast moves count as prepared while more than this share of the time is left."""
TABLEBASE_MEN = 6
"""Kings and pawns counted: six fit into tablebases that many people have on a disk."""

_FIRST_FIELDS = r"^(\S+ \S+ \S+ \S+)"
_DATE = r"^\d{4}\.[\d?]{2}\.[\d?]{2}$"
_NOVELTY, _START = "novelty_ply of the game", "first clock of the player"
_ABSENT = {
    "clock_before": "the games have no clocks",
    "seconds": "the games have no times of moves",
    _START: "the games have no clocks",
}
"""What is missing where a column holds nothing."""


@dataclass(frozen=True)
class Exclusion:
    """A way to leave turns out."""

    name: str
    """What the table calls it."""
    meaning: str
    """Which turns stay, in words."""
    needs: tuple[str, ...]
    """The columns it reads."""
    keep: pl.Expr
    """Whether a turn stays; null = cannot be told, then it stays."""


@dataclass(frozen=True, eq=False)
class Variant:
    """An exclusion, applied to some decisions."""

    name: str
    """What the table calls it."""
    meaning: str
    """Which turns stay, in words."""
    mask: pl.Series | None
    """Which turns stay, a value a decision; `None` = the variant cannot be made."""
    reason: str = ""
    """Why it cannot be made; empty = it can."""
    undecided: int = 0
    """Turns that stay because what the variant needs is not known of them."""

    @property
    def turns(self) -> int | None:
        """How many turns stay; `None` = the variant cannot be made."""
        return None if self.mask is None else int(self.mask.sum())

    def apply(self, decisions: pl.DataFrame) -> pl.DataFrame:
        """Return the decisions that stay.

        Raises
        ------
        InputError
            If the variant cannot be made.
        """
        if self.mask is None:
            raise InputError(f"the variant {self.name!r} cannot be made: {self.reason}")
        return decisions.filter(self.mask)


def _from_move(number: int) -> Exclusion:
    return Exclusion(
        f"from move {number}",
        f"turns from move {number} on",
        ("move_number",),
        pl.col("move_number") >= number,
    )


def _from_novelty(moves: int) -> Exclusion:
    told = f"{moves} moves after the novelty" if moves else "the novelty"
    return Exclusion(
        f"from {told}",
        f"turns from {told} on, the first position that fewer than {KNOWN_TIMES} earlier games "
        "hold; none of games that reach no such position",
        ("ply", _NOVELTY),
        # A game of known positions only has no turn that counts: there is nothing of its own in it.
        (pl.col("ply") >= pl.col(_NOVELTY) + 2 * moves).fill_null(False),
    )


EXCLUSIONS = (
    Exclusion("as analysed", "all turns of the check", (), pl.lit(True)),
    _from_move(12),
    _from_move(16),
    _from_novelty(0),
    _from_novelty(3),
    _from_novelty(6),
    Exclusion(
        "without won or lost positions",
        f"turns whose best move is worth at most {WON_PAWNS} pawns for either side",
        ("values",),
        pl.col("values").list.first().abs() <= WON_PAWNS,
    ),
    Exclusion(
        "without low clocks",
        f"turns with at least {LOW_CLOCK_SECONDS:.0f} seconds left on the clock",
        ("clock_before",),
        pl.col("clock_before") >= LOW_CLOCK_SECONDS,
    ),
    Exclusion(
        "without fast early moves",
        f"turns but those played in under {FAST_SECONDS:.0f} seconds with over "
        f"{EARLY_SHARE:.0%} of the time left, perhaps prepared",
        ("seconds", "clock_before", _START),
        ~(
            (pl.col("seconds") < FAST_SECONDS)
            & (pl.col("clock_before") > EARLY_SHARE * pl.col(_START))
        ),
    ),
    Exclusion(
        "without tablebase endings",
        f"turns with more than {TABLEBASE_MEN} men on the board, kings and pawns counted",
        ("position",),
        pl.col("position").str.extract(r"^(\S+) [wb] ").str.count_matches("[A-Za-z]")
        > TABLEBASE_MEN,
    ),
)
"""The variants, in their order."""


def position_key(positions: pl.Expr) -> pl.Expr:
    """Return positions without their counters; null where there is no FEN.

    The store keeps the fifty-move counter, since engines look at it
    (`milepost.analysis.store.positions`); what people know of a position does not depend on it.
    """
    return positions.str.extract(_FIRST_FIELDS)


def known_positions(turns: Any, before: date | str) -> pl.DataFrame:
    """Return the positions of games that were played before a day, with how often they stood.

    Parameters
    ----------
    turns
        A turns table with all turns, book too; see `milepost.tables.TURNS`. Games are taken by the
        column `date` (YYYY.MM.DD, ?? for unknown parts) where the table has it, else by `year`. A
        game counts if it is surely earlier: of a year alone only those of earlier years, of a month
        alone those of earlier months. Games of an unknown year do not count.
    before
        The first day of the event, as a date or as YYYY.MM.DD.

    Returns
    -------
    polars.DataFrame
        `key` (see `position_key`) and `games`, how many games hold the position, sorted by key.

    Raises
    ------
    InputError
        If the day is none.
    TableError
        If the table has neither dates nor years, or no positions.
    """
    day = _day(before)
    frame = as_frame(turns)
    missing = [name for name in ("game_id", "position") if name not in frame.columns]
    if not {"date", "year"} & set(frame.columns):
        missing.append("date or year")
    if missing:
        raise TableError(f"the turns of known games need the columns {', '.join(missing)}")
    last_days: list[pl.Expr] = []
    if "date" in frame.columns:
        # As text: what is not known is later than any day.
        whole = pl.col("date").str.replace_all("?", "9", literal=True)
        last_days.append(pl.when(pl.col("date").str.contains(_DATE)).then(whole))
    if "year" in frame.columns:
        last_days.append(pl.col("year").cast(pl.String).str.zfill(4) + ".99.99")
    earlier = frame.filter((pl.coalesce(last_days) < day).fill_null(False))
    return (
        earlier.select("game_id", position_key(pl.col("position")).alias("key"))
        .drop_nulls()
        .unique()
        .group_by("key")
        .agg(pl.len().cast(pl.Int64).alias("games"))
        .sort("key")
    )


def novelties(turns: Any, known: pl.DataFrame, *, times: int = KNOWN_TIMES) -> pl.DataFrame:
    """Return where each game reaches a position that is not known.

    Parameters
    ----------
    turns
        All turns of the games, or their decisions; what stands before the first row of a game
        cannot be seen.
    known
        What `known_positions` returned.
    times
        A position is known if it stood in so many games.

    Returns
    -------
    polars.DataFrame
        `game_id` and `ply` of the first such position; games without one are not in it.
    """
    keys = known.filter(pl.col("games") >= times).select("key")
    return (
        as_frame(turns)
        .select("game_id", "ply", position_key(pl.col("position")).alias("key"))
        .drop_nulls()
        .join(keys, on="key", how="anti")
        .group_by("game_id")
        .agg(pl.col("ply").min())
        .sort("game_id")
    )


def sensitivity_variants(
    decisions: Any, *, turns: Any = None, known: pl.DataFrame | None = None
) -> tuple[Variant, ...]:
    """Return all variants of `EXCLUSIONS` for some decisions, in that order.

    Parameters
    ----------
    decisions
        A decisions table (polars, pandas, Arrow); see `milepost.tables.DECISIONS`.
    turns
        All turns of the same games, those that became no decisions too: with them the novelty and
        the time at the beginning are exact. Without them the decisions stand for them, which begin
        after the book.
    known
        What `known_positions` returned for the user's own games; `None` = there are none.
    """
    frame = as_frame(decisions)
    whole = frame if turns is None else as_frame(turns)
    prepared, reasons = _with_novelty(frame, whole, known)
    prepared = _with_first_clock(prepared, whole)
    return tuple(_variant(exclusion, prepared, reasons) for exclusion in EXCLUSIONS)


def _variant(exclusion: Exclusion, frame: pl.DataFrame, reasons: dict[str, str]) -> Variant:
    for name in exclusion.needs:
        reason = reasons.get(name, "")
        if not reason and name not in frame.columns:
            reason = _ABSENT.get(name, f"the decisions have no column {name}")
        if not reason and name in _ABSENT and frame[name].null_count() == len(frame):
            reason = _ABSENT[name]
        if reason:
            return Variant(exclusion.name, exclusion.meaning, None, reason)
    kept = frame.with_columns(exclusion.keep.alias("kept"))["kept"]
    return Variant(
        exclusion.name, exclusion.meaning, kept.fill_null(True), undecided=kept.null_count()
    )


def _with_novelty(
    frame: pl.DataFrame, whole: pl.DataFrame, known: pl.DataFrame | None
) -> tuple[pl.DataFrame, dict[str, str]]:
    """The frame with the novelty of each game, or why there is none."""
    if known is None:
        return frame, {_NOVELTY: "there is no table of known games"}
    if not len(known.filter(pl.col("games") >= KNOWN_TIMES)):
        told = f"no position stood in {KNOWN_TIMES} known games before the event"
        return frame, {_NOVELTY: told}
    missing = [name for name in ("game_id", "ply", "position") if name not in whole.columns]
    if missing:
        return frame, {_NOVELTY: f"the turns have no column {missing[0]}"}
    plies = novelties(whole, known).rename({"ply": _NOVELTY})
    return frame.join(plies, on="game_id", how="left", maintain_order="left"), {}


def _with_first_clock(frame: pl.DataFrame, whole: pl.DataFrame) -> pl.DataFrame:
    """The frame with the largest clock of each player and game: about the time at the beginning."""
    side = ["game_id", "mover"]
    if not {*side, "clock_before"} <= set(whole.columns) or not set(side) <= set(frame.columns):
        return frame
    clocks = whole.group_by(side).agg(pl.col("clock_before").max().alias(_START))
    return frame.join(clocks, on=side, how="left", maintain_order="left", nulls_equal=True)


def _day(day: date | str) -> str:
    text = day if isinstance(day, str) else day.strftime("%Y.%m.%d")
    try:
        return date.fromisoformat(text.strip().replace(".", "-")).strftime("%Y.%m.%d")
    except ValueError as error:
        raise InputError(f"expected a day such as 2019.07.04, got {day!r}") from error
