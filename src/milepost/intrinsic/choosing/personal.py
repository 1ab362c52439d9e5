"""One person's agent: what they add to the agent of their Elo; as a file without a name.

The working parameters of somebody's play are those of the path at their Elo plus a shift. The shift
is fitted to their turns and shrunk towards none: see `milepost.intrinsic.choosing.personify`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from milepost.choice.spreads import Floats
from milepost.errors import InputError
from milepost.io.files import write_text

SCHEMA = 1


@dataclass(frozen=True, eq=False)
class PersonalAgent:
    """One person's agent, for one set-up of an engine."""

    elo: float
    """The Elo that their moves show."""
    setup: str
    """Digest of the engine set-up."""
    setup_text: str
    """What that is, in words."""
    calibration: str
    """The name of the calibration it adds to."""
    shift: Floats
    """What is added to the working parameters of the path at that Elo."""
    parameters: tuple[str, ...]
    """Their names."""
    gain: Mapping[str, float] = field(default_factory=dict)
    """What the shift gains on held-out games, in nats a turn: mean, low, high."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """Turns and games it rests on."""
    elo_interval: tuple[float, float] = (-math.inf, math.inf)
    """95 % interval of the Elo; infinite = no bound, or not known in older files."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values; nothing in it says who it is."""
        return {
            "schema": SCHEMA,
            "kind": "milepost agent",
            "elo": self.elo,
            # JSON knows no infinity.
            "elo_interval": [end if math.isfinite(end) else None for end in self.elo_interval],
            "setup": self.setup,
            "setup_text": self.setup_text,
            "calibration": self.calibration,
            "parameters": list(self.parameters),
            "shift": [float(each) for each in self.shift],
            "gain": dict(self.gain),
            "counts": dict(self.counts),
        }

    @classmethod
    def from_dict(cls, values: Any, *, source: str = "this") -> PersonalAgent:
        """Make one of what `to_dict` gave.

        Raises
        ------
        InputError
            If it is none.
        """
        kind = values.get("kind") if isinstance(values, Mapping) else None
        if kind != "milepost agent" or values.get("schema") != SCHEMA:
            raise InputError(f"{source} is no agent of a person")
        try:
            shift = np.array(values["shift"], dtype=np.float64)
            names = tuple(str(name) for name in values["parameters"])
            if shift.shape != (len(names),) or not np.isfinite(shift).all():
                raise ValueError("the shift does not fit its parameters")
            return cls(
                elo=float(values["elo"]),
                setup=str(values["setup"]),
                setup_text=str(values["setup_text"]),
                calibration=str(values["calibration"]),
                shift=shift,
                parameters=names,
                gain={str(name): float(value) for name, value in values["gain"].items()},
                counts={str(name): int(value) for name, value in values["counts"].items()},
                elo_interval=_interval(values.get("elo_interval", (None, None))),
            )
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise InputError(f"{source} is a damaged agent: {error}") from error

    def save(self, path: str | Path) -> None:
        """Write it to a file, atomically."""
        write_text(Path(path), json.dumps(self.to_dict(), indent=1) + "\n")


def _interval(ends: Any) -> tuple[float, float]:
    low, high = ends
    return -math.inf if low is None else float(low), math.inf if high is None else float(high)


def load_agent(path: str | Path) -> PersonalAgent:
    """Read the agent of a person.

    Raises
    ------
    InputError
        If the file cannot be read, or is none.
    """
    try:
        values = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"the agent {path} cannot be read: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is no agent of a person: it is no JSON") from error
    return PersonalAgent.from_dict(values, source=str(path))
