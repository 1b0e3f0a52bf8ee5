import pytest
from hypothesis import given
from hypothesis import strategies as st

from npukit.host.compatibility import (
    Installed,
    cann_key,
    expected_cann,
    judge_compatibility,
    rows,
    torch_npu_for,
)
from npukit.host.verdict import Voice


@pytest.mark.parametrize(
    ("torch_npu", "cann"),
    [
        ("2.9.0", "8.5.0"),
        ("2.9.0.post1", "8.5.0"),  # between two rows: the one before
        ("2.9.0.post1+git12ab", "8.5.0"),
        ("2.9.0.post9", "9.1.0"),
        ("2.10.0", ""),  # before the first row
        ("2.13.0", ""),
        ("1.11.0", ""),
        ("of a vendor", ""),
    ],
)
def test_the_cann_published_for_a_torch_npu(torch_npu, cann):
    assert expected_cann(torch_npu) == cann


@pytest.mark.parametrize(
    ("torch", "cann", "best"),
    [
        ("2.9.0+cpu", "8.5.1", "2.9.0"),
        ("2.9.0", "9.0.0", "2.9.0.post2"),
        ("2.9.0", "", "2.9.0.post6"),
        ("2.7.1", "8.0.0", "2.7.1.post8"),
        ("2.99.0", "9.0.0", "2.99.0"),
    ],
)
def test_the_torch_npu_to_install(torch, cann, best):
    assert torch_npu_for(torch, cann) == best


def test_canns_are_in_the_order_of_their_release():
    names = [
        "7.0.0",
        "8.0.RC1",
        "8.0.RC2",
        "8.0.RC3",
        "8.0.0",
        "8.1.RC1",
        "8.3.RC1",
        "8.5.0",
        "8.5.1",
        "9.0.0",
    ]
    assert sorted(set(names), key=cann_key) == names


def judged(**changes):
    found = Installed(
        **{"torch": "2.9.0+cpu", "torch_npu": "2.9.0.post1", "cann": "8.5.1", "python": "3.11.9", **changes}
    )
    return [
        (verdict.id, verdict.level)
        for verdict in judge_compatibility(found, changes.pop("_", False), Voice())
    ]


def test_pairs():
    assert judged() == [("versions.pair", "ok")]
    assert judged(torch_npu="2.8.0") == [("versions.mismatch", "fail")]
    assert judged(torch="2.9.1") == [("versions.mismatch", "warn")]
    assert judged(torch="") == []
    assert judged(cann="") == [("versions.pair", "ok")]


def test_what_imports_is_not_called_broken():
    found = Installed("2.9.0", "2.8.0", "8.5.1", "3.11.9")
    assert [verdict.level for verdict in judge_compatibility(found, imports=True, voice=Voice())] == ["warn"]


@given(st.sampled_from(rows()), st.data())
def test_every_published_pair_is_sound(row, data):
    if not row.cann:
        return
    torch_npu = data.draw(st.sampled_from(sorted(row.cann)))
    python = data.draw(st.sampled_from(row.python))
    assert judged(torch=row.torch, torch_npu=torch_npu, cann=row.cann[torch_npu], python=python) == [
        ("versions.pair", "ok")
    ]
