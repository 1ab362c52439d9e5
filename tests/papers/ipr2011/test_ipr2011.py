"""The 2011 experiments: verdicts on simulated data with known truth; plumbing; real data."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import integrate, optimize
from tests.papers.simulated import LINE, C, make_table, true_agent

from milepost.choice import Agent, DepthScheme, Scale, Spreads
from milepost.choice.model import ChoiceModel
from milepost.choice.scale import scaled_differences
from milepost.fit import Candidate
from milepost.papers import experiment as index
from milepost.papers.experiment import FAILS, HOLDS, TOO_LITTLE, MissingDataError
from milepost.papers.folder import Folder
from milepost.papers.ipr2011.data import chance_qfit, cohorts_of, elo_scale, share_off
from milepost.papers.ipr2011.depths import at_depth, fit_depths, judge_depths
from milepost.papers.ipr2011.groups import engine_finding, phase_finding, rate_table
from milepost.papers.ipr2011.inflation import drift_findings, drift_of, drift_table, s_finding
from milepost.papers.ipr2011.models import cross_table, method_findings, ratio_finding
from milepost.papers.ipr2011.ratings import count_findings, count_players
from milepost.papers.ipr2011.scale import (
    CONSTANTS,
    Errors,
    bin_table,
    constant_finding,
    constant_table,
    errors_of,
    growth_finding,
    half_pawn_finding,
    kind_finding,
    kind_table,
    level_constant,
    level_findings,
)
from milepost.papers.ipr2011.signs import sign_findings, sign_table
from milepost.papers.ipr2011.speeds import clock_finding, speed_finding
from milepost.papers.ipr2011.table import milepost_table, trend_finding
from milepost.papers.ipr2011.ties import Ties, fit_logit, judge_ties, share_table, ties_of
from milepost.papers.statistics import Estimate, first_options, mean_of, regress
from milepost.report.charts import spec_of

LEVELS = [1600.0, 1900.0, 2200.0, 2500.0]
NAMES = [name for name in index.experiments() if name.startswith(("2009", "2011", "script"))]

LARGER = {"2011-over-2700", "2011-kinds"}
"""These need lists of ratings, or more turns than the simulated folder has."""


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    """Mileposts of agents whose s falls with Elo."""
    return make_table(LEVELS, 700, 11)


@pytest.mark.parametrize(
    "name", [name for name in NAMES if name not in {"2011-over-2700", "2011-kinds"}]
)
def test_every_experiment_runs_on_a_folder(simulated_folder: Folder, name: str) -> None:
    outcome = index.find_experiments([name])[0].run(simulated_folder)
    assert outcome.n > 0
    assert outcome.findings
    for finding in outcome.findings:
        assert finding.verdict in {HOLDS, FAILS, TOO_LITTLE}
        assert "nan" not in finding.found
    assert outcome.tables
    for chart in outcome.charts.values():
        assert spec_of(chart)["config"]


def test_experiments_without_a_store_or_data_say_so(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match="store"):
        Folder(tmp_path, None, tmp_path).evaluations  # noqa: B018
    with pytest.raises(MissingDataError, match="not there"):
        index.find_experiments(["2011-over-2700"])[0].run(Folder(tmp_path, None, tmp_path))


def test_tables_are_kept_and_made_anew(simulated_folder: Folder, tmp_path: Path) -> None:
    made = []

    def make() -> pl.DataFrame:
        made.append(1)
        return pl.DataFrame({"x": [len(made)]})

    folder = Folder(simulated_folder.root, simulated_folder.store, tmp_path / "work")
    assert folder.kept("a", ["1"], make)["x"].to_list() == [1]
    assert folder.kept("a", ["1"], make)["x"].to_list() == [1]
    assert folder.kept("a", ["2"], make)["x"].to_list() == [2]


def test_positions_of_several_games_are_left_out(simulated_folder: Folder, tmp_path: Path) -> None:
    source = simulated_folder.path("engines", "engines.pgn")
    text = source.read_text(encoding="utf-8")
    first = text.split("\n\n[Event")[0]
    # The same moves under other names are another game that reaches the same positions.
    again = first.replace("white, A", "whites, Z").replace("2012.", "2011.").replace("1-0", "0-1")
    root = tmp_path / "data"
    (root / "engines").mkdir(parents=True)
    (root / "engines" / "engines.pgn").write_text(text, encoding="utf-8")
    (root / "lichess").mkdir()
    (root / "lichess" / "again.pgn").write_text(again, encoding="utf-8")
    folder = Folder(root, simulated_folder.store, tmp_path / "work")
    whole = simulated_folder.decisions("engines", "engines.pgn")
    part = folder.decisions("engines", "engines.pgn")
    gone = set(whole["game_id"]) - set(part["game_id"])
    assert len(gone) == 1
    assert len(part) == len(whole.filter(~pl.col("game_id").is_in(list(gone))))
    with pytest.raises(MissingDataError, match="no evaluations"):
        folder.decisions("lichess", "again.pgn")


def test_clustered_errors_against_resampling_of_groups() -> None:
    rng = np.random.default_rng(3)
    groups = np.repeat(np.arange(60), 5)
    values = rng.normal(0, 1, 60)[groups] + rng.normal(0, 0.5, 300)
    found = mean_of(values, groups)
    assert found.value == pytest.approx(values.mean())
    means = values.reshape(60, 5).mean(axis=1)
    draws = [means[rng.integers(0, 60, 60)].mean() for _ in range(4000)]
    assert found.se == pytest.approx(np.std(draws), rel=0.08)
    x = rng.normal(size=300)
    beta, _ = regress(np.stack([np.ones(300), x], axis=1), values, groups)
    assert beta == pytest.approx(np.polyfit(x, values, 1)[::-1])


def test_an_estimate_knows_its_power() -> None:
    # 2.8 standard errors: 1.960 + 0.842, the textbook value for 80 % at 5 %.
    assert Estimate(0.0, 10.0).detectable == pytest.approx(28.0, abs=0.1)
    assert Estimate(3.0, 1.0).p == pytest.approx(0.0027, abs=1e-4)


def test_the_share_off_is_that_of_sums() -> None:
    frame = pl.DataFrame(
        {"n": [100, 300], "ad_projected": [0.2, 0.1], "ad_actual": [0.1, 0.1], "ad_sd": [0.01, 0.0]}
    )
    found = share_off(frame)
    assert found.value == pytest.approx(100 * (50 / 40 - 1))
    assert found.se == pytest.approx(100 * 1 / 40)


def test_chance_qfit_against_simulation(table: pl.DataFrame) -> None:
    spreads = cohorts_of(table)[2200.0]
    agent = true_agent(2200.0)
    rng = np.random.default_rng(5)
    drawn = [agent.project(agent.simulate(spreads, rng)).qfit for _ in range(200)]
    assert chance_qfit(agent.project(spreads)) == pytest.approx(np.mean(drawn), rel=0.1)


def test_the_scale_of_elo_recovers_the_truth(table: pl.DataFrame) -> None:
    scale = elo_scale(cohorts_of(table))
    error = math.sqrt(scale.covariance[1, 1])
    assert abs(scale.line[1] - LINE[1]) < 3 * error
    fresh = make_table([2350.0], 1500, 12)
    elo, fit = scale.rate(Spreads.from_table(fresh))
    assert abs(elo.value - 2350) < 3 * elo.se
    assert 20 < elo.se < 200
    assert scale.c(elo.value) == pytest.approx(fit.c, abs=1e-3)
    # Beyond the mileposts c is held.
    assert scale.c(4000) == scale.c(2500)


def test_s_falls_only_where_it_does(table: pl.DataFrame) -> None:
    falling = milepost_table({}, elo_scale(cohorts_of(table)))
    assert trend_finding(falling).verdict == HOLDS
    same = make_table(LEVELS, 700, 13, agent=lambda _: true_agent(2000))
    assert trend_finding(milepost_table({}, elo_scale(cohorts_of(same)))).verdict != HOLDS


def test_inflation_is_found_where_it_is(table: pl.DataFrame) -> None:
    def inflated(elo: float) -> Agent:
        # Play of a rating was that of a higher one in the old days.
        return true_agent(elo + 400)

    scale = elo_scale(cohorts_of(table))
    for agent, moved in ((true_agent, 0.0), (inflated, 400.0)):
        old = {
            period: cohorts_of(make_table(LEVELS, 700, seed, agent=a, period=period))
            for seed, period, a in (
                (15, "1976-1979", agent), (16, "1977-1978", agent), (17, "2011-2014", true_agent),
            )
        }  # fmt: skip
        drift = drift_of(
            drift_table(old, scale).rename({"shift in Elo": "over", "se in Elo": "se of over"})
        )
        assert drift is not None
        # 35 years apart, and the slope of the line is itself known to a fifth only.
        truth = moved * 30 / 35 * LINE[1] / scale.line[1]
        assert abs(drift.value - truth) < 3 * drift.se
        assert (drift.z > 3) is (moved > 0)


def cells(over: list[float], error: float) -> pl.DataFrame:
    """Three levels in three periods, with a mean over the rating of each period."""
    periods = ("1976-1979", "1991-1994", "2011-2014")
    return pl.DataFrame(
        [(p, level, 500, o, error) for p, o in zip(periods, over, strict=True)
         for level in (2200.0, 2400.0, 2600.0)],
        schema=["period", "level", "n", "over", "se of over"], orient="row",
    )  # fmt: skip


def test_no_inflation_is_claimed_only_with_power() -> None:
    level, blunt = cells([0.0, 0.0, 0.0], 30.0), cells([0.0, 0.0, 0.0], 200.0)
    assert s_finding(level).verdict == HOLDS
    assert s_finding(blunt).verdict == TOO_LITTLE
    # Play at a rating fell by 200 in 35 years: ratings inflated.
    fallen = cells([200.0, 120.0, 0.0], 30.0)
    drift = drift_of(fallen)
    assert drift is not None
    assert drift.value == pytest.approx(200 * 30 / 35, abs=8)
    assert [each.verdict for each in drift_findings(fallen, "s")] == [FAILS, FAILS]
    risen = drift_findings(cells([-200.0, -120.0, 0.0], 30.0), "s")
    assert [each.verdict for each in risen] == [HOLDS, HOLDS]
    assert [each.verdict for each in drift_findings(blunt, "s")] == [TOO_LITTLE, TOO_LITTLE]
    assert s_finding(level.head(3)).verdict == TOO_LITTLE


def simulated_errors(growth: float, bend: float, seed: int, n: int = 40_000) -> Errors:
    """Errors whose raw size grows with |e|, and whose scaled size changes by `bend` a pawn."""
    rng = np.random.default_rng(seed)
    e = rng.uniform(-3, 3, n)
    noise = rng.gamma(0.5, 2.0, n)
    raw = noise * (1 + growth * np.abs(e))
    scaled = {c: noise * (1 + bend * np.abs(e) + 0.2 * math.log(c) * np.abs(e)) for c in CONSTANTS}
    return Errors(e, raw, scaled, np.arange(n) // 4)


def test_scaling_is_judged_by_the_truth() -> None:
    paper = simulated_errors(1.4, 0.0, 1)
    # (1 + 1.4 × 0.5) / (1 + 1.4 × 0.1) = 1.49 is not the paper's; 1.9 gives 1.64.
    assert half_pawn_finding(simulated_errors(1.9, 0.0, 2, 400_000)).verdict == HOLDS
    assert half_pawn_finding(simulated_errors(0.2, 0.0, 3, 400_000)).verdict == FAILS
    assert growth_finding(simulated_errors(1.4, 0.0, 1, 400_000)).verdict == HOLDS
    assert growth_finding(simulated_errors(0.0, 0.0, 4, 400_000)).verdict == FAILS
    assert level_findings(paper)[0].verdict == HOLDS
    assert level_findings(simulated_errors(1.4, 0.5, 5))[0].verdict == FAILS
    constants = constant_table(paper)
    level = level_constant(constants, "3")
    assert level is not None
    # The simulated change is zero at C = 1.
    assert abs(level.value - 1) < 3 * level.se
    assert constant_finding(constants, 9).verdict in {HOLDS, TOO_LITTLE}
    assert constant_finding(constants.filter(pl.col("C") > 2), 9).verdict == TOO_LITTLE
    bins = bin_table(simulated_errors(1.4, 0.0, 1, 400_000), 0.1)
    assert 0.0 not in bins["Value of the position"].to_list()
    inner = bins.filter((pl.col("kind") == "raw") & (pl.col("Value of the position").abs() < 0.15))
    mean = inner["Difference over its mean"].to_numpy().mean()
    assert mean == pytest.approx(1 + 1.4 * 0.1, rel=0.03)


def test_the_drafts_worked_example_of_the_scale() -> None:
    # Draft of 2011, section 5: from +0.50, a slip of 1.25 pawns is the integral from -0.75 to 0.50.
    spreads = Spreads.from_lists([[0.50, -0.75]], [1])
    by_hand = integrate.quad(lambda x: 1 / (1 + abs(x)), -0.75, 0.50, points=[0.0])[0]
    assert scaled_differences(spreads, Scale())[1] == pytest.approx(by_hand)
    assert by_hand == pytest.approx(math.log(1.5) + math.log(1.75))


def test_kinds_are_judged_by_the_farthest() -> None:
    row = {"kind of event": "a", "n": 5000, "raw, % a pawn": 90.0, "se, raw": 5.0}
    level = pl.DataFrame([row | {"scaled, % a pawn": 1.0, "se, scaled": 3.0}] * 3)
    assert kind_finding(level).verdict == HOLDS
    steep = pl.concat([level, level.head(1).with_columns(pl.lit(40.0).alias("scaled, % a pawn"))])
    assert kind_finding(steep).verdict == FAILS
    with pytest.raises(MissingDataError, match="1000"):
        kind_table({})


def test_errors_are_over_the_mean_of_their_milepost(table: pl.DataFrame) -> None:
    errors = errors_of(table, (1.0,))
    for level in LEVELS:
        inside = (table["milepost"] == level).to_numpy()
        assert errors.raw[inside].mean() == pytest.approx(1.0)
        assert errors.scaled[1.0][inside].mean() == pytest.approx(1.0)
    row = table.row(5, named=True)
    lost = min(row["values"][0] - row["values"][row["chosen"]], 4.0)
    same = table.filter(pl.col("milepost") == row["milepost"])
    losses = [min(v[0] - v[c], 4.0) for v, c in same.select("values", "chosen").iter_rows()]
    assert errors.raw[5] == pytest.approx(lost / np.mean(losses))


def test_signs_are_judged_by_the_truth() -> None:
    even = simulated_errors(1.0, 0.0, 10)
    raw, scaled = sign_findings(sign_table(even))
    assert (raw.verdict, scaled.verdict) == (FAILS, HOLDS)
    factor = np.where(even.e < 0, 1.4, 1.0)
    odd = Errors(even.e, even.raw, {1.0: even.scaled[1.0] * factor}, even.groups)
    ratio = sign_table(odd).filter(pl.col("kind") == "scaled")["behind over ahead"].to_numpy()
    assert np.abs(ratio - 1.4).max() < 0.15
    assert sign_findings(sign_table(odd))[1].verdict == FAILS


def simulated_ties(n: int, seed: int, *, first: float, lower: float, lead: float) -> Ties:
    """Ties where the first-listed move is drawn to with log-odds `first`, and those that looked
    0.1 better before with `lower`; `lead` is by how much first-listed moves looked better."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 5, n)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    before = rng.normal(0, 0.1, offsets[-1])
    before[offsets[:-1]] += lead
    z = 10 * lower * before
    z[offsets[:-1]] += first
    # The largest of values with Gumbel noise is a draw from the logit.
    z += rng.gumbel(size=len(z))
    chosen = np.array([z[a:b].argmax() for a, b in pairwise(offsets)])
    return Ties(
        offsets,
        chosen,
        before,
        np.ones(n),
        np.arange(n) // 3,
        (2000 + 500 * (np.arange(n) % 2)).astype(np.float64),
    )


@pytest.mark.parametrize(
    ("truth", "verdicts"),
    [
        ({"first": 0.0, "lower": 0.0, "lead": 0.0}, {0: {FAILS, TOO_LITTLE}, 1: {HOLDS}}),
        ({"first": 0.5, "lower": 0.0, "lead": 0.0}, {0: {HOLDS}, 2: {FAILS}}),
        ({"first": 0.0, "lower": 0.5, "lead": 0.1}, {0: {HOLDS}, 2: {HOLDS, TOO_LITTLE}}),
        ({"first": 0.5, "lower": 0.5, "lead": 0.1}, {0: {HOLDS}, 2: {FAILS}}),
    ],
)  # fmt: skip
def test_ties_are_judged_by_the_truth(
    truth: dict[str, float], verdicts: dict[int, set[str]]
) -> None:
    ties = simulated_ties(3000, 8, **truth)
    findings, effects = judge_ties(ties)
    for place, wanted in verdicts.items():
        assert findings[place].verdict in wanted, findings[place]
    errors = effects["se"].to_numpy()
    assert abs(effects["log-odds"][1] - truth["first"]) < 4 * errors[1]
    assert abs(effects["log-odds"][2] - truth["lower"]) < 4 * errors[2]
    assert share_table(ties)["n"].to_list()[-1] == 3000


def test_the_logit_against_a_general_optimiser() -> None:
    ties = simulated_ties(400, 9, first=0.4, lower=0.3, lead=0.05)
    first = np.zeros(len(ties.lower))
    first[ties.offsets[:-1]] = 1
    features = np.stack([first, 10 * ties.lower], axis=1)

    def loss(beta: np.ndarray) -> float:
        total = 0.0
        for place, (a, b) in enumerate(pairwise(ties.offsets)):
            z = features[a:b] @ beta
            total += math.log(np.exp(z).sum()) - z[ties.chosen[place]]
        return total

    best = optimize.minimize(loss, np.zeros(2), method="Nelder-Mead", options={"xatol": 1e-7})
    assert fit_logit(ties, features)[0] == pytest.approx(best.x, abs=1e-4)


def test_ties_are_found_in_decisions() -> None:
    table = make_table([2000.0], 400, 21, ties=0.5)
    ties = ties_of(table)
    by_hand = [
        (row["chosen"], row["values"].count(row["values"][0]))
        for row in table.iter_rows(named=True)
        if 1 < row["values"].count(row["values"][0]) > row["chosen"]
    ]
    assert [
        (c, k) for c, k in zip(ties.chosen.tolist(), ties.sizes.tolist(), strict=True)
    ] == by_hand


def test_ratios_are_judged_by_the_truth() -> None:
    def shares(elo: float) -> Agent:
        return Agent(true_agent(elo).s / 3, C, ratio="shares")

    two = {r: Candidate(ChoiceModel(ratio=r), "percentile") for r in ("powers", "shares")}
    # Powers are the truth in the first, shares in the second.
    for agent, better in ((true_agent, True), (shares, False)):
        cohorts = cohorts_of(make_table(LEVELS, 2200, 22, agent=agent))
        assert (ratio_finding(cross_table(cohorts, two)).verdict == HOLDS) is better


def test_methods_are_judged_by_the_truth() -> None:
    ways = {m: Candidate(ChoiceModel(), m) for m in ("percentile", "likelihood", "moments")}
    cohorts = cohorts_of(make_table(LEVELS[2:], 1200, 23))
    # The model is right: no way of fitting it mis-projects.
    found = {f.key: f.verdict for f in method_findings(cross_table(cohorts, ways))}
    assert HOLDS not in found.values()

    def lapsing(elo: float) -> Agent:
        return Agent(true_agent(elo + 600).s, 0.8, lapse=0.04)

    # Blunders at random in an agent who else makes none: greatest likelihood is drawn to them.
    cohorts = cohorts_of(make_table(LEVELS[2:], 1200, 24, agent=lapsing))
    found = {f.key: f.verdict for f in method_findings(cross_table(cohorts, ways))}
    assert HOLDS in {found["2011-likelihood-match"], found["2011-likelihood-difference"]}


@pytest.mark.parametrize(("slope", "verdict"), [(3.0, {HOLDS}), (0.0, {TOO_LITTLE, FAILS})])
def test_depth_weights_are_judged_by_the_truth(slope: float, verdict: set[str]) -> None:
    scheme = DepthScheme.curve(range(1, 5), degree=1)

    def agent(elo: float) -> Agent:
        number = 1.0 + slope * (elo - 2050) / 1000
        return Agent(0.2, C, depths=scheme, depth_numbers=(number,), lapse=0.01)

    table = make_table(LEVELS, 500, 25, agent=agent)
    finding, weights = judge_depths(fit_depths(Spreads.from_table(table)), len(table))
    assert finding.verdict in verdict
    assert weights.group_by("Elo").agg(pl.col("Weight").sum())["Weight"].to_list() == pytest.approx(
        [1.0] * weights["Elo"].n_unique()
    )


def test_less_analysis_by_hand() -> None:
    spreads = Spreads.from_lists(
        [[0.5, 0.2, -1.0]], [1], depth_values=[[[0.0, 0.5], [0.3, 0.2], [0.1, -1.0]]]
    )
    shallow = at_depth(spreads, 1)
    assert shallow.values.tolist() == [0.3, 0.1, 0.0]
    assert shallow.chosen.tolist() == [0]
    two = first_options(spreads, 1, bounded=True)
    assert two.outside == 1
    assert two.values.tolist() == [0.5, 0.5, 0.5]


def test_sets_are_rated_and_phases_judged(table: pl.DataFrame) -> None:
    scale = elo_scale(cohorts_of(table))
    sets = [("humans of 2500", table.filter(pl.col("milepost") == 2500)),
            ("engines", make_table([3300.0], 700, 26)), ("few", table.head(5))]  # fmt: skip
    rated = rate_table(sets, scale)
    assert rated["set"].to_list() == ["humans of 2500", "engines"]
    assert engine_finding(rated, 2500.0).verdict == HOLDS
    phases = pl.DataFrame(
        {
            "phase": ["middlegame", "endgame"],
            "n": [900, 700],
            "Elo over the whole game": [0.0, 300.0],
            "se": [20.0, 20.0],
        }
    )
    assert phase_finding(phases).verdict == FAILS
    alike = phases.with_columns(pl.lit(5.0).alias("Elo over the whole game"))
    assert phase_finding(alike).verdict == HOLDS
    assert phase_finding(phases.with_columns(pl.lit(300.0).alias("se"))).verdict == TOO_LITTLE
    assert phase_finding(phases.head(1)).verdict == TOO_LITTLE


def test_speeds_and_clocks_are_judged() -> None:
    rows = [("a, classical", 2000.0), ("a, blitz", 1700.0)]
    table = pl.DataFrame([{"set": n, "n": 400, "Elo by moves": e, "se": 40.0} for n, e in rows])
    assert speed_finding(table).verdict == HOLDS
    alike = table.with_columns(pl.lit(2000.0).alias("Elo by moves"))
    assert speed_finding(alike).verdict == FAILS
    assert speed_finding(alike.with_columns(pl.lit(200.0).alias("se"))).verdict == TOO_LITTLE
    assert speed_finding(table.head(1)).verdict == TOO_LITTLE
    clocks = table.with_columns(pl.Series("set", ["a, over five minutes", "a, under a minute"]))
    assert clock_finding(clocks).verdict == HOLDS
    assert clock_finding(table).verdict == TOO_LITTLE


def test_players_are_counted() -> None:
    rows: list[dict[str, Any]] = [
        {"pid": pid, "year": year, "first": 2400, "last": last}
        for year, lasts in ((1975, [2705, 2600]), (1995, [2700, 2510, 2400]), (2010, [2710] * 30))
        for pid, last in enumerate(lasts)
    ]
    counts = count_players(pl.DataFrame(rows))
    assert counts.rows() == [(1975, 2, 2, 1, 2705), (1995, 3, 2, 1, 2700), (2010, 30, 30, 30, 2710)]
    assert count_findings(counts)[0].verdict == TOO_LITTLE
    years = {**dict.fromkeys(range(1971, 1980), 2), 1980: 0, **dict.fromkeys(range(2001, 2011), 35)}
    lists = pl.DataFrame({"year": list(years), "over 2700": list(years.values())})
    assert [each.verdict for each in count_findings(lists)] == [HOLDS, HOLDS, HOLDS]
    fewer = lists.with_columns(pl.when(pl.col("year") > 2000).then(12).otherwise(3).alias("x"))
    fewer = fewer.select("year", pl.col("x").alias("over 2700"))
    assert [each.verdict for each in count_findings(fewer)] == [FAILS, FAILS, FAILS]


def test_real_lists_of_fide(shared_data: Path, tmp_path: Path) -> None:
    outcome = index.find_experiments(["2011-over-2700"])[0].run(Folder(shared_data, None, tmp_path))
    counts = outcome.tables["Players"].filter(pl.col("year") == 2010)
    # FIDE's list of January 2011 has 40 players of at least 2700.
    assert 34 <= counts["over 2700"].item() <= 46


def test_real_turns_of_three_mileposts(shared_data: Path) -> None:
    frame = pl.read_parquet(shared_data / "analysis" / "random_turns_2011-2014.parquet")
    levels = [1600, 2200, 2700]
    best = pl.col("cp").list.last().list.first()
    part = frame.filter(pl.col("milepost").is_in(levels), ~pl.col("repeated"), best.abs() <= 300)
    cohorts = {
        float(level): Spreads.from_lists(
            [[v / 100 for v in cp[-1]] for cp in rows["cp"].to_list()],
            [m.index(p) for m, p in rows.select("moves", "played").iter_rows()],
            groups=rows["game"].to_list(),
        )
        for level in levels
        for rows in (part.filter(pl.col("milepost") == level),)
    }
    table = milepost_table({}, elo_scale(cohorts))
    # Our own figures in docs/choice.md, with c on a line through all twelve: 0.238, 0.196, 0.123.
    assert table["s_fit"].to_list() == pytest.approx([0.238, 0.196, 0.123], abs=0.03)
    assert table["mm_actual"].to_list() == pytest.approx([0.406, 0.447, 0.534], abs=0.001)
