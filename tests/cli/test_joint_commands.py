"""The joint history on the command line: sites, then history, inflation, questions."""

from __future__ import annotations

import io
from importlib.resources import files
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.history.joint.pools import pool, sites_of
from typer.testing import CliRunner

from milepost.api.histories import load_history
from milepost.cli.app import app
from milepost.tables import SITES

SAMPLE = Path(str(files("milepost") / "data" / "sample"))


def run(*arguments: str | Path) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, [str(each) for each in arguments])
    return done.exit_code, done.stdout, done.stderr


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("joint")
    made = pool(np.random.default_rng(3), "newcomers rise", active=40, years=12, games=300)
    made.results.with_columns(pl.col("time") + 1980).write_parquet(folder / "results.parquet")
    sites = sites_of(np.random.default_rng(4), made.truth, share=0.5, games=2)
    sites.with_columns(pl.col("time") + 1980).write_parquet(folder / "sites.parquet")
    code, _, told = run(
        "history", folder / "results.parquet", "--moves", folder / "sites.parquet",
        "--set", "era_drift=20", "--save", folder / "history", "--beta", "230",
        "--set", "sigma=200", "--tau", "20",
    )  # fmt: skip
    assert code == 0, told
    assert "Elo a point of skill" in told
    assert "newcomers' level learned" in told
    assert "same in every era" in told
    return folder


def test_sites_are_written_from_games_and_a_store(tmp_path: Path) -> None:
    out = tmp_path / "sites.parquet"
    code, _, told = run(
        "rate", SAMPLE / "games.pgn", "--store", SAMPLE / "evaluations", "--sites", out
    )
    assert code == 0, told
    table = pl.read_parquet(out)
    assert table.columns == SITES.names
    assert (table["information"] > 0).all()
    assert "player-games" in told
    code, _, told = run("rate", SAMPLE / "games.pgn", "--sites", tmp_path / "sites.csv")
    assert code == 1
    assert "parquet or ndjson" in told
    code, _, told = run("rate", SAMPLE / "games.pgn", "--first-move", "12")
    assert code == 1
    assert "go with --sites" in told


def test_inflation_says_level_change_and_turns(saved: Path, tmp_path: Path) -> None:
    picture = tmp_path / "level.svg"
    code, shown, _ = run(
        "inflation", saved / "history", "--group", "top:20", "--reference", "1980-1983",
        "--plot", picture,
    )  # fmt: skip
    assert code == 0
    assert "The level of the top 20" in shown
    assert "results alone" in shown
    assert "turns" in shown
    assert "same in every era" in shown
    assert max(len(line) for line in shown.splitlines()) <= 110
    assert picture.read_text(encoding="utf-8").startswith("<svg")
    code, text, _ = run("inflation", saved / "history", "-o", "-")
    assert code == 0
    assert text.splitlines()[0].startswith("time,group,players,level,low,high,change")
    # Whatever rows are shown, their turns are all turns of the table.
    turns = sum(pl.read_csv(io.StringIO(text))["turns"].to_list())
    assert turns > 0
    for every in ("1", "7"):
        code, shown, _ = run("inflation", saved / "history", "--every", every)
        lines = [line.split() for line in shown.splitlines() if line[:3] == "  1"]
        assert sum(int(line[-1]) for line in lines) == turns
    code, shown, _ = run("inflation", saved / "history", "--group", "top:5000")
    assert "have fewer than 5000 players" in shown


def test_other_assumptions_are_tried(saved: Path) -> None:
    code, shown, told = run(
        "inflation", saved / "history", "--group", "all", "--sensitivity", "--deeper",
        saved / "sites.parquet",
    )  # fmt: skip
    assert code == 0, told
    for variant in ("as fitted", "newcomers fixed", "era walk 6.67 a year", "book cut deeper"):
        assert variant in shown
    code, _, told = run("inflation", saved / "history", "--deeper", saved / "sites.parquet")
    assert code == 1
    assert "goes with --sensitivity" in told


def test_questions_know_both_scales(saved: Path) -> None:
    folder = saved / "history"
    code, joint, _ = run("rank", folder, "--at", "1985", "--scale", "joint")
    assert code == 0
    assert "intrinsic Elo" in joint
    code, alone, _ = run("rank", folder, "--at", "1985", "--scale", "results")
    assert code == 0
    assert "intrinsic" not in alone
    one, two = load_history(folder).rank(1985)["player"].head(2)
    code, shown, _ = run("compare", folder, f"{one}@1982", f"{two}@1990")
    assert code == 0
    assert "intrinsic Elo" in shown
    assert "By results alone" in shown
    code, _, told = run("rank", folder, "--at", "1985", "--scale", "marks")
    assert code == 1
    assert "points, results, elo, joint" in told
    for command in (("career", folder, one), ("search", folder, one[:3])):
        for scale in ((), ("--scale", "joint")):
            code, shown, _ = run(*command, *scale)
            assert code == 0
            assert "intrinsic Elo" in shown
        code, shown, _ = run(*command, "--scale", "results")
        assert code == 0
        assert "intrinsic" not in shown
    code, shown, _ = run("predict", folder, one, two, "--at", "1985")
    assert code == 0
    assert "intrinsic Elo" in shown
    code, _, told = run("compare", folder, f"{one}@2050", f"{two}@1990")
    assert code == 0
    assert "has no game within 5 years of 2050: the last before is of 19" in told


def test_joint_curves_are_drawn(saved: Path, tmp_path: Path) -> None:
    folder, picture = saved / "history", tmp_path / "curves.svg"
    player = load_history(folder).rank(1985)["player"][0]
    code, _, told = run("plot", folder, player, "-o", picture)
    assert code == 0, told
    drawn = picture.read_text(encoding="utf-8")
    assert "Elo by results and moves" in drawn
    assert "results alone" in drawn
    code, _, _ = run("plot", folder, player, "--scale", "results", "-o", picture)
    assert code == 0
    assert "results and moves" not in picture.read_text(encoding="utf-8")


def test_options_of_moves_go_with_moves(saved: Path) -> None:
    results = saved / "results.parquet"
    code, _, told = run("history", results, "-o", "-", "--set", "era=walk")
    assert code == 1
    assert "goes with move evidence" in told
    arguments = ("history", results, "-o", "-", "--moves", saved / "sites.parquet")
    code, _, told = run(*arguments, "--set", "era=weather")
    assert code == 1
    assert "walk, constant" in told
