"""A calibration: which agent plays like which Elo, for one set-up of an engine; as a file.

The file is JSON with a schema version. It says what it was made of, the digest of the engine
set-up, the mileposts' table, every map that was tried with its cross-validated error and its gate,
the chosen map with its covariance, and how real players vary. Numbers only: nothing in it runs.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from milepost.choice.columns import brought_columns
from milepost.choice.spreads import Floats
from milepost.errors import InputError, NoCalibrationError
from milepost.intrinsic.calibration.accuracy import accuracy_line
from milepost.intrinsic.calibration.maps import RatingMap, map_from_dict, map_to_dict
from milepost.intrinsic.calibration.player_variation import PlayerVariation
from milepost.io.files import write_text

SCHEMA = 2
_OLDER = 1
"""A schema that is still read: it called player variation a spread, and had fewer components."""
JUDGED_BY = 250
"""Maps are chosen by their error at so many turns."""
_SHIPPED = "milepost.data.calibrations"


@dataclass(frozen=True, eq=False)
class Calibration:
    """A map between ratings and agents, with all that an honest rating needs."""

    name: str
    """Its name."""
    setup: str
    """Digest of the engine set-up whose evaluations it is for; empty = of no set-up known here."""
    setup_text: str
    """What that set-up is, in words."""
    map: RatingMap
    """The map that was chosen."""
    variation: PlayerVariation
    """How real players vary about the agents of their Elo."""
    map_error: tuple[Floats, Floats]
    """Ratings, and the standard error of a rating there that comes from the calibration."""
    mileposts: pl.DataFrame
    """The paper's table: s, c, c_fit, s_fit, mm, ad, Qfit, N by milepost."""
    c_line: tuple[float, float]
    """c = first + second × Elo."""
    tried: pl.DataFrame
    """Every map that was tried: log-loss, errors by number of turns, gate."""
    gate: pl.DataFrame
    """The admission gate of the chosen map, band by band."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """Turns, games and players it rests on."""
    notes: tuple[str, ...] = ()
    """What its user must know."""
    transferable: bool = True
    """Whether it may be used with evaluations at all; False = for comparison alone."""
    made: Mapping[str, Any] = field(default_factory=dict)
    """Version, options and digests of the inputs."""
    accuracy: pl.DataFrame = field(default_factory=pl.DataFrame)
    """Errors of all maps, and of what people use instead, on the same cuts; see
    `milepost.intrinsic.calibration.accuracy`. Empty in files that are older than it."""

    @property
    def accuracy_text(self) -> str:
        """The error of the chosen map at 250 turns, in words; empty where it is not known."""
        text = accuracy_line(self.accuracy, self.map.kind, JUDGED_BY)
        row = self.tried.filter(pl.col("map") == self.map.kind) if len(self.tried) else self.tried
        if not text and len(row) and f"rmse_{JUDGED_BY}" in row.columns:
            rmse = row[f"rmse_{JUDGED_BY}"][0]
            return f"error at {JUDGED_BY} turns {rmse:.0f} Elo (few cuts, its own error not known)"
        return text

    @property
    def range(self) -> tuple[float, float]:
        """The ratings it was fitted on."""
        return self.map.path.range

    @property
    def bridged_from(self) -> str | None:
        """The calibration that this one was carried over from; None = it rests on games."""
        bridge = self.made.get("bridge")
        return str(bridge["from"]) if isinstance(bridge, Mapping) else None

    @property
    def rests_on(self) -> str:
        """What it rests on, in words."""
        counts = ", ".join(f"{count:,} {what}" for what, count in self.counts.items())
        if self.bridged_from is None:
            return counts
        return f"a bridge from {self.bridged_from}: {counts}"

    @property
    def columns(self) -> list[str]:
        """The columns that decisions must bring besides their values."""
        return brought_columns(self.map.path.model.utilities)

    @property
    def admitted(self) -> bool:
        """Whether the chosen map's agents passed the gate, as far as the data can tell."""
        row = self.tried.filter(pl.col("map") == self.map.kind)
        return bool(len(row)) and bool(row["admitted"][0])

    def refuse_other(self, setup: str, *, force: bool = False) -> str | None:
        """Return a warning where evaluations of another set-up are used by force.

        Raises
        ------
        InputError
            If the set-up is another one, or the calibration is for comparison alone, unless forced.
        """
        if self.transferable and setup == self.setup:
            return None
        reason = (
            f"the calibration {self.name} is for the set-up {self.setup} ({self.setup_text}), "
            f"these evaluations are of {setup or 'a set-up that is not known'}: "
            "another engine, depth or option has another scale"
        )
        if not self.transferable:
            reason = f"the calibration {self.name} does not carry over: {self.notes[0]}"
        if not force:
            raise InputError(f"{reason}; calibrate anew, or force it")
        return f"forced: {reason}"

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {
            "schema": SCHEMA,
            "name": self.name,
            "setup": self.setup,
            "setup_text": self.setup_text,
            "transferable": self.transferable,
            "notes": list(self.notes),
            "counts": dict(self.counts),
            "range": list(self.range),
            "mileposts": self.mileposts.to_dicts(),
            "c_line": list(self.c_line),
            "map": map_to_dict(self.map),
            "map_error": [each.tolist() for each in self.map_error],
            "variation": self.variation.to_dict(),
            "tried": self.tried.to_dicts(),
            "accuracy": self.accuracy.to_dicts(),
            "gate": self.gate.to_dicts(),
            "made": dict(self.made),
        }

    @classmethod
    def from_dict(cls, values: Any, *, source: str = "this") -> Calibration:
        """Make one of what `to_dict` gave.

        Raises
        ------
        InputError
            If it is none, or of another schema.
        """
        if not isinstance(values, Mapping) or "schema" not in values:
            raise InputError(f"{source} is no calibration")
        if values["schema"] not in (SCHEMA, _OLDER):
            told = str(values["schema"])[:20]
            readable = f"this version reads {_OLDER} and {SCHEMA}"
            raise InputError(f"{source} is a calibration of schema {told}; {readable}")
        try:
            ratings, errors = (np.array(each, dtype=np.float64) for each in values["map_error"])
            if len(ratings) != len(errors) or not (np.diff(ratings) > 0).all():
                raise ValueError("map_error must be two lists alike, the first one rising")
            if not (errors >= 0).all():
                raise ValueError("map_error holds what is no error")
            start, slope = (float(each) for each in values["c_line"])
            notes = tuple(values["notes"])
            if values["schema"] == _OLDER:
                variation = PlayerVariation.from_schema_1(values["spread"])
                notes = (*notes, f"player variation {variation.note}")
            else:
                variation = PlayerVariation.from_dict(values["variation"])
            return cls(
                name=str(values["name"]),
                setup=str(values["setup"]),
                setup_text=str(values["setup_text"]),
                map=map_from_dict(values["map"]),
                variation=variation,
                map_error=(ratings, errors),
                mileposts=pl.DataFrame(values["mileposts"], infer_schema_length=None),
                c_line=(start, slope),
                tried=pl.DataFrame(values["tried"], infer_schema_length=None),
                gate=pl.DataFrame(values["gate"], infer_schema_length=None),
                counts=dict(values["counts"]),
                notes=notes,
                transferable=bool(values["transferable"]),
                made=dict(values["made"]),
                accuracy=pl.DataFrame(values.get("accuracy", []), infer_schema_length=None),
            )
        except KeyError as error:
            raise InputError(
                f"{source} is a damaged calibration: it lacks {error}; make it anew with calibrate"
            ) from error
        except (TypeError, ValueError, AttributeError, pl.exceptions.PolarsError) as error:
            reason = (str(error).strip() or repr(error)).splitlines()[0]
            raise InputError(f"{source} is a damaged calibration: {reason}") from error

    def save(self, path: str | Path) -> None:
        """Write it to a file, atomically."""
        write_text(Path(path), json.dumps(self.to_dict(), indent=1, allow_nan=True) + "\n")


def shipped_calibrations() -> list[str]:
    """Return the names of the calibrations that come with the package."""
    return list(_shipped_texts())


@cache
def _shipped_texts() -> dict[str, str]:
    """The calibrations that come with the package, by name; they do not change under a process."""
    texts = {
        file.name.removesuffix(".json"): file.read_text(encoding="utf-8")
        for file in resources.files(_SHIPPED).iterdir()
        if file.name.endswith(".json")
    }
    return {name: texts[name] for name in sorted(texts)}


def load_calibration(name: str | Path) -> Calibration:
    """Read a calibration: a file, or one that comes with the package by its name.

    Raises
    ------
    InputError
        If there is none, or it is damaged.
    """
    path = Path(name)
    if not path.exists() and str(name) in shipped_calibrations():
        text = _shipped_texts()[str(name)]
    else:
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            why = "no text" if isinstance(error, UnicodeDecodeError) else error.strerror or error
            raise InputError(
                f"no calibration {str(name)!r}: neither a file that can be read ({why}) nor one "
                f"of {', '.join(shipped_calibrations())}"
            ) from error
    return _parsed(str(name), text)


@lru_cache(maxsize=16)
def _parsed(name: str, text: str) -> Calibration:
    """Make a calibration of its text; kept, for every rating asks for one, most for the same."""
    try:
        values = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{name} is no calibration: it is no JSON") from error
    return Calibration.from_dict(values, source=name)


def calibration_for(setup: str, columns: Collection[str] | None = None) -> str:
    """Return the name of the shipped calibration for a set-up.

    Parameters
    ----------
    setup
        Its digest.
    columns
        The columns that the decisions bring: a calibration that needs others will not do.
        None = any that may be needed.

    Raises
    ------
    NoCalibrationError
        If there is none.
    InputError
        If it is not known which set-up it is.
    """
    if not setup:
        raise InputError(
            "these decisions do not say which engine set-up they come from: give the games and "
            "the store, or the digest of the set-up"
        )
    for name in shipped_calibrations():
        found = load_calibration(name)
        enough = columns is None or set(found.columns) <= set(columns)
        if found.transferable and found.setup == setup and enough:
            return name
    raise NoCalibrationError(
        f"no calibration comes with the package for the set-up {setup}: milepost.bridge carries "
        "one over to it, milepost.calibrate makes one of games of rated players; or name one for "
        "another set-up and force it"
    )
