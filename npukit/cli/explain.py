"""``npukit explain``: what a log or traceback says, why, and what to type."""

from __future__ import annotations

import errno
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from npukit.cli.findings import write_advice, write_findings
from npukit.cli.options import JsonOption, LangOption
from npukit.cli.output import Output
from npukit.errors import NpukitError
from npukit.knowledge import advise, read_log
from npukit.knowledge import explain as explain_text

LogArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="[FILE|-|CODE|MESSAGE]",
        help="A log's file, - for standard input, an error code or a message.",
    ),
]


def explain(log: LogArgument = None, json: JsonOption = False, lang: LangOption = None) -> None:
    """Explain a log, a traceback or an error code: causes first, with what to type.

    The exit status is 0 whether something was found or not: the command did its work. With --json the
    document's "findings" are in the order to read them; where there is none, "unknown" says what to collect.
    """
    out = Output(json, lang)
    text = _text(log)
    findings = explain_text(text, out.lang)
    advice = None if findings else advise(text, out.lang)
    document = {
        "findings": [finding.to_json() for finding in findings],
        "unknown": None if advice is None else advice.to_json(),
    }

    def human(console: Console) -> None:
        if advice is None:
            write_findings(console, findings, out.lang)
        else:
            write_advice(console, advice, out.lang)

    out.emit(document, human)


def _text(log: str | None) -> str:
    if log == "" or (log is None and sys.stdin.isatty()):
        raise NpukitError("explain.nothing")
    if log is None or log == "-":
        return read_log(sys.stdin.buffer.read())
    path = Path(log)
    try:
        return read_log(path.read_bytes())
    except FileNotFoundError:
        if explain_text(log):
            return log
        raise NpukitError("explain.missing", path=log) from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG and explain_text(log):
            return log
        raise NpukitError(
            "explain.unreadable", path=log, reason=getattr(error, "strerror", None) or str(error)
        ) from error
