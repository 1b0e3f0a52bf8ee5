"""One generation at a time, and a bounded number of clients that wait for theirs."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

from npukit.errors import NpukitError


class Gate:
    """``waiting`` clients may wait beside the one that is served; one more is refused at once."""

    def __init__(self, waiting: int) -> None:
        self._most = waiting + 1
        self._inside = 0
        self._turn = asyncio.Lock()

    @contextlib.asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for a turn in the order of coming. Raises NpukitError ``serve.busy``."""
        if self._inside >= self._most:
            raise NpukitError("serve.busy", waiting=self._inside - 1)
        self._inside += 1
        try:
            async with self._turn:
                yield
        finally:
            self._inside -= 1
