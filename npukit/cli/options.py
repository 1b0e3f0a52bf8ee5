"""Options that several commands share: the same flag, the same words, everywhere."""

from __future__ import annotations

from typing import Annotated

import typer

ModelArgument = Annotated[
    str | None,
    typer.Argument(
        help="A recipe's name, a .toml file, a model directory (./m), or hf:OWNER/NAME, ms:OWNER/NAME."
    ),
]
ModelOption = Annotated[str | None, typer.Option("--model", help="The same as the argument.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print exactly one JSON document on stdout.")]
LangOption = Annotated[
    str | None, typer.Option("--lang", help="en or zh; the default is the locale's.", metavar="LANG")
]
DeviceOption = Annotated[
    str, typer.Option("--device", help="auto, cpu, cuda[:N] or npu[:N]. Asking for one never gives another.")
]
EmulatedOption = Annotated[
    bool,
    typer.Option(
        "--emulated",
        help="The real torch_npu on an emulated NPU: host memory, no hardware. As $NPUKIT_EMULATE=1.",
    ),
]
DtypeOption = Annotated[
    str | None, typer.Option("--dtype", help="float32, float16 or bfloat16; the default is the recipe's.")
]
ForceOption = Annotated[
    bool, typer.Option("--force", help="Measure again even where a current result is there.")
]
WaitOption = Annotated[
    float, typer.Option("--wait", help="Seconds to wait for a device that another run holds.", min=0.0)
]
StrictOption = Annotated[bool, typer.Option("--strict", help="Measure more and judge harder.")]
AccelerateOption = Annotated[
    bool,
    typer.Option("--accelerate/--no-accelerate", help="Replace operators where that proves equal."),
]
RoundsOption = Annotated[
    int | None, typer.Option("--rounds", min=1, help="Measured rounds; the default is the recipe's.")
]
WarmupOption = Annotated[int | None, typer.Option("--warmup", min=0, help="Rounds that are not counted.")]
NewTokensOption = Annotated[
    int | None, typer.Option("--new-tokens", min=2, help="Tokens generated in every round, eos ignored.")
]
TrustOption = Annotated[
    bool,
    typer.Option("--trust-remote-code", help="Agree to run the model's own code, as its files are now."),
]
