"""Where a command's words go: one document or a human view on stdout, everything else on stderr."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.console import Console, ConsoleOptions, RenderResult
from rich.markup import escape
from rich.table import Table

from npukit.errors import NpukitError
from npukit.results import Check

if TYPE_CHECKING:
    from npukit.knowledge import Finding

FINDINGS_SHOWN = 3
UNCUT_WIDTH = 10_000  # columns when nobody looks: a pipe or a file gets whole lines
WIDE = 110  # columns from which a table of checks has room for what was expected
VERDICT_STYLE = {"pass": "green", "fail": "bold red", "skip": "yellow"}


def language(lang: str | None = None) -> str:
    """``en`` or ``zh``: what was asked for, else what the locale says."""
    if lang:
        return "zh" if lang.lower().startswith("zh") else "en"
    locale = os.environ.get("LC_ALL") or os.environ.get("LC_MESSAGES") or os.environ.get("LANG") or ""
    return "zh" if locale.lower().startswith("zh") else "en"


def console(stderr: bool = False) -> Console:
    """A console on today's stdout or stderr; never cut where no person looks."""
    stream = sys.stderr if stderr else sys.stdout
    if stream.isatty():
        return Console(file=stream, highlight=False)
    return Console(file=stream, highlight=False, no_color=True, width=UNCUT_WIDTH, force_terminal=False)


class Output:
    """One command's output. ``json`` chooses the document, ``lang`` the words."""

    def __init__(self, json: bool = False, lang: str | None = None) -> None:
        self.json = json
        self.lang = language(lang)

    def emit(self, document: Any, human: Callable[[Console], None]) -> None:
        """Put the document, or what ``human`` prints, on stdout."""
        if self.json:
            write_document(document)
        else:
            human(console())

    def progress(self, text: str) -> None:
        """One line on stderr for whoever waits."""
        console(stderr=True).print(f"[dim]{escape(text)}[/dim]", soft_wrap=True)

    def say(self, en: str, zh: str) -> str:
        return zh if self.lang == "zh" else en


def write_document(document: Any) -> None:
    """The one JSON document of this invocation."""
    sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
    sys.stdout.flush()


def write_error(error: NpukitError, machine: bool, lang: str) -> None:
    """An error for a person on stderr, or as the document on stdout, with what its log is known for."""
    known = _findings(error, lang)
    if machine:
        findings = [finding.to_json() for finding in known]
        write_document({"error": {**error.to_json(lang), "findings": findings}})
        return
    words = error.message(lang)
    cause, remedy = ("原因", "请执行") if lang == "zh" else ("cause", "try")
    out = console(stderr=True)
    out.print(f"[bold red]error[/bold red] [dim]{error.code}[/dim]: {escape(words.what)}", soft_wrap=True)
    _labelled(out, cause, words.cause)
    _labelled(out, remedy, words.remedy)
    if known:
        from npukit.cli.findings import write_findings

        out.print("\n日志表明：" if lang == "zh" else "\nThe log says:")
        write_findings(out, known[:FINDINGS_SHOWN], lang)


def _findings(error: NpukitError, lang: str) -> list[Finding]:
    """What the knowledge base makes of the error's traceback or log; noise is left out."""
    if not error.evidence:
        return []
    from npukit.knowledge import explain

    return [found for found in explain(error.evidence, lang) if found.severity != "noise"]


def _labelled(out: Console, label: str, text: str) -> None:
    for index, line in enumerate(text.splitlines()):
        lead = label if index == 0 else " " * len(label)
        out.print(f"  [bold]{lead}[/bold]  {escape(line)}", soft_wrap=True)


@dataclass(frozen=True)
class ChecksTable:
    """Checks for a person: verdict, name, what was seen; on failure what was expected and what to do.

    What was expected has a column of its own where the terminal is wide enough for both.
    """

    checks: tuple[Check, ...]
    title: str = ""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        wide = options.max_width >= WIDE
        table = Table(
            title=self.title, title_justify="left", title_style="bold", show_edge=False, pad_edge=False
        )
        for column in ("", "check", "expected", "seen") if wide else ("", "check", "expected: seen"):
            table.add_column(column, overflow="fold")
        for check in self.checks:
            style = VERDICT_STYLE[check.verdict]
            expected, seen = escape(check.expected), check.observed
            if check.passed is False:
                seen = "\n".join(filter(None, (seen, check.cause, check.remedy and f"→ {check.remedy}")))
            cells = (expected, escape(seen)) if wide else (f"[dim]{expected}:[/dim] {escape(seen)}",)
            table.add_row(f"[{style}]{check.verdict}[/{style}]", check.id, *cells)
        yield table


@contextlib.contextmanager
def guarded_stdout(machine: bool) -> Iterator[None]:
    """With ``machine``, only :func:`write_document` reaches stdout: whatever else writes to descriptor 1,
    C libraries and child processes included, goes to stderr."""
    if not machine:
        yield
        return
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    own, sys.stdout = sys.stdout, os.fdopen(os.dup(kept), "w", encoding="utf-8")
    try:
        yield
    finally:
        with contextlib.suppress(BrokenPipeError):
            sys.stdout.close()
        sys.stdout = own
        os.dup2(kept, 1)
        os.close(kept)
