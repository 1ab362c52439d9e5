"""All goals in one run, and one table of them in docs/benchmarks.md: ``make bench``.

Every part is a process of its own, one after the other, and prints what it measures. The figures
are kept in ``benchmarks/figures.json`` with the load of the machine (programs that wanted to run,
on average over the last minute): a figure taken beside other work says so in the table. What a run
leaves out keeps its old figure. A run that was stopped goes on with the part it was at. ``--only
NAME`` runs one part, ``--table`` only writes the table.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
FIGURES = ROOT / "benchmarks" / "figures.json"
DONE = ROOT / "build" / "bench-done.txt"
"""The parts that a run has done so far; gone when it is through."""
PAGE = ROOT / "docs" / "benchmarks.md"
BEGIN, END = "<!-- goals: made by make bench -->", "<!-- end of goals -->"
BUSY = 1.6
"""From this load on another program had a part of the two cores (this one alone makes about 1)."""

PARTS = {
    "rate": ["bench_rate.py"],
    "headers": ["bench_games.py", "--only", "headers"],
    "turns": ["bench_games.py", "--only", "turns", "--repeats", "2"],
    "packages": ["bench_history.py", "--only", "packages", "--quick"],
    "table": ["bench_history.py", "--only", "table", "--repeats", "2"],
    "workers": ["bench_history.py", "--only", "workers"],
    "check": ["bench_check.py", "--no-engine"],
}
"""The parts of a run, and what each starts."""


class Goal(NamedTuple):
    """A row of the table."""

    what: str
    goal: str
    name: str
    form: str
    before: str
    part: str
    least: float | None = None
    """The figure must be at least this …"""
    most: float | None = None
    """… or at most this."""


GOALS = (
    Goal("ratings: the model on stored decisions, turns a second of one core", "20,000",
         "rate model", "{:,.0f}", "about 700", "rate", least=20_000),
    Goal("… times a plain NumPy version of the same model", "", "rate numpy", "{:.0f}", "", "rate"),
    Goal("… `milepost.rate` of decisions as a whole (intervals, projections, 2009 agents)",
         "20,000", "rate whole", "{:,.0f}", "346", "rate", least=20_000),
    Goal("… decisions from PGN and stored evaluations, turns a second", "20,000",
         "rate decisions", "{:,.0f}", "2,325", "rate", least=20_000),
    Goal("… columns of the options, times python-chess", "", "rate columns", "{:.0f}", "1", "rate"),
    Goal("… `rate` of the demo's games in a new process, warm, seconds of processor time", "2",
         "rate warm", "{:.1f}", "5.7", "rate", most=2),
    Goal("… the same, first run after installation (compiles once)", "", "rate cold", "{:.0f}", "",
         "rate"),
    Goal("`check` of the decisions of one event, turns a second", "20,000", "check turns",
         "{:,.0f}", "", "check", least=20_000),
    Goal("… of three events at once, three times under other names", "20,000",
         "check many turns", "{:,.0f}", "", "check", least=20_000),
    Goal("headers, times python-chess `read_headers`: tournament games", "5",
         "headers tournament games", "{:.1f}", "5.1", "headers", least=5),
    Goal("… server games", "5", "headers server games", "{:.1f}", "4.0", "headers", least=5),
    Goal("`milepost results` as a whole, times the same: tournament games", "4",
         "results tournament games", "{:.1f}", "2.0 to 2.5", "headers", least=4),
    Goal("… server games", "4", "results server games", "{:.1f}", "2.0 to 2.5", "headers",
         least=4),
    Goal("headers of all our files once (20 MB), times `read_headers`", "5",
         "headers files as they are", "{:.1f}", "3.8", "headers", least=5),
    Goal("… `milepost results` as a whole", "4", "results files as they are", "{:.1f}", "2.4",
         "headers", least=4),
    Goal("turns from PGN, two processes, times python-chess with FENs: tournament games", "2.5",
         "turns tournament games", "{:.1f}", "2.2", "turns", least=2.5),
    Goal("… server games", "2.5", "turns server games", "{:.1f}", "1.9", "turns", least=2.5),
    Goal("history: whole fit, times `whr`", "60", "history whr", "{:.0f}", "31", "packages",
         least=60),
    Goal("… plain sweep, times `trueskillthroughtime`", "1,000", "history ttt", "{:,.0f}", "564",
         "packages", least=1000),
    Goal("… 3.19 million games, table to curves, seconds of one core, draw margin as it was then",
         "5", "history share", "{:.1f}", "7.3", "table", most=5),
    Goal("… the same with the margin learned, as is usual now", "", "history table", "{:.1f}", "",
         "table"),
    Goal("… `ttt-d`, times `ttt`", "at most 2.2", "history ttt-d", "{:.2f}", "2.67", "table",
         most=2.2),
    Goal("… two threads against one", "1.7", "history threads", "{:.2f}", "1.58", "workers",
         least=1.7),
)  # fmt: skip


def main() -> None:
    """Run the parts, then write the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--only", choices=PARTS, action="append", help="one part; repeatable")
    parser.add_argument("--table", action="store_true", help="only write the table")
    given = parser.parse_args()
    begun = time.monotonic()
    parts = () if given.table else tuple(given.only or PARTS)
    done_before = set(DONE.read_text().split()) if DONE.exists() and not given.only else set()
    for number, part in enumerate(parts, start=1):
        script, *words = PARTS[part]
        if part in done_before:
            print(f"== {part}: done by the run that was stopped", flush=True)
            continue
        at = f"part {number} of {len(parts)}, after {(time.monotonic() - begun) / 60:.1f} minutes"
        print(f"== {part} ({at}): {script} {' '.join(words)}", flush=True)
        done = subprocess.run(
            [sys.executable, str(ROOT / "benchmarks" / script), *words],
            env={**os.environ, "MILEPOST_FIGURES": str(FIGURES), "OPENBLAS_NUM_THREADS": "1"},
            check=False,
        )
        if done.returncode:
            sys.exit(f"{part} failed with {done.returncode}")
        if not given.only:
            done_before.add(part)
            DONE.parent.mkdir(exist_ok=True)
            DONE.write_text(" ".join(sorted(done_before)))
    if not given.only and not given.table:
        DONE.unlink(missing_ok=True)
    if not given.table:
        print(f"all in {(time.monotonic() - begun) / 60:.1f} minutes")
    figures = json.loads(FIGURES.read_text(encoding="utf-8")) if FIGURES.exists() else {}
    text = PAGE.read_text(encoding="utf-8")
    head, _, rest = text.partition(BEGIN)
    _, _, tail = rest.partition(END)
    PAGE.write_text(head + BEGIN + "\n" + goals(figures) + END + tail, encoding="utf-8")
    print(goals(figures))


def goals(figures: dict[str, Any]) -> str:
    """Return the table: goal, today, before, command."""
    lines = ["| what | goal | today | before | part |", "|---|---|---|---|---|"]
    lines += [
        f"| {row.what} | {row.goal} | {_today(row, figures.get(row.name))} | {row.before} | "
        f"`{row.part}` |"
        for row in GOALS
    ]
    return "\n".join(lines) + "\n"


def _today(row: Goal, figure: dict[str, Any] | None) -> str:
    if figure is None:
        return "not measured"
    value = figure["median"]
    text = row.form.format(value)
    if figure["runs"] > 1:
        text += f" ({row.form.format(figure['low'])} to {row.form.format(figure['high'])})"
    met = (row.least is not None and value >= row.least) or (
        row.most is not None and value <= row.most
    )
    if met:
        text = f"**{text}**"
    elif row.least is not None or row.most is not None:
        text += ", missed"
    return text + (f"; load {figure['load']:g}" if figure["load"] > BUSY else "")


if __name__ == "__main__":
    main()
