"""The command follow: NDJSON in, NDJSON out, line by line."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import milepost
from milepost.cli.app import app

SOURCE = str(Path(milepost.__file__).parents[1])
ADA = {"chooser": "Ada", "values": [3, 2.5, 1], "chosen": 0}


def run(*arguments: str | Path, given: str = "") -> tuple[int, list[str], str]:
    done = CliRunner().invoke(app, [str(each) for each in arguments], input=given)
    return done.exit_code, done.stdout.splitlines(), done.stderr


def test_each_line_is_answered_before_the_next_one_comes() -> None:
    """A pipe that stays open, as from a running contest."""
    process = subprocess.Popen(
        [sys.executable, "-m", "milepost", "follow", "-", "-q"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": SOURCE},
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        for count in (1, 2, 3):
            process.stdin.write(json.dumps(ADA) + "\n")
            process.stdin.flush()
            ready, _, _ = select.select([process.stdout], [], [], 120)
            assert ready, "no answer while the pipe is open"
            assert json.loads(process.stdout.readline())["decisions"] == count
    finally:
        process.stdin.close()
        process.wait(timeout=60)
        process.stdout.close()
    assert process.returncode == 0


def test_bad_lines_are_told_by_number_and_the_exit_code_says_so() -> None:
    good = json.dumps(ADA)
    code, lines, told = run("follow", "-", given=f"{good}\nnonsense\n\n{good}\n{{}}\n")
    assert code == 1
    assert [json.loads(line)["decisions"] for line in lines] == [1, 2]
    assert "line 2: this is no JSON" in told
    assert "line 5: nobody chose" in told
    assert "2 decisions followed, 2 lines were none" in told
    code, lines, told = run("follow", "-", "-q", given=good)
    assert (code, len(lines), told) == (0, 1, "")


def test_a_state_is_gone_on_from(tmp_path: Path) -> None:
    decisions, state = tmp_path / "decisions.ndjson", tmp_path / "state.json"
    decisions.write_text(json.dumps({**ADA, "chooser": "Örs"}) + "\n", encoding="utf-8")
    for count in (1, 2):
        code, (line,), _ = run("follow", decisions, "--state", state)
        assert code == 0
        assert json.loads(line)["decisions"] == count
        assert "Örs" in line
    code, _, told = run("follow", decisions, "--state", state, "--set", "K=0.5")
    assert code == 1
    assert "other settings" in told


def test_what_is_known_beforehand_counts() -> None:
    given = json.dumps(ADA)
    wide = json.loads(run("follow", "-", given=given)[1][0])
    narrow = json.loads(run("follow", "-", "--set", "prior=1.5,0.1", given=given)[1][0])
    assert narrow["c_sd"] < 0.11 < wide["c_sd"]
    half = json.loads(run("follow", "-", "--level", "0.5", given=given)[1][0])
    assert wide["c_low"] < half["c_low"] < half["c_high"] < wide["c_high"]


def test_lines_that_spreads_writes_will_do(bundled_data: Path, tmp_path: Path) -> None:
    folder, spreads = bundled_data / "sample", tmp_path / "spreads.ndjson"
    code, _, _ = run(
        "spreads", folder / "games.pgn", "--store", folder / "evaluations", "-o", spreads, "-q"
    )
    assert code == 0
    first = tmp_path / "first.ndjson"
    first.write_text("".join(spreads.read_text("utf-8").splitlines(keepends=True)[:30]), "utf-8")
    code, lines, told = run(
        "follow", first, "--calibration", "stockfish15.1-quick", "--prior", "2000,300"
    )
    assert code == 0, told
    last = json.loads(lines[-1])
    assert 600 < last["elo_low"] < last["elo"] < last["elo_high"] < 3400
    assert last["elo_sd"] < 360  # 300 beforehand, widened by what players vary


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--prior", "2000"], "expected MEAN,SD"),
        (["--prior", "2000,300"], "goes with a calibration"),
        (["--calibration", "nobody"], "no calibration 'nobody'"),
        (["--set", "width=1"], "the width at least 2"),
        (["--set", "prior_range=3"], "prior_range cannot be '3'"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(arguments: list[str], complaint: str) -> None:
    code, lines, told = run("follow", "-", *arguments, given=json.dumps(ADA))
    assert (code, lines) == (1, [])
    assert complaint in told
