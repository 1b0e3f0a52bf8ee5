from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from npukit.decoding import GREEDY, SETTINGS, Decoding
from npukit.errors import NpukitError


def refused(make: Callable[[], object]) -> str:
    with pytest.raises(NpukitError) as caught:
        make()
    caught.value.message("zh")
    return caught.value.code


def test_nothing_said_is_the_models_choice() -> None:
    assert Decoding().arguments() == {}
    assert GREEDY.arguments() == {"do_sample": False}
    assert Decoding(temperature=0.0).arguments() == {"do_sample": False}
    assert Decoding(top_p=0.9).arguments() == {"do_sample": True, "top_p": 0.9}
    assert Decoding(greedy=True, top_p=0.9).arguments() == {"do_sample": False}


def test_it_travels_as_json() -> None:
    decoding = Decoding(7, 2, temperature=0.5, stop=("a", "b"))
    assert Decoding.from_json(json.loads(json.dumps(decoding.to_json()))) == decoding


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("temperature", "0.7", 0.7),
        ("top_k", "5", 5),
        ("greedy", "on", True),
        ("stop", "END", ("END",)),
        ("seed", "default", None),
        ("max_new_tokens", "default", Decoding().max_new_tokens),
    ],
)
def test_settings_as_typed(name: str, text: str, value: object) -> None:
    assert getattr(Decoding().changed(name, text), name) == value


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("temperature", "-1"),
        ("temperature", "nan"),
        ("temperature", "warm"),
        ("top_p", "0"),
        ("top_k", "0"),
        ("greedy", "perhaps"),
        ("max_new_tokens", "0"),
        ("stop", ""),
    ],
)
def test_what_cannot_be_is_refused(name: str, text: str) -> None:
    assert refused(lambda: Decoding().changed(name, text)) == "generate.bad-setting"


def test_an_unknown_setting_lists_the_known() -> None:
    assert refused(lambda: Decoding().changed("warmth", "1")) == "generate.unknown-setting"
    assert set(SETTINGS) == set(Decoding().to_json())
