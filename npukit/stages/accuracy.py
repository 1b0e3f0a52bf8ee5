"""accuracy: how far the candidate is from the reference, set against the noise of its dtype."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from npukit.checks.comparing import accuracy_checks, pooled
from npukit.checks.parting import curve, parting_check
from npukit.checks.suites import compared, suite_check
from npukit.context import Context
from npukit.devices.name import DeviceName
from npukit.errors import NpukitError
from npukit.fingerprint import digest, file_sha256, named
from npukit.parting import find_parting
from npukit.proof.headers import HeaderError, read_header, read_metadata
from npukit.recipe import Prompt, Recipe
from npukit.results import Check, StageResult
from npukit.sides import Side, parse_side
from npukit.stages.base import Progress, Stage
from npukit.suite import Question, read_suite
from npukit.suite import to_json as suite_to_json
from npukit.worker.client import Worker
from npukit.worker.pool import Workers

CPU = DeviceName("cpu")
SOFTWARE = ("torch", "transformers", "tokenizers")
KEY = 16  # hex digits of a capture's digest in its file's name


@dataclass(frozen=True)
class Recorded:
    """A capture to be made once: by what, and what for. ``of`` says whose error it is the floor of."""

    side: Side
    load: dict[str, Any] = field(default_factory=dict)
    of: str = ""
    how: str = ""


class Accuracy(Stage):
    name = "accuracy"
    version = 3
    needs = ("fetch", "patch")

    def inputs(self, context: Context) -> Mapping[str, Any]:
        return {
            **context.load_inputs(dtype=self.candidate(context).dtype),
            "prompt": context.prompt_inputs(),
            "generation": self._generation(context),
            "reference": self._reference_digest(context),
            "floor": [digest(self._capture_inputs(context, one)) for one in self._floors(context)],
            "bisect": context.options.bisect,
            "suite": self._suite_digest(context),
        }

    def _suite_digest(self, context: Context) -> str | None:
        path = context.options.suite
        return (
            digest([dataclasses.asdict(read_suite(Path(path))), self._suite_pictures(context)])
            if path
            else None
        )

    def _suite_pictures(self, context: Context) -> list[str]:
        questions = read_suite(Path(context.options.suite)).questions
        return [file_sha256(path) for question in questions for path in self._beside(context, question)]

    def _beside(self, context: Context, question: Question) -> list[Path]:
        return [(Path(context.options.suite).parent / name).resolve() for name in question.images]

    def wider(self, context: Context) -> tuple[Context, ...]:
        more = dataclasses.replace(context.options, bisect=True)
        return () if context.options.bisect else (dataclasses.replace(context, options=more),)

    # --- the sides

    def candidate(self, context: Context) -> Side:
        """What is judged: in another dtype than the reference's where both would be the same run."""
        if context.options.dtype:
            return Side(context.device, context.options.dtype)
        itself = context.device == CPU and context.dtype == "float32"
        return Side(context.device, context.recipe.accuracy.dtype if itself else context.dtype)

    def reference(self, context: Context) -> Recorded:
        side = parse_side(context.options.reference or "cpu:float32")
        return Recorded(side, {"dtype": side.dtype, "precision": "strict"})

    def _reference_dtype(self, context: Context) -> str:
        if context.options.against:
            return str(_about(Path(context.options.against))["dtype"])
        return self.reference(context).side.dtype

    def _floors(self, context: Context) -> list[Recorded]:
        """What can serve as noise floor, best first; always on the CPU.

        For a dtype other than the reference's, the same dtype; a candidate that is on the CPU itself is set
        against the other attention, since the same way of computing would be compared with itself. For the
        reference's own dtype, how far that is from float64, or from another order of sums.
        """
        candidate = self.candidate(context)
        other_order = {"precision": "strict", "attention": "eager"}
        if candidate.dtype == self._reference_dtype(context):
            double = Side(CPU, "float64")
            same = Side(CPU, candidate.dtype)
            return [
                Recorded(double, {"precision": "strict", "dtype": "float64"}, "reference", "float64"),
                Recorded(same, {**other_order, "dtype": same.dtype}, "reference", "eager attention"),
            ]
        side = Side(CPU, candidate.dtype)
        plain = Recorded(
            side, {"precision": "strict", "dtype": side.dtype}, "candidate", f"{side.dtype} on the CPU"
        )
        if candidate.device != CPU or context.recipe.load.attention == "eager":
            return [plain]
        how = f"{side.dtype} on the CPU with eager attention, the candidate being on the CPU itself"
        return [Recorded(side, {**other_order, "dtype": side.dtype}, "candidate", how), plain]

    # --- captures

    def _generation(self, context: Context) -> dict[str, Any]:
        generation = context.recipe.generation
        return {"options": generation.inputs, "max_new_tokens": generation.max_new_tokens}

    def _identity(self, context: Context) -> dict[str, Any]:
        """What two recordings must share to be comparable, by digests."""
        return {
            "weights": context.weights,
            "prompts": digest(context.prompt_inputs()),
            "generation": digest(self._generation(context)),
        }

    def _capture_inputs(self, context: Context, recorded: Recorded) -> dict[str, str]:
        software = {name: version for name, version in context.environment.items() if name in SOFTWARE}
        return named(
            {
                **context.load_inputs(**recorded.load, accelerate=[]),
                "device": str(recorded.side.device),
                "prompt": context.prompt_inputs(),
                "generation": self._generation(context),
                **software,
            }
        )

    def _reference_digest(self, context: Context) -> str:
        if context.options.against:
            path = Path(context.options.against)
            _about(path)  # whether it is a capture at all
            return file_sha256(path)
        return digest(self._capture_inputs(context, self.reference(context)))

    def capture_path(self, context: Context, recorded: Recorded) -> Path:
        key = digest(self._capture_inputs(context, recorded))
        return context.workspace.captures / f"{context.recipe.name}-{key[:KEY]}.safetensors"

    def reference_path(self, context: Context) -> Path:
        if context.options.against:
            return Path(context.options.against)
        return self.capture_path(context, self.reference(context))

    def record(self, context: Context, worker: Worker, recorded: Recorded, path: Path) -> Any:
        """Make one capture, at ``path``."""
        return worker.ask(
            "capture",
            load=context.load(**recorded.load, accelerate=[]),  # believed: the original's own operators
            prompts=context.prompts(),
            path=str(path),
            identity=self._identity(context),
            **self._generation(context),
        )

    def prepare(self, context: Context, workers: Workers) -> None:
        """Record the reference and the floor on the CPU, before the card is taken; once for their content."""
        reference, path = self.reference(context), self.reference_path(context)
        if not context.options.against and not _whole(path):
            if reference.side.device == context.device != CPU:
                self.record(context, workers.device(), reference, path)
            else:
                with workers.aside(reference.side.device) as worker:
                    self.record(context, worker, reference, path)
        for floor in self._floors(context):
            path = self.capture_path(context, floor)
            if _whole(path):
                return
            try:
                with workers.aside(CPU) as worker:
                    self.record(context, worker, floor, path)
                return
            except NpukitError as error:
                # a class may not compute in float64, or have one attention: the next floor serves
                if error.code != "worker.exception":
                    raise

    def measure(self, context: Context, workers: Workers, progress: Progress) -> dict[str, Any]:
        floor = next((one for one in self._floors(context) if _whole(self.capture_path(context, one))), None)
        path = self.capture_path(context, floor) if floor else Path()
        measured = workers.device().ask(
            "accuracy",
            load=context.load(dtype=self.candidate(context).dtype),
            prompts=context.prompts(),
            reference=str(self.reference_path(context)),
            floor={"path": str(path), "of": floor.of, "how": floor.how, "about": str(floor.side)}
            if floor
            else None,
            identity=self._identity(context),
            **self._generation(context),
        )
        if context.options.bisect:
            measured["parting"] = find_parting(
                context,
                workers,
                measured["prompts"],
                candidate={"dtype": self.candidate(context).dtype},
                reference=self.reference(context).load,
                floor=floor.load if floor and floor.of == "candidate" else None,
            )
        if context.options.suite:
            measured["suite"] = self._answer_suite(context, workers)
        return measured

    def _answer_suite(self, context: Context, workers: Workers) -> dict[str, Any]:
        """The question set on both sides, one after the other."""
        suite = read_suite(Path(context.options.suite))
        questions = []
        for one in suite.questions:
            pictures = tuple(map(str, self._beside(context, one)))
            prompt = Prompt(one.id, one.text, images=pictures, system=one.system)
            choices = list(one.choices) if one.score == "choice" else []
            questions.append({"messages": context.messages(prompt), "choices": choices})
        request = {
            "questions": questions,
            "options": context.recipe.generation.inputs,
            "max_new_tokens": suite.max_new_tokens,
        }
        ours = workers.device().ask(
            "suite", load=context.load(dtype=self.candidate(context).dtype), **request
        )
        reference = self.reference(context)
        with workers.aside(reference.side.device) as worker:
            theirs = worker.ask("suite", load=context.load(**reference.load, accelerate=[]), **request)
        return suite_to_json(suite, list(zip(ours, theirs, strict=True)))

    def judge(self, recipe: Recipe, result: StageResult) -> tuple[Check, ...]:
        measured = result.measured
        return (
            *accuracy_checks(recipe, measured),
            parting_check(measured),
            suite_check(measured.get("suite")),
        )

    def figures(self, result: StageResult) -> list[tuple[str, str]]:
        measured = result.measured
        candidate, reference, floor = (measured[name] for name in ("candidate", "reference", "floor"))
        rows = measured["prompts"]
        figures = [
            ("candidate", _side(candidate)),
            ("reference", _side(reference)),
            ("noise floor", floor["how"] if floor else "none could be measured"),
            *(
                (label, f"{effect:.3g} relative L2")
                for label, part in (
                    ("error", "total"),
                    ("dtype effect", "dtype"),
                    ("device effect", "device"),
                )
                if (effect := pooled(rows, part)) is not None
            ),
        ]
        figures += [(row["prompt"], _in_words(row)) for row in rows]
        if measured.get("suite"):
            found = compared(measured["suite"])
            name = f"{measured['suite']['name']} {measured['suite']['version']}"
            text = f"{found.candidate:.1%}, reference {found.reference:.1%}, {found.questions} questions"
            figures.append((f"suite {name}", text))
        return [*figures, *_curve(measured.get("parting"))]


def _side(side: Mapping[str, Any]) -> str:
    names = side.get("accelerations")  # a capture from elsewhere may not say
    replaced = f", accelerated by {', '.join(names)}" if names else ""
    return f"{side['device']} {side['dtype']}, {side['attention']} attention{replaced}"


def _in_words(row: Mapping[str, Any]) -> str:
    total = {name: float(value) for name, value in row["total"].items()}
    parted = row["generation"]["first_difference"]
    text = "same greedy text" if parted is None else f"text parts at token {parted}"
    return (
        f"cosine {total['cosine']:.6f}, last {total['last_cosine']:.6f}, max abs {total['max_abs']:.3g}, "
        f"mean abs {total['mean_abs']:.3g}, relative L2 {total['relative_l2']:.4%}, "
        f"relative mean {total['relative_mean']:.4%}, KL {total['kl']:.3g}, "
        f"top-1 {total['top1_agreement']:.1%}, "
        f"top-5 {total['top5_agreement']:.1%}, passes at {total['tolerance']:.2g}, {text}"
    )


BARS = "▁▂▃▄▅▆▇█"


def _curve(parting: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    """The error per layer, as bars from 1e-8 to 1, and in numbers."""
    layers = curve(parting["rows"]) if parting else []
    if not layers:
        return []
    errors = [float(row["out"]) for row in layers]
    heights = [math.log10(min(max(error, 1e-8), 1.0)) / 8 + 1 if error == error else 1.0 for error in errors]
    bars = "".join(BARS[min(int(height * len(BARS)), len(BARS) - 1)] for height in heights)
    numbers = ", ".join(f"{row['module']} {float(row['out']):.2g}" for row in layers)
    return [("error per layer", f"{bars}  {numbers}")]


def capture_keys(inputs: Mapping[str, str]) -> set[str]:
    """The captures that a result with these ``inputs`` may have read, as their files' names end."""
    digests = [inputs.get("reference", ""), *json.loads(inputs.get("floor", "[]"))]
    return {one[:KEY] for one in digests}


def _whole(path: Path) -> bool:
    try:
        return bool(read_header(path))
    except (OSError, HeaderError):
        return False


def _about(path: Path) -> dict[str, Any]:
    """What a capture says of itself. Raises NpukitError ``capture.unreadable``."""
    try:
        about: dict[str, Any] = json.loads(read_metadata(path)["capture"])
    except (OSError, HeaderError, KeyError, ValueError) as error:
        raise NpukitError("capture.unreadable", path=str(path), reason=str(error)) from error
    return about
