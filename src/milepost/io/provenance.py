"""What an output says about how it was made: version, command, options, digests of the inputs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from milepost import __version__


def provenance(
    command: str, options: Mapping[str, Any], inputs: list[dict[str, Any]]
) -> dict[str, Any]:
    """Return what an output says about how it was made; it holds no time, so bytes repeat."""
    return {
        "made_by": f"milepost {__version__}",
        "command": command,
        "options": dict(options),
        "inputs": inputs,
    }


def read_provenance(path: str | Path) -> dict[str, Any]:
    """Return what a table of ours says about how it was made; empty = nothing, or not ours."""
    beside = Path(f"{path}.provenance.json")
    try:
        if str(path).lower().endswith(".parquet"):
            import pyarrow.parquet as pq

            text = (pq.read_metadata(path).metadata or {}).get(b"milepost", b"{}").decode("utf-8")
        else:
            text = beside.read_text(encoding="utf-8")
        told = json.loads(text)
    except (OSError, ValueError, RecursionError):
        return {}
    return told if isinstance(told, dict) else {}
