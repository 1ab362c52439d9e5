"""What a test's `everything` gives in a process whose kernels are not compiled."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


def uncompiled(module: str, kernel: str) -> Any:
    """Return what `everything` of a module of tests gives there, as JSON carries it.

    Parameters
    ----------
    module
        The module of tests.
    kernel
        Module and name of a kernel that it runs, which must not be compiled there.
    """
    home, name = kernel.rsplit(".", 1)
    code = (
        "import json, sys\n"
        f"from {module} import everything\n"
        f"import {home} as kernels\n"
        f"assert not hasattr(kernels.{name}, 'py_func'), 'compiled after all'\n"
        "json.dump(everything(), sys.stdout)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={
            **os.environ,
            "NUMBA_DISABLE_JIT": "1",
            "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}",
        },
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)
