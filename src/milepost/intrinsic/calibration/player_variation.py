"""How real players vary about the agents of their Elo: the components that intervals are made of.

An agent's choices are independent, and vary as its probabilities say. Real players differ: the
score of a player's game varies more than its information states (*game dispersion* φ) and, perhaps,
with *form*; players of equal Elo differ in strength; so do whole events.
`milepost.intrinsic.calibration.variance_components` measures all that; here is what was measured,
and what it makes of z.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

import numpy as np

from milepost.choice.evaluation.evaluate import Evaluated, Prepared, evaluate
from milepost.choice.spreads import Floats, Ints
from milepost.errors import InputError
from milepost.fit.methods.mixed_model import Component
from milepost.intrinsic.calibration.paths import AgentPath

PUBLISHED_MM, PUBLISHED_AD = 1.15, 1.4
"""How much more z varies than under agents, from `ipr_math`, section 6 (source: ACG13 and the
compendium)."""
_FEW_KEYS = 16
"""With no more combinations a decision than this all are counted, without sorting."""


@dataclass(frozen=True)
class Design:
    """What components rest on."""

    turns: int = 0
    """Decisions."""
    player_games: int = 0
    """Games of one player."""
    players: int = 0
    """Players."""
    repeated_players: int = 0
    """Players with two games or more: these tell players apart from games."""
    events: int = 0
    """Events of at least ten player-games; 1 = they are not told apart."""
    measured_players: int = 0
    """Players that the factors of z rest on."""

    def __str__(self) -> str:
        """Say it in a line."""
        return (
            f"{self.turns:,} turns, {self.player_games:,} player-games, {self.players:,} players, "
            f"{self.events:,} events"
        )


UNKNOWN = Component(0.0)
"""Not measured."""
AS_AGENTS = Component(1.0, 1.0, 1.0)
"""No more than agents vary."""
_MM, _AD = Component(PUBLISHED_MM), Component(PUBLISHED_AD)


@dataclass(frozen=True)
class PlayerVariation:
    """How real players vary about the agents of their Elo."""

    turn_dispersion: Component
    """Variance of single scores over their information. A diagnostic."""
    neighbour_covariance: Component
    """Of a player's scores two plies apart, over the product of their information, Elo². A
    diagnostic."""
    opponent_covariance: Component
    """The same of opponents' scores one ply apart: difficulty that the agents do not see."""
    game_covariance: Component
    """Of opponents' summed scores in one game, less that of events, Elo²: what both share there is
    no form. A diagnostic."""
    game_dispersion: Component
    """φ: variance of a player-game's score over its information."""
    game_sd: Component
    """Form beyond φ, in rating points."""
    player_sd: Component
    """Between players of equal Elo, in rating points."""
    event_sd: Component
    """Between events, in rating points."""
    offset: Component
    """How far these players read above their Elo in the mean. Reported, never applied."""
    elo_slope: Component
    """By how much that offset rises with each point of Elo."""
    mm_dispersion: Component = AS_AGENTS
    """Variance of a player-game's hits over what agents have, beyond players and events."""
    ad_dispersion: Component = AS_AGENTS
    """The same for the scaled error."""
    mm_factor: Component = _MM
    """By how much z of the match rate of players varies more than under agents."""
    ad_factor: Component = _AD
    """The same for z of the scaled error."""
    design: Design = field(default_factory=Design)
    """What it rests on."""
    moments: Mapping[str, float] = field(default_factory=dict)
    """The older estimates by moments of pairs, beside those of the model."""
    borrowed: str = ""
    """The calibration that the components are borrowed from; empty = measured."""
    note: str = ""
    """What must be known about them."""

    @property
    def precision(self) -> float:
        """Standard error of `player_sd` as a share of it; NaN = it is zero or not measured."""
        error = self.player_sd.se
        return error / self.player_sd.value if self.player_sd.value > 0 else float("nan")

    @classmethod
    def assumed(
        cls,
        *,
        game_dispersion: float = 1.0,
        game_sd: float = 0.0,
        player_sd: float = 0.0,
        event_sd: float = 0.0,
        mm_factor: float = PUBLISHED_MM,
        ad_factor: float = PUBLISHED_AD,
        note: str = "",
    ) -> PlayerVariation:
        """Make one of numbers that are given, not measured."""

        def given(value: float) -> Component:
            return Component(value, value, value)

        return cls(
            turn_dispersion=given(game_dispersion),
            neighbour_covariance=UNKNOWN,
            opponent_covariance=UNKNOWN,
            game_covariance=UNKNOWN,
            game_dispersion=given(game_dispersion),
            game_sd=given(game_sd),
            player_sd=given(player_sd),
            event_sd=given(event_sd),
            offset=UNKNOWN,
            elo_slope=UNKNOWN,
            mm_factor=given(mm_factor),
            ad_factor=given(ad_factor),
            note=note,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values; null = not known, or no bound."""
        values = asdict(self)
        for name in _COMPONENTS:
            values[name] = {
                key: value if np.isfinite(value) else None for key, value in values[name].items()
            }
        return {**values, "moments": dict(self.moments)}

    @classmethod
    def from_dict(cls, values: Any) -> PlayerVariation:
        """Make one of what `to_dict` gave.

        Raises
        ------
        InputError
            If a value is missing or no number.
        """
        try:
            parts: dict[str, Any] = {name: _component(values[name], name) for name in _COMPONENTS}
            return cls(
                **parts,
                design=Design(**{key: int(value) for key, value in values["design"].items()}),
                moments={str(key): float(value) for key, value in values["moments"].items()},
                borrowed=str(values["borrowed"]),
                note=str(values["note"]),
            )
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise InputError(f"this is no description of player variation: {error}") from error

    @classmethod
    def from_schema_1(cls, values: Any) -> PlayerVariation:
        """Make one of what the first schema called a spread: as well as it can be done.

        Its form was measured together with the dependence of neighbouring plies, and events were
        not told apart; so its player intervals stay about as wide as they were.

        Raises
        ------
        InputError
            If a value is missing or no number.
        """
        try:
            known = {
                name: float(values[name])
                for name in ("dispersion", "form_sd", "players_sd", "mm_factor", "ad_factor")
            }
            counts = {name: int(values[name]) for name in ("players", "player_games")}
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"this is no description of player variation: {error}") from error
        wrong = [name for name, value in known.items() if not 0 <= value < np.inf]
        if wrong:
            raise InputError(f"player variation: {wrong[0]} cannot be {values[wrong[0]]}")
        answer = cls.assumed(
            game_dispersion=known["dispersion"], game_sd=known["form_sd"],
            player_sd=known["players_sd"], mm_factor=known["mm_factor"],
            ad_factor=known["ad_factor"], note="converted from the first schema: form and "
            "the dependence of neighbouring plies are not told apart, events not measured",
        )  # fmt: skip
        design = Design(repeated_players=counts["players"], player_games=counts["player_games"])
        return replace(answer, design=design)


_COMPONENTS = tuple(each.name for each in fields(PlayerVariation) if each.type == "Component")
_SIGNED = {
    "neighbour_covariance", "opponent_covariance", "game_covariance", "offset", "elo_slope",
}  # fmt: skip


def _component(given: Any, name: str) -> Component:
    missing = {"low": -np.inf, "high": np.inf, "se": np.nan, "expected": np.nan}
    numbers = {
        key: missing[key] if given[key] is None and key in missing else float(given[key])
        for key in ("value", *missing)
    }
    value = numbers["value"]
    if not np.isfinite(value) or (value < 0 and name not in _SIGNED):
        raise ValueError(f"{name} cannot be {given['value']}")
    return Component(**numbers)


@dataclass(frozen=True, eq=False)
class AtOwnElo:
    """What the agents of the players' own Elo would do on some decisions, beside what was done."""

    first: Floats
    """Probability of the first option."""
    error: Floats
    """Expected scaled difference."""
    error_squared: Floats
    """Expected squared scaled difference."""
    first_slope: Floats
    """Derivative of `first` by the rating."""
    error_slope: Floats
    """Derivative of `error` by the rating."""
    hit: Floats
    """1 where the first option was chosen."""
    actual_error: Floats
    """Scaled difference of the choice."""
    weights: Floats
    """How much each decision counts."""
    score: Floats
    """u, the derivative of the log-likelihood of the choice by the rating."""
    information: Floats
    """I, the expected information about the rating; empty if not asked for."""

    @classmethod
    def joined(cls, parts: Sequence[AtOwnElo]) -> AtOwnElo:
        """Return the decisions of several, one after the other."""
        return cls(
            *(np.concatenate([getattr(part, each.name) for part in parts]) for each in fields(cls))
        )


@dataclass(frozen=True, eq=False)
class OwnAgents:
    """What the agents of the players' own Elo say of some decisions."""

    ratings: Floats
    """The different Elos."""
    which: Ints
    """Which of them is that of each decision."""
    said: Evaluated
    """What they say; derivatives are by the rating."""
    roots: Floats
    """What shortens the work for agents nearby; see `probabilities_nearby`."""
    nearby: Mapping[float, Floats] = field(default_factory=dict)
    """Probability of every option for agents so many points from them, where it was asked for."""


def own_agents(
    prepared: Prepared,
    path: AgentPath,
    own: Floats,
    *,
    information: bool = False,
    probabilities: bool = False,
) -> OwnAgents:
    """Evaluate the agents of the players' own Elo, once for all that is asked of them.

    Parameters
    ----------
    prepared
        The decisions, prepared for the path's model.
    path
        The agents.
    own
        The player's Elo, for each decision.
    information, probabilities
        As for `evaluate`.
    """
    # Many decisions, few players.
    ratings, which = np.unique(own, return_inverse=True)
    roots = np.full(len(own), np.nan)
    said = evaluate(
        path.model,
        prepared,
        path.theta(ratings)[which],
        information=information,
        probabilities=probabilities,
        along=path.slope(ratings)[which],
        roots=roots,
    )
    return OwnAgents(ratings, which, said, roots)


def at_own_elo(
    prepared: Prepared,
    path: AgentPath,
    own: Floats,
    *,
    information: bool = False,
    agents: OwnAgents | None = None,
) -> AtOwnElo:
    """Return what the agents of the players' own Elo would do, beside what was done.

    Parameters
    ----------
    prepared, path, own
        As for `own_agents`.
    information
        Whether to work out the expected information too.
    agents
        What `own_agents` said of just this, if it was asked.
    """
    spreads = prepared.spreads
    if agents is None:
        agents = own_agents(prepared, path, own, information=information)
    evaluated = agents.said
    expected = evaluated.information[:, 0, 0] if information else np.empty(0)
    return AtOwnElo(
        first=evaluated.first,
        error=evaluated.error,
        error_squared=evaluated.error_squared,
        first_slope=evaluated.d_first[:, 0],
        error_slope=evaluated.d_error[:, 0],
        hit=(spreads.chosen == 0).astype(np.float64),
        actual_error=prepared.delta[spreads.offsets[:-1] + spreads.chosen],
        weights=spreads.weights,
        score=evaluated.d_ln_chosen[:, 0],
        information=expected,
    )


def deviations(said: AtOwnElo) -> tuple[tuple[Floats, Floats, Floats], ...]:
    """For hits and for errors: actual less projected, derivative by the rating, variance."""
    spare = np.maximum(said.error_squared - said.error**2, 0.0)
    return (
        (said.hit - said.first, said.first_slope, said.first * (1 - said.first)),
        (said.actual_error - said.error, said.error_slope, spare),
    )


def z_values(said: AtOwnElo, codes: Ints, count: int) -> tuple[Floats, Floats]:
    """Return z of the match rate and of the scaled error of each group; both rise with skill."""
    weights = said.weights
    hits = add_up(codes, weights * (said.hit - said.first), count)
    errors = add_up(codes, weights * (said.error - said.actual_error), count)
    hit_variance = add_up(codes, weights**2 * said.first * (1 - said.first), count)
    spare = np.maximum(said.error_squared - said.error**2, 0.0)
    error_variance = add_up(codes, weights**2 * spare, count)
    with np.errstate(invalid="ignore", divide="ignore"):
        return hits / np.sqrt(hit_variance), errors / np.sqrt(error_variance)


def z_factors(
    said: AtOwnElo,
    variation: PlayerVariation,
    codes: Ints,
    count: int,
    *,
    players: Ints,
    games: Ints,
    events: Ints | None = None,
) -> tuple[Floats, Floats]:
    """Return by how much z of each group varies more than under agents, given the components.

    A player whose strength is off by x moves the expected hits of his turns by x Σ dp/dE; so the
    variance of a group's hits is φ Σ p (1 - p) + σ_player² Σ_players (Σ dp/dE)² and so on for his
    games and for events, with the φ of hits; likewise for the error.
    """
    factors = []
    where = np.zeros(len(codes), dtype=np.int64) if events is None else events
    parts = (
        (variation.player_sd, _members(codes, count, players)),
        # A player's game is one's own.
        (variation.game_sd, _members(codes, count, games, players)),
        (variation.event_sd, _members(codes, count, where)),
    )
    dispersions = (variation.mm_dispersion, variation.ad_dispersion)
    for (_, moves, variance), dispersion in zip(deviations(said), dispersions, strict=True):
        pull = said.weights * moves
        total = add_up(codes, said.weights**2 * variance, count)
        extra = np.zeros(count)
        for component, (members, groups) in parts:
            sums = add_up(members, pull, len(groups))
            extra += component.used**2 * add_up(groups, sums**2, count)
        with np.errstate(invalid="ignore", divide="ignore"):
            inflated = dispersion.value + extra / total
        factors.append(np.sqrt(np.where(total > 0, np.maximum(inflated, 1e-6), 1.0)))
    return factors[0], factors[1]


def _members(codes: Ints, count: int, *labels: Ints) -> tuple[Ints, Ints]:
    """What each decision belongs to within its group, as numbers; and the group of each of these.

    Labels are numbers from 0.
    """
    keys, each = codes, 1
    for label in labels:
        span = int(label.max(initial=0)) + 1
        keys, each = keys * span + label, each * span
    if count * each <= _FEW_KEYS * (len(codes) + 1):
        return keys, np.arange(count * each) // each  # some stay empty, which adds nothing
    unique, places = np.unique(keys, return_inverse=True)
    return places, unique // each


def add_up(codes: Ints, values: Floats, count: int) -> Floats:
    """Sum values by code."""
    return np.bincount(codes, weights=values, minlength=count).astype(np.float64)
