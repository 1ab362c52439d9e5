"""The options of a UCI engine: what it declares, and whether a value is one that it takes.

Engines ignore options and values that they do not know in silence, or end. Either would put
evaluations under a set-up that was never set up, so values are compared with the declaration.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from milepost.errors import EngineAnswerError

_OPTION = re.compile(r"^option\s+name\s+(?P<name>.+?)\s+type\s+(?P<kind>\w+)(?P<rest>\s.*)?$")
_PART = re.compile(r"(?:^|\s)(default|min|max|var)(?=\s|$)")
_KINDS = ("spin", "check", "combo", "string", "button")


@dataclass(frozen=True)
class UciOption:
    """An option as the engine declares it."""

    name: str
    """Its name."""
    kind: str
    """spin, check, combo, string or button."""
    default: str | None = None
    """Its default value; `None` if it names none."""
    least: int | None = None
    """spin: the least value."""
    most: int | None = None
    """spin: the greatest value."""
    choices: tuple[str, ...] = ()
    """combo: the values."""

    def checked(self, value: str) -> str:
        """Return a value in the one spelling that the set-up keeps.

        Raises
        ------
        EngineAnswerError
            If the engine does not take such a value.
        """
        if self.kind == "spin":
            return self._checked_number(value)
        if self.kind == "check":
            if value.lower() not in ("true", "false"):
                raise self._refusal(value, "true or false")
            return value.lower()
        if self.kind == "combo" and self.choices:
            for choice in self.choices:
                if choice.lower() == value.lower():
                    return choice
            raise self._refusal(value, ", ".join(self.choices))
        if self.kind == "button":
            raise EngineAnswerError(f"{self.name} is a button: it has no value that could be kept")
        return value

    def _checked_number(self, value: str) -> str:
        least = "" if self.least is None else f" from {self.least}"
        most = "" if self.most is None else f" to {self.most}"
        wanted = f"a whole number{least}{most}"
        if not re.fullmatch(r"[+-]?\d{1,18}", value):
            raise self._refusal(value, wanted)
        number = int(value)
        too_small = self.least is not None and number < self.least
        if too_small or (self.most is not None and number > self.most):
            raise self._refusal(value, wanted)
        return str(number)

    def _refusal(self, value: str, wanted: str) -> EngineAnswerError:
        return EngineAnswerError(f"option {self.name}: expected {wanted}, got {value!r}")


def parse_option(line: str) -> UciOption | None:
    """Read a line by which an engine declares an option; `None` if it is no such line."""
    match = _OPTION.match(line.strip())
    if match is None or match["kind"] not in _KINDS:
        return None
    rest = (match["rest"] or "").strip()
    if match["kind"] == "string":  # any word may stand in a text
        named = rest == "default" or rest.startswith("default ")
        default = rest.removeprefix("default").strip() if named else None
        return UciOption(match["name"], "string", default)
    words = _PART.split(rest)
    # Between the words stand their values: ["", "default", " 16", "min", " 1", ...].
    parts = [(word, value.strip()) for word, value in zip(words[1::2], words[2::2], strict=True)]
    found = dict(parts)
    return UciOption(
        match["name"],
        match["kind"],
        found.get("default"),
        _number(found.get("min")),
        _number(found.get("max")),
        tuple(value for word, value in parts if word == "var"),
    )


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and re.fullmatch(r"-?\d+", text) else None
