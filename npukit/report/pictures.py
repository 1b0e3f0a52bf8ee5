"""Pictures of what was measured, by matplotlib (extra ``npukit[report]``)."""

from __future__ import annotations

import importlib.util
import io
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from npukit.performance import PHASES
from npukit.report.evidence import Evidence
from npukit.report.words import Words
from npukit.samples import percentile, summarise

# fonts that hold Chinese, by the name that matplotlib knows them under
CJK_FONTS = (
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",  # the name that a .ttc file of all languages is listed under
    "Noto Sans SC",
    "Source Han Sans SC",
    "Source Han Sans CN",
    "WenQuanYi Micro Hei",
    "WenQuanYi Zen Hei",
    "SimHei",
    "Microsoft YaHei",
    "PingFang SC",
    "Droid Sans Fallback",
)
COLOUR, LIGHT = "#2f6fdb", "#9dbcf0"
DPI = 144


@dataclass(frozen=True)
class Drawing:
    name: str
    png: bytes


def can_draw() -> bool:
    return importlib.util.find_spec("matplotlib") is not None


def cjk_font() -> str:
    """The name of an installed font that holds Chinese; empty when there is none."""
    from matplotlib.font_manager import fontManager

    installed = {font.name for font in fontManager.ttflist}
    return next((name for name in CJK_FONTS if name in installed), "")


def draw(evidence: Evidence, words: Words) -> Iterator[Drawing]:
    """Every picture for which there is something to show; English words where no font holds Chinese."""
    font = cjk_font() if words.lang == "zh" else ""
    spoken = words if words.lang != "zh" or font else Words("en")
    bench, accuracy = evidence.measured("bench"), evidence.measured("accuracy")
    painters: list[tuple[str, Callable[..., None], Any]] = []
    if bench:
        painters += [("latency", _latency, bench), ("speed", _speed, bench), ("phases", _phases, bench)]
        if bench["sustained"] and bench["sustained"]["memory"]:
            painters.append(("memory", _memory, bench))
    layers = _layers_of(accuracy)
    if layers:
        painters.append(("layers", _layers, layers))
    for name, paint, data in painters:
        yield Drawing(name, _painted(paint, data, spoken, spoken(f"picture-{name}"), font))


def _painted(paint: Callable[..., None], data: Any, words: Words, title: str, font: str) -> bytes:
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context({"font.family": [*([font] if font else []), "DejaVu Sans"]}):
        figure = Figure(figsize=(6.4, 3.2), dpi=DPI, layout="constrained")
        axes = figure.add_subplot()
        axes.spines[["top", "right"]].set_visible(False)
        paint(axes, data, words)
        axes.set_title(title, loc="left", fontsize=11)
        stream = io.BytesIO()
        figure.savefig(stream, format="png", metadata={"Software": None})
    return stream.getvalue()


def _latency(axes: Any, bench: Mapping[str, Any], words: Words) -> None:
    totals = [row["total_ms"] for row in bench["rounds"]]
    axes.bar(range(1, len(totals) + 1), totals, color=LIGHT)
    seen = summarise(totals)
    for name, value in (("p50", seen.p50), ("p95", seen.p95)):
        axes.axhline(value, color=COLOUR, linewidth=1, linestyle="-" if name == "p50" else "--")
        axes.annotate(f"{name} {value:.1f}", (1.0, value), xycoords=("axes fraction", "data"),
                      ha="right", va="bottom", fontsize=8, color=COLOUR)  # fmt: skip
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set_xlabel(words("axis-round"))
    axes.set_ylabel(words("axis-ms"))
    axes.margins(y=0.12)


def _speed(axes: Any, bench: Mapping[str, Any], words: Words) -> None:
    """The median over the rounds at every position, and what half of them lie between."""
    runs = [bench["sustained"]] if bench["sustained"] else bench["rounds"]
    gaps = [[b - a for a, b in zip(run["token_ms"], run["token_ms"][1:], strict=False)] for run in runs]
    columns = [sorted(1e3 / gap for gap in column if gap > 0) for column in zip(*gaps, strict=False)]
    columns = [column for column in columns if column]
    places = range(2, len(columns) + 2)
    lower, middle, upper = ([percentile(c, share) for c in columns] for share in (0.25, 0.5, 0.75))
    axes.fill_between(places, lower, upper, color=LIGHT, alpha=0.6, linewidth=0)
    axes.plot(places, middle, color=COLOUR, linewidth=1.5)
    axes.set_ylim(bottom=0)
    axes.set_xlabel(words("axis-token"))
    axes.set_ylabel(words("axis-rate"))


def _phases(axes: Any, bench: Mapping[str, Any], words: Words) -> None:
    middles = [summarise([row[f"{phase}_ms"] for row in bench["rounds"]]).p50 for phase in PHASES]
    names = [words(f"phase-{phase}") for phase in PHASES]
    bars = axes.barh(names[::-1], middles[::-1], color=COLOUR)
    axes.bar_label(bars, fmt="%.1f", padding=3, fontsize=8)
    axes.set_xlabel(words("axis-ms"))
    axes.margins(x=0.12)


def _memory(axes: Any, bench: Mapping[str, Any], words: Words) -> None:
    rows = bench["sustained"]["memory"]
    axes.plot([row["tokens"] for row in rows], [row["allocated_bytes"] / 1e6 for row in rows], color=COLOUR)
    axes.set_ylim(bottom=0)
    axes.set_xlabel(words("axis-token"))
    axes.set_ylabel(words("axis-memory"))


def _layers_of(accuracy: Mapping[str, Any] | None) -> list[Mapping[str, Any]]:
    from npukit.checks.parting import curve

    parting = (accuracy or {}).get("parting")
    return list(curve(parting["rows"])) if parting else []


def _layers(axes: Any, rows: list[Mapping[str, Any]], words: Words) -> None:
    axes.semilogy(range(len(rows)), [max(float(row["out"]), 1e-12) for row in rows], color=COLOUR, marker=".")
    axes.set_xlabel(words("axis-layer"))
    axes.set_ylabel(words("axis-error"))
