"""Options that have gone elsewhere: whoever still types one is told where."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from typer.core import TyperCommand


def pointing(moved: Mapping[str, str]) -> type[TyperCommand]:
    """Return a kind of command that knows where its former options are.

    Parameters
    ----------
    moved
        Former options, as typed, with what to type now.
    """

    class Pointing(TyperCommand):
        def parse_args(self, ctx: Any, args: list[str]) -> list[Any]:
            for typed in args:
                name = typed.partition("=")[0]
                if name == "--":
                    break
                if name in moved:
                    ctx.fail(f"{ctx.info_name} {name} is now {moved[name]}")
            return super().parse_args(ctx, args)

    return Pointing
