"""Whole logs: what comes first, what yields, what is said where nothing more is known."""

from __future__ import annotations

from pathlib import Path

import pytest

from npukit.knowledge import advise, explain

LOGS = Path(__file__).parents[2] / "fixtures" / "logs" / "failing"


def ids(text: str) -> list[str]:
    return [finding.id for finding in explain(text)]


def log(name: str) -> str:
    return (LOGS / f"{name}.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "first", "later"),
    [
        ("capture", "memory.stream-resources", ["serving.engine", "noise.inner-error"]),
        ("verification", "device.opp-verification", ["device.start"]),
        ("autoload", "libraries.hccl-missing", ["libraries.autoload"]),
        ("plog", "runtime.aicpu", []),
        (
            "shards",
            "runtime.out-of-bounds",
            ["runtime.aicore", "distributed.watchdog", "noise.task-distribute"],
        ),
        ("cast", "operator.dtype-bfloat16", []),
        ("ranks", "distributed.notify-timeout", ["runtime.timeout"]),
    ],
)
def test_the_cause_stands_before_what_it_led_to(name: str, first: str, later: list[str]) -> None:
    found = ids(log(name))
    assert found[0] == first
    positions = [found.index(identity) for identity in later]
    assert positions == sorted(positions)


@pytest.mark.parametrize("name", ["capture", "autoload", "shards", "cast"])
def test_families_and_bare_codes_yield(name: str) -> None:
    found = set(ids(log(name)))
    assert not found & {
        "libraries.library-missing",
        "memory.device-memory",
        "operator.dtype",
        "operator.call",
    }
    assert not [identity for identity in found if identity.startswith("code.")]


def test_ranks_lines_and_counts() -> None:
    findings = explain(log("shards"))
    assert [finding.rank for finding in findings] == list(range(1, len(findings) + 1))
    noise = next(finding for finding in findings if finding.id == "noise.task-distribute")
    assert (noise.line, noise.count, noise.severity) == (6, 2, "noise")
    assert findings[0].line == 3 and "MPU address" in findings[0].excerpt


@pytest.mark.parametrize(
    ("line", "family"),
    [
        (
            "OSError: libfoo_bar.so.7: cannot open shared object file: No such file",
            "libraries.library-missing",
        ),
        (
            "llama: error while loading shared libraries: libxyz.so: cannot open shared object file",
            "libraries.library-missing",
        ),
        ("ImportError: /opt/a/libq.so: undefined symbol: _ZN3foo3barEv", "libraries.symbol"),
        (
            "ImportError: /p/torch_npu/lib/libtorch_npu.so: undefined symbol: _ZN2at3newEv",
            "libraries.torch-npu-symbol",
        ),
        (
            "EZ1001: Tensor other not implemented for DT_UINT64, should be in dtype support list",
            "operator.dtype",
        ),
        ("NPU function error: aclrtFoo, error code is 107088", "code.107088"),
        ("NPU function error: aclrtFoo, error code is 207088", "code.207088"),
        ("NPU function error: aclrtFoo, error code is 507088", "code.507088"),
        ("httpx.ReadTimeout: The read operation timed out", "download.network"),
        (
            "ReadTimeoutError: HTTPSConnectionPool(host='x.cn', port=443): Read timed out.",
            "download.network",
        ),
        ("ModuleNotFoundError: No module named 'brand_new_thing'", "libraries.module-missing"),
        ("RuntimeError: call aclnnNewOperator failed, detail:EZ9999: Inner Error!", "operator.call"),
    ],
)
def test_families_know_texts_that_are_new(line: str, family: str) -> None:
    assert ids(f"2025-12-01 worker 3 {line}")[0] == family


def test_a_family_quotes_what_it_found() -> None:
    finding = explain("OSError: libFoo_bar.so.7: cannot open shared object file: No such file")[0]
    assert "Foo_bar" in finding.title and "Foo_bar" in finding.remedy


def test_both_languages() -> None:
    en, zh = explain(log("autoload"), "en")[0], explain(log("autoload"), "zh")[0]
    assert en.id == zh.id and en.title != zh.title and "环境" in zh.cause


def test_a_line_broken_by_a_narrow_terminal_is_found() -> None:
    boxed = "╭── Traceback ──╮\n│ ImportError: libhccl.so: cannot │\n│ open shared object file │\n╰──╯"
    finding = explain(boxed)[0]
    assert (finding.id, finding.line) == ("libraries.hccl-missing", 2)


def test_a_very_long_line_is_quoted_around_the_hit() -> None:
    finding = explain("x" * 100_000 + " NPU out of memory. Tried to allocate " + "y" * 100_000)[0]
    assert "NPU out of memory" in finding.excerpt and len(finding.excerpt) < 400


def test_json_holds_what_a_program_needs() -> None:
    document = explain(log("cast"))[0].to_json()
    assert document["id"] == "operator.dtype-bfloat16"
    assert set(document) >= {
        "title",
        "severity",
        "role",
        "confidence",
        "cause",
        "remedy",
        "sources",
        "excerpt",
        "line",
        "rank",
    }
    assert isinstance(document["sources"], list)


@pytest.mark.parametrize(
    "text",
    [
        "a" * 300_000,
        "undefined symbol: " * 20_000,
        "lib" + "cannot open " * 30_000,
        "KeyError: 'model.layers.0.weight'\n" * 10_000,
        "error code is 507011\n" * 15_000,
        "\x1b[" * 150_000,
        "E" * 300_000,
        "NPU OPERATOR '" * 20_000,
    ],
    ids=["letters", "symbols", "openings", "keys", "codes", "escapes", "capitals", "quotes"],
)
@pytest.mark.timeout(30)
def test_logs_made_to_be_slow_are_not(text: str) -> None:
    explain(text)


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("OSError: /x/libtorch_npu.so: cannot open shared object file: Permission denied", "library-refused"),
        ("ImportError: /x/_C.so: cannot open shared object file: Exec format error", "library-refused"),
        (
            "docker: error gathering device information while adding custom device "
            '"/dev/davinci8": no such file or directory.',
            "docker-runtime",
        ),
        (
            "OSError: Error no file named pytorch_model.bin, tf_model.h5 found in directory /d.",
            "files-absent",
        ),
        ("SafetensorError: Error while deserializing header: invalid JSON in header", "safetensors-pointer"),
    ],
)
def test_the_cause_is_not_taken_for_its_neighbour(text: str, first: str) -> None:
    assert [identity.partition(".")[2] for identity in ids(text)] == [first]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "empty"),
        (" \n", "empty"),
        ("\ufffd\ufffdP\ufffd" * 99, "no text"),
        ("all is well", "looks like a failure"),
    ],
)
def test_what_is_no_log_is_told_apart(text: str, said: str) -> None:
    assert said in advise(text).what and not advise(text).collect
