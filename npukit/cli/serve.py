"""``npukit serve``: the model over HTTP, in OpenAI's shape."""

from __future__ import annotations

import contextlib
import importlib.util
import ipaddress
import os
import socket
import sys
from typing import Annotated, Any

import typer

from npukit.answering import Answering
from npukit.cli.opening import open_pipeline
from npukit.cli.options import (
    AccelerateOption,
    DeviceOption,
    DtypeOption,
    JsonOption,
    LangOption,
    ModelArgument,
    ModelOption,
    WaitOption,
)
from npukit.cli.output import Output
from npukit.errors import NpukitError
from npukit.serving.asked import Limits

DEFAULT = Limits()


def serve(
    model: ModelArgument = None,
    model_option: ModelOption = None,
    host: Annotated[str, typer.Option("--host", help="Where to listen; this machine alone.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="0 takes any free one.")] = 8000,
    waiting: Annotated[
        int, typer.Option("--queue", min=0, help="How many may wait for their answer; more get 429.")
    ] = 8,
    max_new_tokens: Annotated[
        int, typer.Option("--max-new-tokens", min=1, help="The longest answer anybody gets.")
    ] = DEFAULT.max_new_tokens,
    max_body: Annotated[
        int, typer.Option("--max-body", min=1, help="The largest request, in bytes.")
    ] = DEFAULT.max_body_bytes,
    allow_host: Annotated[
        list[str] | None,
        typer.Option("--allow-host", help="Fetch pictures from this host; may be repeated. None without it."),
    ] = None,
    downsample: Annotated[
        str, typer.Option("--downsample", help="4x sees finely, 16x fast (MiniCPM-V).", metavar="4x|16x")
    ] = "",
    max_slices: Annotated[
        int | None, typer.Option("--max-slices", min=1, help="Into how many parts a picture may be cut.")
    ] = None,
    engine: Annotated[
        str, typer.Option("--engine", help="npukit, or vllm where one card is not enough.")
    ] = "npukit",
    python: Annotated[
        str, typer.Option("--python", help="The Python that has vLLM; the default is this one.")
    ] = "",
    tensor_parallel: Annotated[
        int, typer.Option("--tensor-parallel", min=1, help="Over how many cards (vllm).")
    ] = 1,
    max_length: Annotated[
        int, typer.Option("--max-length", min=0, help="Longest prompt with its answer (vllm); 0: vLLM's own.")
    ] = 0,
    device: DeviceOption = "auto",
    dtype: DtypeOption = None,
    accelerate: AccelerateOption = True,
    wait: WaitOption = 0.0,
    json: JsonOption = False,
    lang: LangOption = None,
) -> None:
    """Serve a model over HTTP as OpenAI's chat completions. $NPUKIT_API_KEY is the key that clients need."""
    out, key = Output(json, lang), os.environ.get("NPUKIT_API_KEY", "")
    if engine not in ("npukit", "vllm"):
        raise NpukitError("serve.bad-request", name="--engine", reason="is npukit or vllm")
    if not key and not _loopback(host):
        raise NpukitError("serve.open-to-all", host=host)
    if engine == "vllm":
        from npukit.serving import vllm

        options = vllm.VllmOptions(python or sys.executable, host, port, tensor_parallel, max_length)
        with open_pipeline(out, model, model_option, device=device, dtype=dtype or "") as pipeline:
            context = pipeline.ready()
        vllm.check_installed(options.python, vllm.packages(context))
        words = vllm.command(context, options)
        out.progress(" ".join(words))
        os.execvpe(words[0], words, vllm.environment(os.environ, context, key))
    for package in ("starlette", "uvicorn"):
        if importlib.util.find_spec(package) is None:
            raise NpukitError("serve.no-extra", package=package)
    limits = Limits(max_body, max_new_tokens, frozenset(allow_host or ()))
    with (
        _listening(host, port) as listener,
        open_pipeline(
            out, model, model_option, device=device, dtype=dtype or "", accelerate=accelerate, wait_s=wait
        ) as pipeline,
    ):
        answering = Answering(pipeline, downsample=downsample, max_slices=max_slices)
        answering.warm()
        _run(answering, listener, out, key, limits, waiting)


def _run(
    answering: Answering, listener: socket.socket, out: Output, key: str, limits: Limits, waiting: int
) -> None:
    import uvicorn

    from npukit.serving.app import build

    app = build(answering, key=key, limits=limits, waiting=waiting)

    class Server(uvicorn.Server):
        def handle_exit(self, sig: int, frame: Any) -> None:
            super().handle_exit(sig, frame)
            app.state.end()  # or it would wait for an answer of any length

    config = uvicorn.Config(app, log_level="warning", access_log=False, timeout_graceful_shutdown=5)
    host, port = listener.getsockname()[:2]
    url = f"http://{f'[{host}]' if ':' in host else host}:{port}/v1"
    document = {"url": url, "model": answering.context.recipe.name, "device": str(answering.context.device)}
    out.emit(document, lambda console: console.print(f"{document['model']} on {document['device']}: {url}"))
    with contextlib.suppress(KeyboardInterrupt):  # the way a server ends
        Server(config).run(sockets=[listener])


def _listening(host: str, port: int) -> socket.socket:
    """A socket that listens, taken before the model is loaded."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=128)
    except OSError as error:
        reason = error.strerror or str(error)
        raise NpukitError("serve.no-port", host=host, port=port, reason=reason) from error


def _loopback(host: str) -> bool:
    if host == "localhost":
        return True
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return False
