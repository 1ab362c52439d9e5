"""Measuring how real players vary about the agents of their Elo.

With u the derivative of a decision's log-likelihood by the rating at the player's own Elo, and I
its expected information, an agent has E u = 0, Var u = I, and independent decisions. Real players
differ:

- single turns vary more or less than the agents' (*turn dispersion* Σu²/ΣI), and neighbouring turns
  go together, also those of opponents: a hard position is hard for both (*neighbour covariance*);
- so the summed score U of a player's game varies more than its information states: *game
  dispersion* φ, and beyond that, perhaps, with the player's *form*, `game_sd`;
- players of equal Elo differ in strength: `player_sd`; whole events do too, by deflation,
  preparation or a fault of the map: `event_sd`.

The last four come from a mixed model of player-games, U / I = offset + slope (Elo - mean) + event +
player + form + e with Var e = φ / I, by restricted maximum likelihood with profile intervals
(`milepost.fit.methods.mixed_model`). φ is not quite the same for short and long games, so the model
is not quite true: beside it stand a leave-out error over events and the older estimate by moments.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from milepost.choice.spreads import Floats, Ints, Spreads
from milepost.errors import InputError
from milepost.fit.methods.mixed_model import (
    DISPERSION,
    FIRST,
    SECOND,
    UNIT,
    Component,
    MixedFit,
    MixedModel,
    Units,
)
from milepost.intrinsic.calibration.player_variation import (
    AS_AGENTS,
    PUBLISHED_AD,
    PUBLISHED_MM,
    UNKNOWN,
    AtOwnElo,
    Design,
    PlayerVariation,
    add_up,
    deviations,
    z_values,
)

LEAST_TURNS = 60
"""Players with fewer turns do not count for the factors of z."""
LEAST_PLAYERS = 10
"""With fewer players the published factors are used."""
PLAYERS_TO_MEASURE = 30
"""With fewer players of two games or more a calibration borrows the components."""
LEAST_EVENTS = 4
"""With fewer events their variation is not measured."""
EVENT_GAMES, EVENT_PLAYERS = 10, 4
"""An event has at least so many player-games and players; what is smaller is put together."""
_LEAVE_OUT = 5
"""With fewer events than these, parts of the players are left out for standard errors."""
_PARTS = 20
_REACH = 1.959964
_NAMES = {DISPERSION: "game_dispersion", UNIT: "game_sd", FIRST: "player_sd", SECOND: "event_sd"}


@dataclass(frozen=True, eq=False)
class RatedTurns:
    """Decisions of players whose Elo is known, and what they belong to."""

    spreads: Spreads
    """The decisions, grouped by game, with the rating of every chooser."""
    players: Sequence[Any]
    """Who chose, for each decision."""
    events: Sequence[Any] | None = None
    """The event of each decision; None = all of one event."""
    plies: Sequence[int] | None = None
    """Its place in the game; None = not known."""

    def __len__(self) -> int:
        """Return the number of decisions."""
        return len(self.spreads)


@dataclass(frozen=True, eq=False)
class PlayerGames:
    """Summed scores of players' games at their own Elo."""

    score: Floats
    """U."""
    information: Floats
    """I."""
    elo: Floats
    """The player's Elo."""
    players: Ints
    """Code of the player."""
    games: Ints
    """Code of the game."""
    events: Ints
    """Code of the event."""
    turns: Ints
    """Decisions."""

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.score)

    def units(self, covariates: Floats | None = None) -> Units:
        """Return them for the mixed model: mean, slope on Elo where Elos differ, covariates."""
        columns = [np.ones(len(self))]
        centred = (self.elo - np.average(self.elo, weights=self.information)) / 100.0
        if centred.std() > 1e-6:
            columns.append(centred)
        if covariates is not None:
            columns += list(covariates.T)
        value = self.score / self.information
        return Units(value, self.information, self.players, self.events, np.column_stack(columns))


def gather_player_games(
    score: Floats, information: Floats, own: Floats, players: Ints, games: Ints, events: Ints
) -> PlayerGames:
    """Sum scores and information (both times the weights) by player and game.

    Events of fewer than ten player-games or four players are put together: they cannot be told from
    their players.
    """
    keys, at = np.unique(np.stack([players, games]), axis=1, return_inverse=True)
    at, count = at.ravel(), keys.shape[1]
    first = np.zeros(count, dtype=np.int64)
    first[at[::-1]] = np.arange(len(at))[::-1]
    _, event = np.unique(events[first], return_inverse=True)
    event = event.ravel() + 1
    pairs = np.unique(np.stack([event, keys[0]]), axis=1)[0]
    small = (np.bincount(event) < EVENT_GAMES) | (
        np.bincount(pairs, minlength=event.max() + 1) < EVENT_PLAYERS
    )
    event = np.where(small[event], 0, event)
    found = PlayerGames(
        score=add_up(at, score, count),
        information=add_up(at, information, count),
        elo=own[first],
        players=keys[0],
        games=keys[1],
        events=event,
        turns=np.bincount(at, minlength=count),
    )
    kept = found.information > 0
    return PlayerGames(**{each.name: getattr(found, each.name)[kept] for each in fields(found)})


def measure_variation(
    said: AtOwnElo,
    own: Floats,
    players: Ints,
    games: Ints,
    events: Ints | None = None,
    plies: Ints | None = None,
) -> PlayerVariation:
    """Measure how real players vary about the agents of their Elo.

    Parameters
    ----------
    said
        What the agents of each player's own Elo say of the decisions, with the information.
    own
        The player's Elo, for each decision.
    players, games
        Codes of the player and of the game, for each decision.
    events
        Codes of the event; None = all of one.
    plies
        Place in the game; None = not known, and neighbours are not compared.

    Raises
    ------
    InputError
        If no decision tells anything of a rating.
    """
    u, information = said.score * said.weights, said.information * said.weights
    where = np.zeros(len(u), dtype=np.int64) if events is None else events
    gathered = gather_player_games(u, information, own, players, games, where)
    if not len(gathered):
        raise InputError("no decision tells anything of a rating")
    variation = fit_components(gathered)
    _, game = np.unique(games, return_inverse=True)
    squares = [add_up(game.ravel(), values, 0) for values in (u**2, information)]
    same, opponents = _neighbours(u, information, players, games, plies)
    names, code = np.unique(players, return_inverse=True)
    code = code.ravel()
    mm, ad, measured = _z_factors(said, code, len(names))
    hits, errors = _game_dispersions(said, variation, players, games)
    return replace(
        variation,
        turn_dispersion=_with_error(*_ratio(squares[0], squares[1])),
        neighbour_covariance=same,
        opponent_covariance=opponents,
        game_covariance=_shared(gathered, variation),
        mm_dispersion=hits,
        ad_dispersion=errors,
        mm_factor=mm,
        ad_factor=ad,
        moments=_moments(u, information, players, games),
        design=replace(variation.design, turns=len(u), measured_players=measured),
    )


def fit_components(gathered: PlayerGames, covariates: Floats | None = None) -> PlayerVariation:
    """Fit the mixed model to player-games: φ, form, players, events, offset, slope on Elo.

    Parameters
    ----------
    gathered
        The player-games.
    covariates
        Further covariates, player-games × columns: they are allowed for, not returned; see
        `fit_offsets`.
    """
    units = gathered.units(covariates)
    many_events = len(np.unique(units.second)) >= LEAST_EVENTS
    repeated = int((np.bincount(np.unique(units.first, return_inverse=True)[1]) > 1).sum())
    fixed = {} if many_events else {SECOND: 0.0}
    if not repeated:
        fixed[FIRST] = 0.0
    model = MixedModel(units)
    fit = model.fit(fixed)
    form = model.profile(fit, UNIT, fixed)
    if form.low == 0:
        # φ and form are hard to tell apart: where φ will do alone it has all, and form its bound.
        form = replace(form, value=0.0, expected=0.0)
        fixed[UNIT] = 0.0
        fit = model.fit(fixed)
    errors = _leave_out(units, fit, fixed)
    components: dict[str, Any] = {}
    for name, called in _NAMES.items():
        if name == UNIT:
            known = form
        else:
            known = Component(0.0) if name in fixed else model.profile(fit, name, fixed)
        components[called] = replace(known, se=errors.get(name, float("nan")))
    slope = UNKNOWN
    if units.covariates.shape[1] > 1 + (0 if covariates is None else covariates.shape[1]):
        slope = _coefficient(fit, 1, 100.0)
    return PlayerVariation(
        turn_dispersion=UNKNOWN,
        neighbour_covariance=UNKNOWN,
        opponent_covariance=UNKNOWN,
        game_covariance=UNKNOWN,
        **components,
        offset=_coefficient(fit, 0),
        elo_slope=slope,
        design=Design(
            player_games=len(gathered),
            players=len(np.unique(units.first)),
            repeated_players=repeated,
            events=len(np.unique(units.second)),
        ),
    )


def _coefficient(fit: MixedFit, place: int, unit: float = 1.0) -> Component:
    return _with_error(
        float(fit.coefficients[place]) / unit, float(np.sqrt(fit.covariance[place, place])) / unit
    )


def _leave_out(units: Units, fit: MixedFit, fixed: dict[str, float]) -> dict[str, float]:
    """Standard errors by leaving out one event at a time, or a part of the players."""
    parts = units.second
    if len(np.unique(parts)) < _LEAVE_OUT:
        parts = np.unique(units.first, return_inverse=True)[1].ravel() % _PARTS
    names = np.unique(parts)
    if len(names) < 3:
        return {}
    free = [name for name in _NAMES if name not in fixed]
    rows = []
    for part in names:
        without = MixedModel(units.take(parts != part)).fit(fixed, starts=[fit.components])
        rows.append([without.components[name] for name in free])
    table = np.array(rows)
    rooted = np.array([name != DISPERSION for name in free])
    table = np.where(rooted, np.sqrt(table), table)
    count = len(names)
    squares = (count - 1) / count * ((table - table.mean(axis=0)) ** 2).sum(axis=0)
    return dict(zip(free, np.sqrt(squares).tolist(), strict=True))


def _shared(gathered: PlayerGames, variation: PlayerVariation) -> Component:
    """Covariance of the two players of a game, about the offset, less that of their event."""
    middle = np.average(gathered.elo, weights=gathered.information)
    mean = variation.offset.value + variation.elo_slope.value * (gathered.elo - middle)
    gap = gathered.score - gathered.information * mean
    _, game = np.unique(gathered.games, return_inverse=True)
    game = game.ravel()
    tops, bottoms = (_pairs(game, values) for values in (gap, gathered.information))
    value, error = _ratio(tops, bottoms)
    if not np.isfinite(value):
        return UNKNOWN
    return _with_error(value - variation.event_sd.value**2, error)


def _neighbours(
    u: Floats, information: Floats, players: Ints, games: Ints, plies: Ints | None
) -> tuple[Component, Component]:
    """Covariance of a player's scores two plies apart, and of opponents' one ply apart."""
    if plies is None:
        return UNKNOWN, UNKNOWN
    order = np.lexsort([plies, games])
    _, game = np.unique(games[order], return_inverse=True)
    game = game.ravel()
    u, information = u[order], information[order]
    players, plies = players[order], plies[order]
    sums: list[list[Floats]] = []
    for apart, same in ((2, True), (1, False)):
        tops, bottoms = np.zeros(game.max() + 1), np.zeros(game.max() + 1)
        for step in (1, 2):  # two plies apart may be next to each other in the table
            left, right = np.arange(len(u) - step), np.arange(step, len(u))
            fits = (game[left] == game[right]) & (plies[right] - plies[left] == apart)
            fits &= (players[left] == players[right]) == same
            left, right = left[fits], right[fits]
            tops += add_up(game[left], u[left] * u[right], len(tops))
            bottoms += add_up(game[left], information[left] * information[right], len(tops))
        sums.append([tops, bottoms])
    found = [_ratio(*each) for each in sums]
    first, second = (_with_error(*each) if np.isfinite(each[0]) else UNKNOWN for each in found)
    return first, second


def _moments(u: Floats, information: Floats, players: Ints, games: Ints) -> dict[str, float]:
    """The estimates by pairs: two decisions of a player's game have E u u' = I I' (ω_p² + ω_g²), of
    different games I I' ω_p²; and φ is what a player-game varies beyond its players."""
    _, at = np.unique(players, return_inverse=True)
    at = at.ravel()
    _, both = np.unique(np.stack([at, games]), axis=1, return_inverse=True)
    both = both.ravel()
    owner = np.zeros(both.max() + 1, dtype=np.int64)
    owner[both] = at
    count = int(at.max()) + 1
    within, within_se = _ratio(*(add_up(owner, _pairs(both, x), count) for x in (u, information)))
    over = [_pairs(at, x) - add_up(owner, _pairs(both, x), count) for x in (u, information)]
    between, between_se = _ratio(over[0], over[1])
    sums, weights = (np.bincount(both, weights=x) for x in (u, information))
    spare = max(between, 0.0) if np.isfinite(between) else 0.0
    answer = {
        "player_variance": between, "player_variance_se": between_se,
        "game_variance": within - between,
        "game_variance_se": float(np.hypot(within_se, between_se)),
        "game_dispersion": float((sums**2 - spare * weights**2).sum() / weights.sum()),
    }  # fmt: skip
    return {name: float(value) for name, value in answer.items() if np.isfinite(value)}


def _game_dispersions(
    said: AtOwnElo, variation: PlayerVariation, players: Ints, games: Ints
) -> tuple[Component, Component]:
    """φ for hits and for errors: what player-games vary beyond the offset, players and events."""
    keys, at = np.unique(np.stack([players, games]), axis=1, return_inverse=True)
    at, count = at.ravel(), keys.shape[1]
    _, owner = np.unique(keys[0], return_inverse=True)
    owner = owner.ravel()
    known = sum(
        each.value**2 for each in (variation.game_sd, variation.player_sd, variation.event_sd)
    )
    answer = []
    for gap, slope, variance in deviations(said):
        pull = add_up(at, said.weights * slope, count)
        sums = add_up(at, said.weights * gap, count) - variation.offset.value * pull
        total = add_up(at, said.weights**2 * variance, count)
        tops = add_up(owner, sums**2 - known * pull**2, int(owner.max()) + 1)
        value, error = _ratio(tops, add_up(owner, total, int(owner.max()) + 1))
        answer.append(_with_error(max(value, 0.0), error) if np.isfinite(value) else AS_AGENTS)
    return answer[0], answer[1]


def _with_error(value: float, error: float) -> Component:
    if not np.isfinite(error):
        return Component(value, -np.inf, np.inf)
    return Component(value, value - _REACH * error, value + _REACH * error, error)


def _z_factors(said: AtOwnElo, at: Ints, count: int) -> tuple[Component, Component, int]:
    mm, ad = z_values(said, at, count)
    enough = np.bincount(at, minlength=count) >= LEAST_TURNS
    if enough.sum() < LEAST_PLAYERS:
        return Component(PUBLISHED_MM), Component(PUBLISHED_AD), 0
    answer = []
    for z in (mm[enough], ad[enough]):
        square, square_se = _ratio(z**2, np.ones(len(z)))
        root = float(np.sqrt(square))
        answer.append(_with_error(root, float(square_se / (2 * root))))
    return answer[0], answer[1], int(enough.sum())


def _pairs(codes: Ints, values: Floats) -> Floats:
    """Σ over pairs of different decisions of one group of the products of their values."""
    size = int(codes.max()) + 1
    answer: Floats = (add_up(codes, values, size) ** 2 - add_up(codes, values**2, size)) / 2
    return answer


def _ratio(tops: Floats, bottoms: Floats) -> tuple[float, float]:
    """Σ tops / Σ bottoms, with its standard error by leaving out one at a time."""
    top, bottom = float(tops.sum()), float(bottoms.sum())
    if not bottom > 0:
        return float("nan"), float("nan")
    counts = bottoms > 0
    without = (top - tops[counts]) / np.maximum(bottom - bottoms[counts], 1e-300)
    n = int(counts.sum())
    if n < 2:
        return top / bottom, float("nan")
    square = (n - 1) / n * float(((without - without.mean()) ** 2).sum())
    return top / bottom, float(np.sqrt(square))
