"""The ASGI application: OpenAI's chat completions over one model. Needs npukit[serve]."""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
import tempfile
import threading
import time
from collections.abc import AsyncGenerator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from npukit.answer import Answer, Piece
from npukit.answering import Answering
from npukit.errors import NpukitError
from npukit.serving import replies
from npukit.serving.asked import Asked, Limits, read
from npukit.serving.gate import Gate
from npukit.serving.replies import Replies

EVENTS = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"cache-control", b"no-cache")]


def build(answering: Answering, *, key: str, limits: Limits, waiting: int) -> Starlette:
    """The application; with a ``key`` every request but /health must carry it. ``state.end`` is a function
    that cuts answers short and refuses others; a signal handler may call it."""
    model, started = answering.context.recipe.name, int(time.time())

    async def health(request: Request) -> Response:
        return JSONResponse({"status": "ok", "model": model})

    async def models(request: Request) -> Response:
        try:
            authorise(request, key)
        except NpukitError as error:
            return refused(error)
        return JSONResponse(replies.models(model, started))

    completions = Completions(answering, model, key, limits, Gate(waiting))
    app = Starlette(
        routes=[
            Route("/health", health),
            Route("/v1/models", models),
            Route("/v1/chat/completions", completions, methods=["POST"]),
        ]
    )
    app.state.end = completions.end
    return app


def authorise(request: Request, key: str) -> None:
    """Raises NpukitError ``serve.no-key``."""
    given = request.headers.get("authorization", "").removeprefix("Bearer ")
    if key and not secrets.compare_digest(given.encode(), key.encode()):
        raise NpukitError("serve.no-key")


def refused(error: NpukitError) -> JSONResponse:
    status, document = replies.failure(error)
    return JSONResponse(document, status)


class Completions:
    """POST /v1/chat/completions. A client that leaves, waiting or served, stops what it asked for."""

    def __init__(self, answering: Answering, model: str, key: str, limits: Limits, gate: Gate) -> None:
        self._answering, self._model, self._key = answering, model, key
        self._limits, self._gate = limits, gate
        self._thread = ThreadPoolExecutor(1, "npukit answer")
        self._cancelled = threading.Event()  # of the answer under way
        self._ending = False

    def end(self) -> None:
        """Cut the answer under way short and refuse others."""
        self._ending = True
        self._answering.cancel(self._cancelled)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        with tempfile.TemporaryDirectory(prefix="npukit-") as folder, contextlib.suppress(ClientDisconnect):
            try:
                authorise(request, self._key)
                body = await self._body(request)
                asked = await anyio.to_thread.run_sync(read, body, self._model, self._limits, Path(folder))
            except NpukitError as error:
                await refused(error)(scope, receive, send)
                return
            async with anyio.create_task_group() as group:

                async def leave_with_client() -> None:
                    while (await receive())["type"] != "http.disconnect":
                        pass
                    group.cancel_scope.cancel()

                group.start_soon(leave_with_client)
                await self._answer(asked, scope, receive, send)
                group.cancel_scope.cancel()

    async def _body(self, request: Request) -> Any:
        if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
            raise NpukitError("serve.not-json")
        data = b""
        async for part in request.stream():
            data += part
            if len(data) > self._limits.max_body_bytes:
                raise NpukitError("serve.too-large", limit=self._limits.max_body_bytes)
        try:
            return json.loads(data)
        except (ValueError, RecursionError) as error:
            raise NpukitError("serve.bad-request", name="the body", reason=f"is not JSON: {error}") from error

    async def _answer(self, asked: Asked, scope: Scope, receive: Receive, send: Send) -> None:
        reply = Replies(f"chatcmpl-{secrets.token_hex(12)}", self._model, int(time.time()))
        try:
            async with self._gate.turn():
                if self._ending:
                    raise NpukitError("serve.ending")
                if asked.stream:
                    await self._stream(asked, reply, send)
                else:
                    async with contextlib.aclosing(self._pieces(asked)) as pieces:
                        *_, answer = [piece async for piece in pieces]
                    assert isinstance(answer, Answer)
                    await JSONResponse(reply.whole(answer))(scope, receive, send)
        except NpukitError as error:
            await refused(error)(scope, receive, send)

    async def _stream(self, asked: Asked, reply: Replies, send: Send) -> None:
        """Headers go with the first piece, so that what fails before it still has its own status."""
        begun = False

        async def tell(data: bytes, more: bool = True) -> None:
            nonlocal begun
            if not begun:
                await send({"type": "http.response.start", "status": 200, "headers": EVENTS})
                begun = True
                data = replies.event(reply.start()) + data
            await send({"type": "http.response.body", "body": data, "more_body": more})

        async with contextlib.aclosing(self._pieces(asked)) as pieces:
            try:
                async for piece in pieces:
                    if isinstance(piece, Answer):
                        counts = replies.event(reply.counts(piece)) if asked.usage else b""
                        await tell(replies.event(reply.end(piece)) + counts + replies.LAST_EVENT, more=False)
                    elif piece.text or piece.reasoning:
                        await tell(replies.event(reply.piece(piece)))
            except NpukitError as error:
                if not begun:
                    raise
                await tell(replies.event(replies.failure(error)[1]), more=False)

    async def _pieces(self, asked: Asked) -> AsyncGenerator[Piece | Answer, None]:
        """The worker is asked in a thread; leaving early cancels the answer and waits for its end."""
        loop = asyncio.get_running_loop()
        arriving: asyncio.Queue[Piece | Answer | BaseException] = asyncio.Queue()
        cancelled = self._cancelled = threading.Event()

        def work() -> None:
            try:
                for piece in self._answering.ask(asked.messages, asked.decoding, cancelled):
                    loop.call_soon_threadsafe(arriving.put_nowait, piece)
            except BaseException as error:  # noqa: BLE001 (raised again where it is waited for)
                loop.call_soon_threadsafe(arriving.put_nowait, error)

        working = loop.run_in_executor(self._thread, work)
        try:
            while True:
                piece = await arriving.get()
                if isinstance(piece, BaseException):
                    raise piece
                yield piece
                if isinstance(piece, Answer):
                    return
        finally:
            with anyio.CancelScope(shield=True):
                if not working.done():
                    self._answering.cancel(cancelled)
                await working
