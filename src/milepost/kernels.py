"""How a numerical kernel is compiled: once, kept on disk, and free of the interpreter's lock.

A kernel is a short pure function over arrays and numbers. `kernel` compiles it at its first call
and caches the machine code beside the module; kernels release the interpreter's lock, so that
threads run them side by side. With ``NUMBA_DISABLE_JIT=1`` in the environment every kernel runs as
plain Python; the tests run both ways.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

import numba

_Arguments = ParamSpec("_Arguments")
_Answer = TypeVar("_Answer")


def kernel(function: Callable[_Arguments, _Answer]) -> Callable[_Arguments, _Answer]:
    """Compile a kernel, keeping the meaning of IEEE arithmetic (NaN and infinity included)."""
    compiled = numba.njit(cache=True, nogil=True, error_model="numpy")(function)
    return cast("Callable[_Arguments, _Answer]", compiled)


def fused_kernel(function: Callable[_Arguments, _Answer]) -> Callable[_Arguments, _Answer]:
    """Compile a kernel in which a product and a sum may be rounded once, as one instruction."""
    compiled = numba.njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})(
        function
    )
    return cast("Callable[_Arguments, _Answer]", compiled)


def vector_kernel(function: Callable[_Arguments, _Answer]) -> Callable[_Arguments, _Answer]:
    """Compile a kernel whose sums may be taken in any order, so that they run in vectors."""
    compiled = numba.njit(
        cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract"}
    )(function)
    return cast("Callable[_Arguments, _Answer]", compiled)
