"""`--set key=value`: the rare options of a model, checked against its dataclass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

import typer

T = TypeVar("T")
_TRUTH = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}

Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="A setting listed above; repeatable."),
]


def read_settings(model: type[T], texts: Sequence[str] | None) -> T:
    """Make a model of settings as a user types them.

    Parameters
    ----------
    model
        A dataclass; its fields are the keys, their types say what values can be.
    texts
        Settings of the form ``key=value``; the last one of a key counts.

    Raises
    ------
    InputError
        If a key is not known or a value cannot be.
    """
    from milepost.errors import InputError

    hints = get_type_hints(model)
    known = [field.name for field in fields(model)]  # type: ignore[arg-type]
    given: dict[str, Any] = {}
    for text in texts or []:
        key, equals, value = (part.strip() for part in text.partition("="))
        if not equals or key not in known:
            raise InputError(
                f"--set: expected key=value with a key of {', '.join(known)}; got {text!r}"
            )
        try:
            given[key] = _value(value, hints[key])
        except ValueError:
            raise InputError(f"--set {text}: {key} cannot be {value!r}") from None
    return model(**given)


def _value(text: str, hint: Any) -> Any:
    """Read a value as one of the types that a field may have."""
    kinds = get_args(hint) if get_origin(hint) in {Union, UnionType} else (hint,)
    if type(None) in kinds and text.lower() == "none":
        return None
    for kind in kinds:
        if get_origin(kind) is tuple:
            return _tuple(text, get_args(kind))
    if bool in kinds and text.lower() in _TRUTH:
        return _TRUTH[text.lower()]
    for kind in (int, float):
        if kind in kinds:
            try:
                return kind(text)
            except ValueError:
                continue
    if str in kinds and text:
        return text
    raise ValueError(text)


def _tuple(text: str, kinds: tuple[Any, ...]) -> tuple[Any, ...]:
    parts = [part.strip() for part in text.split(",")] if text else []
    if len(kinds) == 2 and kinds[1] is Ellipsis:
        return tuple(_value(part, kinds[0]) for part in parts)
    if len(parts) != len(kinds):
        raise ValueError(text)
    return tuple(_value(part, kind) for part, kind in zip(parts, kinds, strict=True))
