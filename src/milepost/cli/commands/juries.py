"""The members of a jury, as the command line names them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from milepost.analysis.plans import Plan


def jury_member(
    text: str,
    engine: str | None,
    plan: str,
    depth: int | None,
    width: int | None,
    timeout: float,
) -> tuple[str | None, Path, Plan]:
    """Return the engine of a jury's member as the user named it, its program, and its plan.

    Parameters
    ----------
    text
        The value of ``--jury``: what differs from the other options, such as ``depth=12``.
    engine, plan, depth, width, timeout
        The other options.

    Raises
    ------
    InputError
        If the text is not of that form, or a number is not at least 1.
    EngineError
        If there is no such engine.
    """
    from milepost.analysis.engine.setup import find_engine
    from milepost.analysis.plans import make_plan
    from milepost.errors import InputError

    given: dict[str, str] = {}
    for part in text.split(";"):
        key, equals, value = part.strip().partition("=")
        if key not in ("engine", "plan", "depth", "width") or not equals:
            raise InputError(f"--jury: expected engine=, plan=, depth= or width=, got {part!r}")
        given[key] = value
    try:
        numbers = {name: int(given[name]) for name in ("depth", "width") if name in given}
    except ValueError:
        raise InputError(f"--jury: depth and width are numbers: {text!r}") from None
    if min(numbers.values(), default=1) < 1:
        raise InputError(f"--jury: depth and width are at least 1: {text!r}")
    other_plan = "plan" in given and given["plan"] != plan
    name = given.get("engine", engine)
    member_plan = make_plan(
        given.get("plan", plan),
        depth=numbers.get("depth", None if other_plan else depth),
        width=numbers.get("width", None if other_plan else width),
        timeout=timeout,
    )
    return name, find_engine(name), member_plan
