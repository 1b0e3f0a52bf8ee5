import pytest

from npukit.errors import NpukitError
from npukit.recipe import Prompt, Recipe, Source
from npukit.sources import Listing, order
from npukit.sources.order import FetchOptions, answers, asked, attempts, first_that_gives, sources_of


def recipe(**source):
    ids = {"huggingface": "o/n", "modelscope": "O/N", "gitcode": "hf_mirrors/o/n"}
    return Recipe("m", "M", "text-generation", Source(**{**ids, **source}), (Prompt("p", "hi"),))


HUBS = recipe(order=("huggingface", "modelscope"))


class Fake:
    def __init__(self, name):
        self.name = name

    def listing(self, want):
        if self.name == "cache" and not want.copies:
            raise NpukitError("fetch.offline", model=want.model)
        return Listing(self.name, want.repo, "", ())


@pytest.fixture(autouse=True)
def fakes(monkeypatch):
    monkeypatch.setattr(order, "source", Fake)


def taker(**failures):
    """A ``take`` that fails with a code for the sources named, and otherwise gives the source's name."""

    def take(place, listing, want):
        if place.name in failures:
            raise NpukitError(failures[place.name], **dict.fromkeys(FIELDS, "?"))
        return place.name

    return take


FIELDS = ("source", "endpoint", "reason", "path", "need", "free", "model", "stated", "seen")


def give(recipe, tmp_path, options=None, **failures):
    said = []
    options = options or FetchOptions(copies_first=False)
    return first_that_gives(recipe, options, tmp_path, said.append, taker(**failures)), said


def test_the_first_that_gives_is_taken(tmp_path):
    assert give(HUBS, tmp_path) == ("huggingface", [])


def test_the_next_is_tried_and_the_reason_said(tmp_path):
    name, said = give(HUBS, tmp_path, huggingface="fetch.unreachable")
    assert name == "modelscope"
    assert said[0].startswith("huggingface: ") and said[0].endswith("trying modelscope")


def test_a_full_disk_is_not_tried_again_elsewhere(tmp_path):
    with pytest.raises(NpukitError) as error:
        give(HUBS, tmp_path, huggingface="fetch.disk-full")
    assert error.value.code == "fetch.disk-full"


def test_with_no_source_left_every_reason_is_listed(tmp_path):
    with pytest.raises(NpukitError) as error:
        give(
            HUBS,
            tmp_path,
            FetchOptions(force=True),
            huggingface="fetch.unreachable",
            modelscope="fetch.corrupt",
        )
    assert error.value.code == "fetch.no-source"
    assert "huggingface" in str(error.value) and "modelscope" in str(error.value)


@pytest.mark.parametrize(
    ("options", "names"),
    [
        (FetchOptions(), ("cache", "huggingface", "modelscope")),
        (FetchOptions(copies_first=False), ("huggingface", "modelscope", "cache")),
        (FetchOptions(force=True), ("huggingface", "modelscope")),
        (FetchOptions(offline=True), ("cache",)),
    ],
)
def test_when_copies_are_looked_for(options, names):
    assert attempts(HUBS, options) == names
    assert attempts(recipe(order=("builtin",), builtin="b"), options) == ("builtin",)


def test_no_copy_is_no_reason(tmp_path):
    assert give(HUBS, tmp_path, FetchOptions()) == ("huggingface", [])
    with pytest.raises(NpukitError) as error:
        give(HUBS, tmp_path, FetchOptions(offline=True))
    assert error.value.code == "fetch.offline"


def test_only_and_source_narrow_the_order():
    assert sources_of(HUBS, FetchOptions()) == ("huggingface", "modelscope")
    assert sources_of(recipe(order=("huggingface",), only=("modelscope",)), FetchOptions()) == ("modelscope",)
    assert sources_of(HUBS, FetchOptions(source="gitcode")) == ("gitcode",)


def test_what_was_fetched_answers_a_question_without_opinion():
    before = asked(HUBS, FetchOptions(source="modelscope", revision="v1"))
    assert answers(before, HUBS, FetchOptions())
    assert answers(before, HUBS, FetchOptions(revision="v1"))
    assert not answers(before, HUBS, FetchOptions(revision="v2"))
    assert not answers(before, HUBS, FetchOptions(source="huggingface"))
    assert not answers(before, HUBS, FetchOptions(include=("*.json",)))
    assert not answers(before, recipe(order=("huggingface",), huggingface="o/other"), FetchOptions())


def test_a_token_is_in_no_text():
    options = FetchOptions(token="secret")
    assert "secret" not in repr(options) + repr(asked(HUBS, options))
