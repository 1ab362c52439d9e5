"""Figures of benchmarks, kept so that one table can be made of them; see `benchmarks/run.py`.

A benchmark tells each figure by a name. They are kept only where ``MILEPOST_FIGURES`` names a file.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from statistics import median


def record(name: str, values: float | list[float]) -> None:
    """Keep the median of a figure, and its range."""
    file = os.environ.get("MILEPOST_FIGURES")
    if not file:
        return
    path = Path(file)
    known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    several = [values] if isinstance(values, int | float) else values
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    known[name] = {
        "median": median(several), "low": min(several), "high": max(several),
        "runs": len(several), "load": round(load, 1),
    }  # fmt: skip
    path.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n", encoding="utf-8")
