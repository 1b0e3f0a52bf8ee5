"""The report as one self-contained page: light and dark, on a phone, without a network."""

from __future__ import annotations

import base64
import html
import mimetypes
import re
from pathlib import Path
from string import Template

from markdown_it import MarkdownIt

from npukit.report.marks import plain

TEMPLATE = Path(__file__).parent / "templates" / "page.html"


def page(markdown: str, title: str, lang: str, directory: Path) -> str:
    """HTML of a report's Markdown. Pictures are read from ``directory``.

    Raw HTML in the text is shown, not run.
    """
    reader = MarkdownIt("commonmark", {"html": False}).enable("table")
    body = reader.render(plain(markdown))
    body = body.replace("<table>", '<div class="table"><table>').replace("</table>", "</table></div>")
    body = re.sub(r'src="([^":]+)"', lambda found: f'src="{_inlined(directory / found[1])}"', body)
    template = Template(TEMPLATE.read_text(encoding="utf-8"))
    return template.substitute(title=html.escape(title), lang="zh-CN" if lang == "zh" else "en", body=body)


def _inlined(path: Path) -> str:
    """A file as a data URI; a picture that is not there stays empty and its text is shown."""
    if not path.is_file():
        return ""
    kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    return f"data:{kind};base64,{base64.b64encode(path.read_bytes()).decode('ascii')}"
