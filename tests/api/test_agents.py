"""Agents through the public face: any field, files or frames, live decisions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.fit.test_agent_model import options_table

import milepost as mp
from milepost.errors import InputError
from milepost.fit import NotConvergedWarning, fit_reference

ADA = {"chooser": "Ada", "values": [3.0, 2.5, 1.0], "chosen": 0}


@pytest.fixture(scope="module")
def visits() -> pl.DataFrame:
    """Decisions of two people, one row an option, with names of their own."""
    table = options_table(120).rename({"decision": "visit", "value": "months", "chosen": "taken"})
    late = pl.col("visit") >= 60
    return table.with_columns(
        doctor=late.replace_strict({False: "a", True: "b"}, return_dtype=pl.String)
    )


FIELDS = "decision=visit,value=months,chosen=taken"
COLUMNS: dict[str, Any] = {"decision": "visit", "value": "months", "chosen": "taken"}


def test_a_table_of_any_field_is_fitted_raw_and_uncapped(visits: pl.DataFrame) -> None:
    agent = mp.fit_agent(visits, fields=FIELDS)
    assert (agent.model.scale.difference, agent.model.scale.cap) == ("raw", None)
    assert (agent.n, agent.clipped, agent.options) == (120, 0, 480)
    capped = mp.fit_agent(visits, mp.AgentModel(cap=4.0), fields=FIELDS)
    assert capped.clipped > 100


def test_files_frames_and_spreads_give_the_same(visits: pl.DataFrame, tmp_path: Path) -> None:
    visits.write_csv(tmp_path / "visits.csv")
    visits.write_parquet(tmp_path / "visits.parquet")
    fits = [
        mp.fit_agent(given, fields=COLUMNS)
        for given in (
            visits,
            visits.to_pandas(),
            tmp_path / "visits.csv",
            str(tmp_path / "visits.parquet"),
            [tmp_path / "visits.parquet"],
        )
    ]
    fits.append(mp.fit_agent(mp.Spreads.from_frame(visits, **COLUMNS)))
    assert len({each.s for each in fits}) == 1


def test_decisions_of_games_are_on_the_papers_scale(bundled_data: Path) -> None:
    folder = bundled_data / "sample"
    agent = mp.fit_agent(folder / "games.pgn", store=folder / "evaluations")
    assert (agent.model.scale.difference, agent.model.scale.cap) == ("log", 4.0)
    assert agent.constant == 1.0
    assert agent.clipped > 0
    assert "clipped 4 under the best" in str(agent)


def test_groups_are_fitted_apart(visits: pl.DataFrame) -> None:
    fits = mp.fit_agents(visits, "doctor", fields=FIELDS, method="likelihood")
    assert fits.table["doctor"].to_list() == ["a", "b"]
    alone = mp.fit_agent(visits.filter(doctor="b"), fields=FIELDS, method="likelihood")
    assert fits.table["s"][1] == alone.s
    assert repr(fits) == "GroupFits(2 fits, 0 left out)"
    assert fits.to_pandas()["s"].tolist() == fits.table["s"].to_list()
    best = fits.losses["group"][0]
    other = "b" if best == "a" else "a"
    assert fits.answer.startswith(f"{best} chooses better than {other}: probability ")
    assert fits.better(best, other) == pytest.approx(1 - fits.better(other, best))
    assert best in fits.plot().to_json()
    with pytest.raises(InputError, match="there is no fit of 'z'"):
        fits.better("a", "z")
    few = mp.fit_agents(visits, "doctor", fields=FIELDS, least=61)
    assert repr(few) == "GroupFits(0 fits, 2 left out)"
    assert not few.converged


def test_the_bootstrap_is_said_in_words_or_numbers(visits: pl.DataFrame) -> None:
    small = mp.Bootstrap(resamples=12, seed=3)
    one, same = (mp.fit_agent(visits, fields=FIELDS, covariance=small) for _ in range(2))
    assert one.standard_errors == same.standard_errors
    assert one.covariance_kind == "bootstrap"
    with pytest.raises(InputError, match="the covariance is one of"):
        mp.fit_agent(visits, fields=FIELDS, covariance="guess")


def test_the_agents_of_2009_in_groups(visits: pl.DataFrame) -> None:
    model = mp.ReferenceModel(K=1.0, width=3)
    fits = mp.fit_agents(visits, "doctor", model, fields=FIELDS)
    spreads = mp.Spreads.from_frame(visits.filter(doctor="a"), **COLUMNS)
    alone = fit_reference(spreads, K=1.0, width=3)
    assert fits.table["c"][0] == alone.mean
    with pytest.raises(InputError, match="no method and no covariance"):
        mp.fit_agents(visits, "doctor", model, fields=FIELDS, method="likelihood")


def test_c_on_a_line(visits: pl.DataFrame) -> None:
    levels = visits.with_columns(level=pl.col("visit") // 40)
    fits = mp.fit_line(levels, "level", mp.AgentModel(ratio="shares"), fields=FIELDS)
    assert fits.levels.tolist() == [0, 1, 2]
    table = fits.to_frame()
    expected = fits.line[0] + fits.line[1] * table["level"]
    assert table["c_fit"].to_list() == pytest.approx(expected.to_list())
    assert fits.free[0].model.scale.difference == "raw"
    assert "3 cohorts" in repr(fits)
    with pytest.raises(InputError, match="give neither"):
        mp.fit_line(levels, "level", mp.AgentModel(c=1.0), fields=FIELDS)
    with pytest.raises(InputError, match="one column of numbers"):
        mp.fit_line(levels, "doctor", fields=FIELDS)


def test_models_are_compared(visits: pl.DataFrame) -> None:
    found = mp.compare_models(visits, fields=FIELDS, folds=2)
    assert found.table["log_loss"].is_sorted()
    assert found.table["name"][0] in repr(found)
    assert found.admitted == tuple(found.table.filter("admitted")["name"])
    assert "<table" in found._repr_html_()


def test_results_show_themselves(visits: pl.DataFrame) -> None:
    fit = mp.fit_agent(visits, fields=FIELDS)
    assert repr(fit).startswith(f"FitResult(s={fit.s:.4g}, c={fit.c:.4g}; powers invexp raw")
    assert "120 decisions" in repr(fit)
    assert "\n" not in repr(fit)
    assert "<table" in fit._repr_html_()
    assert fit.to_pandas()["s"][0] == fit.to_polars()["s"][0] == fit.s
    posterior = fit_reference(mp.Spreads.from_frame(visits, **COLUMNS))
    assert len(repr(posterior)) < 200
    assert "<table" in posterior._repr_html_()


def test_live_decisions_are_answered_one_by_one() -> None:
    """The second record is asked for only when the first one has its answer."""
    asked: list[int] = []

    def arriving() -> Iterator[dict[str, Any]]:
        while True:
            asked.append(len(asked))
            yield ADA

    standings = mp.follow(arriving())
    for count in (1, 2, 3):
        assert next(standings).decisions == count
        assert len(asked) == count


def test_lines_files_and_frames_are_followed_alike(tmp_path: Path) -> None:
    records = [{**ADA, "chosen": chosen} for chosen in (0, 1, 0, 2)]
    lines = [json.dumps(record) for record in records]
    path = tmp_path / "decisions.ndjson"
    path.write_text("\n".join([*lines[:2], "", *lines[2:]]), encoding="utf-8")
    packed = tmp_path / "packed.ndjson.gz"
    import gzip

    packed.write_bytes(gzip.compress(path.read_bytes()))
    frame = pl.DataFrame(records)
    ways: list[Any] = [records, lines, path, str(packed), frame]
    ends = [list(mp.follow(way))[-1] for way in ways]
    assert {end.decisions for end in ends} == {4}
    assert len({end.competence for end in ends}) == 1


def test_what_is_no_decision_is_told_by_number_and_the_rest_goes_on() -> None:
    lines = [json.dumps(ADA), "{", "", json.dumps({**ADA, "chosen": 9}), json.dumps(ADA)]
    told: list[tuple[int, str]] = []
    standings = list(mp.follow(lines, on_error=lambda number, why: told.append((number, why))))
    assert [each.decisions for each in standings] == [1, 2]
    assert [number for number, _ in told] == [2, 4]
    assert "no JSON" in told[0][1]
    with pytest.raises(InputError, match="line 2: this is no JSON"):
        list(mp.follow(lines))


def test_a_state_goes_on(tmp_path: Path) -> None:
    state = tmp_path / "state.json"
    (first,) = mp.follow([ADA], state=state)
    (second,) = mp.follow([ADA], state=state)
    assert (first.decisions, second.decisions) == (1, 2)
    whole = list(mp.follow([ADA, ADA]))[-1]
    assert second.competence == whole.competence
    before = state.read_bytes()
    assert list(mp.follow([], state=state)) == []
    assert state.read_bytes() == before
    # Left in the middle, it is kept up to there.
    standings = mp.follow([ADA] * 5, state=state)
    next(standings)
    standings.close()  # type: ignore[attr-defined]
    (after,) = mp.follow([ADA], state=state)
    assert after.decisions == 4
    state.write_text("{", encoding="utf-8")
    with pytest.raises(InputError, match="cannot read the state"):
        list(mp.follow([ADA], state=state))


def test_the_elo_is_followed_by_name_of_a_calibration(bundled_data: Path) -> None:
    folder = bundled_data / "sample"
    decisions = mp.decisions(folder / "games.pgn", folder / "evaluations", player="quillfeather")
    first, prior = decisions.table.head(40), (2000.0, 300.0)
    standings = list(mp.follow(first, calibration="stockfish15.1-quick", prior=prior))
    answer = mp.likelihood(mp.Decisions(first, setup=decisions.setup), prior=prior)
    last = answer.games.row(-1, named=True)
    assert standings[-1].rating is not None
    assert standings[-1].rating.mean == pytest.approx(last["mean"], abs=1e-6)
    assert standings[-1].rating.high == pytest.approx(last["high"], abs=1e-6)


def test_a_fit_that_runs_away_warns(visits: pl.DataFrame) -> None:
    worst = visits.with_columns(
        taken=pl.col("months") == pl.col("months").min().over("visit")
    ).filter(~pl.col("months").is_duplicated().over("visit"))
    with pytest.warns(NotConvergedWarning):
        assert not mp.fit_agent(worst, fields=FIELDS).converged
