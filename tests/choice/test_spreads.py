"""Spreads: every way in gives the same, what is wrong is refused by its place."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from tests.choice.makers import padded, realistic_spreads

from milepost.choice import Agent, DepthScheme, Spreads
from milepost.errors import InputError, TableError

VALUES = [[0.31, 0.10, -0.52], [0.2, 0.2], [1.0], [-0.5, -0.5, -0.5, -2.0]]
CHOSEN = [0, 1, 0, 3]
GAMES = ["b", "a", "b", "c"]
WEIGHTS = [1.0, 2.0, 0.5, 0.0]
RATINGS = [2000.0, 2100.0, 2200.0, 2300.0]


def same(one: Spreads, other: Spreads) -> None:
    for name in ("offsets", "values", "chosen", "weights", "rating", "depth_values"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    # Groups are numbers, whatever the labels were: they must part the decisions alike.
    np.testing.assert_array_equal(
        one.groups[:, None] == one.groups, other.groups[:, None] == other.groups
    )


def option_rows() -> dict[str, list[Any]]:
    """One row an option, the decisions interleaved: the second options after all the first."""
    rows = [
        (f"d{t}", value, i == CHOSEN[t], GAMES[t], WEIGHTS[t], RATINGS[t], i)
        for t, values in enumerate(VALUES)
        for i, value in enumerate(values)
    ]
    rows.sort(key=lambda row: row[-1])
    names = ("decision", "value", "chosen", "game", "weight", "rating")
    return {name: [row[k] for row in rows] for k, name in enumerate(names)}


def expected() -> Spreads:
    return Spreads.from_lists(VALUES, CHOSEN, groups=GAMES, weights=WEIGHTS, rating=RATINGS)


def test_lists_are_kept_as_they_are() -> None:
    spreads = expected()
    assert spreads.offsets.tolist() == [0, 3, 5, 6, 10]
    assert spreads.values.tolist() == [v for each in VALUES for v in each]
    assert spreads.chosen.tolist() == CHOSEN
    assert len(spreads) == 4
    assert spreads.number_of_groups == 3
    assert spreads.places is None
    assert repr(spreads) == "Spreads(4 decisions, 10 options, 3 groups)"


def test_arrays_are_lists() -> None:
    flat = np.array([v for each in VALUES for v in each])
    same(
        expected(),
        Spreads.from_arrays(
            [0, 3, 5, 6, 10],
            flat,
            np.array(CHOSEN, dtype=np.int32),
            groups=np.array(GAMES),
            weights=WEIGHTS,
            rating=RATINGS,
        ),
    )


@pytest.mark.parametrize("make", [pl.DataFrame, pd.DataFrame, lambda d: pl.DataFrame(d).lazy()])
@pytest.mark.parametrize("kind", [bool, int, float])
def test_frames_are_lists(make: Any, kind: type) -> None:
    rows = option_rows()
    rows["chosen"] = [kind(each) for each in rows["chosen"]]
    spreads = Spreads.from_frame(make(rows), group="game", weight="weight", rating="rating")
    same(expected(), spreads)


def test_frames_with_other_names_and_depths() -> None:
    rows = option_rows()
    frame = pl.DataFrame(rows).rename({"decision": "id", "value": "worth", "chosen": "taken"})
    frame = frame.with_columns(
        (pl.col("worth") + 0.1).alias("seen"),
        pl.when(pl.col("worth") > 0).then("worth").alias("half"),
    )
    spreads = Spreads.from_frame(
        frame,
        decision="id",
        value="worth",
        chosen="taken",
        depth_values=["half", "seen", "worth"],
    )
    assert spreads.depth_values is not None
    assert spreads.depths == (1, 2, 3)
    np.testing.assert_array_equal(spreads.depth_values[:, 2], spreads.values)
    np.testing.assert_array_equal(spreads.depth_values[:, 1], spreads.values + 0.1)
    np.testing.assert_array_equal(np.isnan(spreads.depth_values[:, 0]), spreads.values <= 0)
    assert spreads.number_of_groups == 4


def spreads_table() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "game_id": GAMES,
            "values": VALUES,
            "chosen": CHOSEN,
            "weight": [1.0, 2.0, 0.5, 0.0],
            "mover_elo": [2000, 2100, 2200, 2300],
            "depth_values": [[[v + d for v in each] for d in (0.5, 0.0)] for each in VALUES],
        }
    )


@pytest.mark.parametrize("make", [lambda f: f, lambda f: f.to_pandas(), lambda f: f.to_arrow()])
def test_the_spreads_table_is_lists(make: Any) -> None:
    depths = [[[v + 0.5, v] for v in each] for each in VALUES]
    wanted = Spreads.from_lists(
        VALUES, CHOSEN, groups=GAMES, weights=WEIGHTS, rating=RATINGS, depth_values=depths
    )
    spreads = Spreads.from_table(make(spreads_table()))
    same(wanted, spreads)
    assert spreads.depths == (1, 2)
    same(expected(), Spreads.from_table(make(spreads_table()), depths=False))


def test_the_spreads_table_with_gaps() -> None:
    """Null weights count 1, null ratings are NaN, null choices lie outside, missing depths NaN."""
    frame = pl.DataFrame(
        {
            "game_id": ["a", "a"],
            "values": [[0.3, 0.1], [0.5, 0.2, 0.0]],
            "chosen": [None, 1],
            "weight": [None, 3.0],
            "mover_elo": [None, 1800],
            "depth_values": [[[0.3, None]], [[0.1, 0.2, 0.3], [0.5, 0.2, 0.0]]],
        },
        schema_overrides={"chosen": pl.Int32},
    )
    spreads = Spreads.from_table(frame)
    assert spreads.outside == 1
    assert spreads.weights.tolist() == [1.0, 3.0]
    assert spreads.rating is not None
    np.testing.assert_array_equal(spreads.rating, [np.nan, 1800.0])
    assert spreads.values.tolist() == [0.3, 0.1, 0.1, 0.5, 0.2, 0.0]
    assert spreads.chosen.tolist() == [2, 1]
    assert spreads.depth_values is not None
    np.testing.assert_array_equal(
        spreads.depth_values,
        [[0.3, np.nan], [np.nan, np.nan], [0.3, np.nan], [0.1, 0.5], [0.2, 0.2], [0.3, 0.0]],
    )
    assert Spreads.from_table(frame, outside="exclude").excluded == 1


def test_a_part_of_the_spreads_table_is_that_part() -> None:
    """With as many depths as the whole has, even where no turn of the part has any."""
    frame = spreads_table().with_columns(
        pl.when(pl.int_range(pl.len()) != 1).then("depth_values").alias("depth_values")
    )
    whole = Spreads.from_table(frame)
    for at in range(len(frame)):
        part = Spreads.from_table(frame.slice(at, 1), least_depths=2)
        wanted = whole.take([at])
        np.testing.assert_array_equal(part.values, wanted.values)
        assert part.depth_values is not None
        assert wanted.depth_values is not None
        np.testing.assert_array_equal(part.depth_values, wanted.depth_values)
        assert part.depths == (1, 2)


def test_unsorted_options_come_back_as_given() -> None:
    values = [[-0.52, 0.31, 0.10], [0.2, 0.2], [-2.0, -0.5, -0.7, -0.5]]
    spreads = Spreads.from_lists(values, [2, 1, 0])
    assert spreads.values.tolist() == [0.31, 0.10, -0.52, 0.2, 0.2, -0.5, -0.5, -0.7, -2.0]
    assert spreads.chosen.tolist() == [1, 1, 3]
    assert spreads.as_given(spreads.values).tolist() == [v for each in values for v in each]
    ordered = Spreads.from_lists([sorted(each, reverse=True) for each in values], [1, 1, 3])
    agent = Agent(0.1, 0.5)
    p = agent.probabilities(ordered)
    ours = agent.probabilities(spreads)
    # -0.5 stands twice: the one listed first is the best, the other gets the tie shift.
    np.testing.assert_allclose(ours, p[[2, 0, 1, 3, 4, 8, 5, 7, 6]], atol=1e-15)


def test_ties_keep_their_order() -> None:
    """Seen by the depth values that go with them."""
    depth = [[[1.0, 0.5], [2.0, 0.7], [3.0, 0.5], [4.0, 0.7]]]
    spreads = Spreads.from_lists([[0.5, 0.7, 0.5, 0.7]], [2], depth_values=depth)
    assert spreads.depth_values is not None
    assert spreads.depth_values[:, 0].tolist() == [2.0, 4.0, 1.0, 3.0]
    assert spreads.chosen.tolist() == [3]
    assert spreads.places is not None
    assert spreads.places.tolist() == [1, 3, 0, 2]


@pytest.mark.parametrize(
    ("values", "chosen", "says"),
    [
        ([[0.1], [0.2, np.nan]], [0, 0], "option 1 of decision 1 is worth nan"),
        ([[0.1, np.inf]], [0], "option 1 of decision 0 is worth inf"),
        ([[0.1], [0.2, 0.1]], [0, 2], "decision 1 has 2 options, but the chosen one is 2"),
        ([[0.1], [0.2, 0.1]], [0, -2], "decision 1 has 2 options, but the chosen one is -2"),
        ([[0.1], []], [0, 0], "decision 1 has no options"),
        ([[0.1, -np.inf], [0.2, -np.inf]], [0, 1], "chosen in decision 1 is padding"),
        ([[-np.inf]], [-1], "nothing but padding"),
        ([[0.1]], [0, 0], "1 decisions but 2 choices"),
    ],
)
def test_wrong_lists_are_refused(values: list[list[float]], chosen: list[int], says: str) -> None:
    with pytest.raises(InputError, match=says):
        Spreads.from_lists(values, chosen)


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"groups": [1]}, "1 groups for 2 decisions"),
        ({"weights": [1.0]}, "1 weights for 2 decisions"),
        ({"weights": [1.0, -1.0]}, "weights must be finite and not negative"),
        ({"weights": [1.0, np.nan]}, "weights must be finite and not negative"),
        ({"rating": [1.0, 2.0, 3.0]}, "3 ratings for 2 decisions"),
        ({"outside": "drop"}, "'drop'"),
        ({"unlisted": [1]}, "unlisted"),
        ({"unlisted": [1, -1]}, "unlisted"),
        ({"depth_values": [[1.0], [2.0]]}, "one row for each of the 3 options"),
        ({"depth_values": [[1.0, 2.0]] * 3, "depths": [3, 2]}, "rising depths"),
        ({"depth_values": [[1.0, 2.0]] * 3, "depths": [3]}, "rising depths"),
    ],
)
def test_wrong_columns_are_refused(more: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        Spreads.from_arrays([0, 2, 3], [0.2, 0.1, 0.3], [0, 0], **more)


@pytest.mark.parametrize("offsets", [[0, 2], [0, 2, 2], [1, 2, 3], [0, 2, 4]])
def test_wrong_offsets_are_refused(offsets: list[int]) -> None:
    with pytest.raises(InputError, match=r"offsets|no options"):
        Spreads.from_arrays(offsets, [0.2, 0.1, 0.3], [0, 0])


def test_wrong_frames_are_refused() -> None:
    rows = pl.DataFrame(option_rows())
    with pytest.raises(TableError, match="no column club; found decision"):
        Spreads.from_frame(rows, group="club")
    with pytest.raises(TableError, match="two options of decision 'd1' are chosen"):
        Spreads.from_frame(
            rows.with_columns(pl.col("chosen") | (pl.col("decision") == "d1")),
        )
    with pytest.raises(TableError, match="has 'good' in row 1, column value: not a number"):
        Spreads.from_frame(rows.with_columns(value=pl.lit("good")))
    with pytest.raises(TableError, match="no decision or no value"):
        Spreads.from_frame(rows.with_columns(value=pl.lit(None, dtype=pl.Float64)))
    with pytest.raises(TableError, match="empty"):
        Spreads.from_frame(rows[:0])
    with pytest.raises(TableError, match="got list"):
        Spreads.from_frame([1, 2])
    with pytest.raises(InputError, match="option 0 of decision 0 is worth nan"):
        Spreads.from_frame(rows.with_columns(value=pl.lit(np.nan)))


def test_wrong_tables_are_refused() -> None:
    table = spreads_table()
    with pytest.raises(TableError, match="values"):
        Spreads.from_table(table.drop("values"))
    with pytest.raises(TableError, match="empty"):
        Spreads.from_table(table[:0])
    with pytest.raises(TableError, match="missing values"):
        Spreads.from_table(table.with_columns(pl.lit([0.1, None]).alias("values")))
    with pytest.raises(TableError, match="another number of values"):
        Spreads.from_table(table.with_columns(pl.lit([[0.1]]).alias("depth_values")))


def test_choices_outside_are_bounded_by_the_worst_option() -> None:
    spreads = Spreads.from_lists([[0.3, 0.1], [0.5, 0.2], [0.1, 0.0]], [None, 0, 1])
    assert (spreads.outside, spreads.excluded) == (1, 0)
    assert spreads.offsets.tolist() == [0, 3, 5, 7]
    assert spreads.values.tolist() == [0.3, 0.1, 0.1, 0.5, 0.2, 0.1, 0.0]
    assert spreads.chosen.tolist() == [2, 0, 1]
    assert "1 chosen outside" in repr(spreads)
    assert Agent(0.1, 0.5).project(spreads).outside == 1
    # The option that was not evaluated is as likely as the worst one that was.
    p = Agent(0.1, 0.5).probabilities(spreads)
    assert p[1] == pytest.approx(p[2], abs=1e-15)


def test_choices_outside_can_be_excluded() -> None:
    spreads = Spreads.from_lists(
        [[0.3, 0.1], [0.5, 0.2], [0.1, 0.0]], [None, 0, None], outside="exclude", groups=[1, 2, 3]
    )
    assert (spreads.outside, spreads.excluded) == (0, 2)
    assert spreads.values.tolist() == [0.5, 0.2]
    assert spreads.chosen.tolist() == [0]
    assert "2 excluded" in repr(spreads)


def test_unlisted_options_stand_behind() -> None:
    spreads = Spreads.from_lists(
        [[0.1, 0.3], [0.5, 0.2], [0.1]],
        [None, 0, 0],
        unlisted=[3, 1, 0],
        depth_values=[[[0.0, 0.1], [-1.0, 0.3]], [[0.4, 0.5], [np.nan, 0.2]], [[0.1, 0.1]]],
    )
    assert spreads.counts.tolist() == [5, 3, 1]
    assert spreads.values.tolist() == [0.3, 0.1, 0.1, 0.1, 0.1, 0.5, 0.2, 0.2, 0.1]
    assert spreads.chosen.tolist() == [2, 0, 0]
    assert spreads.depth_values is not None
    # At each depth they are worth what the worst option is worth at that depth.
    np.testing.assert_array_equal(
        spreads.depth_values[:, 0], [-1.0, 0.0, -1.0, -1.0, -1.0, 0.4, np.nan, 0.4, 0.1]
    )
    given = spreads.as_given(spreads.values)
    assert given.tolist() == [0.1, 0.3, 0.1, 0.1, 0.1, 0.5, 0.2, 0.2, 0.1]


def test_unlisted_options_of_a_padded_decision() -> None:
    """The new option takes the worst real one's worth, not the padding's."""
    spreads = Spreads.from_lists([[0.3, 0.1, -np.inf]], [None])
    p = Agent(0.1, 0.5).probabilities(spreads)
    plain = Agent(0.1, 0.5).probabilities(Spreads.from_lists([[0.3, 0.1]], [None]))
    np.testing.assert_allclose(p[p > 0], plain, atol=1e-15)
    assert p[spreads.chosen[0]] == pytest.approx(plain[2])


def test_take_by_mask_by_index_and_twice() -> None:
    spreads = realistic_spreads(1, 10, depths=True)
    mask = np.zeros(10, dtype=bool)
    mask[[2, 5]] = True
    same(spreads.take(mask), spreads.take([2, 5]))
    twice = spreads.take([5, 2, 5])
    for place, t in enumerate((5, 2, 5)):
        np.testing.assert_array_equal(
            twice.values[twice.offsets[place] : twice.offsets[place + 1]],
            spreads.values[spreads.offsets[t] : spreads.offsets[t + 1]],
        )
    assert twice.groups.tolist() == spreads.groups[[5, 2, 5]].tolist()
    assert twice.depth_values is not None
    np.testing.assert_array_equal(twice.depth_values[:, 2], twice.values)


def test_choosing_and_weighting() -> None:
    spreads = expected()
    other = spreads.choosing([2, 0, 0, 1])
    assert other.chosen.tolist() == [2, 0, 0, 1]
    assert spreads.chosen.tolist() == CHOSEN
    for wrong in ([0, 0, 1, 0], [0, 0, 0], [-1, 0, 0, 0]):
        with pytest.raises(InputError, match="one index within its decision"):
            spreads.choosing(wrong)
    assert spreads.weighted([4, 3, 2, 1]).weights.tolist() == [4, 3, 2, 1]
    with pytest.raises(InputError, match="weights for 4 decisions"):
        spreads.weighted([1.0])


def test_padding_keeps_what_was_given() -> None:
    spreads = Spreads.from_lists([[0.1, 0.3], [0.5, 0.2, 0.9]], [0, 1])
    filled = padded(spreads, 3)
    assert filled.values.tolist() == [0.3, 0.1, -np.inf, 0.9, 0.5, 0.2]
    assert filled.chosen.tolist() == [1, 2]
    given = [0.1, 0.3, -np.inf, 0.5, 0.2, 0.9]
    assert filled.as_given(filled.values).tolist() == given
    same(Spreads.from_lists([given[:3], given[3:]], [0, 1]), filled)


def test_no_decisions_at_all() -> None:
    spreads = Spreads.from_lists([], [])
    assert len(spreads) == 0
    assert len(Agent(0.1, 0.5).probabilities(spreads)) == 0


def test_take_counts_the_choices_outside_that_it_takes() -> None:
    spreads = Spreads.from_lists([[0.3, 0.1], [0.5, 0.2]], [None, 0])
    assert spreads.take([1]).outside == 0


def test_weighted_refuses_what_from_arrays_refuses() -> None:
    with pytest.raises(InputError, match="weights"):
        expected().weighted([1.0, -1.0, np.nan, 1.0])


def test_infinite_values_by_depth_are_refused() -> None:
    with pytest.raises(InputError, match="decision 0"):
        Spreads.from_lists([[1.0, 0.5]], [0], depth_values=[[[np.inf, 1.0], [0.3, 0.5]]])


def test_padding_is_padding_at_every_depth() -> None:
    depth = [[[1.0, 1.0], [1.0, -np.inf]]]
    spreads = Spreads.from_lists([[1.0, -np.inf]], [0], depth_values=depth)
    agent = Agent(0.1, 0.5, depths=DepthScheme.free([1, 2], "additive"), depth_numbers=(0.0,))
    assert agent.probabilities(spreads).tolist() == [1.0, 0.0]


def test_ragged_values_by_depth_are_refused() -> None:
    with pytest.raises(InputError):
        Spreads.from_lists([[1.0, 0.5]], [0], depth_values=[[[1.0, 1.0], [1.0]]])


def test_no_offsets_are_refused() -> None:
    with pytest.raises(InputError):
        Spreads.from_arrays([], [], [])


def test_take_nothing() -> None:
    assert len(expected().take([])) == 0


def test_indices_that_are_no_whole_numbers_are_refused() -> None:
    with pytest.raises(InputError):
        Spreads.from_arrays([0, 2], [1.0, 0.5], [0.7])


def test_one_decision_without_depths_does_not_drop_those_of_the_others() -> None:
    table = spreads_table()
    depths = table["depth_values"].to_list()
    frame = table.with_columns(pl.Series("depth_values", [None, *depths[1:]]))
    assert Spreads.from_table(frame).depths == (1, 2)


def cut_by_hand(spreads: Spreads, depth: int) -> list[list[tuple[float, int]]]:
    """Value at a depth (the next greater one where it is not known) and old place, best first."""
    assert spreads.depth_values is not None
    column = spreads.depths.index(depth)
    lists = []
    for t in range(len(spreads)):
        rows = range(spreads.offsets[t], spreads.offsets[t + 1])
        values = []
        for row in rows:
            known = [v for v in spreads.depth_values[row, column:-1] if not np.isnan(v)]
            values.append(known[0] if known else spreads.values[row])
        order = sorted(range(len(values)), key=lambda place, v=values: -v[place])  # type: ignore[misc]
        lists.append([(float(values[place]), place) for place in order])
    return lists


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_a_lesser_depth_is_a_search_that_ended_there(depth: int) -> None:
    spreads = realistic_spreads(5, 60, depths=True)
    spreads = spreads.choosing(np.arange(60) % spreads.counts)
    cut = spreads.to_depth(depth)
    assert cut.depths == tuple(range(1, depth + 1))
    assert cut.depth_values is not None
    assert cut.depth_values.shape == (len(spreads.values), depth)
    for t, expected_rows in enumerate(cut_by_hand(spreads, depth)):
        here = slice(cut.offsets[t], cut.offsets[t + 1])
        assert cut.values[here].tolist() == [value for value, _ in expected_rows]
        places = [place for _, place in expected_rows]
        assert places[cut.chosen[t]] == spreads.chosen[t]  # the same option, wherever it stands now
        old = spreads.depth_values[spreads.offsets[t] + np.array(places), :depth]  # type: ignore[index]
        np.testing.assert_array_equal(cut.depth_values[here], old)


def test_a_cut_knows_the_order_in_which_options_were_given() -> None:
    table = [[[0.1, 0.0], [0.4, 0.3], [0.1, 0.2]]]
    spreads = Spreads.from_lists([[0.0, 0.3, 0.2]], [2], depth_values=table)  # put best first
    cut = spreads.to_depth(1)
    assert cut.values.tolist() == [0.4, 0.1, 0.1]  # equal ones as they stood: 0.2 before 0.0
    assert cut.as_given(np.array([10.0, 20.0, 30.0])).tolist() == [30.0, 10.0, 20.0]
    assert cut.chosen.tolist() == [1]


def test_a_depth_that_is_not_there_is_refused() -> None:
    with pytest.raises(InputError, match="no values at depth 7; the depths are 1, 2, 3"):
        realistic_spreads(5, 3, depths=True).to_depth(7)
    with pytest.raises(InputError, match="the depths are none"):
        expected().to_depth(1)


def test_a_decision_without_values_is_named() -> None:
    table = pl.DataFrame({"game_id": ["g", "g"], "values": [[0.1, 0.0], None], "chosen": [0, 0]})
    with pytest.raises(TableError, match="row 2 of the spreads table has no values"):
        Spreads.from_table(table)


def test_a_table_in_pieces_is_that_in_one() -> None:
    table = spreads_table().with_columns(
        pl.when(pl.int_range(pl.len()) != 2).then("depth_values").alias("depth_values")
    )
    pieces = pl.concat([table[1:2], table[:1], table[2:], table[:0]], rechunk=False)
    assert pieces["depth_values"].n_chunks() > 1
    same(Spreads.from_table(pieces), Spreads.from_table(pieces.rechunk()))
