"""CANN: which toolkit this process would use, whether it is whole, and whether its environment is loaded.

Layouts known: /usr/local/Ascend/ascend-toolkit/{latest,<version>} (to CANN 8.3), /usr/local/Ascend/cann and
cann-<version> (from CANN 8.5), the runtime-only nnrt; the same under a user's home or a conda environment.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from npukit.host.machine import Host, LocalHost
from npukit.host.npu_smi import NpuChip
from npukit.host.verdict import Fix, Verdict, Voice

# What torch_npu's libtorch_npu.so loads, and the operator library it looks names up in.
LIBRARIES = (
    "libascendcl.so",
    "libhccl.so",
    "libge_runner.so",
    "libgraph.so",
    "libacl_op_compiler.so",
    "libopapi.so",
)
HOME_VARIABLES = ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME")
RELEASE = re.compile(
    r"\d+\.\d+(?:\.(?:\d+|T\d+|RC\d+))?(?:[.-]?(?:alpha|beta|rc|post)[.-]?\d+)*", re.IGNORECASE
)


@dataclass(frozen=True)
class Cann:
    """The toolkit found. ``home`` is "" when there is none; ``source`` is a variable, or "found" on disk."""

    home: str = ""
    version: str = ""
    layout: str = ""
    source: str = ""
    set_env: str = ""
    loaded: bool = False
    missing_libraries: tuple[str, ...] = ()
    opp: bool = False
    kernels: tuple[str, ...] = ()
    python_path: bool = False
    dangling: str = ""
    others: tuple[str, ...] = ()
    mixed: str = ""
    atb_version: str = ""
    atb_loaded: bool = False


def cann(host: Host | None = None) -> Cann:
    host = host or LocalHost()
    named = [(name, host.environ[name].rstrip("/")) for name in HOME_VARIABLES if host.environ.get(name)]
    dangling = next((f"{name}={path}" for name, path in named if not host.entry(path)), "")
    installed = _installed(host)
    homes = [*((path, name) for name, path in named), *((path, "found") for path in installed)]
    home, source = next(((path, how) for path, how in homes if host.entry(path)), ("", ""))
    atb_version, atb_loaded = _atb(host)
    if not home:
        return Cann(dangling=dangling, atb_version=atb_version, atb_loaded=atb_loaded)
    arch_dirs = tuple(f"{home}/{name}" for name in host.entries(home) if name.endswith("-linux"))
    library_dirs = [f"{home}/lib64", *(f"{place}/lib64" for place in arch_dirs)]
    others = tuple(path for path in installed if host.real(path) != host.real(home))
    present = {name for place in library_dirs for name in host.entries(place)}
    return Cann(
        home=home,
        version=_version(host, home, arch_dirs),
        layout=_layout(host.real(home)),
        source=source,
        set_env=_set_env(host, home),
        loaded=source != "found" and _on_path(host, "LD_LIBRARY_PATH", home),
        missing_libraries=tuple(name for name in LIBRARIES if name not in present),
        opp=host.entry(host.environ.get("ASCEND_OPP_PATH") or f"{home}/opp") is not None,
        kernels=_kernels(host, home),
        python_path=_on_path(host, "PYTHONPATH", home),
        dangling=dangling,
        others=others,
        mixed=next((path for path in others if _on_path(host, "LD_LIBRARY_PATH", path)), ""),
        atb_version=atb_version,
        atb_loaded=atb_loaded,
    )


def cann_version(host: Host | None = None) -> str | None:
    """The version of the toolkit this process would use, as CANN names it (8.5.1, 8.2.RC1)."""
    return cann(host).version or None


def _installed(host: Host) -> list[str]:
    """Toolkit homes on this disk, the one to prefer first; a link and what it points to count once."""
    roots = ["/usr/local/Ascend", f"{host.environ.get('HOME', '/root')}/Ascend"]
    if host.environ.get("CONDA_PREFIX"):
        roots.append(f"{host.environ['CONDA_PREFIX']}/Ascend")
    homes: dict[str, str] = {}
    for root in roots:
        cann_names = [name for name in host.entries(root) if re.fullmatch(r"cann(-\d.*)?", name)]
        old = [f"{root}/{kind}" for kind in ("ascend-toolkit", "nnrt")]
        found = [f"{root}/{name}" for name in sorted(cann_names, key=lambda name: name != "cann")]
        for place in old:
            names = [name for name in host.entries(place) if name == "latest" or RELEASE.fullmatch(name)]
            found += [f"{place}/{name}" for name in sorted(names, key=lambda name: name != "latest")]
        for path in found:
            homes.setdefault(host.real(path), path)
    return list(homes.values())


def _version(host: Host, home: str, arch_dirs: tuple[str, ...]) -> str:
    for place in (*arch_dirs, home):
        for name in ("ascend_toolkit_install.info", "ascend_nnrt_install.info"):
            found = re.search(r"^version=(\S+)", host.read(f"{place}/{name}") or "", re.MULTILINE)
            if found:
                return found.group(1)
    cfg = host.read(f"{home}/version.cfg") or ""
    found = re.search(r"^(?:toolkit|runtime)_running_version=\[[^:\]]*:([^\]]+)\]", cfg, re.MULTILINE)
    if found:
        return found.group(1).removeprefix("CANN-")
    for place in ("runtime", "share/info/runtime", "compiler", "opp"):
        text = host.read(f"{home}/{place}/version.info") or ""
        for key in ("version_dir", "Version"):  # Version may be the component's own, as 7.6.0.1.220
            named = re.search(rf"^{key}=(\S+)", text, re.MULTILINE)
            if named and RELEASE.fullmatch(named.group(1)):
                return named.group(1)
    last = host.real(home).rsplit("/", 1)[-1].removeprefix("cann-")
    return last if RELEASE.fullmatch(last) else ""


def _layout(home: str) -> str:
    return next((name for name in ("ascend-toolkit", "nnrt") if f"/{name}/" in home), "cann")


def _set_env(host: Host, home: str) -> str:
    """The script to source: in the home or, in the old layout, above it."""
    parent = home.rsplit("/", 1)[0]
    places = [f"{home}/set_env.sh", f"{parent}/set_env.sh"]
    if parent.endswith(("ascend-toolkit", "nnrt")):
        places.reverse()
    return next((path for path in places if host.entry(path)), "")


def _on_path(host: Host, variable: str, home: str) -> bool:
    places = [place for place in host.environ.get(variable, "").split(":") if place]
    return any(f"{place}/".startswith((f"{home}/", f"{host.real(home)}/")) for place in places) or any(
        f"{host.real(place)}/".startswith(f"{host.real(home)}/") for place in places
    )


def _kernels(host: Host, home: str) -> tuple[str, ...]:
    """Chips whose compiled kernels are installed, by their directories' names (ascend910b, ascend310p)."""
    names = host.entries(f"{home}/opp/built-in/op_impl/ai_core/tbe/kernel")
    return tuple(name for name in names if name.startswith("ascend"))


def _atb(host: Host) -> tuple[str, bool]:
    home = host.environ.get("ATB_HOME_PATH", "")
    text = ""
    for path in (
        f"{home}/../../version.info",
        f"{home}/version.info",
        "/usr/local/Ascend/nnal/atb/latest/version.info",
    ):
        text = text or host.read(path) or ""
    found = re.search(r"Ascend-cann-atb\s*:\s*(\S+)", text)
    return (found.group(1) if found else ""), bool(home)


def judge_cann(seen: Cann, chips: tuple[NpuChip, ...], torch_npu: bool, voice: Voice) -> list[Verdict]:
    """Only asked where something speaks for an NPU. ``torch_npu`` tells whether it is installed."""
    worst = voice.fail if torch_npu else voice.warn
    if not seen.home:
        off = Fix("line", "export TORCH_DEVICE_BACKEND_AUTOLOAD=0")
        if seen.dangling:
            return [worst("cann.dangling", named=seen.dangling)]
        return [worst("cann.absent", *((off,) if torch_npu else ()))]
    at = f"CANN {seen.version or 'of unknown version'} at {seen.home}"
    verdicts = []
    source = f"source {seen.set_env or f'{seen.home}/set_env.sh'}"
    if not seen.loaded:
        verdicts.append(worst("cann.not_loaded", Fix("line", source), at=at, source=source))
    elif not seen.python_path:
        verdicts.append(voice.warn("cann.no_python_path", Fix("line", source), at=at, source=source))
    if seen.dangling:
        verdicts.append(voice.warn("cann.dangling", named=seen.dangling))
    if seen.missing_libraries == ("libopapi.so",):
        verdicts.append(voice.fail("cann.no_operators", at=at))
    elif seen.missing_libraries:
        verdicts.append(voice.fail("cann.incomplete", at=at, libraries=", ".join(seen.missing_libraries)))
    if not seen.opp:
        verdicts.append(voice.fail("cann.no_opp", at=at, source=source))
    wanted = dict.fromkeys(kernel_name(chip, chips) for chip in chips)
    lacking = [name for name in wanted if name and seen.kernels and name not in seen.kernels]
    if lacking:
        have = ", ".join(seen.kernels)
        verdicts.append(voice.warn("cann.no_kernels", at=at, chips=", ".join(lacking), have=have))
    if seen.mixed:
        verdicts.append(voice.warn("cann.mixed", at=at, other=seen.mixed, source=source))
    if not verdicts:
        extra = f", ATB {seen.atb_version}" if seen.atb_version else ""
        also = f" (also installed: {', '.join(seen.others)})" if seen.others else ""
        verdicts.append(voice.ok("cann.ready", f"{at}, environment loaded{extra}{also}"))
    return verdicts


def kernel_name(chip: NpuChip, chips: tuple[NpuChip, ...]) -> str:
    """The directory of a chip's compiled kernels; "" for a chip whose name does not tell."""
    name = chip.name.lower()
    if "910b" in name:
        return "ascend910b"
    if "310p" in name:
        return "ascend310p"
    paired = sum(other.npu_id == chip.npu_id for other in chips) > 1
    return "ascend910_93" if name.startswith("ascend910_93") or (name == "ascend910" and paired) else ""
