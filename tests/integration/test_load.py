"""``npukit.load`` gives what the command line gives, in this process."""

from __future__ import annotations

import base64
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import npukit
from npukit.api import Model
from npukit.builtin import model_dir, picture
from npukit.devices.lock import device_lock
from npukit.devices.name import DeviceName
from npukit.errors import NpukitError
from tests.fixtures.videos import write_video
from tests.integration.conftest import MODEL

pytestmark = pytest.mark.torch
QUESTION = "What is in this image? How many animals?"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Model]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NPUKIT_HOME", str(tmp_path_factory.mktemp("home")))
        loaded = npukit.load(MODEL, device="cpu")
        with loaded:
            yield loaded


def test_an_answer_about_a_picture(model: Model) -> None:
    answer = model.generate(QUESTION, images=[picture("two-cats.png")])
    assert "two" in answer.text and "cat" in answer.text
    assert answer.finish == "stop"
    assert answer.new_tokens == len(answer.token_ids)
    assert 0 < answer.ttft_ms <= answer.total_ms


@pytest.mark.parametrize("form", ["path", "text", "bytes", "memory"])
def test_pictures_in_every_form_are_the_same_picture(model: Model, form: str) -> None:
    path = picture("three-dogs.png")
    with Image.open(path) as image:
        forms = {"path": path, "text": str(path), "bytes": path.read_bytes(), "memory": image}
        assert "three" in model.generate(QUESTION, images=[forms[form]]).text


def test_a_stream_is_the_same_answer(model: Model) -> None:
    whole = model.generate(QUESTION, images=[picture()])
    stream = model.generate(QUESTION, images=[picture()], stream=True)
    pieces = list(stream)
    assert len(pieces) > 1
    assert "".join(pieces).strip() == whole.text
    assert stream.answer is not None
    assert stream.answer.token_ids == whole.token_ids


def test_a_stream_that_is_left_stops_the_answer(model: Model) -> None:
    stream = model.generate(QUESTION, stream=True, min_new_tokens=3000, max_new_tokens=3000)
    next(stream)
    stream.close()
    assert not [thread for thread in threading.enumerate() if thread.name == "npukit answer"]
    assert stream.answer is None
    assert model.generate("Say hello.").new_tokens < 100


def test_a_conversation_in_openais_shape(model: Model) -> None:
    uri = "data:image/png;base64," + base64.b64encode(picture("three-dogs.png").read_bytes()).decode()
    pictures = [
        {"type": "image", "image": picture("two-cats.png")},
        {"type": "image_url", "image_url": {"url": uri}},
    ]
    first = {"role": "user", "content": [*pictures, {"type": "text", "text": "What is in each image?"}]}
    answer = model.chat([first])
    assert answer.text == "two cats, three dogs"
    told = {"role": "assistant", "content": answer.text}
    again = model.chat([first, told, {"role": "user", "content": "Say hello."}])
    assert again.text == "hello"
    assert again.prompt_tokens > answer.prompt_tokens + answer.new_tokens
    middle = {"role": "user", "content": [pictures[0], {"type": "text", "text": QUESTION}]}
    assert model.chat([first, told, middle]).prompt_tokens > again.prompt_tokens


def test_a_video_is_seen_in_frames(model: Model, tmp_path: Path) -> None:
    with Image.open(picture("two-cats.png")) as scene:
        film = write_video(tmp_path / "film.mp4", [scene.convert("RGB").resize((112, 112))], seconds=3)
    answer = model.generate(QUESTION, video=film)
    assert "cat" in answer.text
    assert answer.prompt_tokens > model.generate(QUESTION, images=[picture("two-cats.png")]).prompt_tokens


def test_pictures_are_seen_as_finely_as_asked() -> None:
    def read(**finely: Any) -> int:
        with npukit.load(MODEL, device="cpu", **finely) as model:
            answer = model.generate(QUESTION, images=[picture("three-cats-large.png")], max_new_tokens=1)
            return answer.prompt_tokens

    assert read(max_slices=1) < read() < read(downsample="4x")


def test_reasoning_that_the_template_opens_is_no_answer(tmp_path: Path) -> None:
    directory = tmp_path / "thinker"
    shutil.copytree(model_dir(), directory)
    template = directory / "chat_template.jinja"
    opening = "{{- '<|im_start|>assistant\\n' }}"
    text = template.read_text("utf-8")
    assert opening in text
    template.write_text(text.replace(opening, "{{- '<|im_start|>assistant\\n<think>\\n' }}"), "utf-8")
    with npukit.load(str(directory), device="cpu") as model:
        answer = model.generate("Say hello.", max_new_tokens=8)
        stream = model.generate("Say hello.", max_new_tokens=8, stream=True)
        assert "".join(stream) == answer.text == ""  # the embedded model never ends its reasoning
    assert answer.reasoning


def test_sampling_repeats_with_its_seed_and_varies_without(model: Model) -> None:
    def tokens(seed: int) -> list[int]:
        hot = {"temperature": 50.0, "min_new_tokens": 8, "max_new_tokens": 8}
        return model.generate("Hello", seed=seed, **hot).token_ids

    assert tokens(1) == tokens(1)
    assert tokens(1) != tokens(2)


def test_stop_texts_and_lengths(model: Model) -> None:
    whole = model.generate(QUESTION, images=[picture("two-cats.png")]).text
    cut = model.generate(QUESTION, images=[picture("two-cats.png")], stop="cat")
    assert (cut.text, cut.finish) == (whole.partition("cat")[0].strip(), "stop")
    assert model.generate(QUESTION, images=[picture()], max_new_tokens=1).finish == "length"


def test_logits_have_one_row_for_every_position(model: Model) -> None:
    logits = model.logits(QUESTION, images=[picture()])
    answer = model.generate(QUESTION, images=[picture()])
    assert logits.shape[0] == answer.prompt_tokens
    assert int(logits[-1].argmax()) == answer.token_ids[0]


def test_a_conversation_that_is_too_long_is_noticed_beforehand(model: Model) -> None:
    with pytest.raises(NpukitError) as caught:
        model.generate("How many animals? " * 2000)
    assert caught.value.code == "generate.context-overflow"


@pytest.mark.parametrize(
    ("messages", "where"),
    [
        ([], "messages"),
        ("hello", "messages"),
        ([{"role": "cook", "content": "x"}], "messages[0].role"),
        ([{"role": "user", "content": []}], "messages[0].content"),
        ([{"role": "user", "content": [{"type": "sound", "sound": "x"}]}], "messages[0].content[0]"),
        ([{"role": "user", "content": [{"type": "image_url"}]}], "messages[0].content[0]"),
    ],
)
def test_messages_of_another_shape_are_refused(model: Model, messages: object, where: str) -> None:
    with pytest.raises(NpukitError) as caught:
        model.chat(messages)  # type: ignore[call-overload]
    assert (caught.value.code, caught.value.fields["where"]) == ("chat.bad-message", where)
    caught.value.message("en")


def test_a_setting_that_does_not_exist(model: Model) -> None:
    with pytest.raises(NpukitError) as caught:
        model.generate("Hello", warmth=3)
    assert caught.value.code == "generate.unknown-setting"


def test_the_device_is_held_until_it_is_closed(tmp_path: Path) -> None:
    locks = tmp_path / "home" / "locks"
    with npukit.load(MODEL, device="cpu") as closed:
        with pytest.raises(NpukitError) as caught, device_lock(DeviceName("cpu"), locks):
            pass
        assert caught.value.code == "device.busy"
    with device_lock(DeviceName("cpu"), locks):
        pass
    with pytest.raises(NpukitError) as caught:
        closed.generate("Say hello.")
    assert caught.value.code == "load.closed"


def test_importing_npukit_stays_light(tmp_path: Path) -> None:
    code = "import npukit, sys; npukit.load; assert not {'torch', 'transformers'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(npukit.__file__).parents[1])
