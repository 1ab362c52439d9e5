"""The 2007 paper's experiments on simulated games whose truth is known, and on the real table."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.history.samples import fit

from milepost.errors import InputError
from milepost.history.draw_share import naive_log_evidence
from milepost.papers.experiment import (
    FAILS,
    HOLDS,
    TOO_LITTLE,
    MissingDataError,
    Outcome,
    experiments,
)
from milepost.papers.folder import Folder
from milepost.papers.ttt2007.data import PAPER, SPANS, games_of, history_of, verdict_of

BETA = PAPER["beta"]
NAMED = {
    "Morphy, Paul": (1850, 1870), "Spassky, Boris V": (1950, 1985),
    "Fischer, Robert James": (1955, 1992), "Kasparov, Gary": (1976, 2006),
    "Kramnik, Vladimir": (1989, 2006), "Anand, Viswanathan": (1986, 2006),
}  # fmt: skip
"""Who must be there, and when."""


def world(
    folder: Path,
    *,
    drift: float = 60.0,
    last: int = 2006,
    games: int = 60,
    skill: Mapping[str, float] | None = None,
    margin: Mapping[str, float] | None = None,
    every: int = 2,
    spread: tuple[float, float] = (300.0, 0.0),
    margin_a_year: float = 0.0,
    chance_only: bool = False,
    seed: int = 2007,
) -> Folder:
    """Write a table of simulated games; return its folder.

    A new player every so many years plays for thirty; skills begin at N(1200, 300²) and drift.
    Margins are N(spread) and, with `margin_a_year`, all grow with time.
    """
    rng = np.random.default_rng(seed)
    lives = {
        f"Player {n:03}": (1830 + every * n, 1860 + every * n) for n in range(176 // every)
    } | NAMED
    start = {name: rng.normal(1200, 300) for name in lives} | dict(skill or {})
    own = {name: max(rng.normal(*spread), 20.0) for name in lives} | dict(margin or {})
    now = dict(start)
    folder.mkdir(parents=True, exist_ok=True)
    pl.DataFrame(list(start.items()), orient="row").write_parquet(folder / "skills.parquet")
    rows = []
    for year in range(1850, last + 1):
        here = [name for name, (first, end) in lives.items() if first <= year <= end]
        for _ in range(games):
            one, two = rng.choice(len(here), 2, replace=False)
            white, black = here[one], here[two]
            apart = now[white] - now[black] + rng.normal(0, BETA * math.sqrt(2))
            rise = margin_a_year * (year - 1850)
            result = "1/2-1/2"
            if chance_only:
                result = str(rng.choice(["1-0", "0-1", "1/2-1/2"]))
            elif apart > own[black] + rise:
                result = "1-0"
            elif -apart > own[white] + rise:
                result = "0-1"
            rows.append((year, white, black, result, "twic:1", False))
        for name in here:
            if name not in (skill or {}):
                now[name] += rng.normal(0, drift)
    columns = ["year", "white_key", "black_key", "result", "source", "fast"]
    table = pl.DataFrame(rows, schema=columns, orient="row")
    table.with_columns(pl.col("year").cast(pl.Int16)).write_parquet(folder / "otb_results.parquet")
    return Folder(folder, work=folder / "work")


@pytest.fixture(scope="module")
def lively(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    """A world as the model has it: drifting skills, margins of the players' own."""
    return world(
        tmp_path_factory.mktemp("lively"),
        spread=(400.0, 250.0),
        skill={"Morphy, Paul": 2800.0, "Kasparov, Gary": 3400.0, "Kramnik, Vladimir": 1500.0,
               "Anand, Viswanathan": 2000.0},
        margin={"Spassky, Boris V": 900.0, "Fischer, Robert James": 100.0},
        games=100,
    )  # fmt: skip


def run(name: str, folder: Folder) -> Outcome:
    return experiments()[name].run(folder)


def verdicts(name: str, folder: Folder) -> list[str]:
    return [finding.verdict for finding in run(name, folder).findings]


def test_histories_are_fitted_once(lively: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    one = history_of(lively, "1850-2006", "ttt")
    expected = fit(games_of(lively), **PAPER, draw="share")
    assert one.log_evidence == pytest.approx(expected.log_evidence, abs=1e-6)
    monkeypatch.setattr("milepost.papers.ttt2007.data.fit_history", None)
    assert history_of(lively, "1850-2006", "ttt").log_evidence == one.log_evidence


def test_changed_games_are_fitted_again(tmp_path: Path) -> None:
    folder = world(tmp_path, last=1860)
    before = history_of(folder, "1850-2006", "ttt").games
    path = tmp_path / "otb_results.parquet"
    table = pl.read_parquet(path)
    extra = table.head(3).with_columns(source=pl.lit("gnu/book:1"))
    pl.concat([table.tail(-5), extra]).write_parquet(tmp_path / "new.parquet")
    (tmp_path / "new.parquet").replace(path)
    # Five games fewer; those of the source that is left out do not come in.
    from milepost.papers.ttt2007 import data as ttt2007_data

    ttt2007_data.read_games.cache_clear()
    assert history_of(folder, "1850-2006", "ttt").games == before - 5


def test_evidence_finds_margins_that_are_there(lively: Folder) -> None:
    outcome = run("2007-evidence", lively)
    found = [finding.verdict for finding in outcome.findings]
    assert [found[0], found[1], found[3]] == [HOLDS] * 3
    assert found[2] != FAILS  # some three hundred games held out are few
    table = outcome.tables["Evidence"].filter(pl.col("years") == "1850-2006")
    share = float((games_of(lively)["score"] == 0.5).sum()) / games_of(lively).height
    value = dict(table.select("model", "evidence").iter_rows())
    assert value["draw share alone"] == pytest.approx(naive_log_evidence(share))
    assert value["TTT-D"] > value["TTT"] > value["draw share alone"]


def test_held_out_games_get_the_historys_own_probabilities(lively: Folder) -> None:
    from milepost.papers.ttt2007.evidence import _log_probability

    history = history_of(lively, "1850-2006", "ttt")
    games = games_of(lively).sample(30, seed=1)
    for row, log in zip(games.iter_rows(named=True), _log_probability(games, history), strict=True):
        chances = history.predict(row["player_1"], row["player_2"], row["time"])
        chance = {1.0: chances.win, 0.5: chances.draw, 0.0: chances.loss}[row["score"]]
        # Curves and answers agree within the distance to the fixed point (0.1 points).
        assert log == pytest.approx(math.log(chance), abs=1e-3)
    stranger = games.head(1).with_columns(player_1=pl.lit("Nobody"))
    assert _log_probability(stranger, history).to_list() == [None]


def test_chance_results_give_no_evidence(tmp_path: Path) -> None:
    folder = world(tmp_path, chance_only=True)
    found = verdicts("2007-evidence", folder)
    assert found[1] == FAILS  # TTT is no better than the share of draws
    assert HOLDS not in verdicts("2007-draws", folder)[:2]


@pytest.mark.parametrize(("drift", "verdict"), [(60.0, HOLDS), (0.0, FAILS)])
def test_the_surface_tells_whether_skills_move(tmp_path: Path, drift: float, verdict: str) -> None:
    folder = world(tmp_path, drift=drift, last=1975, spread=(320.0, 0.0))
    outcome = run("2007-surface", folder)
    assert outcome.findings[1].verdict == verdict
    table = outcome.tables["Surface"]
    best = table.filter(pl.col("best")).row(0, named=True)
    assert (best["tau"] > 0) == (drift > 0)
    assert 240 <= best["beta"] <= 960  # the truth is 480


def test_margins_of_the_two(lively: Folder, tmp_path: Path) -> None:
    assert verdicts("2007-margins", lively)[0] == HOLDS
    swapped = world(tmp_path, margin={"Spassky, Boris V": 100.0, "Fischer, Robert James": 900.0})
    assert verdicts("2007-margins", swapped)[0] == FAILS


@pytest.mark.parametrize(("rise", "verdict"), [(4.0, HOLDS), (-1.5, FAILS)])
def test_draws_with_time(tmp_path: Path, rise: float, verdict: str) -> None:
    folder = world(tmp_path, margin_a_year=rise, games=100)
    games = games_of(folder)
    assert games.height == 15_700
    from milepost.papers.ttt2007.draws import _by_year, _slope

    slope, error = _slope(_by_year(games))
    assert verdict_of(0.5 * math.erfc(-slope / error / math.sqrt(2))) == verdict


def test_the_slopes_error_covers_the_truth() -> None:
    """A share that rises by 0.1 % a year comes back within two errors in about 95 % of worlds."""
    from milepost.papers.ttt2007.draws import _slope

    rng = np.random.default_rng(7)
    year = np.arange(1900, 2000)
    hits = 0
    for _ in range(300):
        games = rng.integers(50, 2000, len(year))
        # Years have ups and downs of their own beside the chance of the games.
        share = 0.3 + 0.001 * (year - 1900) + rng.normal(0, 0.03, len(year))
        drawn = rng.binomial(games, share) / games
        slope, error = _slope(pl.DataFrame({"year": year, "drawn": drawn, "games": games}))
        hits += abs(slope - 0.001) < 1.96 * error
    assert 0.90 <= hits / 300 <= 0.98


def test_champions(lively: Folder, tmp_path: Path) -> None:
    outcome = run("2007-champions", lively)
    found = [finding.verdict for finding in outcome.findings]
    # Morphy above all, twice; Fischer above Spassky; Kasparov above Kramnik, Anand no contender,
    # Kasparov the best of all: as simulated.
    assert found == [HOLDS, HOLDS, HOLDS, HOLDS, FAILS, HOLDS]
    weak = world(tmp_path, skill={"Morphy, Paul": 800.0, "Kasparov, Gary": 1000.0,
                                  "Kramnik, Vladimir": 2200.0})  # fmt: skip
    weaker = verdicts("2007-champions", weak)
    assert [weaker[place] for place in (0, 1, 3)] == [FAILS, FAILS, FAILS]


def test_curves_are_drawn_and_judged(lively: Folder) -> None:
    outcome = run("2007-curves", lively)
    assert outcome.findings[0].verdict == HOLDS
    assert outcome.findings[2].verdict == TOO_LITTLE  # nobody has a gap here
    assert set(outcome.charts) == {"Champions", "Fischer and Spassky"}


def test_games_and_the_size_of_the_graph(lively: Folder) -> None:
    outcome = run("2007-games", lively)
    sizes = outcome.tables["Sizes"].row(0, named=True)
    assert sizes["games"] == 15_700
    assert sizes["variables"] == 3 * 15_700 + sizes["player_years"]
    assert sizes["factors"] == 4 * 15_700 + sizes["player_years"]
    assert [f.verdict for f in outcome.findings] == [FAILS, TOO_LITTLE, TOO_LITTLE]
    # The paper's own size follows from its 3.5 million games and 1.2 million skills.
    paper = outcome.tables["Sizes"].row(2, named=True)
    skills = 1_200_000
    assert paper["variables"] == 3 * paper["games"] + skills
    assert paper["factors"] == 4 * paper["games"] + skills


def test_the_top_comes_back_as_it_was_simulated(tmp_path: Path) -> None:
    """Skills are constant here, so the true mean of the best twenty is known for every year."""
    folder = world(tmp_path, drift=0.0, games=300, every=1)
    top = run("2007-top", folder).tables["The top by year"]
    assert set(top["players"]) == {20}
    skill = dict(pl.read_parquet(tmp_path / "skills.parquet").iter_rows())
    played = history_of(folder, "1850-2006", "ttt").curves.filter(pl.col("games") >= 10)
    truth = {
        year: float(np.sort([skill[name] for name in part["player"]])[-20:].mean())
        for (year,), part in played.group_by("time")
    }
    for newcomers, part in top.group_by("newcomers"):
        apart = np.array([row["mean"] - truth[row["year"]] for row in part.iter_rows(named=True)])
        # The level is free up to a shift; within it every year is right to a few errors.
        error = float(part["error"].mean())  # type: ignore[arg-type]
        assert np.std(apart) < 2 * error, newcomers


def test_missing_things_are_said(tmp_path: Path) -> None:
    empty = Folder(tmp_path, work=tmp_path / "work")
    with pytest.raises(MissingDataError, match=r"otb_results\.parquet"):
        run("2007-games", empty)
    (tmp_path / "otb_results.parquet").write_text("no table", encoding="utf-8")
    with pytest.raises(InputError, match=r"otb_results\.parquet"):
        run("2007-games", empty)
    small = world(tmp_path / "small", last=1855)
    with pytest.raises(MissingDataError, match="Fischer"):
        run("2007-curves", small)
    with pytest.raises(MissingDataError, match=r"1,000 games"):
        run("2007-surface", small)
    with pytest.raises(MissingDataError, match="Kasparov"):
        run("2007-champions", small)


def test_verdicts_need_nineteen_of_twenty() -> None:
    assert [verdict_of(p) for p in (0.95, 0.94, 0.06, 0.05)] == [
        HOLDS, TOO_LITTLE, TOO_LITTLE, FAILS,
    ]  # fmt: skip


def test_the_real_table(shared_data: Path) -> None:
    """Counts, and the entropy of the draws, of which the paper gives none that can be used."""
    folder = Folder(shared_data, work=Path("unused"))
    counts = {span: games_of(folder, span).height for span in SPANS}
    assert counts == {"1850-2006": 1_009_280, "all years": 3_151_889}
    scores = games_of(folder)["score"]
    share = float((scores == 0.5).sum()) / len(scores)
    assert naive_log_evidence(share) == pytest.approx(-1.0980, abs=5e-5)


def test_the_figure_of_games_a_year_rises_with_the_games() -> None:
    years = list(range(1900, 1906))
    by_year = pl.DataFrame({"year": years, "games": [10**power for power in range(6)]})
    (area,) = re.findall(r'aria-roledescription="area mark"[^>]* d="([^"]+)"', svg_of(by_year))
    heights = {float(y) for y in re.findall(r"[ML][-\d.]+,([-\d.]+)", area)}
    # One level a year, a decade apart each: an axis from one to a million in six steps.
    assert len(heights) == len(years)
    steps = np.diff(sorted(heights))
    assert steps == pytest.approx(steps.mean(), abs=0.01)


def svg_of(by_year: pl.DataFrame) -> str:
    from milepost.papers.ttt2007.games import _chart
    from milepost.report.charts import svg_text

    return svg_text(_chart(by_year))
