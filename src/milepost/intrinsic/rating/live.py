"""Live decisions: what is known of each chooser after each decision.

A decision comes as a record of plain values, as a line of NDJSON holds it: who chose, what the
options were worth, which one was chosen. After it the posterior of that chooser's apparent
competence c is known, in any field; and, for chess positions with values by depth and a
calibration, that of the Elo. So abilities can be followed in real time, as Di Fatta, Haworth and
Regan (2009) proposed. Each decision costs the same, however many came before.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from milepost import __version__
from milepost.choice.spreads import Spreads
from milepost.errors import InputError
from milepost.fit.methods.live import Known, LiveCompetence
from milepost.fit.methods.reference import ReferenceModel
from milepost.fit.result import check_level
from milepost.intrinsic.calibration.calibration import Calibration
from milepost.intrinsic.rating.posterior import LiveRating, Prior
from milepost.tables import CONTEXT, OPTION

CHOOSER = ("chooser", "player", "mover")
"""What a record may call whoever chose: the first of these that is there counts."""
GROUP = ("game_id", "game", "group")
"""What a record may call what the decision belongs to."""
BY_DEPTH = ("depth_values", "depths")
"""What a record may call the values by depth."""
ONE_SITTING = ""
"""Decisions without a group are all of one sitting, which tempers them most."""
_STATE = 1
"""Schema of a saved state."""


@dataclass(frozen=True)
class Decision:
    """One decision, as it comes in."""

    chooser: str
    """Who chose."""
    values: tuple[float, ...]
    """Worth of each option for the chooser, in any order."""
    chosen: int | None
    """Index of the chosen option, from 0; None = outside the options."""
    group: str = ONE_SITTING
    """What the decision belongs to: a game, a day."""
    id: Any = None
    """Whatever the record is known by; handed on."""
    weight: float = 1.0
    """How much it counts."""
    unlisted: int = 0
    """Options that exist without being listed."""
    depth_values: tuple[tuple[float, ...], ...] = ()
    """For each depth from 1 the worth of each option as seen then; NaN = not known."""
    columns: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """What else is known of the options, by name: one number an option."""
    context: Mapping[str, float] = field(default_factory=dict)
    """What else is known of the decision, by name."""

    @classmethod
    def from_record(cls, record: Any) -> Decision:
        """Read a record; keys that are not known are ignored, so rows of tables will do.

        Raises
        ------
        InputError
            Saying what is missing or wrong.
        """
        if not isinstance(record, Mapping):
            raise InputError(f"a decision is an object with names and values, got {_short(record)}")
        chooser, group = _first(record, CHOOSER), _first(record, GROUP)
        if chooser is None:
            raise InputError(f"nobody chose: one of {', '.join(CHOOSER)} is missing")
        values = _numbers(record.get("values"), "values")
        if not values or not all(math.isfinite(value) for value in values):
            raise InputError("values: at least one option is needed, and numbers for all")
        if "chosen" not in record:
            raise InputError("chosen is missing: the index of the chosen option, or null")
        chosen = record["chosen"]
        if chosen is not None:
            chosen = _whole(chosen, "chosen")
            if not 0 <= chosen < len(values):
                raise InputError(
                    f"chosen: {chosen} is none of {len(values)} options, counted from 0"
                )
        weight = record.get("weight")
        weight = 1.0 if weight is None else _numbers([weight], "weight")[0]
        if not 0 <= weight < math.inf:
            raise InputError(f"weight: a number from 0 is expected, got {weight}")
        unlisted = record.get("unlisted")
        return cls(
            chooser=str(chooser),
            values=values,
            chosen=chosen,
            group=ONE_SITTING if group is None else str(group),
            id=record.get("id"),
            weight=weight,
            unlisted=0 if unlisted is None else max(_whole(unlisted, "unlisted"), 0),
            depth_values=_by_depth(_first(record, BY_DEPTH), len(values)),
            columns=_columns(record, len(values)),
            context={
                key.removeprefix(CONTEXT): _numbers([value], key)[0]
                for key, value in record.items()
                if str(key).startswith(CONTEXT) and value is not None
            },
        )

    def spreads(self) -> Spreads:
        """Return it as spreads of one decision."""
        more: dict[str, Any] = {}
        if self.depth_values:
            more["depth_values"] = [list(zip(*self.depth_values, strict=True))]
        return Spreads.from_lists(
            [self.values],
            [self.chosen],
            weights=[self.weight],
            unlisted=[self.unlisted],
            columns=self.columns,
            context={name: [value] for name, value in self.context.items()},
            **more,
        )


@dataclass(frozen=True)
class Standing:
    """What is known of a chooser after a decision."""

    chooser: str
    """Who chose."""
    group: str
    """What the decision belonged to."""
    id: Any
    """What the decision was known by."""
    decisions: int
    """Decisions of this chooser seen so far."""
    outside: int
    """How many of them were chosen beyond the options that the agents of 2009 look at."""
    competence: Known
    """The apparent competence c of the agents of 2009."""
    rating: Known | None
    """The Elo of the play so far, where there is a calibration."""
    player: Known | None = None
    """The Elo of the player: it adds how players of equal Elo, events and games differ."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as one flat record: ``c``, ``c_sd`` …, ``elo`` …, ``player_elo`` …"""
        row: dict[str, Any] = {} if self.id is None else {"id": self.id}
        row["chooser"] = self.chooser
        if self.group != ONE_SITTING:
            row["group"] = self.group
        row |= {"decisions": self.decisions, "outside": self.outside}
        known_by_name = {"c": self.competence, "elo": self.rating, "player_elo": self.player}
        for name, known in known_by_name.items():
            if known is not None:
                row |= {
                    name: known.mean,
                    f"{name}_sd": known.sd,
                    f"{name}_low": known.low,
                    f"{name}_high": known.high,
                }
        return row

    def __str__(self) -> str:
        """Say it in a line."""
        known = self.competence
        line = f"{self.chooser}, {self.decisions:,} decisions: c {known.mean:.3f} ± {known.sd:.3f}"
        if self.rating is None:
            return line
        line += f", Elo {self.rating.mean:.0f} ± {self.rating.sd:.0f}"
        return line if self.player is None else f"{line} (the player ± {self.player.sd:.0f})"


class Follower:
    """Follows any number of choosers, decision by decision.

    Examples
    --------
    >>> follower = Follower()
    >>> for chosen in (0, 0, 1, 0):
    ...     standing = follower.add({"chooser": "Ada", "values": [3, 2.5, 1], "chosen": chosen})
    >>> standing.decisions, standing.competence.mean > 1
    (4, True)
    """

    def __init__(
        self,
        model: ReferenceModel | None = None,
        *,
        calibration: Calibration | None = None,
        prior: Prior | None = None,
        level: float = 0.95,
    ):
        """Begin without any decision.

        Parameters
        ----------
        model
            What the agents of 2009 look at, and what is known of c beforehand.
        calibration
            For the Elo; then every decision needs the values by depth that its agents look at.
        prior
            What is known of the Elo beforehand [default: even from 600 to 3400].
        level
            Probability of the intervals.
        """
        check_level(level)
        if prior is not None and calibration is None:
            raise InputError("a prior of the Elo goes with a calibration")
        self.model = model or ReferenceModel()
        self.calibration = calibration
        self.prior = prior
        self.level = level
        self._choosers: dict[str, tuple[LiveCompetence, LiveRating | None]] = {}

    def __len__(self) -> int:
        """Return the number of choosers."""
        return len(self._choosers)

    def __repr__(self) -> str:
        """Say how much has come in."""
        seen = sum(each.n + each.outside for each, _ in self._choosers.values())
        scale = "c" if self.calibration is None else f"c and Elo by {self.calibration.name}"
        return f"Follower({len(self):,} choosers, {seen:,} decisions; {scale})"

    def add(self, record: Mapping[str, Any] | Decision) -> Standing:
        """Take a decision into account; return what is known of its chooser now.

        Raises
        ------
        InputError
            If the record is none; nothing has changed then.
        """
        decision = record if isinstance(record, Decision) else Decision.from_record(record)
        spreads = decision.spreads()
        competence, rating = self._choosers.get(decision.chooser) or self._begin()
        if rating is not None:
            rating.add(decision.group, spreads)  # refuses what it cannot use before it changes
        competence.add(spreads)
        self._choosers[decision.chooser] = competence, rating
        return Standing(
            chooser=decision.chooser,
            group=decision.group,
            id=decision.id,
            decisions=competence.n + competence.outside,
            outside=competence.outside,
            competence=competence.known(self.level),
            rating=None if rating is None else Known(**rating.known(self.level)),
            player=None if rating is None else Known(**rating.known(self.level, player=True)),
        )

    def _begin(self) -> tuple[LiveCompetence, LiveRating | None]:
        if self.calibration is None:
            return LiveCompetence(self.model), None
        return LiveCompetence(self.model), LiveRating(self.calibration, self.prior)

    def to_dict(self) -> dict[str, Any]:
        """Return all that is needed to go on later, as plain values."""
        return {
            "schema": _STATE,
            "made_by": f"milepost {__version__}",
            "settings": self._settings(),
            "choosers": {
                name: {
                    "competence": competence.to_dict(),
                    "rating": None if rating is None else rating.to_dict(),
                }
                for name, (competence, rating) in self._choosers.items()
            },
        }

    def restore(self, state: Any) -> None:
        """Go on from what `to_dict` gave.

        Raises
        ------
        InputError
            If it is no such state, or one of other settings.
        """
        if not isinstance(state, Mapping) or state.get("schema") != _STATE:
            raise InputError("this is no state of followed choosers")
        kept, ours = state.get("settings"), self._settings()
        if kept != ours:
            raise InputError(f"the state was kept with other settings: {kept}; here are {ours}")
        try:
            choosers = {
                str(name): (
                    LiveCompetence.from_dict(each["competence"], self.model),
                    None
                    if self.calibration is None
                    else LiveRating.from_dict(each["rating"], self.calibration, self.prior),
                )
                for name, each in state["choosers"].items()
            }
        except (AttributeError, KeyError, TypeError) as error:
            raise InputError(f"the state of followed choosers is damaged: {error}") from error
        self._choosers = choosers

    def _settings(self) -> dict[str, Any]:
        model = asdict(self.model)
        model["prior_range"] = list(self.model.prior_range)
        model["prior"] = None if self.model.prior is None else list(self.model.prior)
        calibration = self.calibration
        return {
            "model": model,
            "calibration": None if calibration is None else [calibration.name, calibration.setup],
            "prior": None if self.prior is None else asdict(self.prior),
        }


def _first(record: Mapping[str, Any], names: Sequence[str]) -> Any:
    return next((record[name] for name in names if record.get(name) is not None), None)


def _numbers(given: Any, name: str) -> tuple[float, ...]:
    if not isinstance(given, Sequence) or isinstance(given, str | bytes):
        raise InputError(f"{name}: a list of numbers is expected, got {_short(given)}")
    wrong = next((each for each in given if not _is_number(each)), None)
    if wrong is not None or None in given:
        raise InputError(f"{name}: a number is expected, got {_short(wrong)}")
    return tuple(map(float, given))


def _whole(given: Any, name: str) -> int:
    if not _is_number(given) or not math.isfinite(given) or given != int(given):
        raise InputError(f"{name}: a whole number is expected, got {_short(given)}")
    return int(given)


def _by_depth(given: Any, options: int) -> tuple[tuple[float, ...], ...]:
    if given is None:
        return ()
    if not isinstance(given, Sequence) or isinstance(given, str | bytes):
        raise InputError("depth_values: one list a depth is expected, of one number an option")
    depths = []
    for depth in given:
        if not isinstance(depth, Sequence) or len(depth) != options:
            raise InputError(f"depth_values: each depth needs {options} values, one an option")
        known = [math.nan if value is None else value for value in depth]
        depths.append(_numbers(known, "depth_values"))
    if any(math.isinf(value) for depth in depths for value in depth):
        raise InputError("depth_values: a value is infinite")
    return tuple(depths)


def _columns(record: Mapping[str, Any], options: int) -> dict[str, tuple[float, ...]]:
    columns = {}
    for key, given in record.items():
        if str(key).startswith(OPTION) and given is not None:
            numbers = _numbers(given, key)
            if len(numbers) != options:
                raise InputError(f"{key}: {options} numbers are needed, one an option")
            columns[key.removeprefix(OPTION)] = numbers
    return columns


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
