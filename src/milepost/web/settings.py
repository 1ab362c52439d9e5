"""What a running workbench goes by: where it keeps things, who may talk to it, what is too much."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from milepost.errors import InputError

LOOPBACK = ("127.0.0.1", "localhost", "::1")
"""Names of this machine that no other machine can reach."""


@dataclass(frozen=True)
class Limits:
    """What an upload may be; more is refused before it costs anything."""

    packed_bytes: int = 25_000_000
    """Bytes of a request with a file."""
    unpacked_bytes: int = 250_000_000
    """Bytes of the file once unpacked."""
    ratio: float = 50.0
    """How many times its size a packed file may grow."""
    games: int = 100_000
    """Games of a file."""
    tags: int = 100
    """Tags of a game."""
    tag_letters: int = 255
    """Letters of a tag's value."""
    plies: int = 600
    """Half-moves of a game."""
    body_bytes: int = 65_536
    """Bytes of any other request."""
    seconds: float = 120.0
    """Time to take a file in."""
    niceness: int = 10
    """How far jobs step back for other programs."""
    memory_bytes: int = 16 * 1024**3
    """Address space of the process that works."""


@dataclass(frozen=True)
class Settings:
    """The settings of a workbench; none of them can be changed from the web."""

    folder: Path
    """Where sets, jobs and evaluations are kept; nobody else may read it."""
    token: str
    """Who has it may use the workbench."""
    host: str = "127.0.0.1"
    """The address to listen at."""
    port: int = 8765
    """The port to listen at."""
    allow_remote: bool = False
    """Whether other machines may reach it."""
    names: tuple[str, ...] = ()
    """Further host names it may be called by, where other machines may reach it."""
    store_folder: Path | None = None
    """The evaluation store; None = one in `folder`."""
    engine: str | None = None
    """The engine's program or name; None = the one that is found."""
    plan: str = "quick"
    """What the engine searches."""
    workers: int = 1
    """Engines at a time."""
    histories: tuple[Path, ...] = ()
    """Folders of saved histories to show."""
    enable_check: bool = False
    """Whether fair-play pages are there."""
    expiry_days: float = 30.0
    """How long sets are kept."""
    check_days: float = 7.0
    """How long sets are kept once they were checked."""
    limits: Limits = field(default_factory=Limits)
    """What an upload may be."""

    def __post_init__(self) -> None:
        """Refuse to be reachable by accident."""
        if self.host not in LOOPBACK and not self.allow_remote:
            raise InputError(
                f"{self.host} can be reached from other machines: allow that expressly, or listen "
                "at 127.0.0.1"
            )
        if len(self.token) < 16:
            raise InputError("a token needs at least 16 letters")

    @property
    def store(self) -> Path:
        """The folder of the evaluation store."""
        return self.store_folder or self.folder / "evaluations"

    @property
    def origins(self) -> frozenset[str]:
        """How a browser may call this server: host and port, as in the Host header."""
        hosts = {*LOOPBACK, self.host, *self.names}
        shown = {f"[{host}]" if ":" in host else host for host in hosts if host != "0.0.0.0"}  # noqa: S104
        plain = shown if self.port == 80 else set()
        return frozenset({f"{host}:{self.port}" for host in shown} | plain)

    @property
    def address(self) -> str:
        """The address of the first page, with the token."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}/?token={self.token}"
