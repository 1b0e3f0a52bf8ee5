import dataclasses

import pytest

from npukit.errors import NpukitError
from npukit.recipe import recipe_from
from npukit.sources.assets import fetch_assets
from npukit.sources.order import FetchOptions


def recipe(**asset):
    right = {"name": "cats.png", "url": "https://host/cats.png", "bytes": 3, "sha256": "0" * 64}
    return recipe_from(
        {
            "name": "m",
            "title": "M",
            "task": "text-generation",
            "source": {"order": ["huggingface"], "huggingface": "o/n"},
            "prompts": [{"id": "p", "text": "hello"}],
            "assets": [{**right, **asset}],
        }
    )


@pytest.mark.parametrize("wrong", [{"url": "file:///etc/passwd"}, {"sha256": "abc"}, {"bytes": "3"}])
def test_an_asset_needs_an_address_and_a_hash(wrong):
    with pytest.raises(NpukitError) as error:
        recipe(**wrong)
    assert error.value.code == "recipe.faults"


def test_an_asset_stays_in_its_directory_and_offline_is_offline(tmp_path):
    good = recipe()
    outside = dataclasses.replace(good, assets=(dataclasses.replace(good.assets[0], name="../cats.png"),))
    for given, code in ((outside, "fetch.unsafe-path"), (good, "fetch.offline")):
        with pytest.raises(NpukitError) as error:
            fetch_assets(given, tmp_path, FetchOptions(offline=True), lambda text: None)
        assert error.value.code == code
