"""The delta log: evaluations as the text log of the draft paper, to read and to compare by eye.

A turn is some lines, the last of which begins with ``Delta``; blank lines and lines that begin with
``#`` mean nothing::

    Position: r3k2r/pp1qbppp/2nppn2/8/3NP3/2N2P2/PPP3PP/R1BQ1RK1 w kq - 1 10
    Move played: c3e2
    Engine move: d4b3
    Eval: -0.16
    Depth: 10
    Moves = (d4b3, c3e2, d4c6, ---)
    Delta = (0.00, 0.05*, 0.10, ---)

- ``Eval`` is the worth of the engine's move in pawns for the mover, with a sign; ``#3`` is a mate
  in three, ``#-3`` to be mated in three.
- ``Delta`` tells how much less each move is worth, best first, in pawns; it begins with 0.00 and
  never falls. ``*`` stands behind the played move's. If that is not among those listed, ``*``
  stands behind the parenthesis, with its own delta if it is known: ``(0.00, 0.05) * 1.20``, or a
  bare ``*``. ``---`` fills the places up to the log's width where there are fewer moves.
- For deltas a mate in n counts 300 - 0.01 n pawns, so a move's worth, mates too, can be told from
  Eval and Delta without loss.
- ``Move played: ?`` if nobody played there; then there is no ``*``.
- ``Position``, ``Depth`` and ``Moves`` are ours: the draft's own turns have the other four lines,
  which are all that a reader needs who knows the games. ``Moves`` names those listed. Moves are
  written in UCI notation; SAN (``Nf3``) is read too.

Each move has one value in the log, that of its greatest depth, lowered as in the spreads where a
shallower one would stand above a deeper one; other depths are not in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, TextIO

from milepost.analysis.engine.search_output import LEAST_MATE_CP, MATE_CP, Value
from milepost.analysis.engine.setup import EngineSetup
from milepost.analysis.exchange.delta_turns import (
    UCI_MOVE,
    WIDTH,
    DeltaTurn,
    check_moves,
    delta_evaluations,
    delta_turns,
)
from milepost.analysis.exchange.rows import Imported, Refused, add_rows
from milepost.analysis.store.store import EvaluationStore
from milepost.errors import InputError

_LINE = re.compile(
    r"(?:(Position|Move played|Engine move|Eval|Depth): (.+)|(Moves|Delta) = \((.*)\)(.*))"
)
_SAN_MOVE = re.compile(
    r"(?:[KQRBN]?[a-h]?[1-8]?x?[a-h][1-8](?:=?[QRBN])?|[O0]-[O0](?:-[O0])?)[+#]?"
)
_EVAL = re.compile(r"([+-]?)(\d+)\.(\d\d)|#(-?\d{1,3})")
_DELTA = re.compile(r"(\d+)\.(\d\d)(\*?)")
_OUTSIDE = re.compile(r" \*(?: (\d+)\.(\d\d))?")
_NO_MOVE = "---"


def write_delta_log(
    evaluations: Any, handle: TextIO, *, width: int | None = WIDTH, turns: Any = None
) -> int:
    """Write evaluations as a delta log.

    Parameters
    ----------
    evaluations
        A table of evaluations, of one set-up; see `milepost.tables.EVALUATIONS`.
    handle
        An open text file.
    width
        How many moves are listed for each; `None` = all of them, without filling up.
    turns
        A turns table: write these turns, as far as they were analysed, with the moves played in
        them. Without it each evaluation is written, with the played move if it has one.

    Returns
    -------
    int
        How many turns were written.

    Raises
    ------
    InputError
        If the width is not at least 1.
    """
    entries = delta_turns(evaluations, width=width, turns=turns)
    for entry in entries:
        handle.write(format_delta_turn(entry, width) + "\n\n")
    return len(entries)


def format_delta_turn(entry: DeltaTurn, width: int | None = None) -> str:
    """Return a turn as the lines of a delta log, filled up to a width."""
    filling = [_NO_MOVE] * max(0, (width or 0) - len(entry.deltas_cp))
    deltas = [
        f"{_pawns(delta)}{'*' if place == entry.chosen else ''}"
        for place, delta in enumerate(entry.deltas_cp)
    ]
    behind = ""
    if entry.played is not None and entry.chosen is None:
        behind = " *" if entry.outside_cp is None else f" * {_pawns(entry.outside_cp)}"
    lines = [
        None if entry.position is None else f"Position: {entry.position}",
        f"Move played: {entry.played or '?'}",
        f"Engine move: {entry.engine_move}",
        f"Eval: {_eval_text(entry.value)}",
        None if entry.depth is None else f"Depth: {entry.depth}",
        f"Moves = ({', '.join([*entry.moves, *filling])})" if entry.moves else None,
        f"Delta = ({', '.join([*deltas, *filling])}){behind}",
    ]
    return "\n".join(line for line in lines if line is not None)


def read_delta_log(handle: Iterable[str], refused: list[Refused] | None = None) -> list[DeltaTurn]:
    """Read a delta log.

    Parameters
    ----------
    handle
        An open text file, or its lines.
    refused
        If given, turns that are not what they should be are added to it, and the rest is read.

    Raises
    ------
    InputError
        If a line is not what it should be, unless `refused` is given; the message begins with its
        number.
    """
    entries: list[DeltaTurn] = []
    fields: dict[str, str] = {}
    turns = number = 0
    wrong = False
    for number, line in enumerate(handle, start=1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        ends = text.startswith("Delta")
        try:
            if not wrong:  # else the rest of a turn that is refused already
                _take(fields, text)
                if ends:
                    entries.append(_parse_turn(fields, number, turns))
        except InputError as error:
            if refused is None:
                raise InputError(f"line {number}: {error}") from error
            refused.append(Refused(number, str(error)))
            wrong = True
        if ends:
            fields, wrong, turns = {}, False, turns + 1
    if fields and not wrong:
        reason = "the file ends before the turn's Delta line"
        if refused is None:
            raise InputError(f"line {number}: {reason}")
        refused.append(Refused(number, reason))
    return entries


def _take(fields: dict[str, str], text: str) -> None:
    """Add a line to the fields of a turn."""
    match = _LINE.fullmatch(text)
    if match is None:
        raise InputError(f"not a line of a delta log: {text[:60]!r}")
    name = match[1] or match[3]
    if name in fields:
        raise InputError(f"{name} stands twice in one turn")
    fields[name] = match[2] if match[1] else match[4]
    if name == "Delta":
        fields["behind"] = match[5]
    elif match[5]:
        raise InputError(f"nothing may follow the moves, got {match[5]!r}")


def _parse_turn(fields: dict[str, str], line: int, number: int) -> DeltaTurn:
    missing = [name for name in ("Move played", "Engine move", "Eval") if name not in fields]
    if missing:
        raise InputError(f"the turn has no line {missing[0]}")
    depth = fields.get("Depth")
    if depth is not None and not re.fullmatch(r"[1-9]\d{0,2}", depth):
        raise InputError(f"not a depth: {depth!r}")
    deltas, stars = _parse_deltas(fields["Delta"])
    behind = fields["behind"]
    outside_cp = _parse_outside(behind, deltas[-1])
    entry = DeltaTurn(
        engine_move=_move(fields["Engine move"]),
        value=_parse_eval(fields["Eval"]),
        deltas_cp=tuple(deltas),
        played=None if fields["Move played"] == "?" else _move(fields["Move played"]),
        chosen=stars[0] if stars else None,
        outside_cp=outside_cp,
        moves=tuple(_move(item) for item in _items(fields["Moves"])) if "Moves" in fields else (),
        position=fields.get("Position"),
        depth=None if depth is None else int(depth),
        line=line,
        number=number,
    )
    if len(stars) + bool(behind) != (entry.played is not None):
        raise InputError("the played move must have one *, or none if nobody played")
    if entry.value.cents - max(deltas[-1], outside_cp or 0) < -MATE_CP:
        raise InputError("a delta leads below the worst that there is, to be mated at once")
    names = (entry.engine_move, *entry.moves, *filter(None, [entry.played]))
    if all(UCI_MOVE.fullmatch(name) for name in names):  # else it takes a board to compare them
        check_moves(entry)
    return entry


def _parse_deltas(text: str) -> tuple[list[int], list[int]]:
    """Return the deltas, and the places of those with a star."""
    deltas: list[int] = []
    stars: list[int] = []
    for item in _items(text):
        match = _DELTA.fullmatch(item)
        if match is None:
            raise InputError(f"not a delta: {item!r}")
        if match[3]:
            stars.append(len(deltas))
        deltas.append(_cents(match[1], match[2]))
    if not deltas or deltas[0] != 0 or sorted(deltas) != deltas:
        raise InputError("the deltas must begin with 0.00 and never fall")
    return deltas, stars


def _parse_outside(text: str, last_cp: int) -> int | None:
    """Return the delta of a played move outside the list, if it is known."""
    if not text:
        return None
    match = _OUTSIDE.fullmatch(text)
    if match is None:
        raise InputError(f"nothing but * and a delta may follow the deltas, got {text!r}")
    if match[1] is None:
        return None
    delta = _cents(match[1], match[2])
    if delta < last_cp:
        raise InputError("a played move outside the list cannot be better than the last in it")
    return delta


def _items(text: str) -> list[str]:
    """The items of a list, without those that fill it up."""
    items = [item.strip() for item in text.split(",")]
    while items and items[-1] == _NO_MOVE:
        items.pop()
    return items


def _move(text: str) -> str:
    if not UCI_MOVE.fullmatch(text) and not _SAN_MOVE.fullmatch(text):
        raise InputError(f"not a move: {text!r}")
    return text


def _parse_eval(text: str) -> Value:
    match = _EVAL.fullmatch(text)
    if match is None:
        raise InputError(f"not a value in pawns, nor a mate such as #3: {text!r}")
    if match[4] is not None:
        return Value(None, int(match[4]))
    cents = _cents(match[2], match[3])
    if cents > LEAST_MATE_CP:
        raise InputError(f"more than {_pawns(LEAST_MATE_CP)} pawns: {text!r}; write mates as #3")
    return Value(-cents if match[1] == "-" else cents, None)


def _eval_text(value: Value) -> str:
    if value.mate is not None:
        return f"#{value.mate}"
    cents = value.cp or 0
    return f"{'-' if cents < 0 else '+' if cents else ''}{_pawns(abs(cents))}"


def _pawns(cents: int) -> str:
    return f"{cents // 100}.{cents % 100:02d}"


def _cents(whole: str, hundredths: str) -> int:
    return int(whole) * 100 + int(hundredths)


def import_delta_log(
    handle: TextIO,
    store: EvaluationStore,
    *,
    engine: str = "unknown engine",
    turns: Any = None,
) -> Imported:
    """Store the turns of a delta log; see `milepost.analysis.exchange.delta_text`.

    Parameters
    ----------
    handle
        An open text file.
    store
        Where they go.
    engine
        What is known about the engine: logs of different engines must not be mixed.
    turns
        The turns of the log in their order, for logs that do not name positions; see
        `milepost.analysis.exchange.delta_turns.delta_evaluations`.

    Returns
    -------
    Imported
        Turns with a line that is not what it should be, with an illegal move, or without a
        position are refused by the line on which they end.

    Raises
    ------
    InputError
        If `turns` are not as many as those of the log.
    """
    refused: list[Refused] = []
    entries = read_delta_log(handle, refused)
    setup = EngineSetup(engine, "", (), "delta log")
    read = len(entries) + len(refused)
    rows = delta_evaluations(entries, setup.digest, refused, turns=turns)
    refused.sort(key=lambda each: each.place)
    return add_rows(store, setup, rows, {"rows read": read}, refused)
