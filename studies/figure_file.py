"""The file of figures that a study leaves behind, and the blocks of a page written from it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from milepost.io.files import write_text

FOLDER = Path(__file__).parent / "figures"
_BLOCK = re.compile(r"(<!-- figures: ([\w ]+) -->\n).*?(<!-- end -->)", re.S)


@dataclass(frozen=True)
class FigureFile:
    """A JSON file with a part for each question of a study."""

    path: Path
    """Where it is."""

    def all(self) -> dict[str, Any]:
        """Return all parts; empty if there is no file yet."""
        known: dict[str, Any] = {}
        if self.path.exists():
            known = json.loads(self.path.read_text(encoding="utf-8"))
        return known

    def part(self, name: str) -> dict[str, Any]:
        """Return one part; empty if there is none yet."""
        return dict(self.all().get(name, {}))

    def keep(self, name: str, found: dict[str, Any]) -> None:
        """Put one part into the file; the others stay."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        known = self.all() | {name: found}
        text = json.dumps(
            _rounded(known), indent=1, ensure_ascii=False, sort_keys=True, default=str
        )
        # One row of a table a line.
        text = re.sub(r"\[\s+([^\[\]{}]*?)\s+\]", lambda row: f"[{' '.join(row[1].split())}]", text)
        write_text(self.path, text + "\n")


def _rounded(value: Any) -> Any:
    """Six digits are more than anybody can read out of these figures."""
    if isinstance(value, dict):
        return {str(name): _rounded(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(each) for each in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def fill(text: str, write: Callable[[str], str]) -> str:
    """Return a page with what stands in its blocks written anew.

    A block stands between ``<!-- figures: NAME -->`` and ``<!-- end -->``.
    """
    return _BLOCK.sub(lambda block: f"{block[1]}{write(block[2])}\n{block[3]}", text)


def as_table(heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """Return a table in Markdown."""
    lines = ["| " + " | ".join(row) + " |" for row in (heads, *rows)]
    return "\n".join([lines[0], "|" + "---|" * len(heads), *lines[1:]])


BOT = FigureFile(FOLDER / "bot.json")
"""Of `studies.bot_games`, `studies.bot_endings` and `studies.bot_likeness`."""
