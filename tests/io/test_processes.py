"""Worker processes: gone when their parent is, and deaf to interrupts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

PROGRAM = """
import os, sys, time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from milepost.io.processes import begin_worker, interrupts_held

def work(seconds):
    print(os.getpid(), flush=True)
    time.sleep(seconds)

if __name__ == "__main__":
    pool = ProcessPoolExecutor(2, mp_context=get_context("spawn"), initializer=begin_worker)
    with interrupts_held():
        tasks = [pool.submit(work, 600) for _ in range(2)]
    tasks[0].result()
"""

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")


def runs(pid: int) -> bool:
    """Whether a process is there and has not ended."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="no /proc to look into")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_workers_end_with_their_parent(tmp_path: Path, how: signal.Signals) -> None:
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(PROGRAM), encoding="utf-8")
    parent = subprocess.Popen(
        [sys.executable, str(program)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert parent.stdout is not None
    with parent.stdout:
        workers = [int(parent.stdout.readline()) for _ in range(2)]
        # An interrupt to the whole group is the parent's to deal with; here it is not even sent.
        for worker in workers:
            os.kill(worker, signal.SIGINT)
        time.sleep(0.2)
        assert all(runs(worker) for worker in workers)
        parent.send_signal(how)
        parent.wait()
        give_up = time.monotonic() + 20
        while any(runs(worker) for worker in workers) and time.monotonic() < give_up:
            time.sleep(0.05)
        assert [worker for worker in workers if runs(worker)] == []
