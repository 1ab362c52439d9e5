"""What a command will write, looked at before it begins: an answer must not be lost at the end."""

from __future__ import annotations

from collections.abc import Iterable, MutableMapping, Sequence
from typing import Any

WRITTEN = (
    "--output",
    "--report",
    "--errors",
    "--plot",
    "--duplicates",
    "--gates",
    "--sites",
    "--turns-out",
)
"""Options that name a file to write."""
_FOLDER = "FOLDER"
"""What stands in the help for an option that names a folder."""


def look_at_outputs(params: Sequence[Any], values: MutableMapping[str, Any]) -> None:
    """Refuse outputs that cannot be written, or that are inputs of the same command.

    Other names of standard output become ``-``.

    Parameters
    ----------
    params
        The parameters of the command.
    values
        What they were given, by their names.

    Raises
    ------
    OutputError
        Saying which and why.
    """
    written = [
        param for param in params if set(param.opts) & set(WRITTEN) and param.metavar != _FOLDER
    ]
    given = [param.name for param in written if values.get(param.name) is not None]
    if not given:
        return
    from milepost.io.outputs import check_output, plain_output, refuse_inputs

    for name in given:
        values[name] = plain_output(values[name])
    outputs = [values[name] for name in given]

    others = [values.get(param.name) for param in params if param not in written]
    inputs = list(_files(name for value in others for name in _texts(value)))
    for output in outputs:
        check_output(output)
        refuse_inputs(output, inputs)


def _texts(value: Any) -> list[str]:
    """The texts that a parameter was given, which may be names of files."""
    given = value if isinstance(value, list | tuple) else [value]
    return [text for text in given if isinstance(text, str)]


def _files(texts: Iterable[str]) -> Iterable[str]:
    """The files that some of the texts name, alone, by their folder or by a pattern."""
    from milepost.errors import InputError
    from milepost.io.sources import find_sources

    for text in texts:
        try:
            yield from (str(source.path) for source in find_sources(text) if source.path)
        except (InputError, OSError, ValueError):
            continue  # it names no file: a player, a number; or the command will say what is wrong
