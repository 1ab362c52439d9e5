"""The commands fit and models, run as a user runs them."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import polars as pl
import pytest
from examples import doctors
from typer.testing import CliRunner

from milepost.cli.app import app
from milepost.tables import FITS

SAMPLE = Path(str(files("milepost") / "data" / "sample" / "games.pgn"))
FIELDS = "decision=visit,value=months,chosen=chosen,group=day"
PLAIN = ["--difference", "raw", "--cap", "0", "--tie-shift", "0", "--ratio", "shares"]


@pytest.fixture(scope="module")
def decisions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("decisions") / "decisions.csv"
    visits = doctors.simulate()
    first = visits.filter(pl.col("visit").str.extract(r"(\d+)$").cast(pl.Int64) < 200)
    first.write_csv(path)
    return path


def run(*arguments: str | Path) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, [str(each) for each in arguments])
    return done.exit_code, done.stdout, done.stderr


def test_a_table_of_any_trade_is_fitted_by_its_columns(decisions: Path, tmp_path: Path) -> None:
    out = tmp_path / "fits.parquet"
    code, shown, _ = run(
        "fit", decisions, "--map", FIELDS, "--by", "doctor", *PLAIN, "--method", "likelihood",
        "--c", "1", "-o", out,
    )  # fmt: skip
    assert code == 0
    table = pl.read_parquet(out)
    assert table["doctor"].to_list() == list(doctors.DOCTORS)
    assert table.columns == ["doctor", *FITS.names]
    assert (table["n"] == 200).all()
    assert table["s"].is_sorted()  # the doctors stand in the order of their sensitivity
    assert (table["s_low"] < table["s"]).all()
    assert (table["se_c"] == 0).all()
    assert "Dr Ash" in shown
    assert "given" in shown


def test_the_same_command_gives_the_same_bytes(decisions: Path, tmp_path: Path) -> None:
    outs = [tmp_path / "one.csv", tmp_path / "two.csv"]
    for out in outs:
        code, _, _ = run(
            "fit", decisions, "--map", FIELDS, *PLAIN, "--covariance", "bootstrap",
            "--resamples", "10", "--seed", "5", "-o", out, "-q",
        )  # fmt: skip
        assert code == 0
    assert outs[0].read_bytes() == outs[1].read_bytes()
    made = json.loads((tmp_path / "one.csv.provenance.json").read_text())
    assert "5" in json.dumps(made)


def test_the_agents_of_2009_give_a_competence(decisions: Path, tmp_path: Path) -> None:
    out = tmp_path / "competence.csv"
    code, _, _ = run(
        "fit", decisions, "--map", FIELDS, "--by", "doctor", "--method", "reference",
        "--width", "4", "-o", out,
    )  # fmt: skip
    assert code == 0
    table = pl.read_csv(out)
    assert table["c"].is_sorted(descending=True)
    assert (table["n"] + table["outside"] == 200).all()


def test_groups_with_too_few_decisions_are_left_out_and_told(decisions: Path) -> None:
    code, _, told = run("fit", decisions, "--map", FIELDS, "--by", "day", *PLAIN, "--least", "30")
    assert code == 1
    assert "12 decisions are fewer than 30" in told
    assert "nothing could be fitted" in told


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--map", "who=doctor"], "expected field=column"),
        (["--map", "decision=visit,value=years"], "no column years"),
        (["--map", FIELDS, "--by", "nurse"], "no column nurse"),
        (["--map", FIELDS, "--lapse", "some"], "expected a share or fit"),
        (["--map", FIELDS, "--depths", "one"], "expected groups"),
        (["--map", FIELDS, "--depths", "1-2,3"], "values at the depths"),
        (["--map", FIELDS, "--curve", "bell"], "a curve is one of"),
        (["--map", FIELDS, "--covariance", "information"], "belongs to likelihood"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(
    decisions: Path, arguments: list[str], complaint: str
) -> None:
    code, _, told = run("fit", decisions, *arguments)
    assert code == 1
    assert complaint in told
    assert "Traceback" not in told


def test_games_need_a_store() -> None:
    code, _, told = run("fit", SAMPLE)
    assert code == 1
    assert "--store" in told


def test_models_are_compared_and_the_gate_is_told(decisions: Path, tmp_path: Path) -> None:
    small = tmp_path / "small.csv"
    frame = pl.read_csv(decisions)
    frame.filter(pl.col("doctor") == "Dr Cedar").write_csv(small)
    out, gates = tmp_path / "models.csv", tmp_path / "gates.csv"
    code, shown, _ = run(
        "models", small, "--map", FIELDS, "--folds", "2", "-o", out, "--gates", gates
    )
    assert code == 0
    table = pl.read_csv(out)
    assert table["log_loss"].is_sorted()
    assert set(pl.read_csv(gates)["name"]) == set(table["name"])
    assert "admitted for ratings" in shown


def test_the_example_recovers_its_doctors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["doctors.py", str(tmp_path)])
    doctors.main()
    shown = capsys.readouterr().out
    # Seed 2011, fixed beforehand; of four 95 % intervals at most one may miss here.
    assert shown.count("covers the truth") >= 3
    assert (tmp_path / "decisions.csv").exists()


def test_c_on_a_line_over_the_groups(decisions: Path, tmp_path: Path) -> None:
    numbered, out = tmp_path / "numbered.csv", tmp_path / "line.csv"
    frame = pl.read_csv(decisions)
    levels = {name: -10 * place for place, name in enumerate(doctors.DOCTORS)}
    frame.with_columns(
        pl.col("doctor").replace_strict(levels, return_dtype=pl.Int64).alias("level")
    ).write_parquet(numbered.with_suffix(".parquet"))
    code, _, told = run(
        "fit", numbered.with_suffix(".parquet"), "--map", FIELDS, "--by", "level", *PLAIN,
        "--method", "likelihood", "--line", "-o", out,
    )  # fmt: skip
    assert code == 0
    table = pl.read_csv(out)
    intercept, slope = (float(word) for word in told.split(" x ")[0].split("=")[1].split(" + "))
    expected = intercept + slope * table["level"]
    assert (table["c_fit"] - expected).abs().max() < 1e-3  # type: ignore[operator]
    assert table["s_fit"].is_sorted(descending=True)
    code, _, told = run("fit", decisions, "--map", FIELDS, "--by", "doctor", "--line")
    assert code == 1
    assert "one column of numbers" in told
