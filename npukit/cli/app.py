"""Assembles the commands, and is the only place where errors become words and exit statuses."""

from __future__ import annotations

import importlib
import os
import signal
import sys
import traceback
from typing import Annotated, Any

import typer

from npukit import __version__
from npukit.cli.output import guarded_stdout, language, write_error
from npukit.errors import ExitStatus, NpukitError

# every command in the order in which a newcomer meets them; its module is imported when it is named
COMMANDS = {
    "env": "Judge this machine: driver, CANN, packages, a computed proof per device; and say what to type.",
    "fetch": "Fetch a model's files from the first hub that gives them, and prove them whole.",
    "patch": "Make packages and files fit for the model, without touching what is shared.",
    "verify": "Prove that every weight landed and that the answers come from the weights, repeatably.",
    "accuracy": "Compare the model on this device, in this dtype, with fp32 on the CPU.",
    "bench": "Measure latency, throughput and memory under stated conditions.",
    "ops": "Which operators a model calls, and what each becomes on an NPU.",
    "chat": "Talk to a model: one answer, or a conversation.",
    "serve": "Serve a model over HTTP as OpenAI's chat completions.",
    "rehearse": "Run every stage on the emulated NPU: the real torch_npu, no hardware.",
    "run": "Run every stage over one model and write the report.",
    "show": "Show what was measured, its verdict, and whether it is current.",
    "explain": "Explain a log, a traceback or an error code: causes first, with what to type.",
    "compare": "Compare two results, reports or machines: what changed, and what got worse.",
    "report": "Write the report from what was measured; nothing is measured anew.",
    "recipes": "List, show, copy, check and derive recipes.",
}
GROUPS = ("recipes",)
EXAMPLES = {
    "env": "npukit env --require npu",
    "fetch": "npukit fetch hf:Qwen/Qwen3-0.6B --dry-run",
    "patch": "npukit patch minimind2 --diff",
    "verify": "npukit verify tiny-minicpm-v --strict",
    "accuracy": "npukit accuracy tiny-minicpm-v --bisect",
    "bench": "npukit bench tiny-minicpm-v --rounds 20",
    "ops": "npukit ops tiny-minicpm-v",
    "chat": 'npukit chat --image two-cats.png --question "How many animals?"',
    "serve": "npukit serve tiny-minicpm-v --port 8000",
    "rehearse": "npukit rehearse tiny-minicpm-v",
    "run": "npukit run tiny-minicpm-v smollm2-135m --junit results.xml",
    "show": "npukit show tiny-minicpm-v verify",
    "explain": "npukit verify 2>&1 | npukit explain",
    "compare": "npukit compare report/before report/after --limit 0.1",
    "report": "npukit report tiny-minicpm-v --lang zh --format html --out today",
    "recipes": "npukit recipes new ./my-model",
}

FIRST_STEPS = """npukit brings open models to work on Huawei Ascend NPUs through torch_npu, with proof.

  npukit env                  is this machine sound, and what to type where it is not
  npukit run tiny-minicpm-v   the whole job on a model that is built in, about a minute
  npukit recipes              the models that npukit knows
  npukit run hf:OWNER/NAME    any other model
  npukit --help               every command"""

HELP = "Bring open models to work on Huawei Ascend NPUs through torch_npu, with proof."


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"npukit {__version__}")
        raise typer.Exit


def _root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(FIRST_STEPS)


def build(arguments: list[str]) -> typer.Typer:
    """The application for one command line; only the command it names is imported: help is instant."""
    app = typer.Typer(
        name="npukit",
        help=HELP,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(invoke_without_command=True)(_root)
    named = next((word for word in arguments if not word.startswith("-")), "")
    completing = "_NPUKIT_COMPLETE" in os.environ
    for name, words in COMMANDS.items():
        if name != named and not completing:
            app.command(name, help=words)(_not_named)
            continue
        module = importlib.import_module(f"npukit.cli.{name}")
        epilog = f"Example: {EXAMPLES[name]}"
        if name in GROUPS:
            app.add_typer(module.app, name=name, help=words, epilog=epilog)
        else:
            app.command(name, help=words, epilog=epilog)(getattr(module, name))
    return app


def _not_named() -> None:
    """Stands for a command that this command line does not name."""


def main(argv: list[str] | None = None) -> int:
    """Run one command line; the exit status."""
    arguments = sys.argv[1:] if argv is None else argv
    machine = "--json" in arguments
    lang = language(_option(arguments, "--lang"))
    with guarded_stdout(machine):
        try:
            status = int(build(arguments)(args=arguments, prog_name="npukit", standalone_mode=False) or 0)
            if status != ExitStatus.INTERRUPTED:  # Typer turns Ctrl-C into this status or into Abort
                return status
            error = NpukitError("run.interrupted")
        except (KeyboardInterrupt, typer.Abort):
            error = NpukitError("run.interrupted")
        except BrokenPipeError:
            return int(ExitStatus.PASSED)
        except NpukitError as known:
            error = known
        except Exception as unknown:  # noqa: BLE001 (the one place)
            error = _usage(unknown) or _bug(unknown)
        write_error(error, machine, lang)
        return int(error.status)


def entry() -> None:
    """The console script. A SIGTERM or a hang-up ends it as Ctrl-C does: workers go, nothing half stays."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:  # nohup has it ignored
            signal.signal(number, _interrupt)
    sys.exit(main())


def _interrupt(number: int, _frame: object) -> None:
    raise KeyboardInterrupt


def _usage(error: Exception) -> NpukitError | None:
    """Typer's own usage errors: they share BadParameter's base, whichever Click Typer carries."""
    base = next(c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException")
    if not isinstance(error, base):
        return None
    context = getattr(error, "ctx", None)
    words: Any = error
    help_line = f"{context.command_path if context else 'npukit'} --help"
    return NpukitError("usage.wrong", reason=words.format_message(), help=help_line)


def _bug(error: Exception) -> NpukitError:
    trace = "".join(traceback.format_exception(error))
    sys.stderr.write(trace)
    bug = NpukitError("bug.unknown", reason=f"{type(error).__name__}: {error}")
    bug.evidence = trace
    return bug


def _option(arguments: list[str], name: str) -> str | None:
    for index, word in enumerate(arguments):
        if word == name and index + 1 < len(arguments):
            return arguments[index + 1]
        if word.startswith(f"{name}="):
            return word.partition("=")[2]
    return None
