"""How a numerical kernel is compiled: once, kept on disk, and free of the interpreter's lock.

A kernel is a short pure function over arrays and numbers. `kernel` compiles it at its first call;
kernels release the interpreter's lock, so that threads run them side by side. With
``NUMBA_DISABLE_JIT=1`` in the environment every kernel runs as plain Python; the tests run both
ways.

Machine code is kept in the user's cache folder (``NUMBA_CACHE_DIR``, if it is set), under a digest
of all that went into it: the kernel's own code, that of the kernels it calls, wherever they stand,
and the constants they use. Numba itself would look at the kernel's own file alone, and run stale
code after a change of another. Code that nobody has used for two months is removed. Where nothing
can be written, kernels are compiled anew in every process.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any, ParamSpec, TypeVar, cast

import llvmlite.binding as llvm  # type: ignore[import-untyped]
import numba
import numpy as np
from numba.core import caching, config

_Arguments = ParamSpec("_Arguments")
_Answer = TypeVar("_Answer")

_DAY = 86_400.0
_UNUSED_DAYS = 60
"""Machine code that was not used for so long is removed."""


def kernel(function: Callable[_Arguments, _Answer]) -> Callable[_Arguments, _Answer]:
    """Compile a kernel, keeping the meaning of IEEE arithmetic (NaN and infinity included)."""
    return _compiled(function)


def fused_kernel(function: Callable[_Arguments, _Answer]) -> Callable[_Arguments, _Answer]:
    """Compile a kernel in which a product and a sum may be rounded once, as one instruction."""
    return _compiled(function, fastmath={"contract"})


def inner_kernel(function: Callable[_Arguments, _Answer]) -> Callable[_Arguments, _Answer]:
    """Compile a fused kernel into each kernel that calls it: for the few lines of an inner loop."""
    return _compiled(function, fastmath={"contract"}, forceinline=True)


def vector_kernel(function: Callable[_Arguments, _Answer]) -> Callable[_Arguments, _Answer]:
    """Compile a kernel whose sums may be taken in any order, so that they run in vectors."""
    return _compiled(function, fastmath={"reassoc", "contract"})


def gather_kernel(function: Callable[_Arguments, _Answer]) -> Callable[_Arguments, _Answer]:
    """Compile a vector kernel whose arrays never overlap: only then look-ups run in vectors too."""
    apart = {"noalias": True} if _may_say_noalias() else {}
    return _compiled(function, fastmath={"reassoc", "contract", "nsz"}, **apart)


def inlined_kernel(function: Callable[_Arguments, _Answer]) -> Callable[_Arguments, _Answer]:
    """Compile a kernel that becomes part of those that call it, so that it runs in their vectors.

    A product and a sum may be rounded once.
    """
    return _compiled(function, fastmath={"contract"}, forceinline=True)


def wide_kernel(function: Callable[_Arguments, _Answer]) -> Callable[_Arguments, _Answer]:
    """Compile a vector kernel whose arrays never overlap and hold no NaN.

    Only then may look-ups in a table and the search for the greatest run in vectors.
    """
    fast = {"reassoc", "contract", "nnan", "nsz"}
    return _compiled(function, fastmath=fast, **({"noalias": True} if _may_say_noalias() else {}))


@cache
def _may_say_noalias() -> bool:
    """Teach Numba the word for a flag that it has for its own loops alone.

    Where another version of it has no such flag, kernels are slower and the answer is the same.
    """
    try:
        from numba.core.cpu import CPUTargetOptions

        CPUTargetOptions.noalias = CPUTargetOptions.Mapping("noalias")  # type: ignore[no-untyped-call]
    except (AttributeError, ImportError, TypeError):
        return False
    return True


def _compiled(
    function: Callable[_Arguments, _Answer], **options: Any
) -> Callable[_Arguments, _Answer]:
    compiled = numba.njit(nogil=True, error_model="numpy", **options)(function)
    if hasattr(compiled, "py_func"):  # with NUMBA_DISABLE_JIT it is the function itself
        compiled._cache = _KernelCache(compiled)
    return cast("Callable[_Arguments, _Answer]", compiled)


def kernel_digest(compiled: Any) -> str:
    """Return a digest of everything that a kernel's machine code was made from.

    Raises
    ------
    TypeError
        If the kernel uses something whose value cannot be told.
    """
    parts = [f"numba {numba.__version__}", f"numpy {np.__version__}", sys.version]
    parts += _facts(compiled, set())
    return hashlib.sha256("\n".join(parts).encode("utf-8")).hexdigest()[:32]


def _facts(compiled: Any, seen: set[int]) -> Iterator[str]:
    """What a kernel is made of, and what the kernels are that it calls."""
    function = compiled.py_func
    if id(function) in seen:
        yield f"again {function.__qualname__}"
        return
    seen.add(id(function))
    options = {name: _value(value) for name, value in compiled.targetoptions.items()}
    yield f"{function.__module__}.{function.__qualname__} {sorted(options.items())}"
    yield from _code_facts(function, seen)


def _code_facts(function: FunctionType, seen: set[int]) -> Iterator[str]:
    names: list[str] = []
    yield from _codes(function.__code__, names, function.__doc__)
    yield _value(function.__defaults__)
    yield _value(function.__kwdefaults__)
    for cell in function.__closure__ or ():
        yield from _named("cell", cell.cell_contents, names, seen)
    for name in dict.fromkeys(names):
        if name in function.__globals__:
            yield from _named(name, function.__globals__[name], names, seen)


def _codes(code: CodeType, names: list[str], doc: str | None = None) -> Iterator[str]:
    """The code, and its constants but for the docstring, which does nothing."""
    names += code.co_names
    constants = [each for each in code.co_consts if not isinstance(each, CodeType) and each != doc]
    yield repr((code.co_code, code.co_names, code.co_varnames, code.co_freevars, code.co_argcount))
    yield " ".join(map(_value, constants))
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _codes(each, names)


def _named(name: str, value: Any, names: list[str], seen: set[int]) -> Iterator[str]:
    """What a name in a kernel stands for: another kernel, a module, or a constant."""
    if hasattr(value, "py_func") and hasattr(value, "targetoptions"):
        yield f"{name} calls"
        yield from _facts(value, seen)
    elif isinstance(value, ModuleType):
        yield f"{name} is {value.__name__}"
        if value.__name__.startswith("milepost"):
            for each in dict.fromkeys(names):
                if hasattr(value, each):
                    yield from _named(f"{name}.{each}", getattr(value, each), names, seen)
    elif isinstance(value, FunctionType) and value.__module__.startswith("milepost"):
        # What Numba was told to write in its place, if so: `milepost.history.numerics.lanes`.
        yield f"{name} runs {vars(value).get('written_by', '')}"
        if id(value) not in seen:
            seen.add(id(value))
            yield from _code_facts(value, seen)
    else:
        yield f"{name} = {_value(value)}"


def _value(value: Any) -> str:
    """A constant in words that tell it from every other."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_value(k)}: {_value(v)}' for k, v in value.items())}}}"
    if isinstance(value, tuple | list):
        return f"{type(value).__name__}({', '.join(map(_value, value))})"
    if isinstance(value, set | frozenset):
        return f"set({', '.join(sorted(map(_value, value)))})"
    if isinstance(value, np.ndarray):
        return f"array {value.dtype} {value.shape} {hashlib.sha256(value.tobytes()).hexdigest()}"
    if isinstance(value, type | FunctionType | BuiltinFunctionType):
        return f"{value.__module__}.{value.__qualname__} {getattr(value, '_fields', '')}"
    text = f"{type(value).__name__} {value!r}"
    if " at 0x" in text:
        raise TypeError(f"cannot tell the value of {text}")
    return text


class _KernelLocator(caching._CacheLocator):
    """A folder for each version of each kernel."""

    def __init__(self, module: str, name: str, digest: str):
        self._digest = digest
        self._folder = cache_folder() / f"{module}.{name}-{digest}"

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> _KernelLocator:
        compiled = py_func.__globals__[py_func.__name__]
        if compiled.py_func is not py_func:
            raise TypeError("another kernel has the name of this one")
        digest = kernel_digest(compiled)
        return cls(py_func.__module__.removeprefix("milepost."), py_func.__qualname__, digest)

    def get_cache_path(self) -> str:
        return str(self._folder)

    def get_source_stamp(self) -> str:
        return self._digest

    def get_disambiguator(self) -> str:
        return ""

    def ensure_cache_path(self) -> None:
        _remove_unused(cache_folder())
        self._folder.mkdir(parents=True, exist_ok=True)

    def mark_used(self) -> None:
        """Note that the code is still in use, once a day."""
        with contextlib.suppress(OSError):
            if time.time() - self._folder.stat().st_mtime > _DAY:
                self._folder.touch()


class _KernelCacheImpl(caching.CompileResultCacheImpl):
    _locator_classes = [_KernelLocator]  # type: ignore[list-item]  # noqa: RUF012


class _KernelCache(caching.FunctionCache):
    """Numba's cache of one function, opened at the first call: only then are all callees there."""

    _impl_class = _KernelCacheImpl

    def __init__(self, compiled: Any):
        self._compiled = compiled
        self._open: bool | None = None

    def _opened(self) -> bool:
        if self._open is None:
            try:
                super().__init__(self._compiled.py_func)  # type: ignore[no-untyped-call]
                self._open = True
            except (AttributeError, KeyError, OSError, TypeError):
                self._open = False  # a kernel inside a function, say: compiled, but not kept
        return self._open

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        loaded = self._loaded(sig, target_context)
        if loaded is None:
            _tell_compiling()
        return loaded

    def _loaded(self, sig: Any, target_context: Any) -> Any:
        """Machine code that was kept; None = it has to be compiled."""
        if not self._opened():
            return None
        try:
            # Numba would first get ready to compile: that takes longer than loading all kernels of
            # a rating. What machine code calls besides the memory manager was named when Numba was
            # imported. Compiling makes everything ready by itself.
            if not _named_memory_manager():
                target_context.refresh()
            with self._guard_against_spurious_io_errors():
                loaded = self._load_overload(sig, target_context)  # type: ignore[no-untyped-call]
        except OSError:
            return None
        if loaded is not None:
            self._impl.locator.mark_used()
        else:
            _spare_scipy()
        return loaded

    def save_overload(self, sig: Any, data: Any) -> None:
        if self._opened() and _is_writable(cache_folder()):
            with contextlib.suppress(OSError):  # a full disk costs time, not the answer
                super().save_overload(sig, data)  # type: ignore[no-untyped-call]


@cache
def _named_memory_manager() -> bool:
    """Tell the loader where the functions of Numba's memory manager lie, if this can be found.

    `rtsys.initialize` does so too, and compiles some more, which machine code that was kept holds
    already.
    """
    try:
        from numba.core.runtime import _nrt_python  # type: ignore[attr-defined]

        helpers = dict(_nrt_python.c_helpers)
    except (AttributeError, ImportError, TypeError):
        return False
    for name, address in helpers.items():
        llvm.add_symbol(name if name.startswith("_") else f"NRT_{name}", address)
    return True


@cache
def _spare_scipy() -> None:
    """Let Numba load its array functions without SciPy's linear algebra.

    Numba loads it only to know whether ``np.dot`` could be compiled, and asks again where it is:
    that alone would take longer than loading all kernels of a rating.
    """
    with contextlib.suppress(AttributeError, ImportError):
        from numba.np import linalg

        ensure = linalg.ensure_blas
        linalg.ensure_blas = lambda: None
        try:
            importlib.import_module("numba.np.arraymath")
        finally:
            linalg.ensure_blas = ensure


_listeners: list[Callable[[bool], None]] = []


def when_compiling(listener: Callable[[bool], None]) -> None:
    """Have somebody told of the next kernel that has to be compiled: those who wait may ask why.

    Parameters
    ----------
    listener
        Called once, with whether what is compiled can be kept for the next time.
    """
    if listener not in _listeners:
        _listeners.append(listener)


def _tell_compiling() -> None:
    while _listeners:
        _listeners.pop()(_is_writable(cache_folder()))


def cache_folder() -> Path:
    """Return where machine code is kept."""
    if config.CACHE_DIR:  # type: ignore[attr-defined]
        return Path(config.CACHE_DIR) / "milepost"  # type: ignore[attr-defined]
    from platformdirs import user_cache_path

    return user_cache_path("milepost", appauthor=False) / "kernels"


@cache
def _is_writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    return True


@cache
def _remove_unused(folder: Path) -> None:
    """Remove what nobody has used for long; once in a process."""
    last = time.time() - _UNUSED_DAYS * _DAY
    for each in folder.glob("*-*"):
        with contextlib.suppress(OSError):
            if each.stat().st_mtime < last:
                shutil.rmtree(each, ignore_errors=True)
