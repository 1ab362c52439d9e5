"""Write the tables of docs/papers.md and docs/papers2011.md from a run of ``milepost reproduce``.

    python -m studies.papers_tables OUT     put the results of OUT into the figures, then write
    python -m studies.papers_tables         write the pages from the figures

The figures are ``studies/figures/papers.json``; what stands in the pages between
``<!-- figures: NAME -->`` and ``<!-- end -->`` is replaced. Nothing is judged here.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from studies.figure_file import as_table, fill

from milepost.io.files import write_text
from milepost.papers.experiment import FAILS, HOLDS, TOO_LITTLE, experiments
from milepost.papers.ledger.answers import ledger
from milepost.papers.ledger.page import found_in
from milepost.papers.ledger.rules import holm
from milepost.papers.run import read_result

ROOT = Path(__file__).resolve().parents[1]
FIGURES = ROOT / "studies" / "figures" / "papers.json"
PAGES = [ROOT / "docs" / name for name in ("papers.md", "papers2011.md")]
BEFORE = {
    "2007": {HOLDS: 21, FAILS: 0, TOO_LITTLE: 6},
    "2011, 2009, script": {HOLDS: 24, FAILS: 11, TOO_LITTLE: 8},
}
"""Verdicts of version 0.1, from its docs/papers.md: other wordings, rules, depths and turns."""
_NUMBERS = ("effect", "low", "high", "power", "p")

Figures = dict[str, Any]


def collect(out: Path) -> Figures:
    """Return what a folder of results holds: claims, turns left out as seen, versions."""
    known = experiments()
    claims = {}
    for key, finding in found_in(out, known.values()).items():
        row: Figures = {"verdict": finding.verdict, "found": finding.found, "n": finding.n,
                        "unit": finding.unit}  # fmt: skip
        for name in _NUMBERS:
            value = getattr(finding, name)
            row[name] = None if value is None else float(f"{value:.6g}")
        claims[key] = row
    seen: dict[str, int] = {}
    for each in known.values():
        result = read_result(out / each.name)
        told = {} if result is None else result["made"].get("left_out_as_seen", {})
        seen = told | seen  # the first experiment counts: later ones may have other cut-offs
    return {"claims": claims, "seen": seen}


def page(text: str, figures: Figures) -> str:
    """Return a page with its blocks written anew."""
    return fill(text, lambda name: BLOCKS[name](figures))


def _table_of(paper: str) -> Callable[[Figures], str]:
    def write(figures: Figures) -> str:
        rows: list[tuple[str, ...]] = []
        for claim in ledger().values():
            finding = figures["claims"].get(claim.key)
            if claim.paper != paper or not claim.experiment:
                continue
            if finding is None:
                found, power, verdict = "", "", "not run"
            else:
                many = f" ({finding['n']:,} {finding['unit']})" if finding["n"] else ""
                found, verdict = finding["found"] + many, finding["verdict"]
                power = "" if finding["power"] is None else f"{finding['power']:.2f}"
            cells = (
                f"`{claim.key}`, {claim.section}", claim.reading, str(claim.rule), found, power,
                f"**{verdict}**",
            )  # fmt: skip
            rows.append(tuple(_cell(each) for each in cells))
        heads = ("claim", "the number that decides", "rule", "found", "power", "verdict")
        return as_table(heads, rows)

    return write


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


def _counts(figures: Figures) -> str:
    now = {name: Counter[str]() for name in BEFORE}
    for claim in ledger().values():
        if claim.experiment:
            name = "2007" if claim.paper == "2007" else "2011, 2009, script"
            now[name][figures["claims"].get(claim.key, {}).get("verdict", "not run")] += 1
    rows: list[tuple[str, ...]] = []
    for name, before in BEFORE.items():
        old = (str(before[each]) for each in (HOLDS, FAILS, TOO_LITTLE))
        new = (str(now[name][each]) for each in (HOLDS, FAILS, TOO_LITTLE, "not run"))
        rows += [(f"{name}: version 0.1", *old, ""), (f"{name}: **now**", *new)]
    judged = [
        each for key, each in figures["claims"].items()
        if each["p"] is not None and not key.startswith("2007")
    ]  # fmt: skip
    corrected = holm([each["p"] for each in judged])
    holding = [p for each, p in zip(judged, corrected, strict=True) if each["verdict"] == HOLDS]
    sure = sum(p < 0.05 for p in holding)
    return as_table(("", HOLDS, FAILS, TOO_LITTLE, "not run"), rows) + (
        f"\n\nOf the {len(holding)} claims of 2011, 2009 and the script that hold by an interval, "
        f"{sure} still do after Holm's correction for {len(judged)} tests. Of those left open, "
        + _left_open(figures)
    )


def _left_open(figures: Figures) -> str:
    """Why claims ended as too little data: too few turns, or an interval across a limit."""
    powers = [
        each["power"] for key, each in figures["claims"].items()
        if each["verdict"] == TOO_LITTLE and each["effect"] is not None and key[:4] != "2007"
    ]  # fmt: skip
    few = sum(power < 0.5 for power in powers)
    across = sum(power >= 0.8 for power in powers)
    return (
        f"{few} had a power under 0.5 (too few turns), {across} of 0.8 or more (enough turns, but "
        "the interval lies across a limit)."
    )


def _seen(figures: Figures) -> str:
    periods = {
        name.removeprefix("mileposts/"): count
        for name, count in sorted(figures["seen"].items()) if name.startswith("mileposts/")
    }  # fmt: skip
    told = ", ".join(f"{count:,} of {name}" for name, count in periods.items())
    return f"Turns in positions that version 0.1 had looked at are left out: {told}."


BLOCKS: dict[str, Callable[[Figures], str]] = {
    "counts": _counts, "seen": _seen,
    **{f"claims {paper}": _table_of(paper) for paper in ("2007", "2009", "2011", "script")},
}  # fmt: skip


def main() -> None:
    """Take in a run, if one is named, and write the pages."""
    if len(sys.argv) > 1:
        figures = collect(Path(sys.argv[1]))
        text = json.dumps(figures, indent=1, ensure_ascii=False, sort_keys=True)
        write_text(FIGURES, text + "\n")
    figures = json.loads(FIGURES.read_text(encoding="utf-8"))
    for path in PAGES:
        write_text(path, page(path.read_text(encoding="utf-8"), figures))


if __name__ == "__main__":
    main()
