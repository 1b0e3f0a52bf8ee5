"""``npukit bench``: speed and memory, numbers that can be compared."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated, Any

import typer

from npukit.cli.bench_view import print_ratios, print_sweep
from npukit.cli.opening import open_pipeline
from npukit.cli.options import (
    AccelerateOption,
    EmulatedOption,
    ForceOption,
    JsonOption,
    LangOption,
    ModelArgument,
    ModelOption,
    RoundsOption,
    WaitOption,
    WarmupOption,
)
from npukit.cli.output import Output
from npukit.cli.stage_view import print_stage
from npukit.errors import ExitStatus, NpukitError
from npukit.pipeline import Pipeline
from npukit.resultfiles import read_results
from npukit.results import Judged, StageResult
from npukit.rounds import differing, ratio, round_ms
from npukit.stages.bench import Bench
from npukit.sweep import Row, cases, row
from npukit.workspace import Workspace

LIST = "several with commas between are measured in turn"


def bench(
    model: ModelArgument = None,
    model_option: ModelOption = None,
    device: Annotated[
        str, typer.Option("--device", help=f"auto, cpu, cuda[:N] or npu[:N]; {LIST}.")
    ] = "auto",
    emulated: EmulatedOption = False,
    dtype: Annotated[
        str | None, typer.Option("--dtype", help=f"float32, float16 or bfloat16; {LIST}.")
    ] = None,
    accelerate: AccelerateOption = True,
    rounds: RoundsOption = None,
    warmup: WarmupOption = None,
    new_tokens: Annotated[
        str | None, typer.Option("--new-tokens", help=f"Tokens of every round, eos ignored; {LIST}.")
    ] = None,
    batch: Annotated[
        str | None, typer.Option("--batch", help=f"The prompt so many times at once; {LIST}.")
    ] = None,
    prompt_tokens: Annotated[
        str | None, typer.Option("--prompt-tokens", help=f"Lengthen or cut the prompt to this; {LIST}.")
    ] = None,
    downsample: Annotated[
        str | None, typer.Option("--downsample", help=f"MiniCPM-V's 4x or 16x; {LIST}.")
    ] = None,
    with_accuracy: Annotated[
        bool,
        typer.Option("--with-accuracy", help="Measure each dtype's accuracy too, where it is not current."),
    ] = False,
    seconds: Annotated[
        float | None, typer.Option("--seconds", min=0.0, help="End after this time, but not before 3 rounds.")
    ] = None,
    tokens: Annotated[
        int,
        typer.Option("--tokens", min=0, help="Generate this many more without a pause, and watch memory."),
    ] = 0,
    compare: Annotated[
        tuple[str, str] | None,
        typer.Option("--compare", help="Measure nothing: is stored result B faster than A? Paths or keys."),
    ] = None,
    despite_conditions: Annotated[
        bool, typer.Option("--despite-conditions", help="Compare although the conditions differ.")
    ] = False,
    force: ForceOption = False,
    wait: WaitOption = 0.0,
    json: JsonOption = False,
    lang: LangOption = None,
) -> int:
    """Measure latency, throughput and memory under stated conditions."""
    out = Output(json, lang)
    if compare is not None:
        return _compare(out, *compare, despite_conditions)
    asked = cases(
        device=device,
        dtype=dtype,
        batch=batch,
        prompt_tokens=prompt_tokens,
        new_tokens=new_tokens,
        downsample=downsample,
    )
    done: list[tuple[Judged, Row]] = []
    for case in asked:
        # a fresh process for each: what another one left in memory is not its own
        with open_pipeline(
            out,
            model,
            model_option,
            device=case.device,
            emulated=emulated,
            wait_s=wait,
            dtype=case.dtype,
            accelerate=accelerate,
            rounds=rounds,
            warmup=warmup,
            new_tokens=case.new_tokens,
            batch=case.batch,
            prompt_tokens=case.prompt_tokens,
            seconds=seconds,
            sustained_tokens=tokens,
        ) as pipeline:
            _downsample(pipeline, case.downsample)
            judged = pipeline.run("bench", force=force)
            done.append((judged, row(judged.result, _relative_l2(pipeline, with_accuracy))))
    passed = all(judged.passed for judged, _ in done)
    if len(done) == 1 and not with_accuracy:
        judged = done[0][0]
        out.emit(judged.to_json(), lambda console: print_stage(console, judged))
    else:
        rows = [
            {
                "device": judged.result.device,
                "conditions": judged.result.measured["conditions"],
                **figures.to_json(),
                "bench": judged.to_json(),
            }
            for judged, figures in done
        ]
        out.emit({"passed": passed, "cases": rows}, lambda console: print_sweep(console, done))
    return int(ExitStatus.PASSED if passed else ExitStatus.FAILED)


def _downsample(pipeline: Pipeline, mode: str) -> None:
    """Have every stage of this pipeline prepare pictures in ``mode``."""
    recipe = pipeline.context.recipe
    if not mode:
        return
    if "downsample_mode" not in recipe.generation.inputs:
        raise NpukitError("bench.no-downsample", model=recipe.name)
    inputs = {**recipe.generation.inputs, "downsample_mode": mode}
    changed = dataclasses.replace(recipe, generation=dataclasses.replace(recipe.generation, inputs=inputs))
    pipeline.context = dataclasses.replace(pipeline.context, recipe=changed)


def _relative_l2(pipeline: Pipeline, measure: bool) -> float | None:
    """The logits' difference from the reference in this dtype, where that is current or asked for."""
    from npukit.checks.comparing import pooled
    from npukit.stages.accuracy import Accuracy

    # without a dtype accuracy would judge another one than was measured here
    options = dataclasses.replace(pipeline.context.options, dtype=pipeline.context.dtype)
    pipeline.context = dataclasses.replace(pipeline.context, options=options)
    judged = pipeline.run("accuracy") if measure else pipeline.current(Accuracy())[0]
    return pooled(judged.result.measured["prompts"], "total") if judged else None


def _stored(asked: str) -> StageResult:
    """The one bench result that a path, or the beginning of a key, names."""
    path = Path(asked).expanduser()
    if path.exists():
        stored = [judged.result for judged in read_results(path) if judged.result.stage == Bench.name]
    else:
        stored = [
            result
            for result, _ in Workspace.open().results(stage=Bench.name)
            if result.key.startswith(asked) and result.inputs["stage"] == Bench().identity
        ]
    if len(stored) != 1:
        raise NpukitError("bench.no-result", asked=asked, found=len(stored))
    return stored[0]


def _compare(out: Output, first: str, second: str, despite: bool) -> int:
    """Is the second faster than the first: paired rounds, an interval, a verdict."""
    left, right = _stored(first), _stored(second)
    for asked, result in ((first, left), (second, right)):
        if result.emulated:
            raise NpukitError("bench.emulated", asked=asked)
    found = differing(left.inputs, right.inputs)
    if found and not despite:
        listed = "\n".join(f"  - {line}" for line in found)
        raise NpukitError("bench.conditions-differ", differences=listed, first=first, second=second)
    before, after = round_ms(left.measured), round_ms(right.measured)
    ratios = {name: ratio(before[name], after[name]) for name in before}
    document: dict[str, Any] = {
        "first": {"key": left.key, "started": left.started, "conditions": left.measured["conditions"]},
        "second": {"key": right.key, "started": right.started, "conditions": right.measured["conditions"]},
        "differences": found,
        "ratios": {name: one.to_json() for name, one in ratios.items()},
    }
    out.emit(document, lambda console: print_ratios(console, ratios, found))
    return int(ExitStatus.PASSED)
