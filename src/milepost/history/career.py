"""A player's career in a history: when, how much, how strong at best, and the best wins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from milepost.errors import InputError
from milepost.history.beliefs import Belief
from milepost.history.periods import LONG_GAP, clocks_of

if TYPE_CHECKING:
    from milepost.history.result import History

BEST_WINS = 5
PEAK_GAMES = 10
"""A peak lies in a period with so many games, if the player has such a period."""


@dataclass(frozen=True, repr=False)
class Career:
    """What a history says about a player from the first game to the last."""

    key: str
    """The player's key."""
    name: str
    """The name as written."""
    first: Any
    """The first period with games."""
    last: Any
    """The last one."""
    periods: int
    """In how many periods there are games."""
    games: int
    """How many games."""
    won: int | None
    """Games won; `None` = the history does not keep its results."""
    drawn: int | None
    """Games drawn."""
    lost: int | None
    """Games lost."""
    peak_time: Any
    """The period of the highest mean, among those with ten games if there are such."""
    peak: Belief
    """The skill then."""
    peak_games: int
    """The games of that period."""
    peak_rank: int | None
    """The place in the ranking of that time; `None` = not in it."""
    margin: Belief | None
    """The player's own draw margin then, where the model has such: how hard to beat."""
    gaps: tuple[tuple[Any, Any], ...]
    """Times without games of more than five units of time (years, for dates): last before, first
    after. They may hide that two people have one name."""
    wins: pl.DataFrame
    """The best wins: time, opponent (key), name, mean, sd (of the opponent then), chance (that the
    win had by what is known now), event. One a opponent, by mean less sd."""
    unit: str = "points"
    """What the numbers are."""

    @property
    def lines(self) -> list[str]:
        """The career in sentences."""
        many = f"{self.games:,} games in {self.periods} periods"
        said = [f"{self.name}: {many}, {self.first} to {self.last}"]
        if self.won is not None:
            share = (self.won + 0.5 * (self.drawn or 0)) / max(self.games, 1)
            said.append(
                f"Won {self.won:,}, drew {self.drawn:,}, lost {self.lost:,} "
                f"({100 * share:.1f} % of the points)"
            )
        place = "" if self.peak_rank is None else f", number {self.peak_rank:,} of that time"
        doubt = "" if np.isnan(self.peak.sd) else f" ± {self.peak.sd:.0f}"
        said.append(
            f"Peak {self.peak_time}: {self.peak.mean:.0f}{doubt} {self.unit}{place} "
            f"({self.peak_games:,} games)"
        )
        if self.margin is not None:
            said.append(
                f"Draw margin then: {self.margin.mean:.0f} ± {self.margin.sd:.0f} {self.unit} "
                "(so far ahead somebody had to be to win)"
            )
        if self.gaps:
            apart = ", ".join(f"{before} to {after}" for before, after in self.gaps)
            said.append(f"No games between {apart}: perhaps two people of one name")
        return said

    def __repr__(self) -> str:
        """Return the career in lines."""
        wins = [
            f"  {row['time']}  {row['name']}  {row['mean']:.0f} ± {row['sd']:.0f}"
            for row in self.wins.iter_rows(named=True)
        ]
        return "\n".join([*self.lines, *(["Best wins:", *wins] if wins else [])])


def career_of(
    history: History, key: str, *, wins: int = BEST_WINS, gap: float = LONG_GAP
) -> Career:
    """Return a player's career.

    Parameters
    ----------
    history
        The history, on the scale that is wanted.
    key
        The player's key.
    wins
        How many of the best wins.
    gap
        Times without games longer than this are told.

    Raises
    ------
    InputError
        If there is no such player.
    """
    curve = history.curves.filter(pl.col("player") == key)
    if curve.is_empty():
        raise InputError(f"no player has the key {key!r}")
    enough = curve.filter(pl.col("games") >= PEAK_GAMES)
    mean = "mean" if history.moves is None else "intrinsic_mean"
    best = (enough if len(enough) else curve).sort(mean, descending=True).row(0, named=True)
    ranking = history.rank(best["time"])
    place = ranking.filter(pl.col("player") == key)["rank"]
    clock = clocks_of(curve["time"])
    ends = np.flatnonzero(np.diff(clock) > gap)
    results = _own_results(history, key)
    counts: list[int | None] = [None, None, None]
    if results is not None:
        counts = [int((results["own"] == score).sum()) for score in (1.0, 0.5, 0.0)]
    margin = None
    if best["margin_mean"] is not None:
        margin = Belief(best["margin_mean"], best["margin_sd"])
    return Career(
        key=key, name=history.name_of(key), first=curve["time"][0], last=curve["time"][-1],
        periods=len(curve), games=int(curve["games"].sum()),
        won=counts[0], drawn=counts[1], lost=counts[2],
        peak_time=best["time"],
        peak=_peak(history, best),
        peak_games=best["games"], peak_rank=int(place[0]) if len(place) else None, margin=margin,
        gaps=tuple((curve["time"][int(i)], curve["time"][int(i) + 1]) for i in ends),
        wins=_best_wins(history, key, results, wins), unit=history.unit,
    )  # fmt: skip


def _peak(history: History, row: dict[str, Any]) -> Belief:
    if history.moves is not None:
        return Belief(row["intrinsic_mean"], row["intrinsic_sd"])
    return Belief(row["mean"], np.nan if row["sd"] is None else row["sd"])


def _own_results(history: History, key: str) -> pl.DataFrame | None:
    """The player's results: time, opponent, own (score), mover (1 = the player), event."""
    if history._kept is None:
        return None
    rows = history._kept.results[np.sort(history._kept.row)]
    sides = []
    for own, other in ((1, 2), (2, 1)):
        score = pl.col("score") if own == 1 else 1.0 - pl.col("score")
        mover = pl.when(pl.col("first_mover") == own).then(1).when(pl.col("first_mover") == other)
        sides.append(
            rows.filter(pl.col(f"player_{own}") == key).select(
                "time", opponent=f"player_{other}", own=score, mover=mover.then(2), event="event"
            )
        )
    return pl.concat(sides)


def _best_wins(
    history: History, key: str, results: pl.DataFrame | None, number: int
) -> pl.DataFrame:
    """The wins over the strongest opponents as they were then, of whom enough is known."""
    kinds = {
        "time": pl.String, "opponent": pl.String, "name": pl.String, "mean": pl.Float64,
        "sd": pl.Float64, "chance": pl.Float64, "event": pl.String,
    }  # fmt: skip
    if results is None:
        return pl.DataFrame(schema=kinds)
    won = results.filter(pl.col("own") == 1.0).unique(
        ["time", "opponent"], keep="first", maintain_order=True
    )
    rows = []
    for row in won.iter_rows(named=True):
        moment = history.moment(row["time"])
        skill = history._lives.at(row["opponent"], moment)
        if history.moves is not None:
            skill = history.moves.intrinsic(skill, moment)
        sd = 0.0 if np.isnan(skill.sd) else skill.sd
        rows.append((skill.mean - sd, row, skill))
    rows.sort(key=lambda found: (-found[0], str(found[1]["time"])))
    found: dict[str, dict[str, Any]] = {}
    for _, row, skill in rows:
        if len(found) == number:
            break
        if row["opponent"] in found:
            continue
        history._asked.update((key, row["opponent"]))
        chances = history.predict(key, row["opponent"], row["time"], first_mover=row["mover"])
        found[row["opponent"]] = {
            "time": str(row["time"]), "opponent": row["opponent"],
            "name": history.name_of(row["opponent"]), "mean": skill.mean,
            "sd": None if np.isnan(skill.sd) else skill.sd, "chance": chances.win,
            "event": row["event"],
        }  # fmt: skip
    return pl.DataFrame(list(found.values()), schema=kinds)
