"""A simulated league as the tables that commands pass around, with its own true calibration."""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import polars as pl
from tests.intrinsic.makers import HONEST, NO_MAP_ERROR, PATH, league

from milepost.intrinsic.calibration.calibration import Calibration
from milepost.intrinsic.calibration.maps import JOINT, RatingMap

SETUP = "0123456789abcdef"


def true_calibration() -> Calibration:
    """The path that the league's agents were drawn from, as if it had been found exactly."""
    tried = pl.DataFrame({"map": [JOINT], "admitted": [True]})
    return Calibration(
        name="league",
        setup=SETUP,
        setup_text="an invented engine <1>",
        map=RatingMap(JOINT, PATH),
        variation=HONEST,
        map_error=NO_MAP_ERROR,
        mileposts=pl.DataFrame(),
        c_line=(0.4, 1e-4),
        tried=tried,
        gate=pl.DataFrame(),
        counts={"turns": 6, "games": 3},
        notes=("a note & a half",),
    )


@cache
def league_table(players: int, games: int, turns: int) -> pl.DataFrame:
    """The decisions of a league; the turns of a game are its moves 9, 10, …"""
    spreads, who, elo = league(players, games, turns)
    return pl.DataFrame(
        {
            "game_id": [f"game {each}" for each in spreads.groups],
            "ply": [2 * (8 + place % turns) for place in range(len(who))],
            "move_number": [9 + place % turns for place in range(len(who))],
            "mover": [f"Player {each}" for each in who],
            "mover_elo": elo.round().astype(int),
            "values": [spreads.values[a:b].tolist() for a, b in pairwise(spreads.offsets)],
            "chosen": spreads.chosen,
            "colour": ["white" if each % 2 else "black" for each in spreads.groups],
        }
    )
