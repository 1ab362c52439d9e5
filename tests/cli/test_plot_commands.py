"""The commands plot, tune --plot and reproduce, run as a user runs them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from milepost.cli.app import app

NAMES = ("Strong, Ada", "Middle, Cy", "Weak, Dan", "Weaker, Dan")


def run(*arguments: str | Path) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, [str(each) for each in arguments])
    return done.exit_code, done.stdout, done.stderr


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(3)
    one = rng.integers(0, 4, 400)
    two = (one + rng.integers(1, 4, 400)) % 4
    apart = 300.0 * (two - one) + rng.normal(0, 500, 400)
    path = tmp_path_factory.mktemp("results") / "results.parquet"
    pl.DataFrame({
        "time": np.sort(rng.integers(1970, 1980, 400)),
        "player_1": [NAMES[i] for i in one],
        "player_2": [NAMES[i] for i in two],
        "score": np.where(apart > 150, 1.0, np.where(apart < -150, 0.0, 0.5)),
        "speed": ["blitz" if n >= 350 else "classical" for n in range(400)],
    }).write_parquet(path)  # fmt: skip
    return path


@pytest.fixture(scope="module")
def saved(results: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folders = {}
    for model in ("ttt", "ttt-d", "elo"):
        folders[model] = tmp_path_factory.mktemp(model)
        code, _, _ = run("history", results, "--model", model, "--save", folders[model],
                         "--keep-names", "-q")  # fmt: skip
        assert code == 0
    return folders


def spec(path: Path) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return answer


def test_plot_draws_bands_margins_and_the_other_history(
    saved: dict[str, Path], tmp_path: Path
) -> None:
    out = tmp_path / "curves.json"
    code, shown, said = run(
        "plot", saved["ttt-d"], "ada", "cy, middle", "--beside", saved["ttt"], "-o", out,
        "--level", "0.95", "--from", "1972", "--to", "1977", "--title", "Two",
    )  # fmt: skip
    assert code == 0, said
    assert shown == ""
    assert f"Strong, Ada; Middle, Cy -> {out}" in said
    chart = spec(out)
    assert [layer["mark"].get("strokeDash") for layer in chart["layer"]] == [
        None, [7, 4], [2, 3], None, None, None,
    ]  # fmt: skip
    assert [layer["mark"]["type"] for layer in chart["layer"]][-2:] == ["text", "text"]
    subtitle = " ".join(chart["title"]["subtitle"])
    assert chart["title"]["text"] == "Two"
    told = ("ttt-d, period year, 400 games of 4 players", "50 fast games count", "band: 95 %",
            "dashed: mean + draw margin", "dotted: ttt, period year")  # fmt: skip
    assert [part for part in told if part not in subtitle] == []
    rows = [row for rows in chart["datasets"].values() for row in rows]
    assert {row["player"] for row in rows} == {"Strong, Ada", "Middle, Cy"}
    assert {row["time"] for row in rows} <= set(range(1972, 1978))


def test_plot_names_its_file_after_the_players(
    saved: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, _, said = run("plot", saved["ttt"], "Strong, Ada", "Middle, Cy", "--level", "none")
    assert code == 0
    assert "strong-middle.svg" in said
    one = (tmp_path / "strong-middle.svg").read_bytes()
    assert one.startswith(b"<svg")
    assert run("plot", saved["ttt"], "ada", "cy", "--level", "none", "-q")[2] == ""
    assert (tmp_path / "strong-middle.svg").read_bytes() == one


def test_plot_says_what_it_leaves_out(results: Path, tmp_path: Path) -> None:
    run("history", results, "--skip-fast", "--save", tmp_path / "slow", "-q")
    _, _, said = run("plot", tmp_path / "slow", "ada", "-o", tmp_path / "a.svg")
    assert "350 games of 4 players, fast games are left out" in said
    (tmp_path / "slow" / "provenance.json").unlink()
    _, _, said = run("plot", tmp_path / "slow", "ada", "-o", tmp_path / "a.svg")
    assert "not known whether fast games count" in said


def test_curves_without_bands_can_be_drawn_too(saved: dict[str, Path], tmp_path: Path) -> None:
    code, _, said = run("plot", saved["elo"], "ada", "-o", tmp_path / "elo.pdf")
    assert code == 0, said
    assert (tmp_path / "elo.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("ada", "-o", "x.gif"), "ends in one of"),
        (("d", "-o", "x.svg"), "may be "),
        (("nobody", "-o", "x.svg"), "no player is called"),
        (("ada", "-o", "x.svg", "--level", "wide"), "expected sd, 0.95 or none"),
        (("ada", "-o", "x.svg", "--from", "1999"), "no games in this time"),
        (("ada", "-o", "x.svg", "--from", "soon"), "expected a year (1972), a month"),
        (("ada", "-o", "x.svg", "--beside", "nowhere"), "holds no history"),
        (("ada", "-o", "nowhere/x.svg"), "cannot write"),
    ],
)
def test_plot_refuses_what_it_cannot_draw(
    saved: dict[str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    words: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    code, _, said = run("plot", saved["ttt"], *arguments)
    assert code == 1
    assert words in said
    assert not list(tmp_path.iterdir())


def test_tune_draws_its_grid(results: Path, tmp_path: Path) -> None:
    out = tmp_path / "grid.json"
    code, _, said = run(
        "tune",
        results,
        "--vary",
        "beta=200,480",
        "--vary",
        "tau=0,60",
        "--plot",
        out,
        "--skip-fast",
    )
    assert code == 0, said
    assert f"plot -> {out}" in said
    chart = spec(out)
    assert chart["title"]["text"] == "ttt: 350 games, fast games left out"
    (rows,) = chart["datasets"].values()
    assert sum(row["top"] for row in rows) == 1
    line = tmp_path / "line.svg"
    assert run("tune", results, "--vary", "beta=200,480", "--plot", line, "-q")[0] == 0
    assert line.exists()


def test_tune_refuses_a_plot_before_it_computes(results: Path, tmp_path: Path) -> None:
    code, _, said = run("tune", results, "--vary", "beta=480", "--plot", tmp_path / "x.svg")
    assert code == 1
    assert "several values" in said
    code, _, said = run("tune", results, "--vary", "beta=1,2", "--plot", "x.bmp")
    assert code == 1
    assert "ends in one of" in said
    code, _, said = run(
        "tune", results, "--vary", "beta=1,2", "--vary", "tau=1,2", "--vary", "sigma=1,2",
        "--vary", "draw=1,2", "--plot", tmp_path / "x.svg",
    )  # fmt: skip
    assert code == 1
    assert "at most 3 that vary, and here beta, tau, sigma, draw do" in " ".join(said.split())
    assert not list(tmp_path.iterdir())


def test_tune_draws_other_numbers_and_the_forms(results: Path, tmp_path: Path) -> None:
    same = ["--set", "beta=300", "--window", "0", "-q", "--plot"]
    several = ["--vary", "beta=300,500", "--window", "0", "-q", "--plot"]
    maps, lines = tmp_path / "maps.json", tmp_path / "lines.json"
    many = ["--vary", "draw=100,200", "--vary", "sigma=200,400"]
    assert run("tune", results, *several, maps, *many)[0] == 0
    chart = spec(maps)
    assert chart["facet"]["column"]["field"] == "draw"
    assert [chart["spec"]["layer"][0]["encoding"][axis]["field"] for axis in "xy"] == [
        "beta", "sigma",
    ]  # fmt: skip
    (rows,) = chart["datasets"].values()
    assert len(rows) == 8
    forms = [
        "--model", "ttt-d", "--vary", "draw_form=between,two-factor", "--vary",
        "margin_sigma=50,100",
    ]  # fmt: skip
    assert run("tune", results, *same, lines, *forms)[0] == 0
    chart = spec(lines)
    encoding = chart["layer"][0]["encoding"]
    assert encoding["x"]["field"] == "margin_sigma"
    assert encoding["color"]["field"] == "draw_form"
    said = chart["title"]["subtitle"][0]
    assert "between" in said or "two-factor" in said
    picture = tmp_path / "forms.svg"
    assert run("tune", results, *same, picture, *forms[:-2])[0] == 0
    assert "two-factor" in picture.read_text()
    both = tmp_path / "both.svg"
    assert run("tune", results, *same, both, *forms, "--vary", "margin_tau=0,10")[0] == 0
    assert "two-factor" in both.read_text()
    assert "NaN" not in both.read_text()


def test_reproduce_lists_runs_keeps_and_tells(tmp_path: Path) -> None:
    code, shown, _ = run("reproduce", "--list")
    assert code == 0
    assert "2007-evidence" in shown
    data, out = tmp_path / "data", tmp_path / "out"
    data.mkdir()
    rows = [
        (1850 + n % 150, f"p{n % 7}", f"p{n % 7 + 1}", ("1-0", "0-1", "1/2-1/2")[n % 3], "s", False)
        for n in range(1500)
    ]
    columns = ["year", "white_key", "black_key", "result", "source", "fast"]
    pl.DataFrame(rows, schema=columns, orient="row").write_parquet(data / "otb_results.parquet")
    code, shown, said = run("reproduce", "2007-games", "2007-curves", "--data", data, "-o", out)
    assert code == 1  # one of them has no data
    lines = shown.splitlines()
    assert len(lines) == 4
    assert lines[0].startswith("does not hold    2007-games: ")
    assert "Figure 2" in lines[0]
    assert "games a year" in lines[0]
    assert lines[3].startswith("not run          2007-curves: missing: otb_results.parquet holds")
    assert "2 experiments: " in said
    assert "1 could not be run" in said
    assert (out / "2007-games" / "index.html").exists()
    index = (out / "index.html").read_text(encoding="utf-8")
    assert '<a href="2007-games/index.html">' in index
    code, again, said = run("reproduce", "2007-games", "--data", data, "-o", out)
    assert code == 0
    assert again.splitlines() == lines[:3]
    assert "1 unchanged since last time" in said


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "say which experiments"),
        (("2007", "--all", "--data", "."), "say which experiments"),
        (("2007",), "--data DIR"),
        (("2007", "--data", "nowhere"), "is no folder"),
        (("1812", "--data", "."), "no experiment '1812'"),
        (("2007", "--data", ".", "--store", "nowhere"), "--store: nowhere is no folder"),
    ],
)
def test_reproduce_says_what_it_needs(arguments: tuple[str, ...], words: str) -> None:
    code, _, said = run("reproduce", *arguments)
    assert code == 1
    assert words in said
