"""Config landing: what the file says must be on the model's config."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from npukit.measures.landing import landing

scalars = st.booleans() | st.integers() | st.text(max_size=6)
configs = st.dictionaries(
    st.text(min_size=1, max_size=6),
    scalars
    | st.lists(scalars, max_size=3)
    | st.dictionaries(st.text(min_size=1, max_size=4), scalars, max_size=3),
    max_size=6,
)


@given(configs)
def test_a_config_lands_on_itself(config: dict[str, object]) -> None:
    assert landing(config, config)["lost"] == []


@given(configs, st.data())
def test_a_dropped_key_is_named(config: dict[str, object], data: st.DataObject) -> None:
    if not config:
        return
    key = data.draw(st.sampled_from(sorted(config)))
    landed = {name: value for name, value in config.items() if name != key}
    lost = [row["key"] for row in landing(config, landed)["lost"]]
    assert lost == [key]


def test_nested_renamed_and_numbered_keys() -> None:
    written = {
        "text_config": {"layers": ["a", "b"], "rope_theta": 1e7},
        "id2label": {"0": "cat"},
        "pad_token_id": None,
        "transformers_version": "5.7.0",
    }
    landed = {
        "text_config": {"layers": ["a", "b"], "rope_parameters": {"rope_theta": 1e7}},
        "id2label": {0: "cat"},
    }
    assert landing(written, landed) == {"checked": 3, "lost": []}
    landed["text_config"]["layers"] = ["b", "a"]  # type: ignore[index]
    assert landing(written, landed)["lost"] == [
        {"key": "text_config.layers", "written": ["a", "b"], "landed": ["b", "a"]}
    ]
