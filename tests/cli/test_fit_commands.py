"""The commands fit, fit-line and models, run as a user runs them."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import polars as pl
import pytest
from examples import doctors
from typer.main import get_command
from typer.testing import CliRunner

from milepost.cli.app import app
from milepost.tables import FITS

SAMPLE = Path(str(files("milepost") / "data" / "sample" / "games.pgn"))
FIELDS = "decision=visit,value=months,chosen=chosen,group=day"
PLAIN = ["--set", "ratio=shares"]


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
        "--set", "c=1", "-o", out, "--plot", tmp_path / "who.svg",
    )  # fmt: skip
    assert code == 0
    assert shown.startswith("Dr Ash chooses better than the second best, Dr Birch: probability ")
    assert "Dr Dogwood" in (tmp_path / "who.svg").read_text(encoding="utf-8")
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
        "--set", "width=4", "-o", out,
    )  # fmt: skip
    assert code == 0
    table = pl.read_csv(out)
    assert table["c"].is_sorted(descending=True)
    assert (table["n"] + table["outside"] == 200).all()


def test_groups_with_too_few_decisions_are_left_out_and_told(decisions: Path) -> None:
    code, _, told = run(
        "fit", decisions, "--map", FIELDS, "--by", "day", *PLAIN, "--min-decisions", "30"
    )
    assert code == 1
    assert "12 decisions are fewer than 30" in told
    assert "nothing could be fitted" in told


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--map", "who=doctor"], "expected field=column"),
        (["--map", "decision=visit,value=years"], "no column years"),
        (["--map", FIELDS, "--by", "nurse"], "no column nurse"),
        (["--map", FIELDS, "--set", "lapse=some"], "a share or 'fit'"),
        (["--map", FIELDS, "--set", "depths=one"], "expected groups"),
        (["--map", FIELDS, "--set", "depths=1-2,3"], "values at the depths"),
        (["--map", FIELDS, "--set", "curve=bell"], "a curve is one of"),
        (["--map", FIELDS, "--set", "bend=1"], "with a key of curve, ratio"),
        (["--map", FIELDS, "--set", "c=soft"], "c cannot be 'soft'"),
        (["--map", FIELDS, "--set", "constant=fit", "--method", "moments"], "by likelihood"),
        (["--map", FIELDS, "--set", "constant=2", "--set", "difference=raw"], "no constant"),
        (["--map", FIELDS, "--method", "guess"], "the method is one of"),
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
        "fit-line", numbered.with_suffix(".parquet"), "--map", FIELDS, "--by", "level", *PLAIN,
        "--method", "likelihood", "-o", out,
    )  # fmt: skip
    assert code == 0
    table = pl.read_csv(out)
    intercept, slope = (float(word) for word in told.split(" x ")[0].split("=")[1].split(" + "))
    expected = intercept + slope * table["level"]
    assert (table["c_fit"] - expected).abs().max() < 1e-3  # type: ignore[operator]
    assert table["s_fit"].is_sorted(descending=True)
    code, _, told = run("fit-line", decisions, "--map", FIELDS, "--by", "doctor")
    assert code == 1
    assert "one column of numbers" in told


def test_other_units_are_neither_scaled_nor_capped(decisions: Path, tmp_path: Path) -> None:
    """Months are no pawns: a cap of 4 would clip a third of these options, and once did."""
    out = tmp_path / "fits.parquet"
    code, _, told = run("fit", decisions, "--map", FIELDS, "-o", out)
    assert code == 0
    row = pl.read_parquet(out).row(0, named=True)
    frame = pl.read_csv(decisions)
    assert (row["difference"], row["clipped"], row["options"]) == ("raw", 0, len(frame))
    assert "clipped" not in told
    # The error is that of the months themselves.
    lost = frame.group_by("visit").agg(
        (pl.col("months").max() - pl.col("months").filter(pl.col("chosen")).first()).alias("loss")
    )
    assert row["ad_actual"] == pytest.approx(lost["loss"].mean())


def test_what_a_cap_clips_is_told(decisions: Path) -> None:
    code, _, told = run("fit", decisions, "--map", FIELDS, "--set", "cap=4", "-q")
    assert code == 0
    frame = pl.read_csv(decisions).with_columns(best=pl.col("months").max().over("visit"))
    clipped = len(frame.filter(pl.col("best") - pl.col("months") > 4))
    share = f"{100 * clipped / len(frame):.1f} %"
    assert f"clipped 4 under the best: {clipped:,} of {len(frame):,} options ({share})" in told


def test_the_constant_of_the_scale_is_fitted_on_request(decisions: Path, tmp_path: Path) -> None:
    out = tmp_path / "fits.parquet"
    code, shown, _ = run(
        "fit", decisions, "--map", FIELDS, *PLAIN, "--set", "constant=fit", "-o", out
    )
    assert code == 0
    row = pl.read_parquet(out).row(0, named=True)
    assert (row["difference"], row["method"]) == ("log", "likelihood")
    # These doctors see months as they are: nothing bounds C from above.
    assert 0 < row["constant_low"] <= row["constant"] < row["constant_high"]
    assert row["constant_high"] == float("inf")
    assert "over" in shown


@pytest.mark.parametrize(
    ("option", "successor"),
    [
        ("--cap", "--set cap=VALUE"),
        ("--tie-shift", "--set tie_shift=VALUE"),
        ("--width", "--set width=N, with --method reference"),
        ("--line", "milepost fit-line INPUT --by COLUMN"),
    ],
)
def test_former_options_say_where_they_are(option: str, successor: str) -> None:
    code, _, told = run("fit", "table.csv", option, "3")
    assert code == 2
    assert f"fit {option} is now {successor}" in told


def test_commands_have_few_options() -> None:
    commands = get_command(app).commands  # type: ignore[attr-defined]
    for name in ("fit", "fit-line", "fit-row", "models", "follow"):
        assert len(commands[name].params) < 20, name


def test_numbers_in_a_csv_are_numbers_for_a_line(decisions: Path, tmp_path: Path) -> None:
    levels = {name: 10 * place for place, name in enumerate(doctors.DOCTORS)}
    table = tmp_path / "levels.csv"
    pl.read_csv(decisions).with_columns(
        level=pl.col("doctor").replace_strict(levels, return_dtype=pl.Int64)
    ).write_csv(table)
    code, shown, _ = run("fit-line", table, "--map", FIELDS, "--by", "level", *PLAIN)
    assert code == 0
    assert "c_fit" in shown
