"""Performances: the turns of one player in one event, with all that the tests ask of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl

from milepost.choice.evaluation.evaluate import Prepared, ln_probabilities, prepare
from milepost.choice.spreads import Floats, Ints, Spreads
from milepost.errors import InputError
from milepost.fairplay.evidence import menu
from milepost.fairplay.evidence.assistants import helped_probabilities
from milepost.fairplay.evidence.counts import FirstMoves
from milepost.fairplay.evidence.ratio import (
    NODES,
    Chosen,
    Evidence,
    Turns,
    after_each_game,
    game_mixing,
    gather,
    strength_prior,
)
from milepost.fairplay.evidence.standard_scores import (
    Scored,
    TurnScores,
    score,
    towards_help,
    turn_scores,
)
from milepost.fairplay.reference.honest import HonestPlayers
from milepost.fairplay.results.player_games import WHITE_ADVANTAGE, PlayerGames, gather_games
from milepost.intrinsic.calibration.calibration import Calibration
from milepost.intrinsic.calibration.player_variation import OwnAgents
from milepost.intrinsic.rating.likelihood_grid import RUNGS, Ladder, climb
from milepost.intrinsic.rating.splines import value_shares, values_of_rows

Bools = npt.NDArray[np.bool_]
_EVERY = 4
_FIRST_RUNGS = RUNGS[::_EVERY]
"""Where first moves are evaluated: their log odds bend less than single moves' logarithms."""
_LEAST_CHANCE = 1e-9


@dataclass(frozen=True, eq=False)
class Board:
    """Decisions of an event, worked out once for all players and tests."""

    table: pl.DataFrame
    """The decisions of players with a rating; see `milepost.tables.DECISIONS`."""
    calibration: Calibration
    """The agents."""
    honest: HonestPlayers
    """The people."""
    prepared: Prepared
    """The decisions, ready for the agents."""
    ladder: Ladder
    """What agents of all ratings say of the choices."""
    scores: TurnScores
    """The figures beside those of agents of the players' own ratings."""
    helped: Floats
    """Probability of every option for every assistant, assistants × options."""
    assistants: tuple[str, ...]
    """Their names."""

    @property
    def spreads(self) -> Spreads:
        """The decisions."""
        return self.prepared.spreads

    @cached_property
    def direction(self) -> Floats:
        """Where help moves the figures of each turn: the mean over the menu's assistants."""
        who = menu.weights(len(self.assistants) - len(menu.HELPERS)).sum(axis=(0, 2))
        return towards_help(self.scores, who @ self.helped)

    @cached_property
    def helped_chosen(self) -> Floats:
        """Probability of each choice for every assistant, assistants × turns."""
        at = self.spreads.offsets[:-1] + self.spreads.chosen
        answer: Floats = self.helped[:, at]
        return answer

    @cached_property
    def first_log_odds(self) -> Floats:
        """Log odds of the judge's first move for agents of some ratings, turns × ratings."""
        ladder = self.ladder
        if ladder.ln_first is None:
            ladder = climb(self.prepared, self.calibration.map.path, first=True)
        assert ladder.ln_first is not None
        p = np.clip(np.exp(ladder.ln_first[:, ::_EVERY]), _LEAST_CHANCE, 1 - _LEAST_CHANCE)
        answer: Floats = np.log(p) - np.log1p(-p)
        return answer

    @cached_property
    def players(self) -> list[str]:
        """The keys of the players, in their order in the table."""
        return list(self._rows_of)

    @cached_property
    def _rows_of(self) -> dict[str, Ints]:
        """The turns of each player."""
        names, codes = _numbered(self.table["mover"])
        order = np.argsort(codes, kind="stable")
        ends = np.cumsum(np.bincount(codes, minlength=len(names)))[:-1]
        return dict(zip(names, np.split(order, ends), strict=True))

    def rows_of(self, player: str) -> Ints:
        """Return the turns of a player, as they stand in the table."""
        return self._rows_of.get(player, np.empty(0, dtype=np.int64))

    @cached_property
    def game_names(self) -> list[str]:
        """The games, in their order in the table."""
        return self._game_numbers[0]

    @property
    def game_of(self) -> Ints:
        """The number of each turn's game."""
        return self._game_numbers[1]

    @cached_property
    def _game_numbers(self) -> tuple[list[str], Ints]:
        return _numbered(self.table["game_id"])

    @cached_property
    def rounds(self) -> Floats:
        """The round of each turn; infinite = not known."""
        if "round_number" not in self.table.columns:
            return np.full(len(self.table), np.inf)
        return self.table["round_number"].cast(pl.Float64).fill_null(np.inf).to_numpy()

    @cached_property
    def plies(self) -> Ints:
        """The ply of each turn."""
        return self.table["ply"].cast(pl.Int64).to_numpy()

    @cached_property
    def ratings(self) -> Floats:
        """The rating of each turn's player."""
        return self.table["mover_elo"].cast(pl.Float64).to_numpy()

    @cached_property
    def best(self) -> Floats:
        """The worth of the best option of each turn."""
        answer: Floats = self.spreads.values[self.spreads.offsets[:-1]]
        return answer

    @cached_property
    def games(self) -> PlayerGames:
        """The turns by player and game, for what is asked of the results."""
        return gather_games(self.table, self.ladder, WHITE_ADVANTAGE)

    def map_error(self, rating: float) -> float:
        """Return the standard error of the calibration at a rating."""
        return float(np.interp(rating, *self.calibration.map_error))


def _numbered(names: pl.Series) -> tuple[list[str], Ints]:
    """Different names in their order, and which of them each is."""
    each = names.to_list()
    different = list(dict.fromkeys(each))
    number_of = {name: number for number, name in enumerate(different)}
    return different, np.fromiter(map(number_of.__getitem__, each), np.int64, len(each))


def make_board(
    table: pl.DataFrame,
    calibration: Calibration,
    honest: HonestPlayers,
    *,
    juries: Sequence[tuple[str, Floats]] = (),
    ladder: Ladder | None = None,
    prepared: Prepared | None = None,
    agents: OwnAgents | None = None,
) -> Board:
    """Work out what all tests need.

    Parameters
    ----------
    table
        Decisions; those of players without a rating are left out.
    calibration, honest
        The agents and the people.
    juries
        Further assistants: a name, and the probability of every option of the rated decisions.
    ladder
        That of all decisions in the table, if it is there already.
    prepared
        All decisions in the table, prepared for the calibration's agents, if they are.
    agents
        With both: what agents of the players' own Elo say of them, probabilities included.

    Raises
    ------
    InputError
        If no decision is of a player with a rating, or the calibration reads no likelihood.
    """
    if calibration.map.reading != "likelihood":
        raise InputError(
            f"the map of {calibration.name} gives no likelihood of moves: take another"
        )
    has_rating = table.select(
        pl.col("mover_elo").is_not_null() & pl.col("mover").is_not_null()
    ).to_series()
    rated = table if has_rating.all() else table.filter(has_rating)
    if not len(rated):
        raise InputError("no turn is of a player with a rating: give ratings from before the event")
    path = calibration.map.path
    if prepared is None or len(rated) < len(table):
        prepared, agents = prepare(Spreads.from_table(rated), path.model), None
    spreads = prepared.spreads
    own = rated["mover_elo"].cast(pl.Float64).to_numpy()
    helped = helped_probabilities(spreads)
    if juries:
        helped = np.concatenate([helped, *(each[None] for _, each in juries)])
    return Board(
        table=rated,
        calibration=calibration,
        honest=honest,
        prepared=prepared,
        ladder=climb(prepared, path, first=True)
        if ladder is None
        else ladder
        if len(rated) == len(table)
        else ladder.take(np.flatnonzero(has_rating.to_numpy())),
        scores=turn_scores(prepared, path, own, agents),
        helped=helped,
        assistants=(*menu.HELPERS, *(name for name, _ in juries)),
    )


@dataclass(frozen=True, eq=False)
class Performance:
    """One player's turns in one event."""

    board: Board
    """Where they come from."""
    player: str
    """The player's key."""
    rating: float
    """The rating from before the event."""
    rating_sd: float
    """What is known of its own uncertainty."""
    rows: Ints
    """Its turns on the board, game after game."""
    game_ids: tuple[str, ...]
    """The games, in the order in which they were played as far as that is known."""
    turns: Turns
    """What does not depend on the choices."""

    def __len__(self) -> int:
        """Return the number of turns."""
        return len(self.rows)

    @property
    def games(self) -> int:
        """How many games there are."""
        return self.turns.games

    @cached_property
    def nodes(self) -> Floats:
        """The ratings of the nodes of strength."""
        middle = self.board.honest.middle(self.rating)
        rungs = self.board.ladder.rungs
        answer: Floats = np.clip(middle + NODES, rungs[0], rungs[-1])
        return answer

    @cached_property
    def chosen(self) -> Chosen:
        """What was chosen."""
        ladder = self.board.ladder
        return Chosen(
            values_of_rows(ladder.ln_chosen, self.rows, value_shares(ladder.rungs, self.nodes)),
            self.board.helped_chosen[:, self.rows],
            hit=(self.board.spreads.chosen[self.rows] == 0) * 1.0,
            first=self.first,
        )

    @cached_property
    def first(self) -> FirstMoves:
        """How likely the judge's first move is at the nodes."""
        shares = value_shares(_FIRST_RUNGS, self.nodes)
        log_odds = values_of_rows(self.board.first_log_odds, self.rows, shares)
        return FirstMoves(1 / (1 + np.exp(-log_odds)), self.turns.starts)

    @cached_property
    def evidence(self) -> Evidence:
        """The evidence ratio of all games."""
        return gather(self.turns, self.chosen)

    def follow(self) -> list[Evidence]:
        """Return the evidence after each game, carried forward."""
        return after_each_game(self.turns, self.chosen)

    @cached_property
    def scored(self) -> Scored:
        """The standard scores."""
        board = self.board
        honest = board.honest.variation(self.rating, board.map_error(self.rating), self.rating_sd)
        return score(board.scores, board.direction, honest, self.rows)

    @cached_property
    def option_probabilities(self) -> Floats:
        """The logarithms of all options' probabilities at the nodes, options × nodes."""
        board, path = self.board, self.board.calibration.map.path
        part = prepare(board.spreads.take(self.rows), path.model)
        columns = [ln_probabilities(path.model, part, path.theta(node)) for node in self.nodes]
        return np.stack(columns, axis=1)


def performance(
    board: Board, player: str, *, rating_sd: float = 0.0, keep: Bools | None = None
) -> Performance:
    """Return the performance of a player.

    Parameters
    ----------
    board
        The event.
    player
        The player's key.
    rating_sd
        What is known of the rating's own uncertainty.
    keep
        Which turns of the board count [default: all].

    Raises
    ------
    InputError
        If there are none.
    """
    here = board.rows_of(player)
    if keep is not None:
        here = here[keep[here]]
    if not len(here):
        raise InputError(f"no turn of {player} is there")
    # Games by round where it is known, else as they stand; turns by ply.
    games, first, of_turn = np.unique(board.game_of[here], return_index=True, return_inverse=True)
    in_order = np.lexsort((first, board.rounds[here[first]]))
    place = np.empty(len(games), dtype=np.int64)
    place[in_order] = np.arange(len(games))
    order = np.lexsort((board.plies[here], place[of_turn]))
    rows, game = here[order], place[of_turn][order]
    starts = np.concatenate([[0], np.flatnonzero(np.diff(game)) + 1, [len(game)]]).astype(np.int64)
    rating = float(board.ratings[here[0]])
    honest, ladder = board.honest, board.ladder
    middle = honest.middle(rating)
    information = np.add.reduceat(ladder.information_at(middle, rows), starts[:-1])
    best = board.best[rows]
    sd = honest.strength_sd(rating, board.map_error(rating), rating_sd)
    turns = Turns(
        starts=starts,
        chances=menu.chances(board.scores.error[rows], best),
        prior=strength_prior(sd),
        mixing=game_mixing(information, honest.game_dispersion, honest.game_sd),
    )
    names = tuple(board.game_names[number] for number in games[in_order])
    return Performance(board, player, rating, rating_sd, rows, names, turns)


def performances(board: Board, *, rating_sd: dict[str, float] | None = None) -> list[Performance]:
    """Return the performances of all players on a board."""
    known = rating_sd or {}
    return [performance(board, key, rating_sd=known.get(key, 0.0)) for key in board.players]
