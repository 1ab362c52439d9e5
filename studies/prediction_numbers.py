"""The numbers of the prediction study, all found on games before 2010.

Points of our scale: 1.6 of them are one point of Elo. `--tune` of `studies.prediction`
searches on from them; docs/prediction.md says how they were found.
"""

from __future__ import annotations

from dataclasses import replace

from studies.prediction_methods import Ours, without

ELO_K = {"k": 20.0, "provisional_k": 40.0}
"""The best of K 10, 15, 20, 30 with 40, 80, 120 for the first 30 games, on 2005-2009."""
GLICKO = {"volatility": 0.06, "deviation": 350.0}
"""The best of 0.02, 0.04, 0.06, 0.1 with 200, 350, on 2005-2009."""
JOIN_WEIGHT = 1.0
"""Points of ours for a point of official Elo, where the two are joined; of 0.5, 1, 1.6, 2.5."""

_TTT_D = Ours(
    {
        "beta": 300.0, "tau": 30.0, "sigma": 400.0, "lead": 62.0,
        "margin_mu": 158.0, "margin_sigma": 88.0, "margin_tau": 16.5,
        "slope": 0.62, "behind": 132.0, "sd": 340.0, "factor": 12.8, "years": 4.5,
    },
    model="ttt-d",
)  # fmt: skip
_TTT = Ours({
    "beta": 300.0, "tau": 34.0, "sigma": 513.0, "lead": 66.0, "draw": 272.0,
    "slope": 0.62, "behind": 103.0, "sd": 436.0, "factor": 27.1, "years": 2.73,
})  # fmt: skip
_TRUESKILL = Ours(
    {"beta": 300.0, "tau": 106.0, "sigma": 243.0, "lead": 62.0, "draw": 255.0}, window=0
)
_PLAIN = Ours({"beta": 300.0, "tau": 106.0, "sigma": 243.0, "lead": 62.0, "draw": 255.0})
_PLAIN_D = Ours(
    {
        "beta": 300.0, "tau": 74.2, "sigma": 243.0, "lead": 62.0,
        "margin_mu": 158.0, "margin_sigma": 113.0, "margin_tau": 12.8,
    },
    model="ttt-d",
)  # fmt: skip
_TWO_FACTOR = Ours(
    {
        "beta": 300.0, "tau": 32.0, "sigma": 513.0, "lead": 62.0,
        "margin_mu": 179.0, "margin_sigma": 53.4, "margin_tau": 7.8,
        "slope": 0.62, "behind": 103.0, "sd": 385.0, "factor": 12.8, "years": 4.5,
    },
    model="ttt-d",
    form="two-factor",
)  # fmt: skip
# What a newcomer's printed Elo says: the line of our means on Elo in the main set of 2000-2009.
_FIRST_ELO = {"elo_slope": 1.62, "elo_zero": 2299.0, "elo_sd": 120.0}

OURS: dict[str, Ours] = {
    "trueskill": _TRUESKILL,
    "ttt": replace(_TTT, notes={"link": True}),
    "ttt, no first mover": without(_TTT, lead=0.0),
    "ttt-d": replace(_TTT_D, notes={"link": True, "join": True, "rows": 4}),
    "ttt-d, no first mover": without(_TTT_D, lead=0.0),
    "ttt-d, first printed Elo": replace(
        _TTT_D, first_elo=True, numbers=_TTT_D.numbers | _FIRST_ELO
    ),
    "ttt-d, two-factor": _TWO_FACTOR,
    "ttt, newcomers alike": _PLAIN,
    "ttt-d, newcomers alike": _PLAIN_D,
}
