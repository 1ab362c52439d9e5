"""The delta log, written, read back, and refused where it is wrong."""

from __future__ import annotations

import io
from dataclasses import replace

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from milepost.analysis.deltalog import format_delta_turn, read_delta_log, write_delta_log
from milepost.analysis.deltaturns import DeltaTurn, delta_evaluations, delta_turns
from milepost.analysis.searchlog import Value
from milepost.errors import InputError
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
    with pytest.raises(InputError, match="line 9: the turn has no position"):
        delta_evaluations([entry], "x")
    # With a position the two moves that have names can be kept.
    row = delta_evaluations([replace(entry, position=FEN)], "x").to_dicts()[0]
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
    back = delta_evaluations(read_delta_log(out.getvalue().splitlines()), "x")
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
        ("Engine move: d4b3", "Engine move: Nb3", "line 7: not a move"),
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
    with pytest.raises(InputError, match="line 7: not a whole FEN"):
        delta_evaluations([entry], "x")


def test_no_width() -> None:
    with pytest.raises(InputError, match="width"):
        write_delta_log(THREE, io.StringIO(), width=0)


def test_nothing_in_nothing_out() -> None:
    out = io.StringIO()
    assert write_delta_log(EVALUATIONS.empty(), out) == 0
    assert out.getvalue() == ""
    assert read_delta_log(out) == []
    assert delta_evaluations([], "x").is_empty()
