import pytest

from npukit.accelerations import VERSIONS, versions_of, wanted
from npukit.errors import NpukitError
from npukit.recipe import recipe_from

RECIPE = {
    "schema": 1,
    "name": "m",
    "title": "m",
    "task": "text-generation",
    "source": {"order": ["local"], "local": "m"},
    "prompts": [{"id": "one", "text": "Hi"}],
}


def test_auto_is_every_one_and_names_keep_the_order_of_application() -> None:
    assert wanted(["auto"]) == list(VERSIONS)
    assert wanted([*reversed(VERSIONS)]) == list(VERSIONS)
    assert wanted([]) == []


def test_a_key_holds_the_numbers() -> None:
    assert versions_of(["decode-step"]) == {"decode-step": VERSIONS["decode-step"]}


def test_a_recipe_names_the_accelerations_it_wants() -> None:
    assert recipe_from(RECIPE).load.accelerate == ("auto",)
    assert recipe_from({**RECIPE, "load": {"accelerate": []}}).load.accelerate == ()
    with pytest.raises(NpukitError) as raised:
        recipe_from({**RECIPE, "load": {"accelerate": ["warp"]}})
    assert "load.accelerate: 'warp' is none of auto, vision-windows, npu-operators, decode-step" in str(
        raised.value
    )
