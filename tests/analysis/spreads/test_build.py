"""Spreads against plain loops over real evaluations, and the rules one by one, made up by hand."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import chess
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.analysis.shared_files import shared_turns

from milepost.analysis.engine.setup import EngineSetup
from milepost.analysis.exchange.scored_tables import import_shared
from milepost.analysis.spreads.build import make_spreads
from milepost.analysis.store.store import EvaluationStore, stored_position
from milepost.errors import InputError, TableError
from milepost.games.turns.replay import turns_of_games
from milepost.tables import CONTEXT, EVALUATIONS, OPTION, SPREADS, TURNS

FEN = "r3k2r/pp1qbppp/2nppn2/8/3NP3/2N2P2/PPP3PP/R1BQ1RK1 w kq - 1 10"
NAMES = [move.uci() for move in chess.Board(FEN).legal_moves]
Cells = list[list[int | None]]


def evaluation(
    moves: list[str], cp: Cells, mate: Cells | None = None, **more: Any
) -> dict[str, Any]:
    nothing: Cells = [[None] * len(row) for row in cp]
    row = {"position": stored_position(FEN), "played": None, "setup": "x", "nodes": 1}
    return row | {"moves": moves, "cp": cp, "mate": mate or nothing} | more


def table(*rows: dict[str, Any]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), schema=EVALUATIONS.dtypes)


def turn(played: str | None = "d4b3", **more: Any) -> dict[str, Any]:
    return {"game_id": "g", "ply": 18, "mover": "m", "position": FEN, "played": played} | more


def turns(*rows: dict[str, Any]) -> pl.DataFrame:
    return TURNS.conform(pl.DataFrame(list(rows), infer_schema_length=None))


def only(*rows: dict[str, Any], played: str = "d4b3", **options: Any) -> dict[str, Any]:
    """The spread of one turn."""
    return make_spreads(turns(turn(played)), table(*rows), **options).table.row(0, named=True)


# Against plain loops ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def random_turns(shared_data: Path) -> pl.DataFrame:
    path = shared_data / "analysis" / "random_turns_2011-2014.parquet"
    if not path.exists():
        pytest.skip(f"no {path.name}")
    return pl.read_parquet(path)


def by_loops(rows: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """What the rules say, move by move, without arrays and without a store."""
    kept = []
    left = {"repetition": 0, "over the limit": 0}
    for row in rows:
        if row["repeated"]:
            left["repetition"] += 1
            continue
        # The file writes mates as we do in pawns: 30000 - n against 300 - 0.01 n.
        by_depth = [[cp / 100 for cp in at_depth] for at_depth in row["cp"]]
        if abs(by_depth[-1][0]) > 3:
            left["over the limit"] += 1
            continue
        kept.append(
            {
                "ply": row["ply"],
                "values": by_depth[-1],
                "depth_values": by_depth,
                "chosen": row["moves"].index(row["played"]),
                "mover": row["black" if row["ply"] % 2 else "white"],
            }
        )
    return kept, left


def test_spreads_are_those_of_plain_loops(random_turns: pl.DataFrame, tmp_path: Path) -> None:
    sample = random_turns.sample(300, seed=11)
    store = EvaluationStore(tmp_path / "store", create=True)
    import_shared(sample, store)
    spreads = make_spreads(shared_turns(sample), store)
    kept, left = by_loops(sample.to_dicts())
    brought = [name for name in spreads.table.columns if name not in SPREADS.names]
    assert spreads.table.columns == [*SPREADS.names, *brought]
    assert all(name.startswith((OPTION, CONTEXT)) for name in brought)
    assert dict(spreads.table.drop(brought).schema) == SPREADS.dtypes
    assert spreads.table.select(list(kept[0])).to_dicts() == kept
    assert left["over the limit"] > 10
    assert list(spreads.counts.items()) == [
        ("turns in", 300),
        ("Chess960", 0),
        ("of another variant", 0),
        ("without a position", 0),
        ("book", 0),
        ("repetition", left["repetition"]),
        ("only move", 0),
        ("without a played move", 0),
        ("not analysed", 0),
        ("with an illegal played move", 0),
        ("over the limit", left["over the limit"]),
        ("kept", len(kept)),
        ("outside the evaluated moves", 0),
        ("with unlisted options", 0),
        ("premature draws", spreads.table["premature_draw"].sum()),
        ("possible errors of the game score", 0),
        ("shallower values lowered", 0),
        ("down-weighted", 0),
    ]


def test_premature_draws_are_those_of_plain_loops(shared_data: Path, tmp_path: Path) -> None:
    path = shared_data / "analysis" / "whole_games.parquet"
    if not path.exists():
        pytest.skip(f"no {path.name}")
    games = pl.read_parquet(path).filter(pl.col("milepost") == 2400, pl.col("game") < 6)
    store = EvaluationStore(tmp_path / "store", create=True)
    import_shared(games, store)
    found = make_spreads(shared_turns(games), store, keep_repetitions=True, limit_pawns=math.inf)
    expected = []
    for _, game in games.group_by(["period", "milepost", "game"], maintain_order=True):
        stood: list[str] = []
        for row in game.sort("ply").to_dicts():
            board = chess.Board(row["fen"])
            marked = False
            for move, cp in zip(row["moves"], row["cp"][-1], strict=True):
                after = board.copy()
                after.push_uci(move)
                marked |= cp == 0 and stood.count(after.epd()) == 1
            stood.append(board.epd())
            expected.append(marked)
    assert found.table["premature_draw"].to_list() == expected
    assert sum(expected) == found.counts["premature draws"] > 0


# The rules, one by one ----------------------------------------------------------------------------


def test_mates_stand_outside_all_other_values() -> None:
    row = evaluation(
        ["a2a3", "a2a4", "b2b3", "b2b4", "d4b3", "h2h3"],
        [[None, None, 32000, -32000, None, None]],
        [[1, 30, None, None, -30, -1]],
    )
    assert only(row, limit_pawns=math.inf)["values"] == [
        299.99,
        299.7,
        290.0,
        -290.0,
        -299.7,
        -299.99,
    ]
    assert only(row, limit_pawns=math.inf, mate_pawns=50)["values"][:3] == [49.99, 49.7, 40.0]
    with pytest.raises(InputError, match="at least 20"):
        only(row, mate_pawns=5)


def test_mated_at_once_and_very_long_mates() -> None:
    row = evaluation(["a2a3", "d4b3"], [[None, None]], [[5000, 0]])
    assert only(row, limit_pawns=math.inf)["values"] == [290.01, -300.0]


def test_ties_keep_the_engines_order() -> None:
    row = evaluation(["b2b3", "d4b3", "a2a3"], [[1, 2, 3], [20, 20, 20]])
    spread = only(row)
    assert spread["chosen"] == 1
    assert spread["depth_values"][0] == [0.01, 0.02, 0.03]


def test_a_table_in_another_order_is_put_in_order_with_all_its_columns() -> None:
    row = evaluation(["b2b3", "d4b3", "a2a3"], [[1, 2, 3], [20, 30, 20]])
    spread = only(row)
    assert (spread["values"], spread["chosen"]) == ([0.3, 0.2, 0.2], 0)
    assert spread["depth_values"][0] == [0.02, 0.01, 0.03]


def test_shallower_values_are_marked_and_lowered() -> None:
    row = evaluation(["d4b3", "a2a3", "b2b3", "c3e2"], [[9, 8, -50, -400], [40, -300, None, None]])
    spreads = make_spreads(turns(turn("b2b3")), table(row))
    spread = spreads.table.row(0, named=True)
    assert spread["values"] == [0.4, -3.0, -3.0, -4.0]  # -0.50 is no claim against a deeper -3.00
    assert spread["shallow"] == [False, False, True, True]
    assert spread["depth_values"] == [[0.09, 0.08, -0.5, -4.0], [0.4, -3.0, None, None]]
    assert spread["chosen"] == 2
    assert spreads.counts["shallower values lowered"] == 1


def test_a_played_move_outside_the_evaluated_ones_is_kept_and_marked() -> None:
    spreads = make_spreads(turns(turn("h2h4")), table(evaluation(["a2a3"], [[5]])))
    assert spreads.table["chosen"].to_list() == [None]
    assert (spreads.counts["outside the evaluated moves"], spreads.counts["kept"]) == (1, 1)


def test_a_turn_is_left_out_for_its_first_reason_only() -> None:
    rows = [
        turn(book=True, repetition=True, ply=1),
        turn(repetition=True, only_move=True, ply=2),
        turn(only_move=True, ply=3),
        turn(position=FEN.replace(" 1 10", " 7 10"), ply=4),  # another fifty-move counter
        turn(position=FEN.replace(" 1 10", " 1 99"), ply=5),  # another move number
        turn(played="a2a3", ply=6),
    ]
    evaluations = table(evaluation(["d4b3"], [[5]]))
    spreads = make_spreads(turns(*rows), evaluations)
    counts = {name: count for name, count in spreads.counts.items() if count}
    assert counts == {
        "turns in": 6,
        "book": 1,
        "repetition": 1,
        "only move": 1,
        "not analysed": 1,
        "kept": 2,
        "outside the evaluated moves": 1,
        "with unlisted options": 2,
    }
    assert spreads.table["ply"].to_list() == [5, 6]
    more = make_spreads(turns(*rows), evaluations, keep_book=True, keep_repetitions=True)
    assert more.table["ply"].to_list() == [1, 5, 6]  # an only move is never a decision


@pytest.mark.parametrize(
    ("cp", "kept", "weight"),
    [(300, True, 1.0), (301, False, 1 / 1.0001), (-400, False, 0.5), (600, False, 0.1)],
)
def test_the_limit_and_the_weight_beyond_it(cp: int, kept: bool, weight: float) -> None:
    row = table(evaluation(["d4b3"], [[cp]]))
    plain = make_spreads(turns(turn()), row)
    assert (len(plain.table), plain.counts["over the limit"]) == ((1, 0) if kept else (0, 1))
    weighted = make_spreads(turns(turn()), row, downweight=True)
    assert weighted.table["weight"].to_list() == pytest.approx([weight])
    assert weighted.counts["down-weighted"] == (not kept)
    everything = make_spreads(turns(turn()), row, limit_pawns=math.inf, downweight=True)
    assert everything.table["weight"].to_list() == [1.0]
    assert len(make_spreads(turns(turn()), row, limit_pawns=2.5).table) == 0


def test_plans_that_look_at_the_played_move() -> None:
    rows = [
        evaluation(["d4b3", "a2a3"], [[5, 1]], played="a2a3"),
        evaluation(["d4b3"], [[4]], played="d4b3"),
        evaluation(["d4b3"], [[3]]),
    ]
    spreads = make_spreads(turns(turn("a2a3"), turn("d4b3"), turn("h2h3")), table(*rows))
    assert spreads.table["values"].to_list() == [[0.05, 0.01], [0.04], [0.03]]
    assert spreads.table["chosen"].to_list() == [1, 0, None]


def knights_go_home(zero: str | None) -> tuple[pl.DataFrame, pl.DataFrame]:
    """A game in which the knights go out and home twice, and evaluations of all its turns.

    Every move is worth 0.10, but `zero` is worth 0.00.
    """
    moves = "g1f3 g8f6 f3g1 f6g8 " * 2
    game = {"game_id": "g", "white": "A", "black": "B", "moves": moves.strip()}
    played = turns_of_games(pl.DataFrame([game]), book_moves=0)
    rows = []
    for fen in played["position"]:
        legal = [move.uci() for move in chess.Board(fen).legal_moves]
        ordered = sorted(legal, key=lambda move: move == zero)
        values: Cells = [[0 if move == zero else 10 for move in ordered]]
        rows.append(evaluation(ordered, values, position=stored_position(fen)))
    return played, table(*rows)


def test_a_premature_draw_is_marked() -> None:
    played, evaluations = knights_go_home("f6g8")
    spreads = make_spreads(played, evaluations, keep_repetitions=True)
    # Ply 3 restores the first position for the first time; ply 7 would be the third occurrence,
    # which the rules call a draw.
    assert spreads.table.filter("premature_draw")["ply"].to_list() == [3]
    assert spreads.counts["premature draws"] == 1
    # What comes later in the game did not stand before.
    assert (
        not make_spreads(played.filter(pl.col("ply") > 0), evaluations)
        .table["premature_draw"]
        .any()
    )


def test_a_value_that_is_not_quite_zero_is_no_premature_draw() -> None:
    played, evaluations = knights_go_home(None)
    spreads = make_spreads(played, evaluations, keep_repetitions=True)
    assert (spreads.counts["kept"], spreads.counts["premature draws"]) == (8, 0)


def test_a_premature_draw_need_not_be_played() -> None:
    played, evaluations = knights_go_home("f6g8")
    other = played.with_columns(
        pl.when(pl.col("ply") == 3).then(pl.lit("e7e5")).otherwise("played").alias("played")
    )
    spreads = make_spreads(other.head(4), evaluations)
    assert spreads.table["premature_draw"].to_list() == [False, False, False, True]


def test_en_passant_that_nobody_can_take_does_not_hide_a_repetition() -> None:
    start = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq e3 0 1"
    board = chess.Board(start)
    rows = [turn("g8f6", position=start, ply=1)]
    for ply, move in enumerate(("g8f6", "g1f3", "f6g8"), start=2):
        board.push_uci(move)
        rows.append(turn("f3g1", position=board.fen(), ply=ply))
    last = evaluation(["f3g1"], [[0]], position=stored_position(board.fen()))
    spreads = make_spreads(turns(*rows), table(last))
    assert spreads.table["premature_draw"].to_list() == [True]


# Set-ups and inputs -------------------------------------------------------------------------------


def test_one_of_several_setups_must_be_named(tmp_path: Path) -> None:
    store = EvaluationStore(tmp_path / "store", create=True)
    with pytest.raises(InputError, match="no evaluations"):
        make_spreads(turns(turn()), store)
    first = EngineSetup("Fish 1", "net.nnue", (("Hash", "16"),), "quick depth 10 width 256")
    second = EngineSetup("Fish 2", "", (), "single depth 13 width 1")
    store.add_setup(second)  # known, but nothing was analysed under it yet
    for setup, value in ((first, 5), (second, 7)):
        store.add_setup(setup)
        store.append(table(evaluation(["d4b3"], [[value]], setup=setup.digest)))
        if setup is first:
            assert make_spreads(turns(turn()), store).setup == first.digest
    with pytest.raises(InputError, match="2 set-ups") as error:
        make_spreads(turns(turn()), store)
    assert f"{first.digest}  Fish 1, net.nnue, Hash=16, quick depth 10" in str(error.value)
    assert second.digest in str(error.value)
    spreads = make_spreads(turns(turn()), store, setup=second.digest[:6])
    assert spreads.table["values"].to_list() == [[0.07]]
    assert spreads.setup == second.digest
    with pytest.raises(InputError, match="no plan or key of a set-up fits 'zz'"):
        make_spreads(turns(turn()), store, setup="zz")
    with pytest.raises(InputError, match="2 set-ups fit ''"):
        make_spreads(turns(turn()), store, setup="")


def test_pandas_turns() -> None:
    frame = turns(turn(group="2400")).drop("clock_before").to_pandas()
    spreads = make_spreads(frame, table(evaluation(["d4b3"], [[5]])))
    assert spreads.table["group"].to_list() == ["2400"]


def test_no_turns() -> None:
    spreads = make_spreads(TURNS.empty(), table(evaluation(["d4b3"], [[5]])))
    assert len(spreads.table) == 0
    assert not any(spreads.counts.values())
    assert dict(spreads.table.select(SPREADS.names).schema) == SPREADS.dtypes


def test_an_evaluation_without_moves_is_none() -> None:
    rows = [evaluation(["d4b3"], [[5]], position="elsewhere"), evaluation([], [])]
    assert make_spreads(turns(turn()), table(*rows)).counts["not analysed"] == 1


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (evaluation(["d4b3"], [[5, 6]]), "do not fit"),
        (evaluation(["d4b3"], [[5], [6]], [[None]]), "do not fit"),
        (evaluation(["d4b3", "a2a3"], [[5, None]]), "no value"),
    ],
)
def test_evaluations_that_make_no_sense(row: dict[str, Any], message: str) -> None:
    with pytest.raises(TableError, match=message):
        only(row)


def test_wrong_inputs() -> None:
    evaluations = table(evaluation(["d4b3"], [[5]]))
    with pytest.raises(InputError, match="limit"):
        make_spreads(turns(turn()), evaluations, limit_pawns=-1)
    for mate in (math.inf, math.nan, 19.0, 1e12):
        with pytest.raises(InputError, match="a mate must be worth"):
            make_spreads(turns(turn()), evaluations, mate_pawns=mate)


def test_turns_that_are_no_decisions_in_chess_have_counts_of_their_own() -> None:
    rows = [
        turn(variant="chess960", ply=1),
        turn(variant="atomic", ply=2),
        turn(position=None, ply=3),
        turn(position="here", ply=4),
        turn(played=None, ply=5),
        turn(played="", ply=6),
        turn(played="a1a1", ply=7),
        turn(played="e1e9", ply=8),
        turn(variant="standard", ply=9),
        turn(position="garbage w KQ e3 3 1", ply=10),
    ]
    spreads = make_spreads(turns(*rows), table(evaluation(["d4b3"], [[0]])))
    counts = {name: count for name, count in spreads.counts.items() if count}
    assert counts == {
        "turns in": 10,
        "Chess960": 1,
        "of another variant": 1,
        "without a position": 2,
        "without a played move": 2,
        "not analysed": 1,
        "with an illegal played move": 2,
        "kept": 1,
        "with unlisted options": 1,
    }
    assert spreads.table["ply"].to_list() == [9]


def test_unlisted_options_are_counted(tmp_path: Path) -> None:
    legal = chess.Board(FEN).legal_moves.count()
    three = evaluation(["d4b3", "a2a3", "b2b3"], [[5, 4, 3]])
    assert only(three)["unlisted"] == legal - 3
    every = evaluation(NAMES, [[5] * len(NAMES)])
    assert only(every)["unlisted"] == 0
    # A best move whose name nobody wrote down is one of the legal ones.
    assert only(evaluation(["0000", "d4b3"], [[9, 5]]))["unlisted"] == legal - 2
    # By the set-up: a plan that lists all moves needs no counting.
    for plan, unlisted in (("multipv depth 1 width 3", legal - 3), ("quick depth 1 width 256", 0)):
        store = EvaluationStore(tmp_path / plan[:5], create=True)
        setup = EngineSetup("E", "", (), plan)
        store.add_setup(setup)
        rows = every if plan.startswith("quick") else three
        store.append([rows | {"setup": setup.digest}])
        assert make_spreads(turns(turn()), store).table["unlisted"].to_list() == [unlisted]


# Properties ---------------------------------------------------------------------------------------


@st.composite
def evaluations(draw: st.DrawFn) -> dict[str, Any]:
    """An evaluation with any pattern of depths, centipawns and mates."""
    width = draw(st.integers(1, 6))
    depth = draw(st.integers(1, 4))
    cp: Cells = [[None] * width for _ in range(depth)]
    mate: Cells = [[None] * width for _ in range(depth)]
    for option in range(width):
        deepest = draw(st.integers(1, depth))
        for at in range(deepest):
            kinds = ["cp", "cp", "mate"] if at == deepest - 1 else ["cp", "mate", "none"]
            kind = draw(st.sampled_from(kinds))
            if kind == "cp":
                cp[at][option] = draw(st.integers(-9, 9)) * 50
            elif kind == "mate":
                mate[at][option] = draw(st.sampled_from([-9, -1, 1, 2, 30]))
    return evaluation(draw(st.permutations(NAMES))[:width], cp, mate)


def worth(cp: int | None, mate: int | None) -> float | None:
    if mate is not None:
        return (30000 - mate) / 100 if mate > 0 else (-30000 - mate) / 100
    return None if cp is None else cp / 100


@settings(max_examples=60, deadline=None)
@given(st.lists(evaluations(), min_size=1, max_size=4), st.data())
def test_spreads_never_rise_and_indices_fit(
    rows: list[dict[str, Any]], data: st.DataObject
) -> None:
    made = []
    for place, row in enumerate(rows):
        fen = f"{FEN.rsplit(' ', 2)[0]} {place} 10"
        row["position"] = stored_position(fen)
        made.append(turn(data.draw(st.sampled_from(NAMES)), position=fen, ply=place))
    spreads = make_spreads(turns(*made), table(*rows), limit_pawns=math.inf)
    assert len(spreads.table) == len(rows)
    for spread, row, played in zip(spreads.table.to_dicts(), rows, made, strict=True):
        values, shallow, by_depth = spread["values"], spread["shallow"], spread["depth_values"]
        assert values == sorted(values, reverse=True)
        assert len(values) == len(shallow) == len(row["moves"])
        assert (spread["chosen"] is None) == (played["played"] not in row["moves"])
        assert shallow == sorted(shallow)  # less deep ones behind
        depth = max(at for at, cells in enumerate(by_depth) if any(c is not None for c in cells))
        assert [cell is None for cell in by_depth[depth]] == shallow
        for value, cell in zip(values, by_depth[depth], strict=True):
            assert cell is None or cell == value
        said = [
            tuple(worth(c[option], m[option]) for c, m in zip(row["cp"], row["mate"], strict=True))
            for option in range(len(values))
        ]
        listed = list(zip(*by_depth, strict=True))
        key = str  # cells may be None
        assert sorted(listed, key=key) == sorted(said, key=key)
        if spread["chosen"] is not None:
            assert listed[spread["chosen"]] == said[row["moves"].index(played["played"])]
