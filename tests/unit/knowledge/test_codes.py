from __future__ import annotations

import pytest

from npukit.knowledge import explain
from npukit.knowledge.codes import _tables, find_codes, meaning


def codes(text: str) -> set[str]:
    data = text.encode()
    return {code.name for code in find_codes(data, data.lower())}


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("NPU function error: aclrtX, error code is 507011", "507011"),
        ("build op model failed, result = 500001", "500001"),
        ("launch failed for Cast, errno:561000.", "561000"),
        ("rtMemcpy:ErrCode=107030, desc=[the current capture mode]", "107030"),
        ("rtKernelLaunchWithHandleV2 failed: 507035", "507035"),
        ("[Error]: The aicore execution is abnormal. (507015)", "507015"),
        ("aclrtSetDevice ret[507033]", "507033"),
        ("错误码：207001", "207001"),
        ("507011", "507011"),
        ("EZ9999: Inner Error!", "EZ9999"),
        ("EE9999[PID: 1] 2026-08-14 (EE9999):  x", "EE9999"),
        ("Insufficient_Stream_Resources(EL0009): The", "EL0009"),
        ("EI0006 Getting socket times out", "EI0006"),
        ("[rank0]: EI9999: [PID: 1162] 2025", "EI9999"),
        ("RankID:-1) ERR01007 OPS feature not supported", "ERR01007"),
        ("HCCL function error: HcclX(&comm), error code is 9", "hccl:9"),
        ("errNo[0x0000000005000002]HcclCommInitRootInfo failed", "hccl:2"),
        ("dcmi module initialize failed. ret is -8005", "-8005"),
        ("[ERROR] E1001: no device", "E1001"),
    ],
)
def test_codes_as_logs_write_them(line: str, code: str) -> None:
    assert code in codes(line)


@pytest.mark.parametrize(
    "line",
    [
        "step 507011 of 600000, loss 1.507015",
        "postcode: 100000, barcode: 107001, secret: 200000",
        "2025-12-01 10:00:00.507011 INFO request",
        "sha256:507011aabb EZ99991 E100000 order-EZ1001 part EL00041",
        "wheel-507.011-py3; pid=(507015)",
        "shop.py:3:0: E1003: Bad first argument (bad-super-call)",
        "FileDownloadError[E1003]: x",
        "temperature -8005 and 12-8005",
        "result = 507011.5 EXY001 ERR1234",
    ],
)
def test_other_numbers_are_no_codes(line: str) -> None:
    assert codes(line) == set()


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_every_code_has_a_meaning(lang: str) -> None:
    for code in _tables()["codes"]:
        said = meaning(code, lang)
        assert (
            said is not None
            and said.title.startswith(f"{code}: ")
            and said.cause
            and said.remedy
            and said.sources
        )


def test_unknown_code_of_a_known_family_is_told_by_its_family() -> None:
    said = meaning("507777", "en")
    assert said is not None and "internal error" in said.title
    assert meaning("ERR01004", "en").title == "ERR01004: an operator of torch_npu: invalid pointer"  # type: ignore[union-attr]
    assert meaning("ERR88888", "zh") is not None
    assert meaning("999999", "en") is None


@pytest.mark.parametrize(
    "code", ["500001", "507011", "EZ9999", "ERR01004", "107099", "207099", "507099", "EI0016"]
)
def test_a_code_alone_is_decoded(code: str) -> None:
    assert explain(code), code
    assert explain(f"NPU error, error code is {code}\n" if code.isdigit() else f"{code}: text\n")


def test_a_dcmi_code_alone_is_known() -> None:
    assert explain("-8005")[0].id == "device.dcmi-8005"
