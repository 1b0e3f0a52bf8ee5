"""Reports of a finished run: structure, both languages, hand-written parts, and what is refused."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import xml.etree.ElementTree as xml
from pathlib import Path

import pytest

from tests.integration.conftest import MODEL, Npukit

SECTIONS = {
    "en": ["Introduction", "Environment", "Setup and weights", "Inference", "Smoke output", "Performance",
           "Accuracy", "Screenshots", "What was adapted", "Notes", "Tags"],
    "zh": ["简介", "验证环境", "环境准备与权重获取", "推理运行", "Smoke 验证", "性能参考",
           "精度评测", "运行截图", "适配要点", "注意事项", "标签"],
}  # fmt: skip
ON_CPU = {"en": "**Measured on a CPU: no NPU was involved.**", "zh": "**在 CPU 上测得：未涉及 NPU。**"}


@pytest.fixture(autouse=True)
def home(home_after_run: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NPUKIT_HOME", str(home_after_run))
    return home_after_run


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_report_has_the_published_form(npukit: Npukit, tmp_path: Path, lang: str) -> None:
    said = npukit("report", MODEL, "--device", "cpu", "--lang", lang, "--out", tmp_path / "out")
    assert said.status == 0, said.err
    text = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == SECTIONS[lang]
    parts = dict(re.findall(r"^## (.+)\n\n(.+)$", text, re.MULTILINE))
    for name in (SECTIONS[lang][i] for i in (1, 4, 5, 6)):
        assert parts[name] == ON_CPU[lang], name
    assert "two cats" in text
    assert f"npukit run {MODEL} --device cpu --warmup 1 --rounds 3" in text
    assert str(tmp_path) not in text
    results = json.loads((tmp_path / "out" / "results.json").read_text(encoding="utf-8"))
    assert [row["stage"] for row in results] == ["fetch", "patch", "verify", "accuracy", "bench"]
    for row in results:
        assert row["key"][:16] in text
    for path in re.findall(r"!\[[^]]*\]\(([^)]+)\)", text):
        assert (tmp_path / "out" / path).stat().st_size > 0


def test_the_screenshot_is_sound_and_loads_nothing(npukit: Npukit, tmp_path: Path) -> None:
    npukit("report", MODEL, "--device", "cpu", "--out", tmp_path)
    svg = (tmp_path / "assets" / "terminal.svg").read_text(encoding="utf-8")
    xml.fromstring(svg)
    assert "url(http" not in svg
    assert "@font-face" not in svg


def test_hand_written_parts_survive(npukit: Npukit, tmp_path: Path) -> None:
    npukit("report", MODEL, "--device", "cpu", "--out", tmp_path, "--lang", "en")
    readme = tmp_path / "README.md"
    text = readme.read_text(encoding="utf-8")
    own = text.replace("<!-- npukit:begin accuracy", "Mine, before accuracy.\n\n<!-- npukit:begin accuracy")
    readme.write_text(own.replace("two cats", "nine cats"), encoding="utf-8")
    npukit("report", MODEL, "--device", "cpu", "--out", tmp_path, "--lang", "en")
    assert readme.read_text(encoding="utf-8") == own


def test_somebody_elses_readme_is_not_overwritten(npukit: Npukit, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("# Mine\n")
    said = npukit("report", MODEL, "--device", "cpu", "--out", tmp_path, "--json")
    assert said.status == 2
    assert said.document["error"]["code"] == "report.foreign"
    assert (tmp_path / "README.md").read_text() == "# Mine\n"


def test_a_report_that_contradicts_itself_is_not_written(npukit: Npukit, home: Path, tmp_path: Path) -> None:
    (path,) = home.glob("results/*/cpu/bench/*.json")
    record = json.loads(path.read_text())
    record["measured"]["rounds"][0]["tokens"] += 1
    path.write_text(json.dumps(record))
    said = npukit("report", MODEL, "--device", "cpu", "--out", tmp_path / "out", "--json")
    assert said.status == 1
    assert said.document["error"]["code"] == "report.contradictory"
    assert not (tmp_path / "out").exists()


def test_what_was_not_measured_is_not_reported(
    npukit: Npukit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NPUKIT_HOME", str(tmp_path / "empty"))
    said = npukit("report", MODEL, "--device", "cpu", "--out", tmp_path / "out", "--json")
    assert said.document["error"]["code"] == "report.nothing-measured"


def test_pictures_with_chinese_words(npukit: Npukit, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="pip install 'npukit[report]': pictures are unproven")
    said = npukit("report", MODEL, "--device", "cpu", "--out", tmp_path, "--lang", "zh", "--pictures")
    assert said.status == 0
    names = {path.name for path in (tmp_path / "assets").iterdir()}
    assert names >= {"terminal.svg", "latency.png", "speed.png", "phases.png"}


MEASURE = """<script>
addEventListener("error", e => document.title = "error " + e.message);
addEventListener("load", () => {
  const root = document.documentElement;
  document.title = `width ${innerWidth} needs ${root.scrollWidth}`;
});
</script>"""


@pytest.mark.parametrize("width", [500, 1280])
def test_the_page_fits_in_a_browser(npukit: Npukit, tmp_path: Path, width: int) -> None:
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no chromium here: the page is unproven in a browser (apt-get install chromium)")
    npukit("report", MODEL, "--device", "cpu", "--lang", "zh", "--format", "html", "--out", tmp_path)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert 'src="http' not in page
    frame = tmp_path / "frame.html"
    frame.write_text(page.replace("</head>", MEASURE + "</head>"), encoding="utf-8")
    options = ("--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=2000", "--dump-dom")
    own = (f"--user-data-dir={tmp_path / 'profile'}", f"--window-size={width},900")
    command = [browser, *options, *own, frame.as_uri()]
    shown = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout
    found = re.search(r"<title>width (\d+) needs (\d+)</title>", shown)
    assert found, shown[:500]
    assert int(found[2]) <= int(found[1])
