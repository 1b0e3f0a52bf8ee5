"""The embedded model: loaded strictly, measured on pictures it has never seen, and trained a little."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from PIL import Image
from safetensors.torch import load_file
from transformers import AutoModelForImageTextToText

from npukit.builtin import model_dir, picture, picture_contents
from npukit.builtin.batched import batched
from npukit.builtin.blueprint import write_blueprint
from npukit.builtin.drawings import Scene
from npukit.builtin.evaluate import MODES, Answerer, Mode, measure
from npukit.builtin.lessons import Lessons
from npukit.builtin.questions import (
    ABOUT_PICTURES,
    WHAT_AND_HOW_MANY,
    WITHOUT_PICTURE,
    answer,
)
from npukit.builtin.train import Course, build_model, save_weights, train

pytestmark = pytest.mark.torch


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """So small a model loses more to waiting for a second thread than it gains."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def answerer() -> Answerer:
    return Answerer(model_dir())


def test_every_weight_lands() -> None:
    model, info = AutoModelForImageTextToText.from_pretrained(
        model_dir(), dtype=torch.float32, output_loading_info=True
    )
    assert type(model).__name__ == "MiniCPMV4_6ForConditionalGeneration"
    assert not any(info[name] for name in ("missing_keys", "unexpected_keys", "mismatched_keys"))


def test_the_other_files_are_what_the_blueprint_writes(tmp_path: Path) -> None:
    write_blueprint(tmp_path)
    for file in tmp_path.iterdir():
        assert file.read_bytes() == (model_dir() / file.name).read_bytes(), file.name


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
def test_held_out_pictures(answerer: Answerer, mode: Mode) -> None:
    score = measure(answerer, mode, 40)
    assert score.exact >= 0.95
    assert score.species >= 0.95
    assert score.count >= 0.95


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
def test_many_held_out_pictures(answerer: Answerer, mode: Mode) -> None:
    assert measure(answerer, mode, 400).exact >= 0.95


@pytest.mark.slow
@pytest.mark.parametrize("question", ABOUT_PICTURES)
def test_every_question_about_many_pictures(answerer: Answerer, question: str) -> None:
    assert measure(answerer, MODES[0], 200, question).exact >= 0.95


@pytest.mark.parametrize("downsample_mode", ["16x", "4x"])
@pytest.mark.parametrize("name", picture_contents())
def test_the_examples(answerer: Answerer, name: str, downsample_mode: str) -> None:
    scene = Scene(**picture_contents()[name])
    with Image.open(picture(name)) as shown:
        replies = [answerer.answers([question], [shown], downsample_mode) for question in ABOUT_PICTURES]
    assert replies == [[answer(question, scene)] for question in ABOUT_PICTURES]


def test_questions_without_a_picture(answerer: Answerer) -> None:
    assert answerer.answers(list(WITHOUT_PICTURE)) == list(WITHOUT_PICTURE.values())


def test_the_answer_comes_from_the_picture(answerer: Answerer) -> None:
    blank = Image.new("RGB", (112, 112), (200, 180, 220))
    seen = [answerer.answers([WHAT_AND_HOW_MANY], [Image.open(picture(name))]) for name in picture_contents()]
    assert len({*map(tuple, seen)}) > 4
    assert answerer.answers([WHAT_AND_HOW_MANY], [blank]) != seen[0]


def test_the_batched_forms_compute_what_the_library_computes(tmp_path: Path) -> None:
    write_blueprint(tmp_path)
    lessons = Lessons(tmp_path, 8, 0)
    torch.manual_seed(0)
    plain = build_model(tmp_path)
    with batched():
        torch.manual_seed(0)
        faster = build_model(tmp_path)
    for step in range(8):
        batch = lessons[step]
        inputs = dict(batch.inputs, downsample_mode=batch.lesson.downsample_mode, use_cache=False)
        read = batch.inputs["attention_mask"].bool()
        with torch.no_grad():
            expected = plain(**inputs).logits
            with batched():
                got = faster(**inputs).logits
        torch.testing.assert_close(got[read], expected[read], atol=1e-5, rtol=1e-5)


class Killed(Exception):
    pass


def test_a_stopped_training_goes_on_to_the_same_weights(tmp_path: Path) -> None:
    course = Course(steps=3, checkpoint_every=2, report_every=3)
    reports: list[str] = []

    def kill(_: str) -> None:
        raise Killed

    with batched():
        unbroken = train(tmp_path / "unbroken", course, reports.append)
        with pytest.raises(Killed):
            train(tmp_path / "stopped", course, kill)
        resumed = train(tmp_path / "stopped", course, reports.append)
    assert [report.split()[0] for report in reports] == ["3/3", "3/3"]
    for name, value in unbroken.state_dict().items():
        assert torch.equal(value, resumed.state_dict()[name]), name


def test_weights_are_saved_in_half_precision_without_the_tied_head(tmp_path: Path) -> None:
    write_blueprint(tmp_path)
    torch.manual_seed(0)
    model = build_model(tmp_path)
    save_weights(model, tmp_path / "model.safetensors")
    saved = load_file(tmp_path / "model.safetensors")
    assert "lm_head.weight" not in saved
    assert {value.dtype for value in saved.values()} == {torch.float16}
    loaded = AutoModelForImageTextToText.from_pretrained(tmp_path, dtype=torch.float32)
    for name, value in model.state_dict().items():
        torch.testing.assert_close(loaded.state_dict()[name], value.half().float(), msg=name)
