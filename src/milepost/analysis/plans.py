"""Search plans: which moves of a position are searched, and how deep.

=========== ===================================================================================
bullet      all moves to depth 6: most information about Elo for an engine's time
quick       all moves to depth 10
reference   all moves to depth 13, as the 2011 paper's fifty variations
standard    all moves to depth 8, then the promising ones and the played one to depth 13
multipv     the best W moves to depth D (2009 paper: ten moves, depth 10)
single      the best move, and the played one by the position behind it (the 2011 paper's mode for
            150,000 games)
apart       all moves, each by a search of its own of the position behind it, one ply less: for
            engines that give only bounds of several moves at once (Toga II)
=========== ===================================================================================

Every search begins from a clean state (one thread, ``ucinewgame``, no history), so that a value
depends on the position and the set-up only.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

import chess

from milepost.analysis.engine.search_output import SearchLog, Value, parse_search
from milepost.analysis.engine.uci import UciEngine
from milepost.errors import EngineAnswerError, InputError

ALL_MOVES = 256
"""More than any position has; the engine searches as many as there are."""
PLANS = ("bullet", "quick", "standard", "reference", "single", "multipv", "apart")
DEFAULT_DEPTHS = {
    "bullet": 6,
    "quick": 10,
    "standard": 13,
    "reference": 13,
    "single": 13,
    "multipv": 10,
    "apart": 10,
}
_WHOLE = ("bullet", "quick", "reference")
"""Plans of one search of all moves: the shallower is the beginning of the deeper."""
ALL_MOVES_PLANS = (*_WHOLE, "standard", "apart")
"""Plans that list every legal move."""

DEFAULT_TIMEOUT = 600.0
"""Seconds; a hundred times what a search of the deepest plan takes."""


@dataclass(frozen=True)
class Plan:
    """A search plan with its numbers."""

    name: str = "quick"
    """One of `PLANS`."""
    depth: int = 10
    """The greatest depth."""
    width: int = ALL_MOVES
    """How many moves are searched at once."""
    hash_mb: int = 16
    """The size of the hash table: it changes values."""
    first_depth: int = 8
    """standard: the depth to which all moves are searched."""
    margin_cp: int = 150
    """standard: moves so much worse than the best are not searched further."""
    at_least: int = 5
    """standard: so many of the best moves are searched further, however far behind they are.

    With the margin alone the top five values changed more than another hash size changes them."""
    timeout: float = DEFAULT_TIMEOUT
    """Seconds after which a search counts as hanging; no part of the set-up."""

    def __post_init__(self) -> None:
        if self.name not in PLANS:
            raise InputError(f"unknown plan {self.name!r}; known are {', '.join(PLANS)}")
        if self.depth < 1 or self.width < 1 or self.hash_mb < 1:
            raise InputError("a plan's depth, width and hash must be at least 1")
        if self.name == "apart" and self.depth < 2:
            raise InputError("the plan apart: the depth must be at least 2")
        if self.name == "standard" and self.first_depth >= self.depth:
            raise InputError(f"the plan standard: the depth must be more than {self.first_depth}")

    @property
    def text(self) -> str:
        """The plan as it stands in the set-up's digest."""
        if self.name == "standard":
            margin = f"margin {self.margin_cp} at least {self.at_least}"
            return f"standard {self.first_depth}+{self.depth} {margin}"
        return f"{self.name} depth {self.depth} width {self.width}"

    @property
    def options(self) -> dict[str, str]:
        """The UCI options that the plan sets."""
        return {"Threads": "1", "Hash": str(self.hash_mb), "MultiPV": str(self.width)}

    @property
    def needs_played(self) -> bool:
        """Whether the values depend on the move that was played."""
        return self.name in ("standard", "single")

    def holds(self, other: Plan) -> bool:
        """Return whether this plan's evaluations hold another's, as their first depths.

        One search of all moves, begun from a clean state, gives at depth d what it gives on its way
        to any greater depth.
        """
        alike = {self.name, other.name} <= set(_WHOLE)
        same = (self.width, self.hash_mb) == (other.width, other.hash_mb)
        return alike and same and self.depth >= other.depth


def make_plan(
    name: str,
    *,
    depth: int | None = None,
    width: int | None = None,
    timeout: float = DEFAULT_TIMEOUT,
) -> Plan:
    """Return a plan by its name, with another depth or width if given.

    Parameters
    ----------
    name
        One of `PLANS`.
    depth, width
        Others than the plan's own; only `multipv` takes a width.
    timeout
        Seconds after which a search counts as hanging.

    Raises
    ------
    InputError
        If the plan is not known or does not take the number.
    """
    if name not in PLANS:
        raise InputError(f"unknown plan {name!r}; known are {', '.join(PLANS)}")
    if width is not None and name != "multipv":
        raise InputError(f"a width is for the plan multipv; {name} has its own")
    widths = {"multipv": 10 if width is None else width, "single": 1, "apart": 1}
    chosen = DEFAULT_DEPTHS[name] if depth is None else depth
    return Plan(name, chosen, widths.get(name, ALL_MOVES), timeout=timeout)


_STANDARD_TEXT = re.compile(r"standard (\d+)\+(\d+) margin (\d+) at least (\d+)")
_PLAN_TEXT = re.compile(r"(\w+) depth (\d+) width (\d+)")


def parse_plan(text: str) -> Plan | None:
    """Return the plan whose `Plan.text` this is; `None` if it is none, as of imports and juries.

    >>> parse_plan(make_plan("multipv", width=5).text) == make_plan("multipv", width=5)
    True
    """
    if match := _STANDARD_TEXT.fullmatch(text):
        first, depth, margin, least = map(int, match.groups())
        plan = Plan("standard", depth, first_depth=first, margin_cp=margin, at_least=least)
    elif (match := _PLAN_TEXT.fullmatch(text)) and match[1] in PLANS:
        plan = Plan(match[1], int(match[2]), int(match[3]))
    else:
        return None
    return plan if plan.text == text else None


@dataclass(frozen=True)
class Evaluation:
    """The values of a position's moves, for the side to move."""

    moves: tuple[str, ...]
    """Best first; of equal ones in the engine's order; less deeply searched ones behind."""
    values: dict[tuple[int, str], Value]
    """By depth and move; a depth that a move was not searched to is missing."""
    deepest: dict[str, int]
    """The greatest depth of each move."""
    nodes: int
    """Nodes searched."""


def evaluate(engine: UciEngine, plan: Plan, fen: str, played: str | None = None) -> Evaluation:
    """Carry out a plan on one position.

    Parameters
    ----------
    engine
        Configured with `Plan.options`.
    plan
        What to search.
    fen
        The position.
    played
        The move that was played, for the plans that look at it.

    Raises
    ------
    EngineError
        If the engine fails; `EngineAnswerError` if moves are missing from its answer.
    """
    board = chess.Board(fen)
    legal = {move.uci() for move in board.legal_moves}
    if not legal:
        return Evaluation((), {}, {}, 0)

    def search(limit_depth: int, width: int, only: tuple[str, ...] = ()) -> SearchLog:
        if width != plan.width or plan.name == "standard":
            engine.configure({"MultiPV": str(min(width, engine.most_lines))})
        output = engine.search(fen, f"depth {limit_depth}", moves=only, timeout=plan.timeout)
        log = parse_search(output)
        if log.depth > limit_depth:  # an engine that prints more than it was asked for
            kept = {key: value for key, value in log.values.items() if key[0] <= limit_depth}
            log = replace(log, values=kept)
        asked = set(only) or legal
        seen = {move for _, move in log.values}
        missing = min(width, len(asked)) - len(log.moves_at(limit_depth))
        if only and seen - asked:
            raise EngineAnswerError(f"{engine.name} does not keep to searchmoves, in {fen}")
        if seen - legal or missing > 0:
            raise EngineAnswerError(
                f"{engine.name} gave {len(log.moves_at(limit_depth))} moves at depth "
                f"{limit_depth} in {fen}{_way_out(output)}"
            )
        return log

    if plan.name == "standard":
        return _evaluate_standard(search, plan, played if played in legal else None)
    if plan.name == "apart":
        return _evaluate_apart(engine, plan, board)
    log = search(plan.depth, plan.width)
    if plan.name != "single":
        return _whole(log)
    best = log.moves_at(plan.depth)[0]
    evaluation = _only(log, {best, played} if played in legal else {best})
    if played in legal and played != best:
        assert played is not None
        return _with_played(engine, plan, board, played, evaluation)
    return evaluation


def first_depths(log: SearchLog, depth: int) -> Evaluation:
    """Return what a search of all moves had found when it had come to a depth."""
    return _whole(replace(log, values={k: v for k, v in log.values.items() if k[0] <= depth}))


def evaluate_standard(search: Callable[..., SearchLog], plan: Plan) -> Evaluation:
    """Carry out the plan *standard* where nothing was played yet.

    Parameters
    ----------
    search
        Called with a depth, how many moves at once, and the moves to keep to (none = all).
    plan
        The plan.
    """
    return _evaluate_standard(search, plan, None)


def _whole(log: SearchLog) -> Evaluation:
    deepest: dict[str, int] = {}
    for depth, move in log.values:
        deepest[move] = max(depth, deepest.get(move, 0))
    final = log.moves_at(log.depth)
    # A move that fell out of the best few keeps its shallower value, behind the others.
    dropped = sorted(
        (move for move in deepest if deepest[move] < log.depth),
        key=lambda move: (-deepest[move], log.ranks[deepest[move], move]),
    )
    return Evaluation((*final, *dropped), log.values, deepest, log.nodes)


def _only(log: SearchLog, moves: set[str | None]) -> Evaluation:
    """What a search says of some moves: others that were best at a lower depth are no options."""
    return _whole(replace(log, values={k: v for k, v in log.values.items() if k[1] in moves}))


def _evaluate_standard(
    search: Callable[..., SearchLog], plan: Plan, played: str | None
) -> Evaluation:
    first = search(plan.first_depth, ALL_MOVES)
    order = first.moves_at(plan.first_depth)
    shallow = {move: first.values[plan.first_depth, move] for move in order}
    best = shallow[order[0]]
    wanted = [
        move
        for place, move in enumerate(order)
        if place < plan.at_least or _within(shallow[move], best, plan.margin_cp)
    ]
    if played is not None and played not in wanted:
        wanted.append(played)
    values = dict(first.values)
    deep: dict[str, tuple[Value, int]] = {}
    nodes = first.nodes
    while wanted:
        log = search(plan.depth, len(wanted), tuple(wanted))
        nodes += log.nodes
        values.update(
            {key: value for key, value in log.values.items() if key[0] > plan.first_depth}
        )
        behind = len(deep)
        for move in wanted:
            rank = behind + log.ranks[plan.depth, move]
            deep[move] = (log.values[plan.depth, move], rank)
        top = max(value.order for value, _ in deep.values())
        # What seemed worse may now stand above the best of those that were searched further.
        wanted = [m for m in order if m not in deep and shallow[m].order > top]
    ranked = sorted(deep, key=lambda move: (_descending(deep[move][0]), deep[move][1]))
    rest = [move for move in order if move not in deep]
    deepest = {move: plan.depth if move in deep else plan.first_depth for move in order}
    return Evaluation((*ranked, *rest), values, deepest, nodes)


def _way_out(output: bytes) -> str:
    """What to do about an engine that gives bounds where values were asked for."""
    return "; it gives bounds, not values: try --plan apart" if b" upperbound " in output else ""


def _evaluate_apart(engine: UciEngine, plan: Plan, board: chess.Board) -> Evaluation:
    """Value each move by a search of the position behind it, one ply less deep."""
    values: dict[tuple[int, str], Value] = {}
    nodes = 0
    listed = [move.uci() for move in board.legal_moves]
    for move in listed:
        board.push_uci(move)
        replies = board.legal_moves.count()
        if replies:
            output = engine.search(board.fen(), f"depth {plan.depth - 1}", timeout=plan.timeout)
            log = parse_search(output)
            nodes += log.nodes
            for depth in range(1, plan.depth):
                for reply in log.moves_at(depth)[:1]:
                    values[depth + 1, move] = _for_the_other_side(log.values[depth, reply])
                # Some engines do not look further behind a mate, or where there is one reply.
                before = values.get((depth, move))
                if before is not None and (replies == 1 or before.mate is not None):
                    values.setdefault((depth + 1, move), before)
            if (plan.depth, move) not in values:
                raise EngineAnswerError(f"{engine.name} gave no value behind {move}")
        else:
            worth = Value(None, 1) if board.is_checkmate() else Value(0, None)
            values |= {(depth, move): worth for depth in range(2, plan.depth + 1)}
        board.pop()
    order = sorted(listed, key=lambda move: _descending(values[plan.depth, move]))
    return Evaluation(tuple(order), values, dict.fromkeys(order, plan.depth), nodes)


def _with_played(
    engine: UciEngine, plan: Plan, board: chess.Board, played: str, evaluation: Evaluation
) -> Evaluation:
    """Add the played move, worth what the position behind it is worth to the opponent, negated.

    At depths where the search of the position itself has valued it, that value stays.
    """
    board.push_uci(played)
    values = dict(evaluation.values)
    nodes = evaluation.nodes
    if board.is_checkmate():
        values[plan.depth, played] = Value(None, 1)
    elif not any(board.legal_moves):
        values[plan.depth, played] = Value(0, None)
    else:
        output = engine.search(board.fen(), f"depth {plan.depth}", timeout=plan.timeout)
        log = parse_search(output)
        nodes += log.nodes
        for depth in range(1, plan.depth + 1):
            for reply in log.moves_at(depth)[:1]:
                values.setdefault((depth, played), _for_the_other_side(log.values[depth, reply]))
        if (plan.depth, played) not in values:
            raise EngineAnswerError(f"{engine.name} gave no value behind {played}")
    deepest = {**evaluation.deepest, played: plan.depth}
    moves = sorted(
        deepest,
        key=lambda move: (-deepest[move], _descending(values[deepest[move], move]), move == played),
    )
    return Evaluation(tuple(moves), values, deepest, nodes)


def _for_the_other_side(value: Value) -> Value:
    if value.mate is None:
        assert value.cp is not None
        return Value(-value.cp, None)
    # To be mated in n moves there is to mate in n + 1 here: the move itself counts.
    return Value(None, 1 - value.mate if value.mate <= 0 else -value.mate)


def _within(value: Value, best: Value, margin_cp: int) -> bool:
    if value.mate is None and best.mate is None:
        assert value.cp is not None
        assert best.cp is not None
        return best.cp - value.cp <= margin_cp
    return (value.mate is not None) == (best.mate is not None) and value.order[0] == best.order[0]


def _descending(value: Value) -> tuple[int, int]:
    kind, worth = value.order
    return -kind, -worth
