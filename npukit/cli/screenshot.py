"""The terminal as a picture: what a command prints, recorded by rich and written as SVG."""

from __future__ import annotations

import io
import re
from collections.abc import Callable

from rich.console import Console

COLUMNS = 110
# rich's own format fetches its font from the network
WEB_FONT = re.compile(r"@font-face\s*\{[^}]*\}\s*", re.DOTALL)
# a font of 0.6 em before the Chinese one, whose Latin letters are half an em: rich counts with 0.61
FONTS = (
    "ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', 'Liberation Mono', 'Noto Sans Mono CJK SC', monospace"
)


def screenshot(show: Callable[[Console], None], title: str) -> bytes:
    """SVG of what ``show`` prints; it loads nothing from anywhere."""
    terminal = Console(
        record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True, color_system="truecolor",
        highlight=False, legacy_windows=False,
    )  # fmt: skip
    show(terminal)
    svg = WEB_FONT.sub("", terminal.export_svg(title=title, unique_id="npukit"))
    return svg.replace("Fira Code, monospace", FONTS).encode()


def printed(show: Callable[[Console], None]) -> str:
    """What ``show`` prints, as plain text."""
    stream = io.StringIO()
    show(Console(file=stream, width=COLUMNS, no_color=True, highlight=False, force_terminal=False))
    return stream.getvalue()
