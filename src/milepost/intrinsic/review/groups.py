"""Groups of one player's turns beside players of equal strength: phases, opponents, colours.

The turns are put on one ladder on which 0 is "as players of this strength": at x a turn says how
likely its choice is for agents x Elo above the turn's own level, the baseline of its phase taken
out. So games with other ratings, and even of other pools, can be taken together as far as they are
compared with equals; a rating as such is only given where all turns are of one pool.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy.special import ndtr, ndtri

from milepost.choice.spreads import Floats, Spreads
from milepost.errors import InputError
from milepost.intrinsic.calibration.calibration import Calibration
from milepost.intrinsic.rating.interval import estimate
from milepost.intrinsic.rating.likelihood_grid import Ladder, climb
from milepost.intrinsic.rating.rate import LEAST_TURNS
from milepost.intrinsic.review.baselines import PhaseBaselines
from milepost.intrinsic.review.difference import Difference, difference
from milepost.intrinsic.review.shifts import without_shifts

Bools = npt.NDArray[np.bool_]
PHASES = ("opening", "middlegame", "endgame")
OPPONENTS = ("stronger", "equals", "weaker")


@dataclass(frozen=True, eq=False)
class Beside:
    """One player's turns beside agents of the turns' own levels."""

    table: pl.DataFrame
    """The turns, decided ones too: decisions with `pool`, `level`, `level_se` and the columns of
    `milepost.intrinsic.review.turn_costs`."""
    calibration: Calibration
    """The agents."""
    baselines: PhaseBaselines
    """What phases read above the Elo."""

    @cached_property
    def rated(self) -> Bools:
        """Which turns are rated: those that are not decided."""
        return (~self.table["decided"]).to_numpy()

    @cached_property
    def plain(self) -> Ladder:
        """The rated turns on the calibration's own ladder."""
        spreads = Spreads.from_table(self.table.filter(self.rated))
        return climb(spreads, self.calibration.map.path)

    @cached_property
    def middle(self) -> float:
        """The rating that stands for "as equals" on the common ladder."""
        return float(self.table["level"].mean())  # type: ignore[arg-type]

    @cached_property
    def ladder(self) -> Ladder:
        """The rated turns, each beside its own level."""
        part = self.table.filter(self.rated)
        shifts = part["level"].to_numpy() - self.middle + self.baselines.of_turns(part["phase"])
        return without_shifts(self.plain, shifts)

    def row(self, wanted: Bools, *, level: float = 0.95) -> dict[str, Any]:
        """Return what is known of some turns, as a row of figures.

        `gap` is how far above equals they were played, in Elo; `rating` the same as a rating, where
        all turns are of one pool; `match` and `points` are beside what equals do; `note` says why
        something is missing.
        """
        part = self.table.filter(wanted)
        inside = wanted[self.rated]
        turns, decided = int(inside.sum()), int(part["decided"].sum())
        row: dict[str, Any] = {
            "turns": turns,
            "decided": decided,
            "games": part["game_id"].n_unique(),
            "note": "",
        }
        if not len(part):
            return row | {"note": "no turn"}
        row |= _losses(part, self.calibration)
        if not turns:
            return row | {"note": f"{decided} turns, all in decided positions: not rated"}
        if turns < LEAST_TURNS:
            return row | {"note": f"fewer than {LEAST_TURNS} turns: not rated"}
        return row | self._rating(part.filter(~pl.col("decided")), inside, level)

    def _rating(self, part: pl.DataFrame, inside: Bools, level: float) -> dict[str, Any]:
        found = estimate(
            self.ladder.take(inside), self.calibration.variation, self.calibration.map_error,
            level=level,
        )  # fmt: skip
        if not np.isfinite(found.rating):
            return {"note": "these turns set no bound"}
        own = float(part["level"].mean())  # type: ignore[arg-type]
        weights = self.ladder.take(inside).information_at(found.rating)
        phases = self.baselines.se_of(part["phase"], weights)
        levels = float(np.average(part["level_se"].to_numpy(), weights=weights))
        quantile = float(ndtri(0.5 + level / 2))
        gap = found.rating - self.middle
        # A rating does not depend on where equals stand; the gap to them does.
        below, above = found.rating - found.low, found.high - found.rating
        rating = {
            "rating": own + gap,
            "low": own + gap - float(np.hypot(below, quantile * phases)),
            "high": own + gap + float(np.hypot(above, quantile * phases)),
        }
        both = float(np.hypot(phases, levels))
        row = {
            "level": own,
            "gap": gap,
            "gap_low": gap - float(np.hypot(below, quantile * both)),
            "gap_high": gap + float(np.hypot(above, quantile * both)),
        }
        if part["pool"].n_unique() == 1:
            row |= rating
        note = "" if part["pool"].n_unique() == 1 else "several pools: no rating, but the gap"
        return row | {"note": note}

    def difference(
        self, first: Bools, second: Bools, names: tuple[str, str], *, level: float = 0.95
    ) -> Difference:
        """Compare two groups of turns; see `milepost.intrinsic.review.difference`.

        Raises
        ------
        InputError
            If a turn lies in both.
        """
        if (first & second).any():
            raise InputError(
                f"{int((first & second).sum())} turns lie in both {names[0]} and {names[1]}: "
                "a difference needs two groups apart"
            )
        sides: list[Ladder] = []
        errors: dict[str, float] = {}
        for sign, wanted in ((1, first), (-1, second)):
            inside = wanted[self.rated]
            ladder = self.ladder.take(inside)
            sides.append(ladder)
            phase = self.table.filter(self.rated)["phase"].filter(inside)
            weights = ladder.information_at(self.middle)
            for name, shift in self.baselines.shifts.items():
                if shift.known and weights.sum() > 0:
                    share = weights[(phase == name).fill_null(False).to_numpy()].sum()
                    errors[name] = errors.get(name, 0.0) + sign * share / weights.sum() * shift.se
        extra = float(np.linalg.norm(list(errors.values()))) if errors else 0.0
        return difference(
            sides[0], sides[1], self.calibration.variation, names=names, extra_se=extra,
            level=level,
        )  # fmt: skip


def _losses(part: pl.DataFrame, calibration: Calibration) -> dict[str, Any]:
    """Match rate and points lost beside equals', with a two-sided p of the points."""
    count = len(part)
    lost, expected = part["points_lost"].to_numpy(), part["points_expected"].to_numpy()
    sd = float(np.sqrt((part["points_sd"].to_numpy() ** 2).sum()))
    sd *= float(np.sqrt(max(calibration.variation.ad_dispersion.value, 1.0)))
    z = float((expected - lost).sum()) / sd if sd > 0 else 0.0
    return {
        "match": float((part["chosen"] == 0).mean()),  # type: ignore[arg-type]
        "match_expected": float(part["best_chance"].mean()),  # type: ignore[arg-type]
        "points_lost": float(lost.sum()) / count,
        "points_expected": float(expected.sum()) / count,
        "points_z": z,
        "points_p": float(2 * ndtr(-abs(z))),
    }


def opponents_expr(equals: float) -> pl.Expr:
    """Return for each turn whether the opponent is stronger, an equal or weaker, by the tags."""
    ahead = pl.col("opponent_elo").cast(pl.Float64) - pl.col("mover_elo").cast(pl.Float64)
    return (
        pl.when(ahead > equals)
        .then(pl.lit("stronger"))
        .when(ahead < -equals)
        .then(pl.lit("weaker"))
        .when(ahead.is_not_null())
        .then(pl.lit("equals"))
    )


def level_column(table: pl.DataFrame, levels: Floats, errors: Floats) -> pl.DataFrame:
    """Return turns with the rating of the agents that stand for equals, and its error."""
    return table.with_columns(pl.Series("level", levels), pl.Series("level_se", errors))
