"""The commands history, rank, predict, compare and tune, run as a user runs them."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.history.samples import fit
from typer.testing import CliRunner

from milepost.cli.app import app
from milepost.history import load_history
from milepost.history.draw_share import naive_log_evidence
from milepost.tables import CURVES

SAMPLE = Path(str(files("milepost") / "data" / "sample" / "games.pgn"))
# Skills that the simulated players keep for ten years, far apart: the order must come back.
SKILL = {
    "Strong, Ada": 1900.0, "Strong, Bea": 1600.0, "Middle, Cy": 1300.0, "Weak, Dan": 1000.0,
    "Weakest, Eve": 700.0,
}  # fmt: skip
NUMBERS = ["--beta", "300", "--tau", "20"]
FAST_FROM = 800


def run(*arguments: str | Path) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, [str(each) for each in arguments])
    return done.exit_code, done.stdout, done.stderr


def simulated() -> pl.DataFrame:
    rng = np.random.default_rng(1972)
    names = list(SKILL)
    games = 1000
    one = rng.integers(0, len(names), games)
    two = (one + rng.integers(1, len(names), games)) % len(names)
    skill = np.array(list(SKILL.values()))
    apart = skill[one] - skill[two] + 40 + rng.normal(0, 300 * np.sqrt(2), games)
    return pl.DataFrame({
        "time": np.sort(rng.integers(1970, 1980, games)),
        "player_1": [names[i] for i in one],
        "player_2": [names[i] for i in two],
        "score": np.where(apart > 150, 1.0, np.where(apart < -150, 0.0, 0.5)),
        "first_mover": np.ones(games, dtype=np.int8),
        "speed": ["blitz" if n >= FAST_FROM else "classical" for n in range(games)],
    })  # fmt: skip


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("results") / "results.parquet"
    simulated().write_parquet(path)
    return path


@pytest.fixture(scope="module")
def saved(results: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("saved") / "history"
    code, _, told = run(
        "history", results, "--save", folder, *NUMBERS, "--set", "first_mover=learn"
    )
    assert code == 0, told
    return folder


def test_history_writes_what_fit_returns_and_says_how_good_it_is(
    results: Path, tmp_path: Path
) -> None:
    out = tmp_path / "curves.parquet"
    code, shown, told = run("history", results, "-o", out, *NUMBERS)
    assert code == 0
    assert shown == ""
    table = pl.read_parquet(out)
    assert table.columns == CURVES.names
    keyed = simulated().with_columns(pl.col("player_1", "player_2").str.to_lowercase())
    expected = fit(keyed, beta=300.0, tau=20.0)
    assert table.equals(expected.curves)
    share = float((keyed["score"] == 0.5).mean())  # type: ignore[arg-type]
    assert "1,000 games, 5 players, 50 nodes" in told
    assert f"{expected.sweeps} sweeps, converged; remaining error about" in told
    assert f"evidence {expected.log_evidence / 1000:.4f} nats a game" in told
    assert f"alone: {naive_log_evidence(share):.4f}" in told
    assert "200 fast games" in told
    assert "count like the others" in told


def test_the_known_skills_come_back(saved: Path) -> None:
    code, shown, _ = run("rank", saved, "--at", "1975")
    assert code == 0
    places = [shown.index(name) for name in SKILL]
    assert places == sorted(places)
    code, text, _ = run("rank", saved, "--at", "1975", "-o", "-")
    rows = pl.read_csv(text.encode())
    truth = np.array(list(SKILL.values()))
    apart = rows["mean"].to_numpy() - rows["mean"].mean() - (truth - truth.mean())
    assert np.abs(apart).max() < 3.0 * rows["sd"].max()  # type: ignore[operator]


def test_fast_games_can_be_left_out_and_it_is_said(results: Path, tmp_path: Path) -> None:
    out = tmp_path / "curves.csv"
    code, _, told = run("history", results, "-o", out, "--skip-fast", *NUMBERS)
    assert code == 0
    assert "800 games" in told
    assert "200 fast games (flagged fast, or rapid, blitz, bullet) are left out" in told
    made = json.loads((tmp_path / "curves.csv.provenance.json").read_text())
    assert made["options"]["fast"] == "left out"
    assert made["options"]["fast_games"] == 200
    assert made["inputs"][0]["sha256"]


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_a_table_of_any_kind_with_a_flag(ending: str, tmp_path: Path) -> None:
    table = simulated().select(
        date="time", home="player_1", away="player_2", points="score",
        fast=pl.col("speed") == "blitz",
    )  # fmt: skip
    path = tmp_path / f"league.{ending}"
    table.write_parquet(path) if ending == "parquet" else table.write_csv(path)
    fields = "time=date,player_1=home,player_2=away,score=points"
    given: list[str | Path] = ["history", path, "--map", fields, "-o", tmp_path / "c.csv", *NUMBERS]
    code, _, told = run(*given, "--skip-fast", "--keep-names")
    assert code == 0
    assert "200 fast games" in told
    assert "800 games, 5 players" in told
    assert "Strong, Ada" in (tmp_path / "c.csv").read_text()
    # Of a table beside it without the flag nothing is known, and that is said.
    other = tmp_path / "other.csv"
    table.drop("fast").write_csv(other)
    code, _, told = run(*given[:2], other, *given[2:], "--skip-fast")
    assert code == 0
    assert "1,800 games" in told
    assert "200 fast games (flagged fast, or rapid, blitz, bullet) are left out" in told
    assert "of 1,000 games the speed is not known" in told
    # Without any word about speed that is said too.
    code, _, told = run("history", other, *given[2:])
    assert "0 fast games" in told
    assert "of 1,000 games the speed is not known" in told


def test_years_bound_the_games(results: Path, tmp_path: Path) -> None:
    out = tmp_path / "curves.parquet"
    code, _, told = run("history", results, "-o", out, "--from", "1972", "--to", "1974")
    assert code == 0
    assert sorted(pl.read_parquet(out)["time"].unique()) == [1972, 1973, 1974]
    assert re.search(r"years 1972-1974: \d+ of 1,000 results", told)
    dated = tmp_path / "dated.parquet"
    simulated().with_columns(time=pl.date(pl.col("time"), 5, 1)).write_parquet(dated)
    code, _, _ = run("history", dated, "-o", out, "--from", "1979", "--period", "month")
    assert code == 0
    assert [str(day) for day in pl.read_parquet(out)["time"].unique()] == ["1979-05-01"]
    code, _, told = run("history", results, "-o", out, "--from", "2001")
    assert code == 1
    assert "no results are left" in told


def test_pgn_is_read_as_it_is(tmp_path: Path) -> None:
    out = tmp_path / "curves.ndjson"
    code, _, told = run("history", SAMPLE, "-o", out, "--model", "elo")
    assert code == 0
    assert "the model elo has no evidence" in told
    assert pl.read_ndjson(out)["games"].sum() == 2 * 56
    code, _, told = run("history", SAMPLE, "-o", out, "--keep-names")
    assert code == 1
    assert "for tables" in told


@pytest.mark.parametrize("model", ["ttt-d", "trueskill", "elo", "glicko2"])
def test_every_model_has_curves(results: Path, tmp_path: Path, model: str) -> None:
    out, folder = tmp_path / "curves.parquet", tmp_path / "history"
    code, _, told = run("history", results, "-o", out, "--model", model, "--save", folder)
    assert code == 0
    assert f"{model}, period year" in told
    table = pl.read_parquet(out)
    assert table.height == 50
    assert table["margin_mean"].null_count() == (0 if model == "ttt-d" else 50)
    code, shown, told = run("rank", folder, "--at", "1975")
    assert code == 0
    assert ("margin_mean" in shown) == (model == "ttt-d")


def test_no_convergence_is_told_and_ends_with_1(results: Path, tmp_path: Path) -> None:
    out = tmp_path / "curves.parquet"
    code, _, told = run("history", results, "-o", out, "--set", "max_sweeps=1", "-q")
    assert code == 1
    assert "warning: after 1 sweeps" in told
    assert out.exists()
    code, _, told = run("history", results, "-o", out, "--set", "max_sweeps=1")
    assert "NOT CONVERGED" in told


def test_rows_that_cannot_be_used_are_told(tmp_path: Path) -> None:
    path = tmp_path / "results.csv"
    path.write_text("time,player_1,player_2,score\n1970,a,b,1\n1971,b,c,0\n,a,c,1\n1971,a,b,7\n")
    code, _, told = run("history", path, "-o", tmp_path / "c.csv")
    assert code == 0
    assert "warning: left out 1 of 3 results: 1 with no time" in told
    assert "1 games or rows could not be read" in told


def test_a_saved_history_says_how_it_was_made(saved: Path) -> None:
    made = json.loads((saved / "provenance.json").read_text())
    assert made["command"] == "history"
    assert made["options"]["first_mover"] == "learn"
    assert made["inputs"][0]["name"].endswith("results.parquet")


def test_predict_agrees_with_the_history(saved: Path, tmp_path: Path) -> None:
    out = tmp_path / "chances.csv"
    asked: list[str | Path] = [
        "predict",
        saved,
        "ada",
        "Strong, Bea",
        "--at",
        "1975",
        "--moves-first",
        "2",
    ]
    code, shown, _ = run(*asked, "-o", out)
    assert code == 0
    assert shown == ""
    row = pl.read_csv(out).row(0, named=True)
    expected = load_history(saved).predict("strong, ada", "strong, bea", 1975, first_mover=2)
    assert (row["win"], row["draw"], row["loss"]) == pytest.approx(expected)
    code, shown, _ = run(*asked)
    assert f"{100 * expected.win:.1f} %" in shown
    assert "Strong, Bea moves first" in shown
    code, shown, _ = run(*asked, "--format", "ndjson")
    assert json.loads(shown)["win"] == pytest.approx(expected.win)


def test_compare_across_times(saved: Path) -> None:
    code, shown, _ = run("compare", saved, "strong, ada@1972", "bea@1978")
    assert code == 0
    answer = load_history(saved).compare("strong, ada", "strong, bea", 1972, 1978)
    assert 0.98 < answer.probability < answer.probability_as_fitted
    assert answer.sentence in shown
    assert answer.sentence.startswith("Chance that Strong, Ada (1972) was stronger: ")
    assert f"{answer.difference.mean:.1f}" in shown
    code, text, _ = run("compare", saved, "ada@1972", "ada@1978", "-o", "-")
    row = pl.read_csv(text.encode()).row(0, named=True)
    # One player at two times is not independent of herself.
    assert row["difference_sd"] < np.hypot(row["sd_1"], row["sd_2"])


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("a", "'a' may be 4 players: Weak, Dan (418 games); Weakest, Eve (414 games); "),
        ("nobody", "no player is called 'nobody'"),
        ("strung, ada", "did you mean Strong, Ada"),
    ],
)
def test_names_must_mean_one_player(saved: Path, name: str, complaint: str) -> None:
    code, _, told = run("predict", saved, name, "cy", "--at", "1975")
    assert code == 1
    assert complaint in told


@pytest.mark.parametrize("name", ["STRONG,Ada", "Ada Strong", "ong, a", "strong, ada"])
def test_names_may_be_written_in_other_ways(saved: Path, name: str) -> None:
    code, text, _ = run("predict", saved, name, "cy", "--at", "1975", "-o", "-")
    assert code == 0
    assert pl.read_csv(text.encode())["player_1"].to_list() == ["strong, ada"]


def test_a_whole_name_that_is_part_of_a_better_known_one(tmp_path: Path) -> None:
    path = tmp_path / "results.csv"
    rows = ["1970,fischer,b,1", *['1970,"Fischer, Robert",b,1'] * 3]
    path.write_text("time,player_1,player_2,score\n" + "\n".join(rows) + "\n")
    assert run("history", path, "--save", tmp_path / "h", "-q")[0] == 0
    code, shown, told = run("predict", tmp_path / "h", "fischer", "b", "--at", "1970")
    assert code == 0
    assert "warning: using Fischer, Robert; other matches around 1970: fischer (1 game)" in told
    assert "Fischer, Robert" in shown
    code, shown, told = run("predict", tmp_path / "h", "=fischer", "b", "--at", "1970")
    assert (code, told) == (0, "")
    assert "Robert" not in shown
    code, _, told = run("predict", tmp_path / "h", "robert", "b", "--at", "1970", "--format", "csv")
    assert code == 0
    assert told == ""


def test_a_format_alone_writes_to_standard_output(results: Path) -> None:
    code, shown, _ = run("history", results, "--format", "csv", "-q")
    assert code == 0
    assert shown.startswith("player,time,mean")
    code, shown, _ = run("tune", results, "--vary", "beta=300", "--format", "csv", "-q")
    assert code == 0
    assert shown.startswith("point,beta,tau")


def test_rank_can_be_narrowed(saved: Path, tmp_path: Path) -> None:
    code, shown, _ = run("rank", saved, "--at", "1975", "--top", "2")
    assert code == 0
    assert "and 3 more" in shown
    out = tmp_path / "top.csv"
    code, _, _ = run("rank", saved, "--at", "1975-06-01", "--top", "2", "-o", out)
    assert pl.read_csv(out)["rank"].to_list() == [1, 2]
    code, text, _ = run("rank", saved, "--at", "1990", "--within", "5", "-o", "-")
    assert len(text.splitlines()) == 1
    code, text, _ = run("rank", saved, "--at", "1975", "--games", "100000", "-o", "-")
    assert len(text.splitlines()) == 1


def test_tune_shows_the_grid_and_refines_it(results: Path, tmp_path: Path) -> None:
    out = tmp_path / "grid.csv"
    code, shown, told = run(
        "tune", results, "--vary", "beta=200:400:3", "--set", "tau=10", "--set", "draw=150",
        "--window", "0", "--optimise", "-o", out,
    )  # fmt: skip
    assert code == 0
    table = pl.read_csv(out)
    assert table["point"].to_list() == ["grid"] * 3 + ["refined"]
    assert table["beta"].to_list()[:3] == [200.0, 300.0, 400.0]
    best = table.filter("best")
    assert best["evidence"][0] == table["evidence"].max()
    assert best["beta"][0] == pytest.approx(300.0, rel=0.2)
    assert shown.count("<- best") == 1
    assert "200 fast games" in told
    made = json.loads((tmp_path / "grid.csv.provenance.json").read_text())
    assert made["options"]["beta"] == [200.0, 300.0, 400.0]


def test_tune_by_prediction_with_margins(results: Path) -> None:
    code, shown, _ = run(
        "tune", results, "--model", "ttt-d", "--set", "beta=300", "--vary", "tau=10,20", "--vary",
        "margin_mu=100:300:2", "--by", "prequential", "--start", "1975", "--window", "0",
    )  # fmt: skip
    assert code == 0
    assert "best by prequential log-loss" in shown
    assert "margin_mu" in shown
    assert "at the grid's edge" in shown


def test_tune_searches_the_margin_and_the_first_mover(results: Path, tmp_path: Path) -> None:
    """Near the maximum of the likelihood with the true skills given: 135.3 and 19.6 points.

    (By scipy's Nelder-Mead over the two numbers; the 114 draws were simulated with 150 and 40.)
    """
    out = tmp_path / "grid.csv"
    code, shown, _ = run(
        "tune", results, "--set", "beta=300", "--set", "tau=10", "--vary", "draw=100,300", "--vary",
        "first-mover=-60:60:2", "--set", "sigma=500", "--window", "0", "--optimise", "-o", out,
    )  # fmt: skip
    assert code == 0
    table = pl.read_csv(out)
    assert table.height == 5
    best = table.filter("best").row(0, named=True)
    assert best["point"] == "refined"
    assert best["draw"] == pytest.approx(135.3, rel=0.1)
    assert best["first_mover"] == pytest.approx(19.6, abs=10.0)
    assert set(table["sigma"]) == {500.0}
    # What stands still is not shown.
    assert "first_mover" in shown
    assert "sigma" not in shown
    made = json.loads((tmp_path / "grid.csv.provenance.json").read_text())
    assert made["options"]["first_mover"] == [-60.0, 60.0]
    assert made["options"]["sigma"] == 500.0
    numbers = ["--vary", "beta=300", "--set", "tau=10", "--set", "first_mover=learn"]
    code, shown, _ = run("tune", results, *numbers, "--format", "csv", "-q")
    assert code == 0
    (row,) = pl.read_csv(shown.encode()).iter_rows(named=True)
    assert (row["draw"], row["first_mover"], row["log_loss"]) == (None, None, None)
    learned = fit(simulated(), beta=300.0, tau=10.0, first_mover="learn")
    assert row["evidence"] == pytest.approx(learned.log_evidence / learned.games, abs=1e-9)


def test_tune_compares_the_forms_of_a_draw(results: Path) -> None:
    code, shown, _ = run(
        "tune", results, "--model", "ttt-d", "--set", "beta=300", "--set", "tau=10", "--vary",
        "margin_sigma=20,100", "--vary", "margin_tau=0:10:2", "--vary",
        "draw_form=between, two-factor", "--window", "0", "--to", "1971", "--format", "csv", "-q",
    )  # fmt: skip
    assert code == 0
    table = pl.read_csv(shown.encode())
    assert table.group_by("draw_form").len()["len"].to_list() == [4, 4]
    assert set(table["margin_sigma"]) == {20.0, 100.0}
    assert set(table["margin_tau"]) == {0.0, 10.0}


def test_a_tuning_without_convergence_ends_with_1(results: Path) -> None:
    code, shown, told = run("tune", results, "--vary", "beta=300", "--set", "max_sweeps=1", "-q")
    assert code == 1
    assert "NOT CONVERGED" in shown
    assert "1 of 1 points did not converge" in told


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["history"], "nothing to write"),
        (["history", "-o", "x.docx"], "no known format"),
        (
            ["history", "-o", "-", "--model", "luck"],
            "expected one of ttt, ttt-d, forecast, trueskill",
        ),
        (["history", "-o", "-", "--model", "elo", "--beta", "3"], "elo has no option beta"),
        (
            ["history", "-o", "-", "--set", "margin_mu=3"],
            "the model ttt has no option margin_mu; its options are beta, tau, sigma, mu,",
        ),
        (["history", "-o", "-", "--set", "beta"], "--set: expected NAME=VALUE, got 'beta'"),
        (["history", "-o", "-", "--model", "ttt-d", "--set", "draw=3"], "ttt-d has no option draw"),
        (["history", "-o", "-", "--set", "draw=some"], "expected share, auto, learn or a number"),
        (["history", "-o", "-", "--set", "first_mover=x"], "expected learn, learn-by-period"),
        (
            ["history", "-o", "-", "--set", "newcomers=x"],
            "expected one of none, learn, company",
        ),
        (["history", "-o", "-", "--period", "week"], "expected one of year, month"),
        (["history", "-o", "-", "--beta", "-1"], "positive beta"),
        (
            ["history", "-o", "-", "--set", "preset=go"],
            "preset: expected one of auto, chess, plain",
        ),
        (["history", "-o", "-", "--model", "elo", "-j", "2"], "makes one pass: it has no workers"),
        (["tune", "--vary", "beta=1:2"], "--vary beta: expected LOW:HIGH:POINTS"),
        (["tune", "--vary", "beta=300", "--model", "elo"], "--model: expected one of ttt, ttt-d"),
        (["tune", "--vary", "margin_mu=9"], "ttt has no option margin_mu"),
        (["tune", "--vary", "draw_form=between"], "ttt has no option draw_form"),
        (["tune", "--vary", "draw=1,2", "--model", "ttt-d"], "ttt-d has no option draw"),
        (["tune", "--vary", "draw=some"], "expected share, auto, learn or a number"),
        (["tune", "--vary", "sigma=share"], "expected a positive sigma"),
        (["tune", "--vary", "first_mover=x"], "expected learn, learn-by-period"),
        (["tune", "--vary", "beta=300", "--optimise"], "several values"),
        (["tune", "--vary", "beta"], "--vary: expected NAME=VALUE"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(
    results: Path, arguments: list[str], complaint: str
) -> None:
    code, _, told = run(arguments[0], results, *arguments[1:])
    assert code == 1
    assert complaint in told
    assert "Traceback" not in told


def test_questions_need_a_history_and_times(tmp_path: Path, saved: Path) -> None:
    code, _, told = run("rank", tmp_path, "--at", "1985")
    assert code == 1
    assert "holds no history" in told
    code, _, told = run("compare", saved, "ada", "bea@1975")
    assert code == 1
    assert 'as in "ada@1972"' in told
    code, _, told = run("rank", saved, "--at", "then")
    assert code == 1
    assert "expected a year (1972), a month (1972-07), a date (1972-07-11) or a number" in told


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results that do not say who moved first, one of them without a time."""
    path = tmp_path_factory.mktemp("bare") / "results.csv"
    games = simulated().head(300).select("time", "player_1", "player_2", "score")
    time = pl.when(pl.int_range(pl.len()) == 7).then(pl.lit("NaN")).otherwise(pl.col("time"))
    games.with_columns(time=time.cast(pl.String)).write_csv(path)
    return path


def test_a_time_that_is_no_number_is_left_out(bare: Path, tmp_path: Path) -> None:
    code, _, said = run("history", bare, "-o", tmp_path / "curves.csv", *NUMBERS)
    assert code == 0
    assert "left out 1 of 300 results: 1 with no time" in said
    assert "299 games" in said


def test_an_advantage_without_first_movers_is_refused(bare: Path) -> None:
    for value in ("learn", "40"):
        code, _, said = run("history", bare, "-o", "-", "--set", f"first_mover={value}")
        assert code != 0
        assert "who moved first" in said


def test_questions_that_have_no_answer_are_told(bare: Path, tmp_path: Path) -> None:
    for model in ("ttt", "elo"):
        numbers = NUMBERS if model == "ttt" else []
        assert run("history", bare, "--save", tmp_path / model, "--model", model, *numbers)[0] == 0
    code, out, said = run("rank", tmp_path / "ttt", "--at", "1890")
    assert code == 0
    assert "nobody has games within 1 years of 1890" in said
    assert "from 1970 to 197" in said
    code, out, said = run(
        "predict", tmp_path / "ttt", "ada", "cy", "--at", "1971", "--moves-first", "1"
    )
    assert code == 0
    assert "makes no difference" in said
    for command, *players in (["rank"], ["predict", "ada", "cy"]):
        code, out, said = run(command, tmp_path / "elo", *players, "--at", "1971")
        assert code == 0
        assert "nan" not in out


def test_the_stage_and_the_order(results: Path, tmp_path: Path) -> None:
    code, out, said = run(
        "history", results, "-o", "-", "--set", "stage=filter", "--set", "draw=150", *NUMBERS
    )
    assert code == 0
    assert "one pass forward" in said
    filtered = fit(simulated(), stage="filter", draw=150.0, beta=300.0, tau=20.0)
    means = pl.read_csv(out.encode())["mean"].to_numpy()
    assert np.allclose(means, filtered.curves["mean"].to_numpy())
    shuffle = ["--model", "trueskill", "--set", "order=random", "--set", "draw=150", *NUMBERS]
    runs = [run("history", results, "-o", "-", *shuffle, "--set", f"seed={seed}") for seed in "113"]
    assert [code for code, _, _ in runs] == [0, 0, 0]
    assert runs[0][1] == runs[1][1] != runs[2][1]
    assert "random order, seed 3" in runs[2][2]
    assert run("history", results, "-o", "-", *shuffle)[0] != 0
    code, _, said = run("history", results, "-o", "-", "--set", "order=random", "--set", "seed=1")
    assert code != 0
    assert "the model ttt has no option order" in said
    code, _, said = run("history", results, "-o", "-", "--model", "elo", "--set", "stage=filter")
    assert code != 0


def test_by_game_a_saved_history_is_asked_by_time(results: Path, tmp_path: Path) -> None:
    assert run("history", results, "--save", tmp_path, "--period", "game", *NUMBERS)[0] == 0
    code, out, _ = run("rank", tmp_path, "--at", "1975", "--format", "csv")
    assert code == 0
    ranked = pl.read_csv(out.encode())
    assert ranked.height == len(SKILL)
    assert ranked["player"][0] == load_history(tmp_path).rank(1975)["player"][0]
    assert ranked["sd"].max() < 400  # type: ignore[operator]


def test_times_far_apart_carry_a_caution(tmp_path: Path) -> None:
    rows = [f"{year},{who},Methuselah,1" for who, year in (("Ann", 1900), ("Zoé", 1990))]
    path = tmp_path / "results.csv"
    path.write_text("time,player_1,player_2,score\n" + "\n".join(rows * 9) + "\n")
    numbers = ["--set", "sigma=4000", "--set", "beta=1", "-q"]
    assert run("history", path, "--save", tmp_path / "h", *numbers)[0] == 0
    code, shown, said = run("compare", tmp_path / "h", "zoe@1990", "methuselah@1900")
    assert code == 0
    assert "caution: 90 years lie between them" in said
    assert "Zoé @ 1990" in shown
    chance = shown.splitlines()[0].rpartition(": ")[2]
    assert chance in ("over 99 %", "99.0 %") or float(chance.removesuffix(" %")) < 99.0
    code, text, said = run("compare", tmp_path / "h", "zoe@1990", "methuselah@1900", "-o", "-")
    assert "caution" in said
    row = pl.read_csv(text.encode()).row(0, named=True)
    assert row["player_1"] == "zoe"
    assert row["scale_sd"] == pytest.approx(0.06 * 90**0.5)
    _, _, said = run("compare", tmp_path / "h", "zoe@1990", "methuselah@1985")
    assert "caution" not in said


def test_games_of_chess_and_what_is_told_of_it(tmp_path: Path) -> None:
    out = tmp_path / "curves.csv"
    code, _, told = run("history", SAMPLE, "-o", out)
    assert code == 0
    assert "with the numbers for chess: beta 480, tau 80, sigma 500, first_mover 90" in told
    code, _, told = run("history", SAMPLE, "-o", out, "--set", "preset=plain")
    assert "numbers for chess" not in told


@pytest.mark.parametrize(
    ("arguments", "now"),
    [
        (("history", "r.csv", "--sigma", "300"), "--set sigma=VALUE"),
        (("history", "r.csv", "--first-mover", "learn"), "--set first_mover=VALUE"),
        (("history", "r.csv", "--preset", "plain"), "--set preset=VALUE"),
        (("tune", "r.csv", "--beta", "1,2"), "--vary beta=VALUES"),
        (("tune", "r.csv", "--aliases", "a.csv"), "milepost results"),
    ],
)
def test_former_options_point_to_what_took_their_place(
    arguments: tuple[str, ...], now: str
) -> None:
    code, _, told = run(*arguments)
    assert code == 2
    assert now in " ".join(told.split())


def test_what_a_cluster_cannot_do_is_refused_at_once(results: Path, tmp_path: Path) -> None:
    words = ["history", str(results), "-o", str(tmp_path / "c.csv"), "--cluster", "auto"]
    code, _, told = run(*words, "--skip-fast")
    assert code != 0
    assert "--skip-fast cannot be used on a cluster" in told
    code, _, told = run(*words, "--set", "newcomers=learn")
    assert code != 0
    assert "slices cannot learn the level of newcomers" in told
