"""``npukit chat``: one question, or a conversation."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from npukit.cli.opening import open_pipeline
from npukit.cli.options import DeviceOption, DtypeOption, JsonOption, LangOption, ModelOption, WaitOption
from npukit.cli.output import Output
from npukit.errors import NpukitError
from npukit.pipeline import Pipeline


def chat(
    model: Annotated[str | None, typer.Argument(help="A recipe, or as for the other commands.")] = None,
    model_option: ModelOption = None,
    image: Annotated[list[Path] | None, typer.Option("--image", help="A picture; may be repeated.")] = None,
    question: Annotated[str | None, typer.Option("--question", "-q", help="Ask this and end.")] = None,
    system: Annotated[str, typer.Option("--system", help="What the model is told first.")] = "",
    max_new_tokens: Annotated[
        int | None, typer.Option("--max-new-tokens", min=1, help="The longest answer, in tokens.")
    ] = None,
    device: DeviceOption = "auto",
    dtype: DtypeOption = None,
    wait: WaitOption = 0.0,
    json: JsonOption = False,
    lang: LangOption = None,
) -> None:
    """Talk to a model: one answer with --question or from a pipe, else a conversation."""
    out = Output(json, lang)
    pictures = [_picture(path) for path in image or ()]
    asked = question if question is not None else None if sys.stdin.isatty() else sys.stdin.read().strip()
    if json and not asked:
        raise NpukitError("chat.no-question")
    with open_pipeline(out, model, model_option, device=device, dtype=dtype or "", wait_s=wait) as pipeline:
        context = pipeline.ready()
        talk = Talk(pipeline, system, pictures, max_new_tokens or context.recipe.generation.max_new_tokens)
        if asked:
            answer = talk.ask(asked, None if json else _write)
            out.emit({"model": context.recipe.name, "device": str(context.device), **answer}, _newline)
        else:
            _converse(talk)


class Talk:
    """A conversation: what was said so far, and the worker that answers."""

    def __init__(
        self, pipeline: Pipeline, system: str, pictures: list[dict[str, Any]], max_new_tokens: int
    ) -> None:
        self._pipeline, self._max_new_tokens = pipeline, max_new_tokens
        self._pictures = pictures
        self.messages: list[dict[str, Any]] = []
        if system:
            self.messages.append({"role": "system", "content": [{"type": "text", "text": system}]})

    def ask(self, question: str, on_text: Any) -> dict[str, Any]:
        """The answer's record; ``on_text`` is given its pieces as they come."""
        content = [*self._pictures, {"type": "text", "text": question}]
        messages = [*self.messages, {"role": "user", "content": content}]
        context = self._pipeline.context
        answer: dict[str, Any] = {}
        for message in self._pipeline.workers.device().stream(
            "generate",
            load=context.load(),
            messages=messages,
            options=context.recipe.generation.inputs,
            max_new_tokens=self._max_new_tokens,
        ):
            if message["type"] == "token" and on_text:
                on_text(message["text"])
            elif message["type"] == "result":
                answer = message["value"]
        said = {"role": "assistant", "content": [{"type": "text", "text": answer["text"]}]}
        self.messages = [*messages, said]
        self._pictures = []
        return {"question": question, "answer": answer["text"].strip(), "measured": answer}


def _converse(talk: Talk) -> None:
    while True:
        try:
            question = input("\n> ").strip()
        except EOFError:
            return
        if question in ("/quit", "/exit"):
            return
        if question:
            talk.ask(question, _write)
            _write("\n")


def _picture(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise NpukitError("picture.missing", path=str(path))
    return {"type": "image", "path": str(path.resolve())}


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def _newline(console: Any) -> None:
    _write("\n")
