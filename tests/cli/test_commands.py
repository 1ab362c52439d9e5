"""The commands, run as a user runs them."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from importlib.resources import files
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.cli.runner import run_inside, run_process
from typer.main import get_command
from typer.testing import CliRunner

from milepost.cli.app import app
from milepost.cli.outputs import WRITTEN

SAMPLE = Path(str(files("milepost") / "data" / "sample" / "games.pgn"))
DOCS = Path(__file__).resolve().parents[2] / "docs"
COMMANDS = sorted(getattr(get_command(app), "commands", {}))

TWO_GAMES = """[Event "First"]
[Site "?"]
[Date "2001.02.03"]
[Round "1"]
[White "Alpha, Ann"]
[Black "Beta, Bob"]
[Result "1-0"]

1. e4 e5 2. Bc4 Nc6 3. Qh5 Nf6 4. Qxf7# 1-0

[Event "Second"]
[Site "?"]
[Date "2001.02.04"]
[Round "2"]
[White "Beta, Bob"]
[Black "Alpha, Ann"]
[Result "0-1"]

1. e4 e5 2. Ke3 Nc6 0-1
"""


@pytest.fixture
def two_games(tmp_path: Path) -> Path:
    """A good game and one whose third half-move is illegal."""
    path = tmp_path / "two.pgn"
    path.write_text(TWO_GAMES, encoding="utf-8")
    return path


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_and_stands_in_the_docs(command: str) -> None:
    result = CliRunner().invoke(app, [command, "--help"])
    assert result.exit_code == 0
    options = get_command(app).commands[command].params  # type: ignore[attr-defined]
    undocumented = [option.name for option in options if not getattr(option, "help", None)]
    assert undocumented in ([], ["help"])
    page = (DOCS / "cli.md").read_text(encoding="utf-8")
    assert f"## milepost {command}\n" in page


def test_version_is_told() -> None:
    assert run_process("--version").stdout.startswith(b"milepost 0.")


def test_a_broken_game_is_a_warning_and_exit_code_zero(two_games: Path, tmp_path: Path) -> None:
    done = run_inside("games", two_games, "-o", tmp_path / "games.csv")
    assert done.returncode == 0
    assert b"1 broken, 0 unreadable (500.0 per thousand games)" in done.stderr
    assert b"warning" in done.stderr
    errors = pl.read_csv(tmp_path / "games.errors.csv")
    assert errors.select("kind", "line", "white", "event", "plies_kept").rows() == [
        ("broken", 11, "Beta, Bob", "Second", 2)
    ]
    assert "Ke3" in errors["reason"][0]


def test_strict_makes_it_exit_code_one(two_games: Path, tmp_path: Path) -> None:
    done = run_inside("games", two_games, "-o", tmp_path / "games.csv", "--strict")
    assert done.returncode == 1
    assert (tmp_path / "games.csv").exists()  # the rest was still done


def test_a_missing_input_names_itself(tmp_path: Path) -> None:
    done = run_inside("games", tmp_path / "nothing.pgn", "-o", tmp_path / "games.csv")
    assert done.returncode == 1
    assert b"no such file" in done.stderr
    assert b"nothing.pgn" in done.stderr
    assert b"Traceback" not in done.stderr


def test_an_unknown_ending_is_refused_before_any_work(two_games: Path, tmp_path: Path) -> None:
    done = run_inside("games", two_games, "-o", tmp_path / "games.xyz")
    assert done.returncode == 1
    assert b"the ending says no known format" in done.stderr
    assert not list(tmp_path.glob("*.work"))


def test_wrong_usage_is_exit_code_two(two_games: Path) -> None:
    assert run_inside("games", two_games).returncode == 2
    assert run_inside("nonsense").returncode == 2


def test_standard_input_and_output(two_games: Path) -> None:
    done = run_process(
        "results", "-", "-o", "-", "--quiet", stdin=gzip.compress(two_games.read_bytes())
    )
    lines = done.stdout.decode().splitlines()
    assert lines[0].startswith("time,player_1,player_2,score")
    assert lines[1].startswith('2001-02-03,"alpha, ann","beta, bob",1.0,1')
    assert len(lines) == 3


def test_formats_hold_the_same_games(tmp_path: Path) -> None:
    for ending in ("parquet", "csv", "ndjson"):
        assert run_inside("games", SAMPLE, "-o", tmp_path / f"games.{ending}", "-q").returncode == 0
    parquet = pl.read_parquet(tmp_path / "games.parquet")
    ndjson = pl.read_ndjson(tmp_path / "games.ndjson", infer_schema_length=None)
    csv = pl.read_csv(tmp_path / "games.csv")
    assert parquet["game_id"].to_list() == ndjson["game_id"].to_list() == csv["game_id"].to_list()
    assert parquet["moves"].to_list() == ndjson["moves"].to_list() == csv["moves"].to_list()


def test_the_same_command_gives_the_same_bytes_with_one_and_two_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("milepost.games.stream._WORTH_PROCESSES", 0)
    outputs = []
    for workers in (1, 2):
        path = tmp_path / str(workers) / "turns.parquet"
        path.parent.mkdir()
        assert run_inside("turns", SAMPLE, "-o", path, "-j", str(workers)).returncode == 0
        outputs.append(path.read_bytes())
    assert outputs[0] == outputs[1]


def test_output_says_how_it_was_made(tmp_path: Path) -> None:
    run_inside("turns", SAMPLE, "-o", tmp_path / "turns.csv", "--book-moves", "12")
    made = json.loads((tmp_path / "turns.csv.provenance.json").read_text(encoding="utf-8"))
    assert made["command"] == "turns"
    assert made["made_by"].startswith("milepost 0.")
    assert made["options"]["book_moves"] == 12
    assert len(made["inputs"][0]["sha256"]) == 64


def test_an_unwritable_folder_is_a_clear_error(two_games: Path, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder", encoding="utf-8")
    done = run_inside("games", two_games, "-o", blocked / "games.csv")
    assert done.returncode == 1
    assert b"cannot write" in done.stderr
    assert b"Traceback" not in done.stderr


def test_a_full_disk_is_a_clear_error(two_games: Path) -> None:
    done = run_inside("games", two_games, "-o", "-", "--format", "csv")
    assert done.returncode == 0
    with Path("/dev/full").open("wb") as full:
        process = subprocess.run(
            [sys.executable, "-m", "milepost", "games", str(two_games), "-o", "-"],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert process.returncode == 1
    assert b"No space left" in process.stderr
    assert b"Traceback" not in process.stderr


def test_players_lists_spellings_and_likely_duplicates(tmp_path: Path) -> None:
    text = TWO_GAMES.replace("Alpha, Ann", "ALPHA,Ann", 1)
    text += TWO_GAMES.replace("Alpha, Ann", "Ann Alpha").replace("2001", "2002")
    path = tmp_path / "names.pgn"
    path.write_text(text, encoding="utf-8")
    done = run_inside("players", path, "-o", tmp_path / "players.csv")
    assert done.returncode == 0
    assert b"same words, other order" in done.stdout
    players = pl.read_csv(tmp_path / "players.csv")
    assert set(players.filter(pl.col("key") == "alpha, ann")["spelling"]) == {
        "ALPHA,Ann",
        "Alpha, Ann",
    }


def test_select_prints_the_grid_and_writes_groups(tmp_path: Path) -> None:
    done = run_inside(
        *("select", SAMPLE, "-o", tmp_path / "grid.parquet", "--mileposts", "1300:2700:200"),
        *("--periods", "2021,2022-2023", "--elo-within", "200"),
    )
    assert done.returncode == 0
    games = pl.read_parquet(tmp_path / "grid.parquet")
    # Neighbours 150 points apart meet once a season.
    assert "1700 2021-2021" in set(games["group"])
    assert b"1700 2021-2021" in done.stdout
    for elo, low, high in games.select(
        "milepost",
        pl.min_horizontal("white_elo", "black_elo").alias("low"),
        pl.max_horizontal("white_elo", "black_elo").alias("high"),
    ).iter_rows():
        assert elo - 200 <= low <= high <= elo + 200


def test_select_refuses_what_it_does_not_know(tmp_path: Path) -> None:
    wrong = (
        ["--exclude", "nonsense"],
        ["--set", "widen=20"],
        ["--set", "widen=abc", "--set", "until_turns=5"],
        ["--set", "cap=5"],
    )
    for extra in (*wrong, ["--periods", "2001-2002"]):
        done = run_inside("select", SAMPLE, "-o", tmp_path / "set.csv", *extra)
        assert done.returncode == 1, extra
        assert b"Traceback" not in done.stderr


def test_select_says_what_became_of_every_game(tmp_path: Path) -> None:
    path = tmp_path / "games.pgn"
    path.write_text(TWO_GAMES, encoding="utf-8")
    done = run_inside("select", path, "-o", tmp_path / "set.csv", "--only", "classical")
    said = done.stderr.decode()
    assert done.returncode == 0, said
    assert "2 games read, 0 chosen\n          2 left out: speed not known" in said
    assert "exclude the other speeds (rapid, blitz, bullet, correspondence)" in said


def test_former_options_of_select_are_pointed_to(tmp_path: Path) -> None:
    done = run_inside("select", SAMPLE, "-o", tmp_path / "set.csv", "--min-plies", "20")
    assert done.returncode == 2
    assert b"select --min-plies is now --set minimum_plies=N" in done.stderr


def test_fast_games_are_left_out_of_results_that_milepost_wrote(tmp_path: Path) -> None:
    given, results = tmp_path / "given.csv", tmp_path / "results.parquet"
    rows = ["A,B,1999,1,false", "B,C,1999,0.5,true", "C,A,2000,1,false", "A,B,2000,0,true"]
    lines = ["player_1,player_2,time,score,fast", *rows]
    given.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert run_inside("results", given, "-o", results, "-q").returncode == 0
    for inputs in (given, results):
        done = run_inside("history", inputs, "-o", tmp_path / "curves.csv", "--skip-fast")
        assert done.returncode == 0, done.stderr
        assert b"2 fast games (flagged fast, or rapid, blitz, bullet) are left out" in done.stderr


def _many_games(path: Path, copies: int) -> Path:
    text = SAMPLE.read_text(encoding="utf-8")
    with path.open("w", encoding="utf-8") as out:
        for copy in range(copies):
            out.write(text.replace('[Round "', f'[Round "{copy}.') + "\n")
    return path


def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path: Path) -> None:
    source = _many_games(tmp_path / "many.pgn", 24)
    output = tmp_path / "turns.parquet"
    command = [sys.executable, "-m", "milepost", "turns", str(source), "-o", str(output), "-j", "2"]
    command.append("--keep-duplicates")
    process = subprocess.Popen(command, stderr=subprocess.PIPE, start_new_session=True)
    work = Path(f"{output}.work")
    give_up = time.monotonic() + 120
    while len(list(work.glob("*.done"))) < 2 and time.monotonic() < give_up:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130, stderr
    assert b"goes on where this one stopped" in stderr
    assert not output.exists()

    done = subprocess.run(command, capture_output=True, check=True)
    assert b"parts were there already" in done.stderr
    assert not work.exists()
    undisturbed = tmp_path / "undisturbed.parquet"
    again = [str(undisturbed) if part == str(output) else part for part in command]
    subprocess.run(again, capture_output=True, check=True)
    assert undisturbed.read_bytes() == output.read_bytes()


def test_kill_nine_loses_only_what_was_not_kept(tmp_path: Path) -> None:
    source = _many_games(tmp_path / "many.pgn", 16)
    output = tmp_path / "games.parquet"
    command = [sys.executable, "-m", "milepost", "games", str(source), "-o", str(output), "-j", "1"]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, start_new_session=True)
    work = Path(f"{output}.work")
    give_up = time.monotonic() + 120
    while not list(work.glob("*.done")) and time.monotonic() < give_up:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert not output.exists()
    done = subprocess.run(command, capture_output=True, check=True)
    assert b"parts were there already" in done.stderr
    assert len(pl.read_parquet(output)) > 0


def test_a_reader_that_leaves_is_no_error() -> None:
    command = [sys.executable, "-m", "milepost", "games", str(SAMPLE), "-o", "-", "-q", "-j", "1"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.read(10)
    process.stdout.close()
    assert process.stderr is not None
    with process.stderr:
        assert process.stderr.read() == b""
    assert process.wait() == 0


def test_a_table_of_which_nothing_can_be_used_is_an_error(tmp_path: Path) -> None:
    table = tmp_path / "tennis.csv"
    table.write_text("date,winner,loser,score\n2001-01-01,a,b,6-1 7-5\n", encoding="utf-8")
    mapping = "time=date,player_1=winner,player_2=loser"
    done = run_inside("results", table, "--map", mapping, "-o", tmp_path / "out.csv")
    assert done.returncode == 1
    assert b"none of the 1 rows can be used" in done.stderr


def test_options_that_a_table_cannot_use_are_refused(tmp_path: Path) -> None:
    table = tmp_path / "results.csv"
    table.write_text("time,player_1,player_2,score\n2001,a,b,1\n", encoding="utf-8")
    names = tmp_path / "names.csv"
    names.write_text("spelling,name\na,b\n", encoding="utf-8")
    for extra in (["--keep-duplicates"], ["--keep-names", "--aliases", str(names)]):
        done = run_inside("results", table, "-o", tmp_path / "out.csv", *extra)
        assert done.returncode == 1, extra
        assert b"Traceback" not in done.stderr


@pytest.mark.parametrize(("command", "rare"), [("serve", False), ("play", True), ("rate", True)])
def test_only_what_ends_soon_looks_for_cycles_rarely(command: str, rare: bool) -> None:
    """A server that stays would keep what many pages have left behind."""
    code = (
        "import gc, sys, milepost.cli.app as app\n"
        "app._with_one_command = lambda _: lambda: print(gc.get_threshold()[0])\n"
        f"sys.argv = ['milepost', {command!r}]\n"
        "app.main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert (int(done.stdout) > 10_000) == rare


@pytest.mark.parametrize(
    "words",
    [
        ["book", "{games}", "-o", "{games}"],
        ["book", "{folder}", "-o", "{games}"],
        ["results", "{folder}/*.pgn", "-o", "x.csv", "--errors", "{games}"],
        ["personify", "{games}", "--player", "Ada", "-o", "{games}"],
        ["rate", "{games}", "--report", "{games}"],
    ],
)
def test_no_command_writes_over_its_input(words: list[str], tmp_path: Path) -> None:
    games = tmp_path / "games.pgn"
    games.write_bytes(b'[White "Ada"]\n\n1. e4 *\n')
    done = run_inside(*(word.format(games=games, folder=tmp_path) for word in words))
    assert done.returncode == 1
    assert b"it is an input, which would be lost" in done.stderr
    assert games.read_bytes().startswith(b"[White")


def test_an_output_that_cannot_be_is_told_before_the_inputs_are_read(tmp_path: Path) -> None:
    for name, told in ((".", b"it is a folder"), ("none/x.csv", b"there is no folder")):
        done = run_inside("results", tmp_path / "not-there.pgn", "-o", tmp_path / name)
        assert done.returncode == 1
        assert told in done.stderr


def test_standard_output_by_its_other_name_does_not_replace_a_file(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    with log.open("ab") as held:
        held.write(b"before\n")
        held.flush()
        subprocess.run(
            [sys.executable, "-m", "milepost", "results", str(SAMPLE), "-q", "-o", "/dev/stdout",
             "--format", "csv"],
            stdout=held, check=True,
        )  # fmt: skip
        held.write(b"after\n")
    lines = log.read_text(encoding="utf-8").splitlines()
    assert (lines[0], lines[-1]) == ("before", "after")
    assert len(lines) > 50


def test_every_option_that_names_a_file_to_write_is_looked_at() -> None:
    """An option whose help begins with Write names an output, or a folder."""
    waiting: list[Any] = [get_command(app)]
    looked_at = 0
    for command in waiting:
        waiting += getattr(command, "commands", {}).values()
        for param in command.params:
            text = getattr(param, "help", None) or ""
            writes = text.startswith(("Write", "The table to write", "Draw the chart"))
            if writes and not param.is_flag and param.metavar not in {"FOLDER", "DIR"}:
                assert set(param.opts) & set(WRITTEN), (command.name, param.opts)
                looked_at += 1
    assert looked_at > 20
