"""OpenAI's own client against ``npukit serve`` on the embedded model."""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import openai
import pytest

from npukit.api import load
from npukit.builtin import picture
from tests.fixtures.pictures import png_claiming
from tests.integration.conftest import MODEL, Npukit, environment

ROOT = Path(__file__).parents[2]
KEY = "a-key"
QUESTION = "What is in this image? How many animals?"
LONG: dict[str, Any] = {"max_tokens": 3000, "extra_body": {"min_tokens": 3000}}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """One server for all tests here; its process ends as a user ends it, in the middle of an answer."""
    home = tmp_path_factory.mktemp("serve")
    with (home / "log").open("w") as log:
        options = ["--port", "0", "--queue", "2", "--max-new-tokens", "3000", "--max-body", "400000"]
        process = subprocess.Popen(
            [sys.executable, "-m", "npukit", "serve", MODEL, "--device", "cpu", "--json", *options],
            env={**environment(home / "home"), "NPUKIT_API_KEY": KEY},
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            cwd=ROOT,
        )
        try:
            assert process.stdout is not None
            lines = []
            for line in process.stdout:
                lines.append(line)
                if line == "}\n":
                    break
            assert lines, (home / "log").read_text()
            address = json.loads("".join(lines))
            yield {**address, "pid": process.pid}
            with openai.OpenAI(base_url=address["url"], api_key=KEY, max_retries=0) as client:
                stream = client.chat.completions.create(
                    model=MODEL, messages=text("Say hello."), stream=True, **LONG
                )
                next(iter(stream))
                process.send_signal(signal.SIGINT)
                assert [chunk.choices[0].finish_reason for chunk in stream][-1] == "stop"
            process.communicate(timeout=60)
        finally:
            process.kill()
            process.communicate()
    assert process.returncode == 0, (home / "log").read_text()
    assert "Traceback" not in (home / "log").read_text()


@pytest.fixture
def client(server: dict[str, Any]) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=server["url"], api_key=KEY, max_retries=0, timeout=120) as client:
        yield client


def data_uri(data: bytes) -> str:
    return "data:image/png;base64," + base64.b64encode(data).decode()


def about(url: str, question: str = QUESTION) -> list[Any]:
    parts = [{"type": "image_url", "image_url": {"url": url}}, {"type": "text", "text": question}]
    return [{"role": "user", "content": parts}]


def text(question: str) -> list[Any]:
    return [{"role": "user", "content": question}]


def children(pid: int) -> list[int]:
    listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True)
    return [int(line) for line in listed.stdout.split()]


def test_models(client: openai.OpenAI) -> None:
    assert [model.id for model in client.models.list()] == [MODEL]


def test_the_same_greedy_answer_everywhere(
    client: openai.OpenAI, npukit: Npukit, home_after_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From verify, the command line, Python and HTTP: the same tokens, and the text and counts they make."""
    monkeypatch.setenv("NPUKIT_HOME", str(home_after_run))
    path = picture("two-cats.png")
    stored = next((home_after_run / "results" / MODEL / "cpu" / "verify").glob("*.json"))
    answers = json.loads(stored.read_text("utf-8"))["measured"]["answers"]
    verified = next(row for row in answers if row["prompt"] == "two-cats")

    chatted = npukit("chat", MODEL, "--image", path, "-q", QUESTION, "--greedy", "--json").document
    assert chatted["measured"]["token_ids"] == verified["token_ids"]

    with load(MODEL, device="cpu") as model:
        called = model.generate(QUESTION, images=[path], greedy=True)
    assert list(called.token_ids) == verified["token_ids"]

    said = client.chat.completions.create(
        model=MODEL, messages=about(data_uri(path.read_bytes())), temperature=0
    )
    choice = said.choices[0]
    assert choice.finish_reason == called.finish == "stop"
    assert choice.message.content == chatted["answer"] == called.text == verified["text"] == "two cats"
    assert said.usage is not None
    assert said.usage.completion_tokens == called.new_tokens == len(verified["token_ids"])
    assert said.usage.total_tokens == said.usage.prompt_tokens + said.usage.completion_tokens


def test_a_stream_with_counts(client: openai.OpenAI) -> None:
    stream = client.chat.completions.create(
        model=MODEL,
        messages=about(data_uri(picture("three-dogs.png").read_bytes())),
        stream=True,
        stream_options={"include_usage": True},
    )
    chunks = list(stream)
    pieces = [chunk.choices[0].delta.content for chunk in chunks if chunk.choices]
    assert "".join(filter(None, pieces)) == "three dogs"
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "stop"
    assert chunks[-1].usage is not None and chunks[-1].usage.completion_tokens > 0


def test_a_conversation_lengths_and_stop_texts(client: openai.OpenAI) -> None:
    uris = [data_uri(picture(name).read_bytes()) for name in ("two-cats.png", "three-dogs.png")]
    parts: list[Any] = [{"type": "image_url", "image_url": {"url": uri}} for uri in uris]
    parts.append({"type": "text", "text": "What is in each image?"})
    messages: list[Any] = [{"role": "user", "content": parts}]
    whole = client.chat.completions.create(model=MODEL, messages=messages).choices[0]
    assert whole.message.content == "two cats, three dogs"
    told = {"role": "assistant", "content": whole.message.content}
    again = client.chat.completions.create(model=MODEL, messages=[*messages, told, *text("Say hello.")])
    assert again.choices[0].message.content == "hello"
    short = client.chat.completions.create(model=MODEL, messages=messages, max_tokens=1).choices[0]
    assert short.finish_reason == "length"
    cut = client.chat.completions.create(model=MODEL, messages=messages, stop=["dog"]).choices[0]
    assert cut.message.content == "two cats, three"


def test_halves_of_characters_are_replaced(client: openai.OpenAI) -> None:
    body = {"model": MODEL, "messages": [{"role": "user", "content": "Say \ud83d hello."}]}
    said = client.post("/chat/completions", content=json.dumps(body), cast_to=object)  # type: ignore[call-overload]
    assert said["choices"][0]["message"]["content"]


@pytest.mark.parametrize(
    ("change", "status", "code"),
    [
        ({"model": "gpt-4"}, 404, "model_not_found"),
        ({"messages": []}, 400, "chat.bad-message"),
        ({"n": 2}, 400, "serve.bad-request"),
        ({"temperature": -1}, 400, "generate.bad-setting"),
        ({"max_tokens": 100_000}, 400, "serve.bad-request"),
        ({"stop": [""]}, 400, "serve.bad-request"),
        ({"messages": text("How many animals? " * 2000)}, 400, "context_length_exceeded"),
        ({"messages": about("http://127.0.0.1:9/a.png")}, 400, "picture.host-not-allowed"),
        ({"messages": about("file:///etc/passwd")}, 400, "picture.host-not-allowed"),
        ({"messages": about("/etc/hostname")}, 400, "picture.host-not-allowed"),
        ({"messages": about("data:image/png;base64,!!")}, 400, "picture.damaged"),
        ({"messages": about(data_uri(b"no picture"))}, 400, "picture.unknown-format"),
        ({"messages": about(data_uri(png_claiming(60_000, 60_000)))}, 400, "picture.too-large"),
        ({"messages": about(data_uri(bytes(400_000)))}, 413, "serve.too-large"),
    ],
)
def test_refusals_have_openais_shape(
    client: openai.OpenAI, change: dict[str, Any], status: int, code: str
) -> None:
    with pytest.raises(openai.APIStatusError) as caught:
        client.chat.completions.create(**{"model": MODEL, "messages": text("Say hello."), **change})
    assert (caught.value.status_code, caught.value.code) == (status, code)
    assert caught.value.body is not None


def test_the_key_is_needed_but_for_health(server: dict[str, Any]) -> None:
    stranger = openai.OpenAI(base_url=server["url"], api_key="wrong", max_retries=0)
    for ask in (
        stranger.models.list,
        lambda: stranger.chat.completions.create(model=MODEL, messages=text("x")),
    ):
        with pytest.raises(openai.AuthenticationError):
            ask()
    stranger.close()
    with urllib.request.urlopen(server["url"].replace("/v1", "/health")) as answer:
        assert json.load(answer)["status"] == "ok"


@pytest.mark.parametrize(
    ("kind", "body", "status"),
    [
        ("text/plain", b"{}", 415),
        ("application/json", b"{", 400),
        ("application/json", b"[]", 400),
        ("application/json", b"[" * 200_000, 400),
        ("application/json", b'{"model": "\xff"}', 400),
    ],
)
def test_bodies_of_another_kind(server: dict[str, Any], kind: str, body: bytes, status: int) -> None:
    headers = {"content-type": kind, "authorization": f"Bearer {KEY}"}
    request = urllib.request.Request(f"{server['url']}/chat/completions", body, headers)
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(request)
    assert caught.value.code == status
    caught.value.close()


def test_a_client_that_leaves_stops_its_answer(client: openai.OpenAI) -> None:
    for _ in range(3):
        stream = client.chat.completions.create(model=MODEL, messages=text("Say hello."), stream=True, **LONG)
        next(iter(stream))
        stream.close()
    said = client.chat.completions.create(model=MODEL, messages=text("Say hello."))  # its turn comes at once
    assert said.choices[0].message.content == "hello"


def test_a_flood_is_refused_beyond_the_queue_and_served_within(client: openai.OpenAI) -> None:
    held = client.chat.completions.create(model=MODEL, messages=text("Say hello."), stream=True, **LONG)
    next(iter(held))
    answered = threading.Event()

    def ask(_: int) -> str:
        try:
            said = client.chat.completions.create(model=MODEL, messages=text("Say hello."))
            return str(said.choices[0].message.content)
        except openai.RateLimitError as error:
            answered.set()
            return str(error.code)

    with ThreadPoolExecutor(8) as pool:
        asking = pool.map(ask, range(8))
        assert answered.wait(60)
        held.close()
        said = sorted(asking)
    assert said.count("serve.busy") >= 1
    assert said.count("hello") >= 2  # those that waited
    assert set(said) == {"hello", "serve.busy"}


def test_a_killed_worker_is_an_error_and_the_next_question_works(
    client: openai.OpenAI, server: dict[str, Any]
) -> None:
    def kill_worker() -> None:
        listed = subprocess.run(
            ["ps", "-o", "pid=", "--ppid", str(server["pid"])], capture_output=True, text=True
        )
        os.kill(int(listed.stdout.split()[0]), signal.SIGKILL)

    stream = client.chat.completions.create(model=MODEL, messages=text("Say hello."), stream=True, **LONG)
    next(iter(stream))
    os.kill(children(server["pid"])[0], signal.SIGKILL)
    with pytest.raises(openai.APIError, match="killed"):
        list(stream)
    said = client.chat.completions.create(model=MODEL, messages=text("Say hello."))
    assert said.choices[0].message.content == "hello"


def test_nothing_is_left_behind(server: dict[str, Any]) -> None:
    open_files = Path(f"/proc/{server['pid']}/fd")
    kept = [os.readlink(each) for each in open_files.iterdir()]
    assert not [name for name in kept if "npukit-" in Path(name).name]
    children = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(server["pid"])], capture_output=True, text=True
    )
    assert len(children.stdout.split()) == 1  # the worker


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--host", "0.0.0.0"], "serve.open-to-all"),
        (["--host", "203.0.113.9"], "serve.open-to-all"),
        (["--engine", "other"], "serve.bad-request"),
        (["--engine", "vllm", "--python", "/no/such/python"], "serve.no-vllm"),
    ],
)
def test_what_cannot_start(npukit: Npukit, arguments: list[str], code: str) -> None:
    assert npukit("serve", MODEL, *arguments, "--json").document["error"]["code"] == code


def test_a_port_that_is_taken(npukit: Npukit, server: dict[str, Any]) -> None:
    port = server["url"].split(":")[2].partition("/")[0]
    assert npukit("serve", MODEL, "--port", port, "--json").document["error"]["code"] == "serve.no-port"


def test_without_the_extra_it_is_named(npukit: Npukit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert npukit("serve", MODEL, "--json").document["error"]["code"] == "serve.no-extra"
