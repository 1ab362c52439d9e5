"""The ledger of checks: a file that counts every look, so that no look can be forgotten.

Whoever looks often enough finds something: a p-value says little without the number of looks. The
ledger is a text file that only grows, a line of JSON a look. It is no list of people: players,
performances and commands stand in it as short hashes, salted with what its first line holds. That
keeps names from whoever opens the file, not from somebody who tries a list of names on it.

One writer at a time (`milepost.io.locks`). A line that a killed run has left torn is passed over
and counted; the next look begins a line of its own.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from milepost.errors import InputError, OutputError
from milepost.io.files import write_text
from milepost.io.locks import locked
from milepost.io.outputs import cannot_write

NAME = "check-ledger.ndjson"
"""What the file is called."""
KINDS = ("screen", "full", "sequential")
_KIND = "milepost check ledger"
_SCHEMA = 1
_HASH_BYTES = 6
"""2⁴⁸ hashes: two of 100,000 players share one with a chance of 2 in 100,000."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Look:
    """One look at some performances.

    Looks that differ in nothing but their time and command are one look. What is given to `record`
    holds players, performances and the command as they are; what `read` returns holds their hashes.
    """

    time: str
    """When, as ISO 8601 with its time zone; of those that were taken again, the first."""
    kind: str
    """One of `KINDS`."""
    command: str
    """The command with all its options, as text."""
    inputs: tuple[str, ...]
    """Digests of the input files."""
    calibration: str
    """Digest or name of the calibration."""
    players: tuple[str, ...]
    """The keys of the players who were looked at."""
    performances: tuple[str, ...]
    """What `performance_digest` says of each performance that was looked at."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """What changes the answer: exclusions, the last round, limits. It is kept readable, so it must
    name nobody: ratings given for players belong to the command."""
    times: tuple[str, ...] = ()
    """All times of a look that was read, in the order of the file."""


@dataclass(frozen=True)
class LooksSummary:
    """How often was looked, in all and at one performance."""

    looks: int
    """Different looks."""
    times: int
    """How often a look was taken, the same ones again included."""
    performances: int
    """Different performances looked at in all."""
    tests: int
    """Performances of all different looks together: the number of tests to answer for."""
    looks_here: int
    """Different looks at this performance."""
    times_here: tuple[str, ...]
    """When this performance was looked at, in the order of the file."""
    settings_here: tuple[Mapping[str, Any], ...]
    """The different settings under which it was looked at, in the order of the file."""
    unreadable: int
    """Lines of the file that cannot be read: looks of killed runs, or damage."""


def ledger_of(store: str | Path) -> Path:
    """Return where the ledger of a store lies: in its folder, so that it travels with it."""
    return Path(store) / NAME


def performance_digest(player: str, event: str) -> str:
    """Return a digest of one player's games in one event, whichever rounds of it are there."""
    return hashlib.sha256(json.dumps([player, event]).encode("utf-8")).hexdigest()[:32]


def record(path: str | Path, look: Look, *, salt: str | None = None) -> None:
    """Write down a look.

    Parameters
    ----------
    path
        The ledger; made if it is not there, in a folder that is.
    look
        The look.
    salt
        The salt of a new ledger [default: a random one]. One that is there keeps its own.

    Raises
    ------
    InputError
        If the file is no ledger, or the look is not as it should be.
    OutputError
        If it cannot be written; then it is as it was.
    """
    target = Path(path)
    _check(look)
    with locked(target):
        try:
            if not target.exists() or not target.stat().st_size:
                # Whole or not at all: a torn first line would make all hashes meaningless.
                first = {"kind": _KIND, "schema": _SCHEMA, "salt": salt or secrets.token_hex(16)}
                write_text(target, _json(first) + "\n")
            with target.open("rb") as file:
                own_salt = _salt(file.readline(), target)
            _append(target, _json(_hashed(look, own_salt)) + "\n")
        except OutputError:
            raise
        except OSError as error:
            raise cannot_write(target, error) from error


def read(path: str | Path) -> list[Look]:
    """Return the different looks of a ledger, in the order in which they were first taken.

    A file that is not there holds none. Lines that cannot be read are passed over, with a log line.

    Raises
    ------
    InputError
        If the file is no ledger, or cannot be read.
    """
    return _read(Path(path))[0]


def summary(path: str | Path, performance_digest: str) -> LooksSummary:
    """Return how often was looked, in all and at one performance; see `performance_digest`.

    Raises
    ------
    InputError
        If the file is no ledger, or cannot be read.
    """
    looks, salt, unreadable = _read(Path(path))
    wanted = _hash(performance_digest, salt)
    here = [look for look in looks if wanted in look.performances]
    settings = {_json(look.settings): look.settings for look in here}
    return LooksSummary(
        looks=len(looks),
        times=sum(len(look.times) for look in looks),
        performances=len({name for look in looks for name in look.performances}),
        tests=sum(len(look.performances) for look in looks),
        looks_here=len(here),
        times_here=tuple(time for look in here for time in look.times),
        settings_here=tuple(settings.values()),
        unreadable=unreadable,
    )


def _check(look: Look) -> None:
    if look.kind not in KINDS:
        raise InputError(f"a look is one of {', '.join(KINDS)}, got {look.kind!r}")
    try:
        zone = datetime.fromisoformat(look.time).tzinfo
    except ValueError:
        zone = None
    if zone is None:
        raise InputError(f"the time of a look must be ISO 8601 with a zone, got {look.time!r}")
    try:
        _json(look.settings)
    except (TypeError, ValueError) as error:
        raise InputError(f"the settings of a look cannot be written as JSON: {error}") from error


def _hash(text: str, salt: str) -> str:
    key = salt.encode("utf-8")[: hashlib.blake2b.MAX_KEY_SIZE]
    return hashlib.blake2b(text.encode("utf-8"), digest_size=_HASH_BYTES, key=key).hexdigest()


def _hashed(look: Look, salt: str) -> dict[str, Any]:
    """What the file says of a look; sets are sorted, so that their order makes no other look."""
    return {
        "time": look.time,
        "kind": look.kind,
        "command": _hash(look.command, salt),
        "inputs": sorted(set(look.inputs)),
        "calibration": look.calibration,
        "players": sorted({_hash(player, salt) for player in look.players}),
        "performances": sorted({_hash(name, salt) for name in look.performances}),
        "settings": look.settings,
    }


def _append(path: Path, line: str) -> None:
    """Add a line in one go; what cannot be written whole is taken back."""
    with path.open("a+b", buffering=0) as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(-1, os.SEEK_END)
        torn = file.read(1) != b"\n"
        data = (("\n" if torn else "") + line).encode("utf-8")
        try:
            if file.write(data) != len(data):
                raise OSError("not all of the line could be written")
            os.fsync(file.fileno())
        except OSError:
            with suppress(OSError):
                file.truncate(size)
            raise


def _salt(line: bytes, path: Path) -> str:
    try:
        first = json.loads(line)
        if first["kind"] != _KIND or not isinstance(first["salt"], str):
            raise ValueError
        schema = first["schema"]
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path} is no ledger of checks") from error
    if schema != _SCHEMA:
        raise InputError(f"{path} is a ledger of schema {schema}, this version knows {_SCHEMA}")
    return str(first["salt"])


def _read(path: Path) -> tuple[list[Look], str, int]:
    """The different looks, the salt, and how many lines cannot be read."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        data = b""
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    if not data:
        return [], "", 0
    first, *lines = data.splitlines()
    salt = _salt(first, path)
    looks: dict[str, list[Look]] = {}
    unreadable = 0
    for line in filter(None, lines):
        try:
            look = _look(json.loads(line))
        except (ValueError, KeyError, TypeError):
            unreadable += 1
            continue
        looks.setdefault(_identity(look), []).append(look)
    if unreadable:
        _log.warning("%s: %d lines cannot be read (runs that were killed?)", path, unreadable)
    merged = [_merged(same) for same in looks.values()]
    return merged, salt, unreadable


def _look(row: dict[str, Any]) -> Look:
    texts = {name: row[name] for name in ("time", "kind", "command", "calibration")}
    lists = {name: tuple(row[name]) for name in ("inputs", "players", "performances")}
    inner = [text for values in lists.values() for text in values]
    if not all(isinstance(text, str) for text in [*texts.values(), *inner]):
        raise TypeError
    if not isinstance(row["settings"], dict):
        raise TypeError
    fields: dict[str, Any] = {**texts, **lists}
    return Look(**fields, settings=row["settings"], times=(row["time"],))


def _identity(look: Look) -> str:
    """What makes a look the same look; the command also says where its output goes."""
    same = (look.kind, look.inputs, look.calibration, look.players, look.performances)
    return _json([*same, look.settings])


def _merged(same: list[Look]) -> Look:
    first = same[0]
    fields = {**vars(first), "times": tuple(look.time for look in same)}
    return Look(**fields)


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, allow_nan=False)
