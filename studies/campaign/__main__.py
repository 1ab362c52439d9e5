"""The campaign: hostile inputs, kills at random moments, signals, full disks; then one table.

Run it with ``python -m studies.campaign --work FOLDER``. ``--inputs N`` is the number of damaged
inputs in all, ``--kills N`` how often each command that writes is killed. Seeds are fixed: the same
command tries the same inputs, and what the folder holds is not tried again. To see one input again:
``python -m studies.campaign --again KIND SEED NUMBER``.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from itertools import chain
from pathlib import Path
from typing import Any

from studies.campaign.documents import DOCUMENTS, try_documents
from studies.campaign.faults import STOPS, known_faults, run_faults
from studies.campaign.inputs import run_batch, run_inputs, try_one
from studies.campaign.setbacks import run_setbacks

SHARES = {
    "pgn": 0.05, "compressed": 0.025, "results": 0.08, "spreads": 0.18, "calibration": 0.18,
    "store": 0.12, "uci": 0.3446, "upload": 0.0004,
}  # fmt: skip
"""Of all inputs, how many are of each kind: more of those that are read in milliseconds."""
DOCUMENTS_SHARE = 0.01
"""… and of each kind of document that is drawn by its grammar."""


def _record(work: Path, name: str, start: int, count: int) -> Path:
    return work / f"{name.replace(' ', '-')}-{start}-{count}.json"


def run_documents(work: Path, name: str, start: int, count: int) -> dict[str, Any]:
    """Try documents drawn by hypothesis, in a process of their own; or take what is known."""
    record = _record(work, name, start, count)
    if not record.exists():
        words = ["--documents", name, str(start), str(count), str(record)]
        subprocess.run([sys.executable, "-m", "studies.campaign", *words], check=True)
    known: dict[str, Any] = json.loads(record.read_text())
    return known


def _try_documents(name: str, start: int, count: int, record: Path) -> None:
    begun = time.monotonic()
    problem = try_documents(name, count, start)
    if problem:
        print(f"{name}: {problem}", file=sys.stderr)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    row = {"tried": count, "failed": int(problem is not None), "peak_mb": round(peak)}
    record.write_text(json.dumps({**row, "seconds": time.monotonic() - begun}))


def main() -> None:
    """Run what is not in the folder yet, and print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--work", type=Path, default=Path("build/campaign"))
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--only", choices=("inputs", "faults"))
    parser.add_argument(
        "--kind", action="append", choices=(*SHARES, *DOCUMENTS), help="inputs of this kind only"
    )
    parser.add_argument("--command", action="append", default=[], help="faults of this one only")
    parser.add_argument("--signal", choices=STOPS, help="this signal only, and no setbacks")
    parser.add_argument("--show", action="store_true", help="what was tried so far; try no more")
    parser.add_argument("--again", nargs=3, metavar=("KIND", "SEED", "NUMBER"))
    parser.add_argument("--batch", nargs=5, help=argparse.SUPPRESS)
    parser.add_argument("--documents", nargs=4, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.batch:
        kind, seed, first, count, out = given.batch
        run_batch(kind, int(seed), int(first), int(count), Path(out))
        return
    if given.documents:
        name, start, count, out = given.documents
        _try_documents(name, int(start), int(count), Path(out))
        return
    if given.again:
        kind, seed, number = given.again
        with tempfile.TemporaryDirectory() as folder:
            print(try_one(kind, int(seed), int(number), Path(folder)) or "nothing is wrong")
        return
    given.work.mkdir(parents=True, exist_ok=True)
    lines = []
    failed = 0
    if given.only != "faults":
        counts = {
            kind: max(1, round(share * given.inputs))
            for kind, share in SHARES.items()
            if given.kind is None or kind in given.kind
        }
        lines += ["| input | tried | survived | seconds | peak MB |", "|---|---|---|---|---|"]
        for row in run_inputs(given.work, given.seed, counts, show=given.show):
            survived = row["tried"] - row["failed"]
            failed += row["failed"]
            lines.append(
                f"| {row['kind']} | {row['tried']:,} | {survived:,} | {row['seconds']:,.0f} | "
                f"{row['peak_mb']} |"
            )
        for name in (each for each in DOCUMENTS if given.kind is None or each in given.kind):
            count = max(1, round(DOCUMENTS_SHARE * given.inputs))
            if given.show and not _record(given.work, name, given.seed, count).exists():
                continue
            row = run_documents(given.work, name, given.seed, count)
            failed += row["failed"]
            lines.append(
                f"| {name} | {row['tried']:,} | {row['tried'] - row['failed']:,} | "
                f"{row['seconds']:,.0f} | {row['peak_mb']} |"
            )
        lines.append("")
    if given.only != "inputs":
        lines += ["| fault | command | tried | survived | seconds |", "|---|---|---|---|---|"]
        found = chain(
            run_faults(given.work, given.seed, given.kills, given.command, given.signal),
            () if given.command or given.signal else run_setbacks(given.work),
        )
        for fault in known_faults(given.work) if given.show else found:
            failed += fault.tried - fault.survived
            lines.append(
                f"| {fault.name} | {fault.command} | {fault.tried} | {fault.survived} | "
                f"{fault.seconds:,.0f} |"
            )
    print("\n".join(lines))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
