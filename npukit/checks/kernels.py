"""verify: does every operator of an answer run on the NPU?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from npukit.checks import judged, named
from npukit.results import Check


def kernel_check(found: Mapping[str, Any] | None, allowed: int) -> Check:
    """``allowed`` is how many operators the recipe lets run on the CPU."""
    expected = f"at most {allowed} operators of an answer without a kernel on the NPU"
    if found is None:
        return judged("operators.kernels", None, expected, "the device is no NPU; ask npukit ops")
    if "unavailable" in found:
        return judged("operators.kernels", None, expected, found["unavailable"])
    fallbacks = [f"{name} ({calls}x)" for name, calls in found["fallbacks"].items()]
    return judged(
        "operators.kernels",
        len(fallbacks) <= allowed,
        expected,
        f"{len(fallbacks)} of {found['operators']} operators run on the CPU, by the kernels of torch_npu "
        f"{found['torch_npu']}{named(fallbacks)}",
        cause="torch_npu copies their tensors to the CPU and back at every call: right, but slow",
        remedy="npukit ops   # in which phase, and how often\n"
        f"max_fallbacks = {len(fallbacks)} under [verify] in the recipe, if that is accepted",
    )
