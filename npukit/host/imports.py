"""Whether torch, torch_npu and transformers import, and what stands in the way."""

from __future__ import annotations

import re
from collections.abc import Mapping

from npukit.host.cann import Cann
from npukit.host.known import death_of_child, known_cause
from npukit.host.torch_seen import AUTOLOAD, Import, TorchSeen
from npukit.host.verdict import Fix, Verdict, Voice


def judge_imports(
    seen: TorchSeen, cann: Cann, metadata: Mapping[str, str | None], voice: Voice
) -> list[Verdict]:
    verdicts = [_failed(found, seen, cann, voice) for found in seen.imports if not found.ok]
    if seen.died and (seen.at in metadata or not seen.at):
        verdicts.append(death_of_child("imports", seen, voice))
    for found in seen.imports:
        wanted = metadata.get(found.module) or ""
        if found.ok and wanted and found.version and found.version != wanted:
            fields = {"module": found.module, "version": found.version, "file": found.file, "wanted": wanted}
            verdicts.append(voice.warn("imports.other_version", **fields))
        if found.ok and not found.file:
            verdicts.append(voice.fail("imports.namespace", module=found.module))
    good = [found for found in seen.imports if found.ok]
    if good and not verdicts:
        told = ", ".join(f"{found.module} {found.seconds:.1f} s" for found in good)
        verdicts.append(voice.ok("imports.work", told))
    return verdicts


def _failed(found: Import, seen: TorchSeen, cann: Cann, voice: Voice) -> Verdict:
    plain_torch = any(other.module == "torch" and other.ok for other in seen.plain)
    inner = next((other for other in seen.plain if not other.ok), found)
    library = re.search(
        r"(lib[\w.+-]+\.so[\w.]*): cannot open shared object", f"{found.traceback}\n{inner.root}"
    )
    if (found.module == "torch_npu" or plain_torch) and library:
        return _library(library.group(1), found, cann, voice)
    cause, remedy = known_cause(f"{found.traceback}\n{inner.traceback}", voice)
    if plain_torch:
        off = Fix("line", f"export {AUTOLOAD}=0")
        return voice.fail("imports.autoload", off, error=inner.root, cause=cause, remedy=remedy)
    return voice.fail("imports.failed", module=found.module, error=found.root, cause=cause, remedy=remedy)


def _library(name: str, found: Import, cann: Cann, voice: Voice) -> Verdict:
    """A shared library torch_npu needs is not found: which of its owners is at fault."""
    if name == "libascend_hal.so":
        return voice.fail("imports.driver_library", module=found.module, library=name)
    if not cann.home:
        return voice.fail(
            "imports.no_cann", Fix("line", f"export {AUTOLOAD}=0"), module=found.module, library=name
        )
    source = f"source {cann.set_env or f'{cann.home}/set_env.sh'}"
    if not cann.loaded:
        return voice.fail(
            "imports.cann_not_loaded", Fix("line", source), module=found.module, library=name, source=source
        )
    return voice.fail(
        "imports.cann_incomplete", module=found.module, library=name, home=cann.home, source=source
    )
