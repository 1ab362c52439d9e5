"""How far a run of analyses is: what threads and clusters write down, and callers are told."""

from __future__ import annotations

from dataclasses import dataclass, field

from milepost.analysis.engine.setup import EngineSetup


@dataclass
class RunState:
    """How far a run is, and what it found."""

    total: int = 0
    """Different positions wanted."""
    hits: int = 0
    """Positions that the store held already."""
    done: int = 0
    """Positions analysed in this run."""
    failed: list[tuple[str, str | None, str]] = field(default_factory=list)
    """Position, played move and reason of those given up."""
    restarts: int = 0
    """Engines that had to be started anew."""
    engine_seconds: float = 0.0
    """Time that engines were busy, added up."""
    left_out: dict[str, int] = field(default_factory=dict)
    """Turns that were not wanted, by reason."""
    setup: EngineSetup | None = None
    """The set-up of the engine."""
    interrupted: bool = False
    """Whether the user stopped the run."""
