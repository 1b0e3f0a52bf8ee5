"""Config landing: what the file says must be on the model's config."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from npukit.measures.landing import NOT_COMPARED, landing

scalars = st.booleans() | st.integers() | st.text(max_size=6)
configs = st.dictionaries(
    st.text(min_size=1, max_size=6).filter(lambda key: key not in NOT_COMPARED),
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


def test_the_classes_other_names_of_keys() -> None:
    aliases = {"": {"n_embd": "hidden_size"}, "vision_config.": {"depth": "num_hidden_layers"}}
    written = {"n_embd": 8, "vision_config": {"depth": 2}, "num_labels": 2}
    landed = {"hidden_size": 8, "vision_config": {"num_hidden_layers": 2}, "id2label": {0: "a", 1: "b"}}
    assert landing(written, landed, aliases)["lost"] == []
    assert [row["key"] for row in landing(written, landed)["lost"]] == ["n_embd", "vision_config.depth"]


def test_rotary_settings_in_either_shape() -> None:
    table = {"rope_type": "linear", "factor": 2.0, "rope_theta": 1e6}
    old = {"rope_theta": 1e6, "rope_scaling": {"type": "linear", "factor": 2.0}}
    assert landing(old, {"rope_parameters": table})["lost"] == []
    assert landing({"rope_parameters": table}, {"rope_scaling": table})["lost"] == []
    by_kind = {
        "rope_parameters": {"full_attention": {"rope_theta": 1e6}, "sliding_attention": {"rope_theta": 1e4}}
    }
    assert landing({"rope_theta": 1e6}, by_kind)["lost"] == []
    lost = landing({"rope_theta": 5e5}, by_kind)["lost"]
    assert lost == [{"key": "rope_theta", "written": 5e5, "landed": 1e6}]


def test_tuples_are_lists_and_dtypes_are_the_load_s_business() -> None:
    assert landing({"kernel": [2, 2], "torch_dtype": "float16"}, {"kernel": (2, 2), "dtype": "float32"}) == {
        "checked": 1,
        "lost": [],
    }


def test_null_leaves_the_value_to_the_class() -> None:
    assert landing({"head_dim": None, "layers": 2}, {"head_dim": 64, "layers": 2}) == {
        "checked": 1,
        "lost": [],
    }
