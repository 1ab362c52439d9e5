"""Write the parts of the documentation that follow from the code: docs/tables.md and docs/cli.md.

Run it with ``make pages`` after a column, a command or an option has changed; a test asserts that
it was run.
"""

from __future__ import annotations

import os
from pathlib import Path

# Help texts break where the terminal ends: one width for everybody.
os.environ["COLUMNS"] = "100"
os.environ["TERMINAL_WIDTH"] = "100"

import typer
from typer.main import get_command

from milepost.cli.app import app
from milepost.tables import TABLES

DOCS = Path(__file__).resolve().parents[1] / "docs"


def tables_page() -> str:
    """Return docs/tables.md."""
    lines = [
        "# The tables",
        "",
        "Every stage reads the table before it and writes the table after it. All of them can be",
        "Parquet, CSV or NDJSON. In CSV a list is its values separated by blanks, with `-` for a",
        "missing one. Columns that are not *needed* may be missing from a table of your own.",
    ]
    for table in TABLES:
        lines += ["", f"## {table.name}", f"A row is {table.row}.", ""]
        lines += ["| column | type | needed | meaning |", "|---|---|---|---|"]
        for column in table.columns:
            kind = "date or number" if column.dtype is None else _type_name(column.dtype)
            needed = "yes" if column.required else ""
            lines.append(f"| `{column.name}` | {kind} | {needed} | {column.meaning} |")
    return "\n".join(lines) + "\n"


def cli_page() -> str:
    """Return docs/cli.md."""
    command = get_command(app)
    context = typer.Context(command, info_name="milepost")
    lines = [
        "# The command line",
        "",
        "Results go to the file that `-o` names (or to standard output with `-o -`), progress and",
        "summaries to standard error. Exit codes: 0 done, 1 failed (a value that cannot be used, a",
        "file that cannot be read or written) or `--strict` found errors, 2 an unknown command or",
        "option, 130 interrupted, 143 and 129 stopped by SIGTERM and SIGHUP.",
        "[exit_codes.md](exit_codes.md) lists the messages.",
        "",
        "```",
        command.get_help(context).rstrip(),
        "```",
    ]
    for name, sub in sorted(getattr(command, "commands", {}).items()):
        inner = typer.Context(sub, info_name=name, parent=context)
        lines += ["", f"## milepost {name}", "", "```", sub.get_help(inner).rstrip(), "```"]
        for part, leaf in sorted(getattr(sub, "commands", {}).items()):
            help_text = leaf.get_help(typer.Context(leaf, info_name=part, parent=inner))
            lines += ["", f"### milepost {name} {part}", "", "```", help_text.rstrip(), "```"]
    return "\n".join(line.rstrip() for line in "\n".join(lines).split("\n")) + "\n"


def _type_name(dtype: object) -> str:
    name = str(dtype)
    for long, short in (("String", "text"), ("Boolean", "yes or no")):
        name = name.replace(long, short)
    return name.lower()


def main() -> None:
    """Write both pages."""
    (DOCS / "tables.md").write_text(tables_page(), encoding="utf-8")
    (DOCS / "cli.md").write_text(cli_page(), encoding="utf-8")


if __name__ == "__main__":
    main()
