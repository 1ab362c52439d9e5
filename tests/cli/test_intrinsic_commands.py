"""The commands calibrate, rate and likelihood, run as a user runs them, on the bundled sample."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from milepost.analysis.engine.setup import EngineSetup
from milepost.analysis.store.store import EvaluationStore
from milepost.cli.app import app
from milepost.tables import RATINGS

SAMPLE = Path(str(files("milepost") / "data" / "sample"))
GAMES, STORE = SAMPLE / "games.pgn", SAMPLE / "evaluations"
ONE = ("--player", "quillfeather")
"""One player is enough, and quicker, where the question is not about players."""


def run(*arguments: str | Path) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, [str(each) for each in arguments])
    return done.exit_code, done.stdout, done.stderr


def test_players_are_rated_with_intervals(tmp_path: Path) -> None:
    out = tmp_path / "ratings.parquet"
    code, shown, told = run("rate", GAMES, "--store", STORE, "-o", out)
    assert code == 0
    table = pl.read_parquet(out)
    assert table.columns == ["player", "name", *RATINGS.names]
    assert len(table) == 8
    assert (table["low"] < table["rating"]).all()
    assert "Ratings from moves (stockfish15.1-quick" in shown
    assert "evidence, never a verdict" in told


@pytest.mark.parametrize("ending", ["csv", "ndjson"])
def test_other_formats_hold_the_same(tmp_path: Path, ending: str) -> None:
    out = tmp_path / f"ratings.{ending}"
    code, _, _ = run("rate", GAMES, "--store", STORE, *ONE, "--by", "phase", "-o", out, "-q")
    assert code == 0
    read = pl.read_csv if ending == "csv" else pl.read_ndjson
    assert read(out)["phase"].to_list() == ["opening", "middlegame", "endgame"]


def test_the_same_command_gives_the_same_bytes(tmp_path: Path) -> None:
    outs = [tmp_path / "a.csv", tmp_path / "b.csv"]
    pages = [tmp_path / "a.html", tmp_path / "b.html"]
    for out, page in zip(outs, pages, strict=True):
        arguments = ["--by", "player", "--by", "colour", "-o", str(out), "--report", str(page)]
        code, _, _ = run("rate", GAMES, "--store", STORE, *ONE, *arguments, "-q")
        assert code == 0
    assert outs[0].read_bytes() == outs[1].read_bytes()
    assert pages[0].read_bytes() == pages[1].read_bytes()
    assert b"<svg" in pages[0].read_bytes()


def test_one_player_can_be_picked_by_a_part_of_the_name(tmp_path: Path) -> None:
    out = tmp_path / "one.csv"
    code, _, _ = run(
        "rate", GAMES, "--store", STORE, "--player", "quillfeather", "--by", "game", "-o", out, "-q"
    )
    assert code == 0
    assert len(pl.read_csv(out)) >= 12  # of 14 games, those with turns that count
    code, _, told = run("rate", GAMES, "--store", STORE, "--player", "a")
    assert code == 1
    assert "may be" in told
    assert "Quillfeather" in told or "quillfeather" in told


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--by", "moon"], "no grouping 'moon'"),
        (["--calibration", "nowhere.json"], "no calibration"),
        (["--report", "ratings.pdf"], "ratings.pdf: a page is HTML"),
        (["--calibration", "rybka3-d13"], "does not carry over"),
    ],
)
def test_mistakes_are_said(arguments: list[str], said: str) -> None:
    code, _, told = run("rate", GAMES, "--store", STORE, *arguments)
    assert code == 1
    assert said in told
    assert "Traceback" not in told


def test_a_forced_calibration_is_marked(tmp_path: Path) -> None:
    out = tmp_path / "forced.csv"
    code, _, _ = run(
        "rate", GAMES, "--store", STORE, *ONE, "--calibration", "rybka3-d13", "--force",
        "-o", out, "-q",
    )  # fmt: skip
    assert code == 0
    assert pl.read_csv(out)["warnings"].str.contains("other engine").all()


def test_a_sequence_gets_its_likelihood_and_a_posterior_after_each_game(tmp_path: Path) -> None:
    out, turns = tmp_path / "after.csv", tmp_path / "turns.csv"
    code, shown, _ = run(
        "likelihood", GAMES, "--store", STORE, "--player", "demarken", "--elo", "1600,2650",
        "-o", out, "--turns-out", turns,
    )  # fmt: skip
    assert code == 0
    after = pl.read_csv(out)
    assert 12 <= len(after) <= 14
    assert after["sd"][-1] < after["sd"][0]
    each = pl.read_csv(turns)
    assert {"p_1600", "p_2650", "played"} <= set(each.columns)
    # Her own Elo is 2650: a weaker player would hardly have made these moves.
    assert each["p_2650"].log().sum() > each["p_1600"].log().sum()
    assert "Probability of all these moves" in shown
    assert shown.startswith("2650 fits these moves best: ")
    assert "times better than 1600." in shown


@pytest.mark.parametrize(
    "arguments", [["--elo", "strong"], ["--prior", "2000"], ["--prior", "a,b"]]
)
def test_numbers_that_are_none_are_refused(arguments: list[str]) -> None:
    code, _, told = run("likelihood", GAMES, "--store", STORE, *arguments)
    assert code == 1
    assert arguments[0] in told


def test_a_calibration_is_made_and_used(tmp_path: Path) -> None:
    out = tmp_path / "own.json"
    code, shown, told = run(
        "calibrate", GAMES, "--store", STORE, "-o", out, "--maps", "line", "--folds", "2",
        "--repeats", "1",
    )  # fmt: skip
    # Powers at one depth are not the agents that played the sample: the gate may well refute them.
    assert code in {0, 1}, told
    values = json.loads(out.read_text(encoding="utf-8"))
    assert values["schema"] == 2
    assert values["setup"]
    assert len(values["mileposts"]) >= 6
    assert "Mileposts" in shown
    code, _, _ = run(
        "rate", GAMES, "--store", STORE, *ONE, "--calibration", out, "--by", "none", "-q"
    )
    assert code == 0


def test_a_calibration_needs_known_maps(tmp_path: Path) -> None:
    code, _, told = run(
        "calibrate", GAMES, "--store", STORE, "-o", tmp_path / "x.json", "--maps", "spiral"
    )
    assert code == 1
    assert "joint-depths" in told


def test_without_a_calibration_the_command_that_makes_one_is_named(tmp_path: Path) -> None:
    # The same evaluations, under the set-up of a newer engine.
    known = json.loads(next((STORE / "setups").iterdir()).read_text())
    newer = EngineSetup(
        "Stockfish 17", known["net"], tuple(sorted(known["options"].items())), known["plan"]
    )
    store = EvaluationStore(tmp_path / "store", create=True)
    store.add_setup(newer)
    rows = EvaluationStore(STORE).read().head(400)
    store.append(rows.with_columns(pl.lit(newer.digest).alias("setup")))
    code, _, said = run("rate", GAMES, "--store", tmp_path / "store", "-q")
    assert code == 1
    assert f"{newer.digest} (Stockfish 17" in said
    assert "milepost calibrate --bridge stockfish15.1-quick --engine PATH -o mine.json" in said
    assert "minutes of one core" in said
    # A check takes no other calibration: it says what to do instead.
    code, _, said = run("check", GAMES, "--store", tmp_path / "store", "--no-analyse", "-q")
    assert code == 1
    assert "--calibration" not in said
    assert "milepost analyse … --plan bullet, or quick" in " ".join(said.split())


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "--bridge NAME"),
        ([GAMES, "--bridge", "stockfish15.1-quick"], "takes no games"),
        ([GAMES, "--store", STORE, "--engine", "x"], "are for --bridge"),
        (["--bridge", "stockfish15.1-quick", "--plan", "single"], "lists all moves"),
    ],
)
def test_a_bridge_and_games_are_two_things(
    tmp_path: Path, arguments: list[str | Path], told: str
) -> None:
    code, _, said = run("calibrate", *arguments, "-o", tmp_path / "x.json")
    assert code == 1
    assert told in said


def test_a_calibration_of_bullet_is_made_of_evaluations_of_quick(tmp_path: Path) -> None:
    out = tmp_path / "bullet.json"
    run(
        "calibrate", GAMES, "--store", STORE, "--plan", "bullet", "-o", out, "--maps", "line",
        "--folds", "2", "--repeats", "1", "-q",
    )  # fmt: skip
    made = json.loads(out.read_text())
    assert made["setup_text"].endswith("bullet depth 6 width 256")
    assert made["made"]["options"]["setup"]["cut_from"].endswith("quick depth 10 width 256")
