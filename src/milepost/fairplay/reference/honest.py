"""Honest people: what is known of their performances, and what the tests take them to be.

The null of every test is a person, not an agent: ratings are off, players of equal rating differ,
events differ, and games vary more than agents' games. The numbers are measured on complete events
that nobody has reason to doubt, for one calibration each, and shipped with the package as figures
alone: `scripts/write_honest.py` makes them. For a calibration of one's own they are taken from
its player variation; then there is no reference set, and the checks say so.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from importlib import resources
from typing import Any

import numpy as np

from milepost.choice.spreads import Floats
from milepost.errors import InputError
from milepost.fairplay.deep.pull import DeepPull
from milepost.fairplay.evidence.standard_scores import HonestVariation
from milepost.fairplay.results.luck import PLAY_SD
from milepost.fairplay.results.mirror import RESULT_PULL, ResultPull
from milepost.intrinsic.calibration.calibration import Calibration

SCHEMA = 1
_SHIPPED = "milepost.data"
MIDDLE, UNIT = 2200.0, 400.0
"""Biases are lines over the rating: at 2200, and by how much they rise with 400 points."""


@dataclass(frozen=True, eq=False)
class Reference:
    """Honest performances, as figures without names."""

    combined: Floats = field(default_factory=lambda: np.empty(0))
    """Their standard scores, rising."""
    ln_e: Floats = field(default_factory=lambda: np.empty(0))
    """The logarithms of their evidence ratios, rising; of fewer performances where the menu is
    newer than the evaluations of the others."""
    mirror: Floats = field(default_factory=lambda: np.empty(0))
    """The standard scores of their opponents' play, rising."""

    def __len__(self) -> int:
        """Return how many performances there are."""
        return len(self.combined)

    def share_above(self, name: str, value: float) -> float:
        """Return (1 + those at least as high) / (1 + all): never 0."""
        known: Floats = getattr(self, name)
        above = len(known) - int(np.searchsorted(known, value - 1e-12))
        return (1 + above) / (1 + len(known))

    def share_below(self, name: str, value: float) -> float:
        """Return (1 + those at most as high) / (1 + all): never 0."""
        known: Floats = getattr(self, name)
        return (1 + int(np.searchsorted(known, value + 1e-12))) / (1 + len(known))

    @property
    def floor(self) -> float:
        """The smallest p of a screening that so many performances can give."""
        return 1 / (1 + len(self))

    @property
    def evidence_floor(self) -> float:
        """The smallest p of a full test: that of the performances whose evidence ratio is known."""
        return 1 / (1 + len(self.ln_e))


@dataclass(frozen=True, eq=False)
class HonestPlayers:
    """How honest players play, as one calibration sees them."""

    calibration: str
    """Its name."""
    offset: tuple[float, float]
    """How far honest players read above their rating at 2200, and by how much more for 400 points
    of rating."""
    player_sd: float
    """Between players of equal rating, in points."""
    event_sd: float
    """Between events, in points."""
    game_sd: float
    """Form beyond the dispersion, in points."""
    game_dispersion: float
    """φ: how much more a game's score varies than an agent's."""
    bias: Floats
    """What a turn's figures exceed the agents' by, 2 × 3: at 2200, and for 400 points more."""
    dispersion: Floats
    """By how much more the figures of games vary than agents'."""
    bands: tuple[tuple[float, float, float], ...] = ()
    """From rating, to rating, further standard deviation in points: where ratings are known to be
    poorer."""
    wilder: tuple[tuple[float, float, float], ...] = ()
    """From rating, to rating, factor: where the figures vary more than elsewhere, for reasons that
    a wider range of strengths does not explain. The dispersion is multiplied by it."""
    play_sd: float = PLAY_SD
    """τ of `milepost.fairplay.results.luck`: how much play differs by game, in points."""
    pull: ResultPull = RESULT_PULL
    """What results of honest games say of the moves; see there."""
    reference: Reference = field(default_factory=Reference)
    """Honest performances."""
    power: tuple[Mapping[str, Any], ...] = ()
    """How often help was noticed in real honest games with replaced moves: one row an Elo, number
    of games and kind of help (`python -m studies.fair_play power`)."""
    deep: DeepPull | None = None
    """How often they find a deep search's move; None = it was not measured."""
    caution: str = ""
    """What must be known before a check with this calibration is used; empty = nothing more."""
    rests_on: str = ""
    """What it was measured on."""
    measured: bool = True
    """Whether it was measured for this calibration; if not it is taken from its variation."""
    made: Mapping[str, Any] = field(default_factory=dict)
    """How it was made."""

    def middle(self, rating: float) -> float:
        """Return the strength that is expected of a rating."""
        return rating + self.offset[0] + self.offset[1] * (rating - MIDDLE) / UNIT

    def strength_sd(self, rating: float, map_error: float, rating_sd: float = 0.0) -> float:
        """Return how far a player of a rating may lie off what is expected, in points.

        Parameters
        ----------
        rating
            The rating before the event.
        map_error
            Standard error of the calibration there.
        rating_sd
            What is known of the rating's own uncertainty, beyond what players of equal rating vary.
        """
        band = sum(extra**2 for low, high, extra in self.bands if low <= rating < high)
        parts = (self.player_sd, self.event_sd, map_error, rating_sd)
        return float(np.sqrt(sum(part**2 for part in parts) + band))

    def variation(self, rating: float, map_error: float, rating_sd: float = 0.0) -> HonestVariation:
        """Return how the figures of players of a rating vary."""
        factor = np.prod([factor for low, high, factor in self.wilder if low <= rating < high])
        return HonestVariation(
            bias=self.bias[0] + self.bias[1] * (rating - MIDDLE) / UNIT,
            dispersion=self.dispersion * factor,
            sd=self.strength_sd(rating, map_error, rating_sd),
        )

    @classmethod
    def assumed(cls, calibration: Calibration) -> HonestPlayers:
        """Take them from a calibration's player variation: without bias, and without reference."""
        known = calibration.variation
        phi = max(known.game_dispersion.value, 1.0)
        dispersion = [known.mm_dispersion.value, known.ad_dispersion.value, phi]
        return cls(
            calibration=calibration.name,
            offset=(0.0, 0.0),
            player_sd=known.player_sd.used,
            event_sd=known.event_sd.used,
            game_sd=known.game_sd.used,
            game_dispersion=phi,
            bias=np.zeros((2, 3)),
            dispersion=np.maximum(dispersion, 1.0),
            rests_on="the calibration's player variation; no honest performances of its own",
            measured=False,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, for JSON."""
        known = self.reference
        return {
            "schema": SCHEMA,
            "calibration": self.calibration,
            "rests_on": self.rests_on,
            "caution": self.caution,
            "offset": list(self.offset),
            "player_sd": self.player_sd,
            "event_sd": self.event_sd,
            "game_sd": self.game_sd,
            "game_dispersion": self.game_dispersion,
            "bias": self.bias.tolist(),
            "dispersion": self.dispersion.tolist(),
            "bands": [list(band) for band in self.bands],
            "wilder": [list(band) for band in self.wilder],
            "play_sd": self.play_sd,
            "pull": asdict(self.pull),
            "reference": {
                name: [round(float(value), 4) for value in np.sort(getattr(known, name))]
                for name in ("combined", "ln_e", "mirror")
            },
            "power": [dict(row) for row in self.power],
            "deep": None if self.deep is None else self.deep.to_dict(),
            "made": dict(self.made),
        }

    @classmethod
    def from_dict(cls, values: Any) -> HonestPlayers:
        """Make one of what `to_dict` gave.

        Raises
        ------
        InputError
            If it is none, or of another schema.
        """
        try:
            if values["schema"] != SCHEMA:
                raise InputError(
                    f"a description of honest players of schema {values['schema']}; this version "
                    f"reads {SCHEMA}"
                )
            known = {
                name: np.sort(np.array(column, dtype=np.float64))
                for name, column in values["reference"].items()
            }
            first, second = (float(each) for each in values["offset"])
            return cls(
                calibration=str(values["calibration"]),
                offset=(first, second),
                player_sd=float(values["player_sd"]),
                event_sd=float(values["event_sd"]),
                game_sd=float(values["game_sd"]),
                game_dispersion=float(values["game_dispersion"]),
                bias=np.array(values["bias"], dtype=np.float64).reshape(2, 3),
                dispersion=np.array(values["dispersion"], dtype=np.float64).reshape(3),
                bands=tuple((float(a), float(b), float(c)) for a, b, c in values["bands"]),
                wilder=tuple(
                    (float(a), float(b), float(c)) for a, b, c in values.get("wilder", ())
                ),
                play_sd=float(values["play_sd"]),
                pull=ResultPull(**values["pull"]),
                reference=Reference(**known),
                power=tuple(values.get("power", ())),
                deep=DeepPull.from_dict(values["deep"]) if values.get("deep") else None,
                caution=str(values.get("caution", "")),
                rests_on=str(values["rests_on"]),
                made=dict(values["made"]),
            )
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise InputError(f"this is no description of honest players: {error}") from error


def honest_players(calibration: Calibration) -> HonestPlayers:
    """Return the honest players of a calibration: those that are shipped, or assumed ones."""
    return _shipped(calibration.name) or HonestPlayers.assumed(calibration)


@cache
def _shipped(name: str) -> HonestPlayers | None:
    """Those that come with the package for a calibration; None = there are none."""
    file = resources.files(_SHIPPED).joinpath("fairplay").joinpath(f"{name}.json")
    if not file.is_file():
        return None
    return HonestPlayers.from_dict(json.loads(file.read_text(encoding="utf-8")))
