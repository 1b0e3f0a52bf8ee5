"""The front's half of a stage: what it needs, its inputs, how it is measured, how it is judged. No torch."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

from npukit.context import Context
from npukit.recipe import Recipe
from npukit.results import Check, StageResult
from npukit.worker.pool import Workers

Progress = Callable[[str], None]


class Stage(ABC):
    """One thing that is measured and can be judged. ``version`` is part of every key: raise it when the
    measurement changes its meaning."""

    name: str
    version: int
    needs: tuple[str, ...] = ()
    on_device = True  # False: the result holds for this machine, whatever the device

    @property
    def identity(self) -> str:
        """The stage and the form of its measurement, as every result's inputs name them."""
        return f"{self.name}/{self.version}"

    @abstractmethod
    def inputs(self, context: Context) -> Mapping[str, Any]:
        """Everything the measurement depends on, by name; no paths."""

    def prepare(self, context: Context, workers: Workers) -> None:
        """What can be done before the card is taken."""
        return

    @abstractmethod
    def measure(self, context: Context, workers: Workers, progress: Progress) -> dict[str, Any]:
        """What is stored, as it was measured; nothing judged."""

    @abstractmethod
    def judge(self, recipe: Recipe, result: StageResult) -> tuple[Check, ...]:
        """Checks under today's limits. Pure."""

    @abstractmethod
    def figures(self, result: StageResult) -> list[tuple[str, str]]:
        """The measurement in a few labelled words, for tables and reports. Pure."""

    def settle(self, context: Context, result: StageResult) -> Context:
        """The context for the stages that follow."""
        return context

    def wider(self, context: Context) -> tuple[Context, ...]:
        """Contexts whose measurement holds all that this one asks for, and so serves it too."""
        return ()

    def lapsed(self, context: Context, result: StageResult) -> str:
        """Why a stored result no longer holds although its inputs are the same; empty when it holds."""
        return ""

    def cost(self, context: Context) -> str:
        """What running it would cost a user who did not ask for it (a download); empty when nothing."""
        return ""
