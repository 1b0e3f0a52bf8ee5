"""npukit from Python: a loaded model that answers, in this process.

import npukit

with npukit.load("tiny-minicpm-v") as model:
    print(model.generate("How many animals?", images=["two-cats.png"]).text)
    for piece in model.generate("Tell me a story.", stream=True):
        print(piece, end="")
"""

from __future__ import annotations

import contextlib
import queue
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from npukit import attachments
from npukit.answer import Answer
from npukit.answering import given
from npukit.content import messages_from
from npukit.context import Context, Options
from npukit.decoding import Decoding
from npukit.devices.choice import choose_device
from npukit.errors import NpukitError
from npukit.pipeline import Pipeline
from npukit.target import meant, recipe_of
from npukit.tasks import Message
from npukit.thinking import Thinking
from npukit.workspace import Workspace

if TYPE_CHECKING:
    import torch
    from PIL import Image

    Picture = str | Path | bytes | Image.Image


def load(
    model: str | None = None,
    *,
    device: str = "auto",
    dtype: str = "",
    trust_remote_code: bool = False,
    downsample: str = "",
    max_slices: int | None = None,
    accelerate: bool = True,
    wait_s: float = 0.0,
    progress: Callable[[str], None] = lambda text: None,
) -> Model:
    """Load a model that is fetched, built in, or a directory, and hold its device until it is closed.

    ``model`` is named as on the command line (None: the one fetched last), ``dtype`` is the recipe's unless
    given, ``downsample`` (``4x``, ``16x``) and ``max_slices`` say how finely pictures are seen,
    ``accelerate`` replaces operators where that proves equal, ``wait_s`` is how long to wait for a card that
    another run holds. Raises NpukitError.
    """
    workspace = Workspace.open()
    name, _ = meant(model, None, workspace)
    chosen, _ = choose_device(device)
    options = Options(device=chosen, dtype=dtype, trust_remote_code=trust_remote_code, accelerate=accelerate)
    with Pipeline(Context(recipe_of(name), workspace, options), progress, wait_s=wait_s) as pipeline:
        context = pipeline.ready()
    if context.sandbox:
        _enter(context.sandbox)
    from npukit.devices.base import open_device
    from npukit.devices.lock import device_lock
    from npukit.worker.context import WorkerContext

    with contextlib.ExitStack() as stack:
        stack.enter_context(device_lock(chosen, workspace.locks, wait_s, progress))
        worker = WorkerContext(open_device(chosen))
        worker.progress = progress
        stack.callback(worker.drop)
        worker.session(context.load())
        return Model(
            context, worker, given(context.recipe.generation.inputs, downsample, max_slices), stack.pop_all()
        )


def _enter(sandbox: Path) -> None:
    """Let this process import the packages that the model needs. Raises NpukitError ``load.too-late``."""
    seen = sys.modules.get("transformers")
    if seen is not None and not str(seen.__file__).startswith(str(sandbox)):
        raise NpukitError("load.too-late", sandbox=str(sandbox))
    if str(sandbox) not in sys.path:
        sys.path.insert(0, str(sandbox))


class AnswerStream(Iterator[str]):
    """The answer's text as it comes, reasoning left out; ``answer`` is there when it has ended."""

    def __init__(self, pieces: Iterator[str | Answer]) -> None:
        self._pieces = pieces
        self.answer: Answer | None = None

    def __next__(self) -> str:
        for piece in self._pieces:
            if isinstance(piece, str):
                return piece
            self.answer = piece
        raise StopIteration

    def close(self) -> None:
        """Stop the answer after its next token."""
        self._pieces.close()  # type: ignore[attr-defined]


class Model:
    """One loaded model. A context manager; closing it frees the memory and the card."""

    def __init__(
        self,
        context: Context,
        worker: Any,
        inputs: tuple[dict[str, Any], dict[str, Any]],
        resources: contextlib.ExitStack,
    ) -> None:
        self._context, self._worker, self._resources = context, worker, resources
        self._options, self._prepare = inputs
        self._answering = threading.Lock()
        self._closed = False

    @property
    def name(self) -> str:
        return self._context.recipe.name

    @property
    def device(self) -> str:
        return str(self._context.device)

    @property
    def dtype(self) -> str:
        return self._context.dtype

    @overload
    def generate(
        self,
        text: str,
        *,
        images: Sequence[Picture] = (),
        video: str | Path | None = None,
        system: str = "",
        stream: Literal[False] = False,
        **decoding: Any,
    ) -> Answer: ...

    @overload
    def generate(
        self,
        text: str,
        *,
        images: Sequence[Picture] = (),
        video: str | Path | None = None,
        system: str = "",
        stream: Literal[True],
        **decoding: Any,
    ) -> AnswerStream: ...

    def generate(
        self,
        text: str,
        *,
        images: Sequence[Picture] = (),
        video: str | Path | None = None,
        system: str = "",
        stream: bool = False,
        **decoding: Any,
    ) -> Answer | AnswerStream:
        """The answer to one question about pictures (paths, addresses, bytes, PIL images) and a video.

        ``decoding`` are fields of :class:`npukit.decoding.Decoding`: greedy, temperature, top_p, top_k, seed,
        max_new_tokens, stop... Raises NpukitError.
        """
        content = [*({"type": "image", "image": image} for image in images)]
        content += [{"type": "video", "video": video}] if video is not None else []
        said: list[dict[str, Any]] = [{"role": "system", "content": system}] if system else []
        said.append({"role": "user", "content": [*content, {"type": "text", "text": text}]})
        if stream:
            return self.chat(said, stream=True, **decoding)
        return self.chat(said, **decoding)

    @overload
    def chat(
        self, messages: Sequence[dict[str, Any]], *, stream: Literal[False] = False, **decoding: Any
    ) -> Answer: ...

    @overload
    def chat(
        self, messages: Sequence[dict[str, Any]], *, stream: Literal[True], **decoding: Any
    ) -> AnswerStream: ...

    def chat(
        self, messages: Sequence[dict[str, Any]], *, stream: bool = False, **decoding: Any
    ) -> Answer | AnswerStream:
        """The answer to a conversation: ``{"role": ..., "content": text or parts}``, parts in OpenAI's
        shape, or ``{"type": "image", "image": ...}`` and ``{"type": "video", "video": PATH}``."""
        asked, chosen = self._messages(messages), self._decoding(decoding)
        if stream:
            return AnswerStream(self._pieces(asked, chosen))
        with self._turn():
            return self._answer(asked, chosen, lambda text: None, threading.Event())

    def logits(self, text: str, *, images: Sequence[Picture] = (), system: str = "") -> torch.Tensor:
        """The logits of every position of one question: (positions, vocabulary), float32 on the CPU."""
        content = [*({"type": "image", "image": image} for image in images), {"type": "text", "text": text}]
        said: list[dict[str, Any]] = [{"role": "system", "content": system}] if system else []
        messages = self._messages([*said, {"role": "user", "content": content}])
        with self._turn():
            session = self._worker.session(self._context.load())
            inputs = session.encode(messages, {**self._options, **self._prepare})
            logits: torch.Tensor = session.logits(inputs, self._options)
        return logits

    def close(self) -> None:
        """Free the memory and the card, once an answer under way is done. Closing twice is fine."""
        with self._answering:
            self._closed = True
            self._resources.close()

    def __enter__(self) -> Model:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # --- inside

    @contextlib.contextmanager
    def _turn(self) -> Iterator[None]:
        """One use at a time, and none after the end. Raises NpukitError ``load.closed``."""
        with self._answering:
            if self._closed:
                raise NpukitError("load.closed", model=self.name)
            yield

    def _messages(self, messages: Sequence[dict[str, Any]]) -> list[Message]:
        media = {"image": self._picture, "image_url": self._picture, "video": _video}
        return messages_from(messages, media)

    def _picture(self, source: Picture) -> dict[str, Any]:
        from npukit.tasks.pictures import open_picture

        if isinstance(source, str) and source.startswith("data:"):
            source = attachments.data_uri(source)
        elif isinstance(source, str) and attachments.is_url(source):
            source = attachments.download(source)
        return {"type": "image", "image": open_picture(source)}

    def _decoding(self, fields: dict[str, Any]) -> Decoding:
        unknown = set(fields) - set(Decoding().to_json())
        if unknown:
            known = ", ".join(Decoding().to_json())
            raise NpukitError("generate.unknown-setting", name=", ".join(sorted(unknown)), known=known)
        stop = fields.get("stop", ())
        fields = {**fields, "stop": (stop,) if isinstance(stop, str) else tuple(stop)}
        return Decoding(**fields)

    def _answer(
        self,
        messages: list[Message],
        decoding: Decoding,
        on_text: Callable[[str], None],
        cancelled: threading.Event,
    ) -> Answer:
        from npukit.measures.generate import measure

        self._worker.token, self._worker.cancelled = on_text, cancelled
        request = {
            "load": self._context.load(),
            "messages": messages,
            "decoding": decoding.to_json(),
            "options": self._options,
            "prepare": self._prepare,
        }
        return Answer.from_measured(measure(self._worker, request))

    def _pieces(self, messages: list[Message], decoding: Decoding) -> Iterator[str | Answer]:
        """The answer from a thread of its own, so that its text can be had while it grows."""
        arriving: queue.Queue[str | Answer | BaseException] = queue.Queue()
        cancelled = threading.Event()

        def work() -> None:
            try:
                with self._turn():
                    arriving.put(self._answer(messages, decoding, arriving.put, cancelled))
            except BaseException as error:  # noqa: BLE001 (raised again where it is waited for)
                arriving.put(error)

        thread = threading.Thread(target=work, name="npukit answer", daemon=True)
        thread.start()
        thinking = Thinking()
        try:
            while True:
                arrived = arriving.get()
                if isinstance(arrived, BaseException):
                    raise arrived
                if isinstance(arrived, Answer):
                    yield thinking.finish()[1]
                    yield arrived
                    return
                text = thinking.push(arrived)[1]
                if text:
                    yield text
        finally:
            cancelled.set()
            thread.join()


def _video(source: str | Path) -> dict[str, Any]:
    return attachments.video(str(source))
