"""``npukit chat``: one question, or a conversation."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from npukit import attachments
from npukit.answer import Piece
from npukit.answering import Answering
from npukit.cli.answer_view import AnswerView, print_footer
from npukit.cli.opening import open_pipeline
from npukit.cli.options import (
    AccelerateOption,
    DeviceOption,
    DtypeOption,
    EmulatedOption,
    JsonOption,
    LangOption,
    ModelArgument,
    ModelOption,
    WaitOption,
)
from npukit.cli.output import Output
from npukit.conversation import Conversation
from npukit.decoding import Decoding
from npukit.errors import NpukitError
from npukit.workspace import Workspace

DEFAULT = Decoding()


def chat(
    model: ModelArgument = None,
    model_option: ModelOption = None,
    image: Annotated[
        list[str] | None,
        typer.Option("--image", help="A picture's file or address, or a directory of them; may be repeated."),
    ] = None,
    video: Annotated[list[str] | None, typer.Option("--video", help="A video file; may be repeated.")] = None,
    question: Annotated[str | None, typer.Option("--question", "-q", help="Ask this and end.")] = None,
    system: Annotated[str, typer.Option("--system", help="What the model is told first.")] = "",
    max_new_tokens: Annotated[
        int, typer.Option("--max-new-tokens", min=1, help="The longest answer, in tokens.")
    ] = DEFAULT.max_new_tokens,
    greedy: Annotated[
        bool, typer.Option("--greedy", help="The likeliest token always, whatever the model's own settings.")
    ] = False,
    temperature: Annotated[float | None, typer.Option("--temperature", help="0 is greedy.")] = None,
    top_p: Annotated[float | None, typer.Option("--top-p", help="Sample among the likeliest.")] = None,
    top_k: Annotated[int | None, typer.Option("--top-k", help="Sample among so many.")] = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Makes sampling repeat.")] = None,
    stop: Annotated[
        list[str] | None, typer.Option("--stop", help="Text that ends an answer; may be repeated.")
    ] = None,
    show_thinking: Annotated[
        bool, typer.Option("--show-thinking", help="Show the reasoning of models that reason.")
    ] = False,
    downsample: Annotated[
        str, typer.Option("--downsample", help="4x sees finely, 16x fast (MiniCPM-V).", metavar="4x|16x")
    ] = "",
    max_slices: Annotated[
        int | None, typer.Option("--max-slices", min=1, help="Into how many parts a picture may be cut.")
    ] = None,
    max_frames: Annotated[
        int | None, typer.Option("--max-frames", min=1, help="The most frames of a video.")
    ] = None,
    fps: Annotated[
        float | None, typer.Option("--fps", min=0.01, help="Frames for every second of a video.")
    ] = None,
    stack_frames: Annotated[
        int | None, typer.Option("--stack-frames", min=1, help="Moments that share a frame of a video.")
    ] = None,
    device: DeviceOption = "auto",
    emulated: EmulatedOption = False,
    dtype: DtypeOption = None,
    accelerate: AccelerateOption = True,
    wait: WaitOption = 0.0,
    json: JsonOption = False,
    lang: LangOption = None,
) -> None:
    """Talk to a model: one answer with --question or from a pipe, else a conversation."""
    out = Output(json, lang)
    decoding = Decoding(
        max_new_tokens=max_new_tokens,
        greedy=greedy,
        temperature=temperature,
        top_p=top_p,
        top_k=top_k,
        seed=seed,
        stop=tuple(stop or ()),
    )
    sampling: dict[str, Any] = {"max_frames": max_frames, "fps": fps, "stack_frames": stack_frames}
    conversation = Conversation(system=system)
    downloads = Workspace.open().root / "downloads"
    for picture in image or ():
        conversation.attach(attachments.pictures(picture, downloads))
    for path in video or ():
        conversation.attach([attachments.video(path, **sampling)])
    asked = _asked(question)
    if asked == "" or (json and asked is None):
        raise NpukitError("chat.no-question")
    with open_pipeline(
        out,
        model,
        model_option,
        device=device,
        emulated=emulated,
        dtype=dtype or "",
        accelerate=accelerate,
        wait_s=wait,
    ) as pipeline:
        answering = Answering(pipeline, downsample=downsample, max_slices=max_slices)
        if asked is not None:
            _answer(answering, conversation, asked, decoding, out, show_thinking)
            return
        from npukit.cli.repl import Repl

        repl = Repl(answering, conversation, decoding, out, show_thinking=show_thinking, sampling=sampling)
        repl.run()


def _asked(question: str | None) -> str | None:
    """The one question, or None for a conversation."""
    if question is not None:
        return question.strip()
    return None if sys.stdin.isatty() else sys.stdin.buffer.read().decode("utf-8", "replace").strip()


def _answer(
    answering: Answering,
    conversation: Conversation,
    question: str,
    decoding: Decoding,
    out: Output,
    show_thinking: bool,
) -> None:
    messages, context = conversation.asking(question), answering.context
    if out.json:
        answer = answering.answer(messages, decoding)
    else:
        with AnswerView(out, show_thinking) as view:
            for piece in answering.ask(messages, decoding):
                if isinstance(piece, Piece):
                    view.show(piece)
                else:
                    answer = piece
        print_footer(out, answer)
        return
    document = {
        "model": context.recipe.name,
        "device": str(context.device),
        "emulated": context.options.emulated,
        "dtype": context.dtype,
        "question": question,
        "answer": answer.text,
        "reasoning": answer.reasoning,
        "measured": answer.to_json(),
    }
    out.emit(document, lambda console: None)
