"""Help that people can read: usage without brackets, options by purpose, examples at the end.

Also what every command shares: `-h`, `-q`, `-v`, and options under their former names.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from milepost.cli import guide, moved, show
from milepost.cli.outputs import look_at_outputs

_KINDS = {int: "N", float: "NUMBER", str: "TEXT"}
_ONE_LIST = 7
"""Up to so many options stand in one list."""


def _volume(
    quiet: Annotated[
        bool,
        typer.Option(
            "--quiet", "-q", callback=show.set_quiet, expose_value=False,
            help="No progress and no notes.",
        ),
    ] = False,
    verbose: Annotated[
        bool,
        typer.Option(
            "--verbose", "-v", callback=show.set_verbose, expose_value=False,
            help="Also show details of how figures were made, and where an error arose.",
        ),
    ] = False,
) -> None:  # fmt: skip
    """Hold the options that every command has; it is never called."""


class Command(TyperCommand):
    """A command with the house's help and the options that all commands share."""

    _shared: list[Any] | None = None

    def get_params(self, ctx: Any) -> list[Any]:
        if self._shared is None:
            holder = typer.Typer(add_completion=False)
            holder.command()(_volume)
            own = {name for param in self.params for name in param.opts}
            volume = get_command(holder).params
            self._shared = [param for param in volume if not own & set(param.opts)]
        params = super().get_params(ctx)
        # --help is last.
        return [*params[: len(self.params)], *self._shared, *params[len(self.params) :]]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        show.reset_volume()
        ctx.call_on_close(show.reset_volume)  # -q is for this command, not for the process
        args = moved.renamed(guide.name_of(ctx), args)
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            show.reset_volume()  # click closes no context whose arguments it refuses
            _say_what_came(error)
            raise

    def invoke(self, ctx: Any) -> Any:
        look_at_outputs(self.params, ctx.params)
        return super().invoke(ctx)

    def get_help_option(self, ctx: Any) -> Any:
        return _plain_help(super().get_help_option(ctx))

    def get_short_help_str(self, limit: int = 45) -> str:
        return summary(self)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        arguments = [each for each in self.params if each.param_type_name == "argument"]
        return ["[OPTIONS]", *(_argument(each) for each in arguments)]

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        _write_text(self.help, formatter)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        params = [param for param in self.get_params(ctx) if not getattr(param, "hidden", False)]
        arguments = [
            (_argument(param, bare=True), _described(param))
            for param in params
            if param.param_type_name == "argument"
        ]
        if arguments:
            with formatter.section("Arguments"):
                formatter.write_dl(arguments)
        options = [param for param in params if param.param_type_name == "option"]
        for heading, group in _by_purpose(options):
            with formatter.section(heading):
                formatter.write_dl([(_option(param), _described(param)) for param in group])

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        name = guide.name_of(ctx)
        if name in guide.MEMORY:
            formatter.write_paragraph()
            formatter.write_text(f"Memory: {guide.MEMORY[name]}")
        _write_examples(guide.EXAMPLES.get(name, ()), formatter)


def _say_what_came(error: Any) -> None:
    """Say of a value that is refused what it was, in place of how it was read."""
    details = getattr(error.__cause__, "errors", None)
    if details is None or not hasattr(error, "message"):
        return
    wrong = details()[0]
    kinds = {"float_parsing": "a number", "int_parsing": "a whole number"}
    kinds["int_from_float"] = "a whole number"
    bounds = {"greater_than_equal": ("ge", "or more"), "less_than_equal": ("le", "or less")}
    expected = kinds.get(wrong["type"])
    if wrong["type"] in bounds:
        name, words = bounds[wrong["type"]]
        expected = f"{wrong['ctx'][name]:g} {words}"
    if expected is not None:
        error.message = f"expected {expected}, got {wrong['input']!r}"


def pointing(gone: Mapping[str, str]) -> type[Command]:
    """Return a kind of command that knows where its former options are.

    Parameters
    ----------
    gone
        Former options, as typed, with what to type now.
    """

    class Pointing(Command):
        def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
            for typed in args:
                name = typed.partition("=")[0]
                if name == "--":
                    break
                if name in gone:
                    ctx.fail(f"{ctx.info_name} {name} is now {gone[name]}")
            return super().parse_args(ctx, args)

    return Pointing


class Group(TyperGroup):
    """Commands under headings, each with a summary that is never cut."""

    def get_help_option(self, ctx: Any) -> Any:
        return _plain_help(super().get_help_option(ctx))

    def get_short_help_str(self, limit: int = 45) -> str:
        return summary(self)

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        _write_text(self.help, formatter)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        self.format_commands(ctx, formatter)
        params = [param for param in self.get_params(ctx) if not getattr(param, "hidden", False)]
        with formatter.section("Options"):
            formatter.write_dl([(_option(param), _described(param)) for param in params])

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        shown = {name: each for name, each in self.commands.items() if not each.hidden}
        width = max(len(name) for name in shown)
        for heading, names in guide.sections(guide.name_of(ctx), list(shown)):
            with formatter.section(heading):
                formatter.write_dl(
                    # As wide in every section, so that the summaries stand in one column.
                    [(name.ljust(width), summary(shown[name])) for name in names]
                )

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        _write_examples(guide.EXAMPLES.get(guide.name_of(ctx), ()), formatter)


def summary(command: Any) -> str:
    """Return the first line of a command's help."""
    text = inspect.cleandoc(command.help or "")
    return " ".join(text.split("\n\n")[0].split())


def _plain_help(option: Any) -> Any:
    if option is not None:
        option.help = "Show this help."
        option.opts = sorted(option.opts, key=len, reverse=True)
    return option


def _argument(param: Any, *, bare: bool = False) -> str:
    name = param.metavar or param.name.upper()
    return name if param.required or bare or name.startswith("[") else f"[{name}]"


def _option(param: Any) -> str:
    """An option's names, the short one first, with what it takes."""
    names = ", ".join(sorted(param.opts, key=len))
    if param.secondary_opts:
        names += " / " + ", ".join(param.secondary_opts)
    if param.is_flag:
        return names
    return f"{names} {param.metavar or _kind(param)}"


def _kind(param: Any) -> str:
    """What a value is, in a word."""
    annotation = param.type_descriptor.annotation
    return next((word for kind, word in _KINDS.items() if annotation is kind), "TEXT")


def _described(param: Any) -> str:
    """The help of a parameter, then its bounds and default."""
    extra = []
    bounds = _bounds(getattr(param, "min", None), getattr(param, "max", None))
    if bounds:
        extra.append(bounds)
    envvar = getattr(param, "envvar", None)
    if envvar:
        extra.append(f"or the environment variable {envvar}")
    default = _default(param)
    if default:
        extra.append(f"default: {default}")
    if param.required and param.param_type_name == "option":
        extra.append("required")
    text = param.help or ""
    return f"{text}  [{'; '.join(extra)}]" if extra else text


def _default(param: Any) -> str:
    if isinstance(param.show_default, str):
        return str(param.show_default)
    value = param.default
    if not param.show_default or value is None or callable(value):
        return ""
    if param.param_type_name == "option" and param.is_flag:
        if not param.secondary_opts:
            return ""
        return str((param.opts if value else param.secondary_opts)[0])
    return f"{value:g}" if isinstance(value, float) else str(value)


def _bounds(low: float | None, high: float | None) -> str:
    """Bounds in words; that a count is no negative number goes without saying."""
    if low is not None and high is not None:
        return f"{low:g} to {high:g}"
    if high is not None:
        return f"at most {high:g}"
    return f"at least {low:g}" if low is not None and low > 1 else ""


def _by_purpose(options: list[Any]) -> Iterable[tuple[str, list[Any]]]:
    """Options under the headings of the guide."""
    if len(options) <= _ONE_LIST:
        return [("Options", options)]
    groups: dict[str, list[Any]] = {"Options": []} | {name: [] for name in guide.PURPOSES}
    for option in options:
        name = max(option.opts, key=len)
        heading = next(
            (title for title, names in guide.PURPOSES.items() if name in names), "Options"
        )
        groups[heading].append(option)
    return [(heading, group) for heading, group in groups.items() if group]


def _write_text(text: str | None, formatter: Any) -> None:
    formatter.write_paragraph()
    with formatter.indentation():
        formatter.write_text(inspect.cleandoc(text or ""))


def _write_examples(examples: Iterable[tuple[str, str]], formatter: Any) -> None:
    examples = list(examples)
    if not examples:
        return
    formatter.write_paragraph()
    formatter.write("Examples:\n" if len(examples) > 1 else "Example:\n")
    for line, what in examples:
        formatter.write(f"  # {what}\n  {line}\n")
