"""Write the calibration `rybka3-d13`: the published table of 2011.

Run from the root: python scripts/write_published.py

Sources: K. W. Regan and G. McC. Haworth, Intrinsic Chess Ratings (AAAI 2011), section 7: 22 rows of
three periods; the compendium of 2012: IPR = 3571 - 15413 AE_e.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from milepost.choice import ChoiceModel
from milepost.intrinsic.calibration.calibration import Calibration
from milepost.intrinsic.calibration.maps import CENTRE, LINE, UNIT, RatingMap
from milepost.intrinsic.calibration.paths import LinePath
from milepost.intrinsic.calibration.player_variation import PlayerVariation

TABLE = Path("tests/data/ipr2011_table.csv")
"""Section 7 of the paper, typed: period, elo, s, c, c_fit, s_fit, projections in per cent, Qfit."""
NOTES = (
    "these numbers are of Rybka 3 at depth 13, whose scale no engine shares: for comparison alone",
    "the mileposts are the 22 rows of the paper's section 7",
    "the map is a line through ln s_fit of 2006-2009, and its c is the paper's c_fit",
    "errors of the map and the variation of players were not published: 150 and 200 points assumed",
    "the compendium of 2012 reads a rating as 3571 - 15413 x AE_e on its own reference set",
)


def main() -> None:
    """Write the file."""
    rows = pl.read_csv(TABLE).rename({"elo": "milepost"})
    rates = [(pl.col(f"mm_{kind}") / 100).round(4) for kind in ("projected", "actual")]
    rows = rows.with_columns(pl.col("milepost").cast(pl.Float64), *rates)
    main_years = rows.filter(pl.col("period") == "2006-2009")
    elo = main_years["milepost"].to_numpy()
    slope, level = np.polyfit(elo, np.log(main_years["s_fit"].to_numpy()), 1)
    c_slope, c_level = np.polyfit(elo, main_years["c_fit"].to_numpy(), 1)
    coefficients = np.array(
        [level + slope * CENTRE, slope * UNIT, c_level + c_slope * CENTRE, c_slope * UNIT]
    )
    path = LinePath(ChoiceModel(), coefficients, np.zeros((4, 4)), (1600.0, 2700.0), CENTRE, UNIT)
    # Not published: rather too wide than too narrow.
    unknown = PlayerVariation.assumed(
        game_dispersion=2.0, player_sd=200.0, event_sd=100.0, note="assumed, not measured"
    )
    Calibration(
        name="rybka3-d13",
        setup="",
        setup_text="Rybka 3, depth 13, up to 50 moves (Regan and Haworth 2011)",
        map=RatingMap(LINE, path),
        variation=unknown,
        map_error=(np.array([0.0, 4000.0]), np.full(2, 150.0)),
        mileposts=rows,
        c_line=(float(c_level), float(c_slope)),
        tried=pl.DataFrame({"map": [LINE], "admitted": [False]}),
        gate=pl.DataFrame(),
        notes=NOTES,
        transferable=False,
        made={"made_by": "scripts/write_published.py"},
    ).save(Path("src/milepost/data/calibrations/rybka3-d13.json"))


if __name__ == "__main__":
    main()
