"""The delta log, written, read back, and refused where it is wrong."""

from __future__ import annotations

import io
import re
from dataclasses import replace

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from milepost.analysis.engine.search_output import Value
from milepost.analysis.exchange.delta_text import format_delta_turn, read_delta_log, write_delta_log
from milepost.analysis.exchange.delta_turns import DeltaTurn, delta_evaluations, delta_turns
from milepost.analysis.exchange.rows import Refused
from milepost.analysis.store.positions import stored_position
from milepost.errors import InputError
from milepost.games.turns.replay import turns_of_games
from milepost.tables import EVALUATIONS

FEN = "r3k2r/pp1qbppp/2nppn2/8/3NP3/2N2P2/PPP3PP/R1BQ1RK1 w kq - 1 10"
KEY = FEN.rsplit(" ", 1)[0] + " 1"
TURN = f"""\
Position: {FEN}
Move played: c3e2
Engine move: d4b3
Eval: -0.16
Depth: 2
Moves = (d4b3, c3e2, d4c6, ---)
Delta = (0.00, 0.05*, 0.10, ---)
"""
DRAFT = """\
Move played: c3e2
Engine move: d4b3
Eval: -0.16
Delta = (0.00, 0.05*, 0.10, ---)
"""
NAMES = ("a2a3", "a2a4", "b2b3", "b2b4", "c2c3", "e7e8q")


def evaluation(
    moves: list[str],
    cp: list[int | None],
    mate: list[int | None],
    first_cp: list[int | None] | None = None,
) -> pl.DataFrame:
    """One evaluation of depth 2; at depth 1 there is nothing, or the centipawns given."""
    nothing: list[int | None] = [None] * len(moves)
    row = {"position": KEY, "played": None, "setup": "x", "moves": moves, "nodes": 1}
    values = {"cp": [first_cp or nothing, cp], "mate": [nothing, mate]}
    return pl.DataFrame([row | values], schema=EVALUATIONS.dtypes)


def turns(*played: str) -> pl.DataFrame:
    return pl.DataFrame(
        {"game_id": "g", "ply": 18, "mover": "m", "position": FEN, "played": list(played)}
    )


THREE = evaluation(["d4b3", "c3e2", "d4c6"], [-16, -21, -26], [None] * 3)


def test_a_turn_is_written_as_documented() -> None:
    out = io.StringIO()
    assert write_delta_log(THREE, out, width=4, turns=turns("c3e2")) == 1
    assert out.getvalue() == TURN + "\n"


def test_a_store_without_turns_names_no_played_move() -> None:
    out = io.StringIO()
    assert write_delta_log(THREE, out, width=2) == 1
    assert "Move played: ?\n" in out.getvalue()
    assert "Delta = (0.00, 0.05)\n" in out.getvalue()


@pytest.mark.parametrize(
    ("played", "width", "ending"),
    [
        ("d4c6", 2, "Delta = (0.00, 0.05) * 0.10"),  # beyond the width
        ("h2h3", 4, "Delta = (0.00, 0.05, 0.10, ---) *"),  # not evaluated at all
        ("d4b3", 1, "Delta = (0.00*)"),
        ("d4b3", None, "Delta = (0.00*, 0.05, 0.10)"),
    ],
)
def test_where_the_star_stands(played: str, width: int | None, ending: str) -> None:
    out = io.StringIO()
    write_delta_log(THREE, out, width=width, turns=turns(played))
    assert out.getvalue().strip().endswith(ending)
    (entry,) = read_delta_log(out.getvalue().splitlines())
    assert replace(entry, line=None) == delta_turns(THREE, width=width, turns=turns(played))[0]


def test_the_drafts_four_lines_are_enough() -> None:
    (entry,) = read_delta_log(io.StringIO("\n# a comment\n" + DRAFT.replace("\n", "\n\n")))
    assert entry == DeltaTurn("d4b3", Value(-16, None), (0, 5, 10), played="c3e2", chosen=1, line=9)
    refused: list[Refused] = []
    assert delta_evaluations([entry], "x", refused).is_empty()
    assert refused[0].place == 9
    assert refused[0].reason.startswith("the turn has no position")
    # With a position the two moves that have names can be kept.
    row = delta_evaluations([replace(entry, position=FEN)], "x", []).to_dicts()[0]
    assert (row["position"], row["played"]) == (KEY, "c3e2")
    assert (row["moves"], row["cp"]) == (["d4b3", "c3e2"], [[-16, -21]])


def test_evaluations_come_back() -> None:
    mates = evaluation(
        ["d4b3", "c3e2", "d4c6", "c1e3"], [None, 450, -30, None], [3, None, None, -2]
    )
    out = io.StringIO()
    write_delta_log(mates, out, width=None)
    assert "Eval: #3\n" in out.getvalue()
    assert "Delta = (0.00, 295.47, 300.27, 599.95)" in out.getvalue()  # 299.97 - (-299.98)
    back = delta_evaluations(read_delta_log(out.getvalue().splitlines()), "x", [])
    assert back.drop("nodes").equals(mates.drop("nodes"))


def test_a_shallower_value_is_written_as_in_the_spreads() -> None:
    uneven = evaluation(["a2a3", "b2b3"], [10, None], [None, None], [5, 40])
    (entry,) = delta_turns(uneven)
    assert entry.deltas_cp == (0, 0)


@st.composite
def entries(draw: st.DrawFn) -> DeltaTurn:
    """A turn that a log can hold."""
    deltas = sorted(draw(st.lists(st.integers(0, 900), min_size=0, max_size=5)))
    listed = (0, *deltas)
    value = draw(
        st.one_of(
            st.integers(-29000, 29000).map(lambda cp: Value(cp, None)),
            st.integers(1, 999).map(lambda mate: Value(None, mate)),
        )
    )
    moves = tuple(draw(st.permutations(NAMES)))[: len(listed)]
    chosen = draw(st.none() | st.integers(0, len(listed) - 1))
    played, outside = None, None
    if chosen is not None:
        played = moves[chosen]
    elif draw(st.booleans()):
        played = "h7h8n"
        outside = draw(st.none() | st.integers(listed[-1], 950))
    return DeltaTurn(
        moves[0],
        value,
        listed,
        played=played,
        chosen=chosen,
        outside_cp=outside,
        moves=moves if draw(st.booleans()) else (),
        position=draw(st.none() | st.just(FEN)),
        depth=draw(st.none() | st.integers(1, 99)),
    )


@given(st.lists(entries(), max_size=4), st.none() | st.integers(1, 12))
def test_what_is_written_is_read(turns: list[DeltaTurn], width: int | None) -> None:
    text = "\n\n".join(format_delta_turn(entry, width) for entry in turns)
    assert [replace(each, line=None) for each in read_delta_log(text.splitlines())] == turns


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("Eval:", "Value:", "line 4: not a line"),
        ("-0.16", "-0.1", "line 7: not a value"),
        ("-0.16", "295.00", "line 7: more than 290.00"),
        ("-0.16", "#-3", "line 7: a delta leads below"),
        ("Engine move: d4b3", "", "line 7: the turn has no line Engine move"),
        ("Engine move: d4b3", "Engine move: Zb3", "line 7: not a move"),
        ("Engine move: d4b3", "Engine move: d4c6", "line 7: the engine's move"),
        ("Depth: 2", "Depth: two", "line 7: not a depth"),
        ("Depth: 2", "Eval: 0.10", "line 5: Eval stands twice"),
        ("d4c6, ---)", "d4c6, ---) *", "line 6: nothing may follow"),
        ("c3e2, d4c6", "d4c6, c3e2", "line 7: the \\* must stand"),
        ("c3e2, d4c6", "d4c6", "line 7: 3 deltas"),
        ("0.05*", "0.05", "line 7: the played move must have one"),
        ("0.05*", "0.05*, 0.06*", "line 7: the played move must have one"),
        ("0.00, 0.05*", "0.00*, 0.05", "line 7: the first \\*"),
        ("0.05*", "0.15*", "line 7: the deltas must"),
        ("0.00, ", "", "line 7: the deltas must"),
        ("0.05*", "---, 0.05*", "line 7: not a delta"),
        ("0.05*, 0.10, ---)", "0.05, 0.10) * 0.01", "line 7: a played move outside"),
        ("0.10, ---)", "0.10, ---) 0.20", "line 7: nothing but"),
        ("Delta = (0.00, 0.05*, 0.10, ---)\n", "", "line 6: the file ends"),
    ],
)
def test_errors_name_the_line(old: str, new: str, message: str) -> None:
    assert old in TURN
    text = TURN.replace(old, new, 1)
    if old == "-0.16" and new == "#-3":
        text = text.replace("0.10", "1.00")
    with pytest.raises(InputError, match=message):
        read_delta_log(text.splitlines())


def test_a_position_that_is_none() -> None:
    (entry,) = read_delta_log(TURN.replace(" w kq - 1 10", "").splitlines())
    refused: list[Refused] = []
    assert delta_evaluations([entry], "x", refused).is_empty()
    assert refused[0].place == 7
    assert refused[0].reason.startswith("not a whole FEN")


def test_no_width() -> None:
    with pytest.raises(InputError, match="width"):
        write_delta_log(THREE, io.StringIO(), width=0)


def test_nothing_in_nothing_out() -> None:
    out = io.StringIO()
    assert write_delta_log(EVALUATIONS.empty(), out) == 0
    assert out.getvalue() == ""
    assert read_delta_log(out) == []
    assert delta_evaluations([], "x", []).is_empty()


SAN = TURN.replace("c3e2", "Nce2").replace("d4b3", "Nb3").replace("d4c6", "Nxc6")


def test_moves_in_san_are_those_in_uci() -> None:
    said = [delta_evaluations(read_delta_log(t.splitlines()), "x", []) for t in (TURN, SAN)]
    assert said[0].equals(said[1])
    # One notation for the played move, another for the list.
    mixed = TURN.replace("Move played: c3e2", "Move played: Nce2")
    assert delta_evaluations(read_delta_log(mixed.splitlines()), "x", []).equals(said[0])
    castled = "\n".join(
        [
            "Position: r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1",
            "Move played: 0-0",
            "Engine move: O-O-O",
            "Eval: +0.10",
            "Delta = (0.00, 0.05*)",
        ]
    )
    (row,) = delta_evaluations(read_delta_log(castled.splitlines()), "x", []).to_dicts()
    assert row["moves"] == ["e1c1", "e1g1"]


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("d4c6, ---", "d4a4, ---", "d4a4 is not a legal move"),
        ("c3e2", "Nge2", "Nge2 is not a legal move"),
        ("Position: r3k2r", "Position: r3k1r1", "not a legal position"),
        ("Position: r3k2r", "Position: garbage", "not a position"),
        ("Move played: c3e2", "Move played: Nb3", "the first \\*"),
    ],
)
def test_what_is_not_legal_is_refused_and_the_rest_goes_on(old: str, new: str, reason: str) -> None:
    refused: list[Refused] = []
    entries = read_delta_log((TURN.replace(old, new) + TURN).splitlines(), refused)
    assert len(delta_evaluations(entries, "x", refused)) == 1
    assert [each.place for each in refused] == [7]
    assert re.match(reason, refused[0].reason)


def test_a_turn_that_cannot_be_read_costs_only_itself() -> None:
    text = TURN + TURN.replace("Eval:", "Value:") + TURN.replace("0.05*", "x") + TURN + DRAFT[:-36]
    refused: list[Refused] = []
    found = read_delta_log(text.splitlines(), refused)
    assert [(entry.line, entry.number) for entry in found] == [(7, 0), (28, 3)]
    assert [each.place for each in refused] == [11, 21, 31]


def test_positions_come_from_the_turns_in_their_order() -> None:
    games = pl.DataFrame({"game_id": ["g"], "white": ["A"], "black": ["B"]}).with_columns(
        moves=pl.lit("e2e4 e7e5 g1f3 b8c6")
    )
    played = turns_of_games(games, book_moves=1)
    logs = [
        f"Move played: {move}\nEngine move: {best}\nEval: +0.20\nDelta = ({deltas})\n"
        for move, best, deltas in (
            ("e4", "e4", "0.00*, 0.10"),
            ("e5", "c5", "0.00, 0.02*"),
            ("Nf3", "Nf3", "0.00*, 0.30"),
            ("Nc6", "Nf6", "0.00, 0.10) * 0.40")
        )
    ]  # fmt: skip
    logs[3] = logs[3].replace("0.40)", "0.40")
    refused: list[Refused] = []
    rows = delta_evaluations(read_delta_log("".join(logs).splitlines()), "x", refused, turns=played)
    assert refused == []
    assert rows["position"].to_list() == [stored_position(fen) for fen in played["position"]]
    assert rows["played"].to_list() == ["e2e4", "e7e5", "g1f3", "b8c6"]
    assert rows["moves"].to_list()[3] == ["g8f6", "b8c6"]
    # A log that leaves the book out: one move a side.
    late = read_delta_log("".join(logs[2:]).splitlines())
    assert delta_evaluations(late, "x", refused, turns=played).equals(rows[2:])
    # One of another length cannot be placed; one in another order is refused turn by turn.
    with pytest.raises(InputError, match="the log has 3 turns, the games 4, 2 without the book"):
        delta_evaluations(read_delta_log("".join(logs[:3]).splitlines()), "x", [], turns=played)
    swapped = [logs[0], logs[1], logs[0], logs[3]]
    entries = read_delta_log("".join(swapped).splitlines())
    assert len(delta_evaluations(entries, "x", refused, turns=played)) == 3
    assert [each.place for each in refused] == [12]
