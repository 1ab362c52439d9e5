"""Write the calibration `rybka3-d13`: what is known here of the published table of 2011.

Run from the root: python scripts/write_published.py

Sources: K. W. Regan and G. McC. Haworth, Intrinsic Chess Ratings (AAAI 2011), years 2006-2009: s
and c at 2700, s at 1600, match rates at 2700, 2100 and 1600, and the band 0.430 to 0.545 of c; the
compendium of 2012: IPR = 3571 - 15413 AE_e. The other rows of its three periods could not be
checked against a copy of the paper, and are left out rather than typed from memory.
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

S_2700, C_2700, S_1600 = 0.078, 0.502, 0.165
C_1600 = 0.430  # the low end of the band of all mileposts: the paper's own value was not at hand
ROWS = [
    {"period": "2006-2009", "milepost": 1600.0, "s": S_1600, "c": None, "mm_actual": 0.429},
    {"period": "2006-2009", "milepost": 2100.0, "s": None, "c": None, "mm_actual": 0.477},
    {"period": "2006-2009", "milepost": 2700.0, "s": S_2700, "c": C_2700, "mm_actual": 0.563},
]
NOTES = (
    "these numbers are of Rybka 3 at depth 13, whose scale no engine shares: for comparison alone",
    "only what could be checked is here (2006-2009): s at 1600 and 2700, c at 2700, match rates",
    "c at 1600 is taken as the low end of the published band",
    "errors of the map and the variation of players were not published: 150 and 200 points assumed",
    "the compendium of 2012 reads a rating as 3571 - 15413 x AE_e on its own reference set",
)


def main() -> None:
    """Write the file."""
    slope = (np.log(S_2700) - np.log(S_1600)) / 1100
    c_slope = (C_2700 - C_1600) / 1100
    coefficients = np.array(
        [
            np.log(S_1600) + slope * (CENTRE - 1600),
            slope * UNIT,
            C_1600 + c_slope * (CENTRE - 1600),
            c_slope * UNIT,
        ]
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
        mileposts=pl.DataFrame(ROWS),
        c_line=(C_1600 - c_slope * 1600, c_slope),
        tried=pl.DataFrame({"map": [LINE], "admitted": [False]}),
        gate=pl.DataFrame(),
        notes=NOTES,
        transferable=False,
        made={"made_by": "scripts/write_published.py"},
    ).save(Path("src/milepost/data/calibrations/rybka3-d13.json"))


if __name__ == "__main__":
    main()
