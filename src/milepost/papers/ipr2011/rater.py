"""Elo by moves of a set of turns, by the best measure there is for their evaluations.

With a calibration of the engine's set-up it is the rating of `milepost.intrinsic`, which reads all
depths; without one it is s with c on its line, on the scale of the reference's mileposts.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import polars as pl

from milepost.choice import Spreads
from milepost.errors import MilepostError
from milepost.intrinsic.calibration.calibration import (
    Calibration,
    calibration_for,
    load_calibration,
)
from milepost.intrinsic.rating.rate import rate
from milepost.papers.folder import Folder
from milepost.papers.ipr2011.data import (
    FEWEST,
    EloScale,
    cohorts_of,
    elo_scale,
    reference_decisions,
)
from milepost.papers.statistics import Estimate
from milepost.tables import CONTEXT, OPTION


@dataclass(frozen=True, eq=False)
class Rater:
    """Rates sets of turns; errors are those of the turns alone, for comparisons between sets."""

    calibration: Calibration | None
    """That of the set-up, if one comes with the package."""
    scale: EloScale | None
    """The scale of the mileposts, where there is no calibration."""

    @property
    def name(self) -> str:
        """What rates, for a note."""
        if self.calibration is None:
            return "s with c on its line"
        return f"the calibration {self.calibration.name}, which reads all depths"

    def rate(self, frame: pl.DataFrame) -> Estimate | None:
        """Return the Elo by moves of all turns of a table; None if it has no bound."""
        if self.scale is not None:
            elo, fit = self.scale.rate(Spreads.from_table(frame, depths=False))
            own = float(fit.working_covariance[0, 0]) ** 0.5 / abs(self.scale.line[1])
            return Estimate(elo.value, own)
        assert self.calibration is not None
        row = rate(frame, self.calibration, (), force=True, competence=False).row(0, named=True)
        if row["rating"] is None or row["se_turns"] is None:
            return None
        return Estimate(row["rating"], row["se_turns"])

    def table(self, sets: Iterable[tuple[str, pl.DataFrame]]) -> pl.DataFrame:
        """Return the Elo by moves of each set that has enough turns."""
        rows = []
        for name, part in sets:
            elo = self.rate(part) if len(part) >= FEWEST else None
            if elo is None:
                continue
            given = part["mover_elo"].drop_nulls().to_numpy()
            rows.append(
                {
                    "set": name,
                    "n": len(part),
                    "games": part["game_id"].n_unique(),
                    "rating": float(given.mean()) if len(given) else None,
                    "Elo by moves": elo.value,
                    "se": elo.se,
                    "match rate": float((part["chosen"] == 0).to_numpy().mean()),
                }
            )
        return pl.DataFrame(rows, schema_overrides={"rating": pl.Float64})


def rater_of(folder: Folder) -> Rater:
    """Return the rater for a store's evaluations."""
    frame = reference_decisions(folder)
    brought = [
        name.removeprefix(OPTION).removeprefix(CONTEXT)
        for name in frame.columns
        if name.startswith((OPTION, CONTEXT))
    ]
    try:
        return Rater(load_calibration(calibration_for(folder.setup(), brought)), None)
    except MilepostError:
        return Rater(None, elo_scale(cohorts_of(frame)))
