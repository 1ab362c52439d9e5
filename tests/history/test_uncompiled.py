"""Every kernel runs as plain Python too, with the same answer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
SMALL = """
import json
from milepost.history import update_history
from tests.history.samples import fit, prequential, simulated
games = simulated(40, 6, 3)
weighted = games.with_columns(weight=2.5)
out = []
for options in ({}, {"model": "ttt-d"}, {"model": "ttt-d", "draw_form": "two-factor"},
                {"workers": 2}, {"first_mover": "learn", "newcomers": "learn"},
                {"stage": "filter"}, {"stage": "filter", "model": "ttt-d"}):
    options |= {} if "model" in options else {"draw": 120.0}
    for table in (games, weighted):
        history = fit(table, tolerance=1e-3, **options)
        out.append(history.log_evidence)
        out += history.curves["mean"].to_list() + history.curves["sd"].to_list()
    updated = update_history(fit(games[:30], tolerance=1e-3, **options), games[30:])
    out += updated.curves["mean"].to_list() + list(updated.predict("p0001", "p0002", 1902))
out += prequential(games, draw=120.0)[1].to_list()
print(json.dumps(out))
"""


def test_compiled_and_uncompiled_agree() -> None:
    answers = []
    for disabled in ("0", "1"):
        environment = os.environ | {"NUMBA_DISABLE_JIT": disabled}
        done = subprocess.run(
            [sys.executable, "-c", SMALL], capture_output=True, text=True, check=True,
            env=environment, cwd=PROJECT,
        )  # fmt: skip
        answers.append(json.loads(done.stdout))
    assert answers[0] == pytest.approx(answers[1], rel=1e-9, abs=1e-9)
