"""On a real Ray of two nodes: the rows of a local run, whatever is lost on the way."""

from __future__ import annotations

import os
import signal
import stat
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import chess
import pytest

from milepost.analysis.engine.setup import find_engine
from milepost.analysis.plans import make_plan
from milepost.analysis.run.run import analyse
from milepost.analysis.run.threads import Job
from milepost.analysis.store.store import EvaluationStore, stored_position
from milepost.errors import EngineError, InputError, WorkerError
from milepost.io import cluster as io_cluster
from milepost.io.progress import Progress

PLAN = replace(make_plan("quick"), depth=6)
NODE = "MILEPOST_TEST_NODE"
STORE_BYTES = 80_000_000
# In front of the real engine: it notes who searches, waits until both nodes do, and is slow enough
# for something to happen in the middle of a run.
SLOW = """
import os, subprocess, sys, time
log = os.path.join(os.path.dirname(os.path.abspath(__file__)), "log")
engine = subprocess.Popen([ENGINE], stdin=subprocess.PIPE)
for line in sys.stdin:
    if line.startswith("go"):
        with open(log, "a") as out:
            out.write(f"{os.environ.get('NODE', 'none')} {os.getpid()} {os.getppid()}\\n")
        give_up = time.time() + 30
        while time.time() < give_up:
            names = {each.split()[0] for each in open(log).read().splitlines()}
            if {"first", "second"} <= names:
                break
            time.sleep(0.05)
        time.sleep(0.2)
    engine.stdin.write(line.encode())
    engine.stdin.flush()
engine.kill()
"""
# The name differs from machine to machine.
FOREIGN = """
import os, sys
for line in sys.stdin:
    if line.strip() == "uci":
        version = 2 if os.environ.get("NODE") == "second" else 1
        print(f"id name Fake {version}.0", flush=True)
        for name in ("Threads", "Hash", "MultiPV"):
            print(f"option name {name} type spin default 1 min 1 max 999", flush=True)
        print("uciok", flush=True)
    elif line.strip() == "isready":
        print("readyok", flush=True)
"""


@dataclass
class TwoNodes:
    """A head and a second node, which a test may take away."""

    cluster: Any
    second: Any = None

    @property
    def address(self) -> str:
        """Where it is."""
        return str(self.cluster.address)

    def complete(self) -> None:
        """Have the second node, again if need be."""
        if self.second is None:
            self.second = self.cluster.add_node(
                num_cpus=1, object_store_memory=STORE_BYTES, env_vars={NODE: "second"}
            )

    def kill_second(self) -> None:
        """Kill it, without a farewell."""
        self.cluster.remove_node(self.second, allow_graceful=False)
        self.second = None


@pytest.fixture(scope="module")
def engine() -> Path:
    """The engine, or a skip."""
    try:
        return find_engine(os.environ.get("MILEPOST_TEST_ENGINE"))
    except EngineError as error:
        pytest.skip(f"no engine: {error}")


@pytest.fixture(scope="module")
def ray_nodes(engine: Path) -> Iterator[TwoNodes]:
    """A Ray of its own for this file, which only listens on this machine's loopback."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        # Despite its name: off means that Ray uses the loopback address, on any system.
        patch.setenv("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
        patch.delenv("RAY_ADDRESS", raising=False)
        ray = pytest.importorskip("ray", reason="no Ray: pip install milepost[cluster]")
        from ray.cluster_utils import Cluster

        nodes = TwoNodes(
            Cluster(
                initialize_head=True,
                head_node_args={
                    "num_cpus": 1,
                    "object_store_memory": STORE_BYTES,
                    "include_dashboard": False,
                    "env_vars": {NODE: "first"},
                },
            )
        )
        try:
            nodes.complete()
            yield nodes
        finally:
            ray.shutdown()
            nodes.cluster.shutdown()


@pytest.fixture
def two_nodes(ray_nodes: TwoNodes) -> TwoNodes:
    """Both nodes, and a connection that the tests share because it takes seconds to make."""
    import ray

    ray_nodes.complete()
    if not ray.is_initialized():
        ray.init(address=ray_nodes.address, log_to_driver=False)
    return ray_nodes


@pytest.fixture(scope="module")
def jobs() -> list[Job]:
    """Positions of a game."""
    board = chess.Board()
    found: list[Job] = []
    for move in ("e4", "e5", "Nf3", "Nc6", "Bb5", "a6", "Ba4", "Nf6", "O-O", "Be7"):
        found.append((stored_position(board.fen()), None))
        board.push_san(move)
    return found


@pytest.fixture(scope="module")
def local_bytes(engine: Path, jobs: list[Job], tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The compacted store of a run on this machine."""
    store = EvaluationStore(tmp_path_factory.mktemp("local") / "store", create=True)
    analyse(jobs, store, engine, PLAN)
    return compacted(store)


@pytest.fixture
def store(tmp_path: Path) -> EvaluationStore:
    """An empty store."""
    return EvaluationStore(tmp_path / "store", create=True)


def compacted(store: EvaluationStore) -> bytes:
    """The one file of a store after compaction."""
    path = store.compact()
    assert path is not None
    return path.read_bytes()


def make_program(folder: Path, text: str, engine: Path | None = None) -> Path:
    """Write an engine."""
    program = folder / "engine.py"
    text = text.replace("ENGINE", repr(str(engine))).replace("NODE", NODE)
    program.write_text(f"#!{sys.executable}\n{text}", encoding="utf-8")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return program


def searches(folder: Path) -> list[list[str]]:
    """Node, engine process and worker process of every search that was begun."""
    log = folder / "log"
    return [line.split() for line in log.read_text("utf-8").splitlines()] if log.exists() else []


def test_two_nodes_give_the_bytes_of_a_local_run(
    ray_nodes: TwoNodes,
    engine: Path,
    jobs: list[Job],
    local_bytes: bytes,
    store: EvaluationStore,
    tmp_path: Path,
) -> None:
    import ray

    ray.shutdown()  # this time the run itself connects, and leaves
    ray_nodes.complete()
    program = make_program(tmp_path, SLOW, engine)
    state = analyse(jobs, store, program, PLAN, cluster=ray_nodes.address, engine=str(program))
    assert (state.done, state.failed) == (len(jobs), [])
    assert {node for node, *_ in searches(tmp_path)} == {"first", "second"}
    assert compacted(store) == local_bytes
    assert not ray.is_initialized()


def test_an_engine_and_a_worker_killed_in_mid_run_are_started_anew(
    two_nodes: TwoNodes,
    engine: Path,
    jobs: list[Job],
    local_bytes: bytes,
    store: EvaluationStore,
    tmp_path: Path,
) -> None:
    program = make_program(tmp_path, SLOW, engine)
    killed: dict[str, int] = {}

    def kill(news: Progress) -> None:
        begun = {node: processes for node, *processes in searches(tmp_path)}
        if news.done == 1:
            killed["engine"] = int(begun["first"][0])
        elif news.done == 3:
            killed["worker"] = int(begun["second"][1])
        else:
            return
        os.kill(list(killed.values())[-1], signal.SIGKILL)

    state = analyse(
        jobs, store, program, PLAN, cluster=two_nodes.address, engine=str(program), progress=kill
    )
    assert list(killed) == ["engine", "worker"]
    assert (state.done, state.failed) == (len(jobs), [])
    assert state.restarts > 0
    assert compacted(store) == local_bytes


def test_an_interrupt_ends_the_engines_and_keeps_what_is_done(
    two_nodes: TwoNodes, engine: Path, jobs: list[Job], store: EvaluationStore, tmp_path: Path
) -> None:
    program = make_program(tmp_path, SLOW, engine)

    def interrupt(news: Progress) -> None:
        if news.done == 3:
            raise KeyboardInterrupt

    state = analyse(
        jobs,
        store,
        program,
        PLAN,
        cluster=two_nodes.address,
        engine=str(program),
        progress=interrupt,
    )
    assert state.interrupted
    assert len(store.read()) == 3
    give_up = time.monotonic() + 10
    while any(is_running(int(pid)) for _, pid, _ in searches(tmp_path)):
        assert time.monotonic() < give_up, "an engine is left"
        time.sleep(0.1)


def is_running(process: int) -> bool:
    """Whether there is such a process, other than one that only waits to be forgotten."""
    try:
        return ") Z " not in Path(f"/proc/{process}/stat").read_text(encoding="utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_another_engine_on_a_node_is_refused(
    two_nodes: TwoNodes, jobs: list[Job], store: EvaluationStore, tmp_path: Path
) -> None:
    program = make_program(tmp_path, FOREIGN)
    with pytest.raises(EngineError, match=r"another engine than the one here.*Fake 2\.0"):
        analyse(jobs, store, program, PLAN, cluster=two_nodes.address, engine=str(program))
    assert len(store.read()) == 0


def test_a_node_lost_in_mid_run_only_slows_it(
    two_nodes: TwoNodes,
    engine: Path,
    jobs: list[Job],
    local_bytes: bytes,
    store: EvaluationStore,
    tmp_path: Path,
) -> None:
    program = make_program(tmp_path, SLOW, engine)

    def kill(news: Progress) -> None:
        if two_nodes.second is not None and news.done >= 2:
            assert any(node == "second" for node, *_ in searches(tmp_path))
            two_nodes.kill_second()

    state = analyse(
        jobs, store, program, PLAN, cluster=two_nodes.address, engine=str(program), progress=kill
    )
    assert two_nodes.second is None
    assert (state.done, state.failed) == (len(jobs), [])
    assert compacted(store) == local_bytes


def test_without_ray_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InputError, match=r"pip install milepost\[cluster\]"):
        io_cluster.import_ray()


def test_an_address_where_nobody_listens_is_refused_at_once() -> None:
    with pytest.raises(WorkerError, match=r"no Ray cluster at 127\.0\.0\.1:1: "):
        io_cluster._knock("127.0.0.1:1")
