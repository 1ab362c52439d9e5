"""The demo: the main job on the bundled sample."""

from __future__ import annotations

from typing import Annotated

import typer


def demo(
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FOLDER", help="Where the tables go.")
    ] = "demo-output",
) -> None:
    """Run the main job on the bundled sample and say where everything lies."""
    raise NotImplementedError(output)
