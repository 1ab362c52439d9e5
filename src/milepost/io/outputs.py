"""Outputs: what may be written to, and how it is told that something may not.

A regular file is replaced when the new one is whole. A character device or a FIFO, such as a
terminal or the null device, is written to as it is: to replace it would destroy it. Nothing else
is written to.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable
from pathlib import Path

from milepost.errors import OutputError

STDOUT = "-"
_OPEN_FILES = ("/dev/stdout", "/dev/stderr", "/dev/fd/", "/proc/self/fd/")
"""Where Unix shows a process the files that it holds open: they belong to who opened them."""
_AS_STDOUT = ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")
"""Other names of standard output."""


def plain_output(path: str) -> str:
    """Return the name of an output, ``-`` for whatever means standard output."""
    return STDOUT if path in _AS_STDOUT else path


def cannot_write(path: object, error: OSError) -> OutputError:
    """Return the error for a file that the system does not let us write."""
    folder = Path(str(path)).parent
    if folder.exists() and not folder.is_dir():
        return OutputError(f"cannot write {path}: {folder} is a file, not a folder")
    if error.errno == errno.ENOENT and not folder.is_dir():
        return OutputError(f"cannot write {path}: there is no folder {folder}; make it first")
    return OutputError(f"cannot write {path}: {error.strerror or error}")


def is_stream(path: str | Path) -> bool:
    """Whether what is written there flows on: standard output, a character device or a FIFO.

    Nothing can be put beside it, and nothing found in it again.
    """
    if str(path) == STDOUT or str(path).startswith(_OPEN_FILES):
        return True
    mode = _mode(path)
    return mode is not None and (stat.S_ISCHR(mode) or stat.S_ISFIFO(mode))


def refuse_kind(path: str | Path) -> None:
    """Refuse to write to what is neither a regular file nor a stream.

    Raises
    ------
    OutputError
        If a folder, a disk or a socket stands there.
    """
    mode = _mode(path)
    if mode is None or stat.S_ISREG(mode) or is_stream(path):
        return
    kind = "a folder" if stat.S_ISDIR(mode) else "a device, not a file"
    raise OutputError(f"cannot write {path}: it is {kind}; give the name of a file")


def refuse_inputs(path: str | Path, inputs: Iterable[str | Path]) -> None:
    """Refuse to write over what is read.

    Parameters
    ----------
    path
        The output.
    inputs
        The files that the job reads; what is no file is passed over.

    Raises
    ------
    OutputError
        If the output is one of them, under whatever name.
    """
    if not is_stream(path) and any(_are_one_file(path, name) for name in inputs):
        raise OutputError(
            f"cannot write {path}: it is an input, which would be lost; give another name"
        )


def _are_one_file(one: str | Path, other: str | Path) -> bool:
    try:
        return Path(one).samefile(other)
    except (OSError, ValueError):  # one of the two is not there
        return False


def check_output(path: str | Path) -> None:
    """Refuse what cannot be written, before there is an answer that would be lost.

    Raises
    ------
    OutputError
        If the system would not let us write it, as far as that can be seen beforehand.
    """
    if not str(path):
        raise OutputError("the output has no name: give one, or - for standard output")
    refuse_kind(path)
    if is_stream(path):
        return
    folder = Path(os.path.realpath(path)).parent
    if not folder.is_dir():
        raise cannot_write(path, FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT)))
    if not os.access(folder, os.W_OK | os.X_OK):
        reason = errno.EROFS if _is_read_only(folder) else errno.EACCES
        raise cannot_write(path, OSError(reason, os.strerror(reason)))


def _is_read_only(folder: Path) -> bool:
    """Whether the disk of a folder may only be read."""
    if not hasattr(os, "statvfs"):  # Windows
        return False
    return bool(os.statvfs(folder).f_flag & os.ST_RDONLY)


def refuse_stream(path: str | Path, why: str) -> None:
    """Refuse to write to a stream where a job needs a file.

    Parameters
    ----------
    path
        The output.
    why
        What the job needs it for.

    Raises
    ------
    OutputError
        If it is a stream.
    """
    if is_stream(path):
        name = "standard output" if str(path) == STDOUT else path
        raise OutputError(f"cannot write to {name}: {why}; give the name of a file")


def _mode(path: str | Path) -> int | None:
    """What kind of thing stands under a name, links followed; None = nothing that can be seen."""
    try:
        return os.stat(path).st_mode  # noqa: PTH116 - names and paths alike
    except (OSError, ValueError):
        return None
