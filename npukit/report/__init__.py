"""The adaptation report: results in, a directory that can be published out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from npukit.errors import NpukitError
from npukit.report.consistency import contradictions
from npukit.report.document import Picture, document, front_matter
from npukit.report.evidence import Evidence, gather
from npukit.report.marks import compose
from npukit.report.words import Words
from npukit.results import Judged
from npukit.workspace import home, write_atomic

ASSETS = "assets"


def write_report(
    evidence: Evidence,
    directory: Path,
    lang: str,
    *,
    form: str = "md",
    front: bool = False,
    pictures: bool | None = None,
    screenshots: Mapping[str, bytes] | None = None,
) -> Path:
    """Write README.md, results.json and assets/ (and report.html with ``form`` html); the main file's path.

    ``pictures`` None draws them where matplotlib is there. ``screenshots`` are files by name, made by the
    command line. Nothing is written when the figures contradict each other. Raises NpukitError ``report.*``.
    """
    require_consistent(evidence)
    words = Words(lang)
    shown, files = illustrations(evidence, words, pictures, screenshots or {})
    readme = directory / "README.md"
    old = readme.read_text(encoding="utf-8") if readme.is_file() else None
    blocks = document(evidence, words, pictures=shown)
    text = compose(blocks, front_matter(evidence) if front else None, old, str(readme))
    text = placeless(text)
    for path, content in files.items():
        write_atomic(directory / path, content)
    write_atomic(directory / "results.json", results_json(list(evidence.results())))
    write_atomic(readme, text.encode())
    if form == "html":
        from npukit.report.html import page

        write_atomic(directory / "report.html", page(text, evidence.recipe.title, lang, directory).encode())
        return directory / "report.html"
    return readme


def require_consistent(evidence: Evidence) -> None:
    """Raises NpukitError ``report.nothing-measured`` or ``report.contradictory``, every fault listed."""
    model = evidence.recipe.name
    if not list(evidence.results()):
        raise NpukitError("report.nothing-measured", model=model, device=evidence.device)
    faults = contradictions(evidence)
    if faults:
        listed = "\n".join(f"  - {fault}" for fault in faults)
        raise NpukitError("report.contradictory", count=len(faults), faults=listed, model=model)


def illustrations(
    evidence: Evidence, words: Words, pictures: bool | None, screenshots: Mapping[str, bytes]
) -> tuple[list[Picture], dict[str, bytes]]:
    """What the README shows, and the files for it by path."""
    from npukit.report.pictures import can_draw, draw

    if pictures and not can_draw():
        raise NpukitError("report.no-matplotlib")
    files = {f"{ASSETS}/{name}": content for name, content in screenshots.items()}
    shown = [Picture(path, words("screenshot")) for path in files]
    if pictures is not False and can_draw():
        for drawing in draw(evidence, words):
            files[f"{ASSETS}/{drawing.name}.png"] = drawing.png
            shown.append(Picture(f"{ASSETS}/{drawing.name}.png", words(f"picture-{drawing.name}")))
    return shown, files


def results_json(results: list[Judged]) -> bytes:
    """Every result with its inputs, environment and checks, as one JSON array."""
    rows = [judged.to_json() for judged in results]
    return placeless(json.dumps(rows, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


def placeless(text: str) -> str:
    """What is published names no directory of its author."""
    for place, name in ((str(home()), "$NPUKIT_HOME"), (str(Path.home()), "~")):
        text = text.replace(place + "/", name + "/") if len(place) > 1 else text
    return text


__all__ = ["Evidence", "gather", "require_consistent", "write_report"]
