"""Two numbers at once, in one register of the processor.

Where a game waits for a root, a division and a look-up, each of which needs the one before, two
games that have nothing in common can wait together. A pair is made from two numbers, or from two
neighbours in an array; sums, differences, products and quotients of pairs, and of a pair and a
number, are written as usual.

Uncompiled, a pair is an array of two. In a kernel it is a vector of LLVM: each function here stands
for one or a few of its instructions.
"""

from __future__ import annotations

import hashlib
import operator
from collections.abc import Callable
from inspect import Parameter, Signature
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils, types
from numba.extending import lower_builtin, models, register_model, type_callable

Pair = npt.NDArray[np.float64]
Floats = npt.NDArray[np.float64]
Index = int | np.integer[Any]
_Function = TypeVar("_Function", bound=Callable[..., Any])

_PLACE = ir.IntType(32)
_VECTOR = ir.VectorType(ir.DoubleType(), 2)
_WORDS = ir.VectorType(ir.IntType(64), 2)
_DIGEST = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()


class _PairType(types.Type):
    def __init__(self) -> None:
        super().__init__(name="Pair")


@register_model(_PairType)
class _PairModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _VECTOR)  # type: ignore[no-untyped-call]


_PAIR = _PairType()


def _tell(function: Any, answer: Any, kinds: tuple[Any, ...], write: Callable[..., Any]) -> None:
    """Tell Numba what a function of these kinds returns, and which instructions it is."""

    def check(*arguments: Any) -> Any:
        fits = all(map(isinstance, arguments, kinds)) and all(
            array == types.Array(types.float64, 2, "C", readonly=not array.mutable)
            for array in arguments
            if isinstance(array, types.Array)
        )
        return answer if fits else None

    # Numba wants to see how many arguments there are.
    names = [Parameter(name, Parameter.POSITIONAL_OR_KEYWORD) for name in "abcd"[: len(kinds)]]
    check.__dict__["__signature__"] = Signature(names)
    type_callable(function)(lambda _: check)
    lower_builtin(function, *kinds)(write)  # type: ignore[no-untyped-call]


def _written(
    answer: Any, *kinds: Any, by: Callable[..., Any]
) -> Callable[[_Function], _Function]:  # fmt: skip
    def mark(function: _Function) -> _Function:
        _tell(function, answer, kinds, by)
        # Kernels are kept under a digest of all that they are made of: see `milepost.kernels`.
        function.__dict__["written_by"] = _DIGEST
        return function

    return mark


def _join(builder: Any, one: Any, two: Any) -> Any:
    half = builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), one, _PLACE(0))
    return builder.insert_element(half, two, _PLACE(1))


def _vectors(builder: Any, kinds: Any, values: Any) -> list[Any]:
    """The values as vectors: a number stands for both."""
    return [
        value if isinstance(kind, _PairType) else _join(builder, value, value)
        for kind, value in zip(kinds, values, strict=True)
    ]


def _instruction(name: str) -> Callable[..., Any]:
    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return getattr(builder, name)(*_vectors(builder, signature.args, arguments))

    return write


def _intrinsic(name: str) -> Callable[..., Any]:
    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.FunctionType(_VECTOR, [_VECTOR] * len(arguments))
        function = cgutils.get_or_insert_function(builder.module, kind, f"llvm.{name}.v2f64")  # type: ignore[no-untyped-call]
        return builder.call(function, _vectors(builder, signature.args, arguments))

    return write


for _operator, _name in (
    (operator.add, "fadd"), (operator.sub, "fsub"), (operator.mul, "fmul"),
    (operator.truediv, "fdiv"),
):  # fmt: skip
    for _kinds in ((_PairType, _PairType), (_PairType, types.Float), (types.Float, _PairType)):
        _tell(_operator, _PAIR, _kinds, _instruction(_name))


def _write_pair(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    return _join(builder, *arguments)


@_written(_PAIR, types.Float, types.Float, by=_write_pair)
def pair(one: float, two: float) -> Pair:
    """Return two numbers as a pair."""
    return np.array([one, two])


def _write_parts(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    parts = [builder.extract_element(arguments[0], _PLACE(place)) for place in range(2)]
    return context.make_tuple(builder, signature.return_type, parts)


@_written(types.UniTuple(types.float64, 2), _PairType, by=_write_parts)  # type: ignore[no-untyped-call]
def parts(x: Pair) -> tuple[float, float]:
    """Return the two numbers of a pair."""
    return float(x[0]), float(x[1])


def _write_bits(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    words = builder.bitcast(arguments[0], _WORDS)
    return _write_parts(context, builder, signature, [words])


@_written(types.UniTuple(types.uint64, 2), _PairType, by=_write_bits)  # type: ignore[no-untyped-call]
def bits(x: Pair) -> tuple[np.uint64, np.uint64]:
    """Return the bits of both numbers."""
    words = x.view(np.uint64)
    return words[0], words[1]


def _pointer(context: Any, builder: Any, kinds: Any, arguments: Any) -> Any:
    array = context.make_array(kinds[0])(context, builder, arguments[0])
    row, column = (
        context.cast(builder, arguments[place], kinds[place], types.intp) for place in (1, 2)
    )
    width = builder.extract_value(array.shape, 1)
    place = builder.add(builder.mul(row, width), column)
    return builder.bitcast(builder.gep(array.data, [place]), _VECTOR.as_pointer())


def _write_pair_at(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    loaded = builder.load(_pointer(context, builder, signature.args, arguments))
    loaded.align = 8
    return loaded


@_written(_PAIR, types.Array, types.Integer, types.Integer, by=_write_pair_at)
def pair_at(array: Floats, row: Index, column: int) -> Pair:
    """Return two neighbours of a row, from `column` on; the array is in the order of C."""
    return array[row, column : column + 2].copy()


def _write_set_pair(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    stored = builder.store(arguments[3], _pointer(context, builder, signature.args, arguments))
    stored.align = 8
    return context.get_dummy_value()


@_written(types.none, types.Array, types.Integer, types.Integer, _PairType, by=_write_set_pair)
def set_pair(array: Floats, row: Index, column: int, x: Pair) -> None:
    """Write two neighbours of a row, from `column` on; the array is in the order of C."""
    array[row, column : column + 2] = x


def _shuffle(one: int, two: int) -> Callable[..., Any]:
    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        chosen = ir.Constant(ir.VectorType(_PLACE, 2), [one, two])
        return builder.shuffle_vector(*arguments, chosen)

    return write


@_written(_PAIR, _PairType, _PairType, by=_shuffle(0, 2))
def firsts(a: Pair, b: Pair) -> Pair:
    """Return the first numbers of two pairs."""
    return np.array([a[0], b[0]])


@_written(_PAIR, _PairType, _PairType, by=_shuffle(1, 3))
def seconds(a: Pair, b: Pair) -> Pair:
    """Return the second numbers of two pairs."""
    return np.array([a[1], b[1]])


@_written(_PAIR, _PairType, by=_intrinsic("sqrt"))
def roots(x: Pair) -> Pair:
    """Return both square roots; NaN of a negative number."""
    with np.errstate(invalid="ignore"):
        return np.sqrt(x)


@_written(_PAIR, _PairType, by=_intrinsic("fabs"))
def sizes(x: Pair) -> Pair:
    """Return both absolute values."""
    return np.abs(x)


@_written(_PAIR, _PairType, _PairType, by=_intrinsic("copysign"))
def signed(x: Pair, like: Pair) -> Pair:
    """Return the sizes of one pair with the signs of another."""
    return np.copysign(x, like)


def _chosen(relation: str) -> Callable[..., Any]:
    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        one, two = _vectors(builder, signature.args, arguments)
        return builder.select(builder.fcmp_ordered(relation, one, two), one, two)

    return write


@_written(_PAIR, _PairType, types.Float, by=_chosen(">"))
def at_least(x: Pair, low: float) -> Pair:
    """Return both numbers, or `low` in place of one that is not above it."""
    return np.where(x > low, x, low)


@_written(_PAIR, _PairType, types.Float, by=_chosen("<"))
def at_most(x: Pair, high: float) -> Pair:
    """Return both numbers, or `high` in place of one that is not below it."""
    return np.where(x < high, x, high)


def _write_chosen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    return builder.select(*arguments)


@_written(_PAIR, types.Boolean, _PairType, _PairType, by=_write_chosen)
def chosen(first: bool, a: Pair, b: Pair) -> Pair:
    """Return the first pair or the second; both are worked out."""
    return a if first else b


def _both(relation: str) -> Callable[..., Any]:
    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        flags = builder.fcmp_ordered(relation, *_vectors(builder, signature.args, arguments))
        both = builder.bitcast(flags, ir.IntType(2))
        return builder.icmp_unsigned("==", both, ir.Constant(ir.IntType(2), 3))

    return write


@_written(types.boolean, _PairType, types.Float, by=_both(">"))
def both_above(x: Pair, low: float) -> bool:
    """Return whether both numbers are greater than `low`."""
    return bool(np.all(x > low))


@_written(types.boolean, _PairType, types.Float, by=_both("<"))
def both_below(x: Pair, high: float) -> bool:
    """Return whether both numbers are less than `high`."""
    return bool(np.all(x < high))
