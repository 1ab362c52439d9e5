"""Who plays in a match: a bot of ours or a UCI engine, as the command line writes them."""

from __future__ import annotations

import math
import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from milepost.analysis.engine.setup import parse_engine_options
from milepost.errors import InputError
from milepost.games.book import OWN_BOOK
from milepost.intrinsic.choosing.personal import load_agent
from milepost.io.suggest import did_you_mean


@dataclass(frozen=True)
class Contender:
    """Who plays: a bot of ours, or a UCI engine."""

    elo: float | None = 1800.0
    """The bot's Elo; of a UCI engine what the PGN says, None = not known. An agent has its own."""
    plan: str | None = None
    """The bot's plan; None = the cheapest one that can play at its Elo."""
    engine: str | None = None
    """The bot's inner engine."""
    agent: str | None = None
    """One person's agent."""
    calibration: str | None = None
    """Another calibration than the shipped one."""
    book: str | None = OWN_BOOK
    """A Polyglot file; "own" or None."""
    choice: str = "sample"
    """sample or likeliest."""
    form: float = 0.0
    """Standard deviation of the Elo from game to game."""
    uci: str | None = None
    """The program of a UCI engine that plays in place of a bot."""
    options: tuple[tuple[str, str], ...] = ()
    """Its UCI options."""
    depth: int | None = None
    """How deep it searches."""
    nodes: int | None = None
    """How many nodes it searches."""
    seconds: float | None = None
    """How long it searches."""
    name: str | None = None
    """What the PGN calls it."""

    @property
    def title(self) -> str:
        """What it is called."""
        if self.name:
            return self.name
        if self.uci is not None:
            more = " ".join(f"{name}={value}" for name, value in self.options)
            return f"{Path(self.uci).name} {more}".strip()
        who = "person" if self.agent else f"{self.elo:.0f}"
        plan = "" if self.plan is None else f" {self.plan}"
        return f"Milepost {who}{plan}"


_FLAGS: dict[str, Any] = {
    "elo": float, "plan": str, "engine": str, "agent": str, "calibration": str, "book": str,
    "choice": str, "form": float, "uci": str, "depth": int, "nodes": int, "seconds": float,
    "name": str,
}  # fmt: skip
_LIMITS = {"depth", "nodes", "seconds"}
"""What a UCI engine stops its search by: a bot's plan has limits of its own."""
_OF_ANY = {"elo", "name"}


def parse_contender(text: str) -> Contender:
    """Read a contender as the command line has it, such as ``--elo 1600 --plan quick``.

    Raises
    ------
    InputError
        Saying which options there are, or what one of them does not take.
    """
    text = text.strip()
    if not text:
        raise InputError("a contender is empty: expected options with values, such as its elo")
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise InputError(f"a quotation mark of a contender is not closed: {text}") from error
    values: dict[str, Any] = {}
    options: list[str] = []
    while words:
        flag = words.pop(0)
        name = flag.removeprefix("--")
        _refuse_unknown(flag, text)
        if not words:
            raise InputError(f"a contender's option {flag} has no value: {text!r}")
        value = words.pop(0)
        if name == "uci-option":
            options.append(value)
            continue
        values[name] = _read(name, value)
    if values.get("book") == "none":
        values["book"] = None
    if "uci" in values:
        values.setdefault("elo", None)
        if not _LIMITS & set(values):
            raise InputError("a UCI engine needs a limit: depth, nodes or seconds")
        strange = [name for name in values if name not in {"uci", *_LIMITS, *_OF_ANY}]
    elif options:
        raise InputError("a uci-option is for a contender with uci")
    else:
        strange = [name for name in values if name in _LIMITS]
    if "agent" in values and "elo" in values:
        raise InputError(f"elo of a contender: an agent has an Elo of its own: {text}")
    if strange:
        other = "a bot" if "uci" in values else "a contender with uci"
        raise InputError(f"{', '.join(strange)} of a contender: only {other} takes that: {text}")
    return Contender(**values, options=tuple(parse_engine_options(options).items()))


def _refuse_unknown(flag: str, text: str) -> None:
    """Refuse a word that is no option of a contender."""
    known = [*_FLAGS, "uci-option"]
    name = flag.removeprefix("--")
    if not flag.startswith("--") or name not in known:
        raise InputError(
            f"a contender has no option {flag!r}{did_you_mean(name, known)} (there are "
            f"{', '.join(known)}): {text!r}"
        )


def read_contenders(contenders: Sequence[Contender | str]) -> list[Contender]:
    """Return who plays in a match, each with a title of its own; agents have their own Elo.

    Raises
    ------
    InputError
        If there are less than two, or one of them or its agent cannot be read.
    """
    if isinstance(contenders, str):
        raise InputError(
            f"contenders: expected a list of two or more, such as ['--elo 1600', '--elo 1800']; "
            f"got the text {contenders!r}"
        )
    known = [each if isinstance(each, Contender) else parse_contender(each) for each in contenders]
    if len(known) < 2:
        raise InputError("a match needs two contenders")
    known = [
        replace(each, elo=load_agent(each.agent).elo) if each.agent and not each.uci else each
        for each in known
    ]
    alike = Counter(each.title for each in known)
    seen: Counter[str] = Counter()
    titled = []
    for each in known:
        seen[each.title] += 1
        number = f"{each.title} ({seen[each.title]})" if alike[each.title] > 1 else each.name
        titled.append(replace(each, name=number))
    return titled


def _read(name: str, text: str) -> Any:
    try:
        value = _FLAGS[name](text)
    except ValueError:
        value = math.nan
    if not isinstance(value, str) and not math.isfinite(value):
        raise InputError(f"{name} of a contender: {text!r} is no number")
    # To many engines a limit of 0 means none at all: they would search for ever.
    if name in _LIMITS and value <= 0:
        raise InputError(f"{name} of a contender: expected more than 0, got {text}")
    return value
