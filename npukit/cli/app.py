"""Assembles the commands, and is the only place where errors become words and exit statuses."""

from __future__ import annotations

import importlib
import sys
import traceback
from typing import Any

import typer

from npukit import __version__
from npukit.cli.output import guarded_stdout, language, write_error
from npukit.errors import ExitStatus, NpukitError

# name, module: in the order in which a newcomer meets them
COMMANDS: tuple[str, ...] = ("recipes",)
GROUPS = ("recipes",)

app = typer.Typer(
    name="npukit",
    help="Bring open models to work on Huawei Ascend NPUs through torch_npu, with proof.",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"npukit {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(
        False, "--version", help="Show the version.", callback=_version, is_eager=True
    ),
) -> None:
    pass


for _name in COMMANDS:
    _module = importlib.import_module(f"npukit.cli.{_name}")
    if _name in GROUPS:
        app.add_typer(_module.app, name=_name)
    else:
        app.command(_name)(getattr(_module, _name))


def main(argv: list[str] | None = None) -> int:
    """Run one command line; the exit status."""
    arguments = sys.argv[1:] if argv is None else argv
    machine = "--json" in arguments
    lang = language(_option(arguments, "--lang"))
    with guarded_stdout(machine):
        try:
            status = app(args=arguments, prog_name="npukit", standalone_mode=False)
            return int(status or 0)
        except KeyboardInterrupt:
            error = NpukitError("run.interrupted")
        except BrokenPipeError:
            return int(ExitStatus.PASSED)
        except NpukitError as known:
            error = known
        except Exception as unknown:  # noqa: BLE001 (the one place)
            if _is_usage(unknown):
                error = NpukitError("usage.wrong", reason=unknown.format_message(), help=_help(unknown))
            else:
                trace = traceback.format_exc()
                sys.stderr.write(trace)
                error = NpukitError("bug.unknown", reason=f"{type(unknown).__name__}: {unknown}")
        write_error(error, machine, lang)
        return int(error.status)


def entry() -> None:
    """The console script."""
    sys.exit(main())


def _is_usage(error: Exception) -> Any:
    # Typer's own usage errors share BadParameter's base, whichever Click it carries.
    base = next(c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException")
    return isinstance(error, base)


def _help(error: Any) -> str:
    context = getattr(error, "ctx", None)
    return f"{context.command_path if context else 'npukit'} --help"


def _option(arguments: list[str], name: str) -> str | None:
    for index, word in enumerate(arguments):
        if word == name and index + 1 < len(arguments):
            return arguments[index + 1]
        if word.startswith(f"{name}="):
            return word.partition("=")[2]
    return None
