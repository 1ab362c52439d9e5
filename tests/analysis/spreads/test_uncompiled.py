"""The kernels behind decisions, run as plain Python: the same decisions to the bit."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import polars as pl

SCRIPT = """
import sys
import milepost as mp

games, store, target = sys.argv[1:]
found = mp.decisions(games, store=store)
found.table.write_parquet(target)
"""


def made(tmp_path: Path, disabled: str) -> pl.DataFrame:
    """The decisions of two games of the sample, made in a process of its own."""
    sample = Path(str(files("milepost") / "data" / "sample"))
    text = (sample / "games.pgn").read_text(encoding="utf-8")
    games = tmp_path / "two.pgn"
    games.write_text("[Event ".join(text.split("[Event ")[:3]), encoding="utf-8")
    target = tmp_path / f"{disabled}.parquet"
    words = [str(games), str(sample / "evaluations"), str(target)]
    environment = os.environ | {"NUMBA_DISABLE_JIT": disabled}
    subprocess.run([sys.executable, "-c", SCRIPT, *words], env=environment, check=True)
    return pl.read_parquet(target)


def test_kernels_do_the_same_uncompiled(tmp_path: Path) -> None:
    compiled, plain = made(tmp_path, "0"), made(tmp_path, "1")
    assert len(compiled) > 40
    assert compiled.equals(plain)
