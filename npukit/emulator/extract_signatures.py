"""Read from op-plugin's sources what torch_npu passes to each operator, for ``signatures.txt``.

    git clone https://gitcode.com/Ascend/op-plugin        # at the commit of the torch_npu in use
    python -m npukit.emulator.extract_signatures op-plugin > npukit/emulator/signatures.txt

The C++ compiler itself tells the types: each call (``EXEC_NPU_CMD`` and kin) becomes a template whose use is
warned about, against the headers in torch_npu's wheel. Calls that op-plugin generates are read from its YAML.
It takes minutes.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from npukit.emulator.build import Toolchain, find_toolchain
from npukit.emulator.signatures import Kinds

# op-plugin's headers, then its calls turned into something that the compiler talks about.
PROBE = """
#include <ATen/ATen.h>
#include <ATen/native/ForeachUtils.h>
#include <ATen/native/TypeProperties.h>
#include <torch/library.h>
#include "op_plugin/utils/op_api_common.h"
#include "op_plugin/utils/OpAdapter.h"
#include "op_plugin/utils/OpUtils.h"
#include "torch_npu/csrc/framework/utils/UtilForOpAdapter.h"
#include "torch_npu/csrc/framework/utils/RandomOpAdapter.h"
#include "torch_npu/csrc/framework/utils/InternalFormatOpAdapter.h"
#include "op_plugin/utils/custom_functions/opapi/scalar_op_api.h"
#undef EXEC_NPU_CMD
#undef EXEC_NPU_NO_FORMAT_CHECK_CMD
#undef EXEC_NPU_CMD_SYNC
#undef DO_COMPATIBILITY
#undef DO_COMPATIBILITY_COMMON
#undef DO_MATMUL_COMPATIBILITY
#define DO_COMPATIBILITY(...)
#define DO_COMPATIBILITY_COMMON(...)
#define DO_MATMUL_COMPATIBILITY(...)
template <class Tag, class... A> [[deprecated]] void abi_of(A...) {}
template <class Tag, class... A> void abi_probe(A&... a) { abi_of<Tag>(ConvertType(a)...); }
#define EXEC_NPU_CMD(api, ...) \\
  do { struct PROBE_##api; abi_probe<PROBE_##api>(__VA_ARGS__); } while (false)
#define EXEC_NPU_NO_FORMAT_CHECK_CMD EXEC_NPU_CMD
#define EXEC_NPU_CMD_SYNC(api, ...) \\
  [&]() { EXEC_NPU_CMD(api, __VA_ARGS__); return ConvertTypes(__VA_ARGS__); }()
"""
TOLD = re.compile(r"abi_of[^\n]*::PROBE_(acl\w+); A = \{([^}]*)\}")
KINDS = {
    "aclTensor*": "tensor", "aclScalar*": "scalar", "aclIntArray*": "ints", "aclFloatArray*": "floats",
    "aclBoolArray*": "bools", "aclTensorList*": "tensors", "aclScalarList*": "scalars",
    "aclDataType": "dtype", "char*": "text", "bool": "bool", "double": "double", "float": "float",
    "long int": "int64", "int": "int32",
    "signed char": "int8", "char": "int8", "unsigned char": "uint8", "long unsigned int": "uint64",
    "std::nullptr_t": "*", "std::optional<bool>": "bool",
}  # fmt: skip
SCHEMA_KINDS = {
    "Tensor": "tensor", "Tensor[]": "tensors", "Scalar": "scalar", "Scalar[]": "scalars", "int": "int64",
    "SymInt": "int64", "int[]": "ints", "SymInt[]": "ints", "bool": "bool", "bool[]": "bools",
    "float": "double", "ScalarType": "dtype", "str": "text",
}  # fmt: skip
# What op-plugin's YAML computes before a call, where its type is not that of an argument.
COMPUTED = {
    "cube_math_type": "int8", "p_float": "float", "V": "tensor", "dim_scalar": "scalar", "dst_type": "dtype",
}  # fmt: skip


def from_sources(op_plugin: Path, tools: Toolchain) -> dict[str, set[Kinds]]:
    files = [
        file for file in sorted((op_plugin / "op_plugin").rglob("*.cpp")) if "EXEC_NPU" in file.read_text()
    ]
    found: dict[str, set[Kinds]] = {}
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor() as pool:
        flags = _flags(op_plugin, tools, Path(scratch))

        def compiled(file: Path) -> str:
            command = [tools.compiler, *flags, "-fsyntax-only", "-fmax-errors=0", str(file)]
            # Errors are of functions that other sources declare; the calls are told all the same.
            return subprocess.run(command, capture_output=True, text=True, check=False).stderr

        for told in pool.map(compiled, files):
            for name, types in TOLD.findall(told):
                found.setdefault(name, set()).add(tuple(_kind(text) for text in _split(types)))
    return found


def _flags(op_plugin: Path, tools: Toolchain, scratch: Path) -> list[str]:
    """Compiler flags with the probe read beforehand; generated headers are empty."""
    (scratch / "op_plugin").mkdir()
    for name in ("OpApiInterface", "AclOpsInterface", "OpInterface", "SparseOpsInterface"):
        (scratch / "op_plugin" / f"{name}.h").touch()
    include = tools.torch_npu / "include"
    minor = re.search(r"torch (\d+)\.(\d+)", tools.versions)
    paths = [
        scratch,
        include / "third_party" / "op-plugin",
        op_plugin,
        include,
        sysconfig.get_paths()["include"],
    ]
    paths += [include / "third_party" / part / "inc" for part in ("acl", "hccl")]
    version = f"-DCURRENT_VERSION=V{minor[1]}R{minor[2]}" if minor else ""
    flags = ["-std=c++20", "-fPIC", version, *(f"-I{path}" for path in paths), *tools.torch_headers]
    probe = scratch / "probe.hpp"
    probe.write_text(PROBE)
    subprocess.run([tools.compiler, *flags, "-x", "c++-header", str(probe), "-o", f"{probe}.gch"], check=True)
    return [*flags, "-include", str(probe)]


def _kind(text: str) -> str:
    """One C++ type, as ``const aclTensor*``."""
    text = text.strip().removeprefix("const ").replace(" *", "*")
    return KINDS.get(text, f"?{text}")


def _split(text: str) -> list[str]:
    """Split at the commas that are in no bracket."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "([<") - (letter in ")]>")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts if part.strip()]


def from_yaml(op_plugin: Path) -> dict[str, set[Kinds]]:
    """The calls that op-plugin generates: ``exec: aclnnAbs[, arguments]`` beside a schema and its outputs."""
    import yaml

    document = yaml.safe_load((op_plugin / "op_plugin" / "config" / "op_plugin_functions.yaml").read_text())
    found: dict[str, set[Kinds]] = {}
    for section in document.values():
        for entry in section if isinstance(section, list) else ():
            made = entry.get("gen_opapi") or {} if isinstance(entry, dict) else {}
            if "exec" not in made:
                continue
            types = _schema(entry["func"])
            outputs = [
                name
                for name, given in made.items()
                if isinstance(given, dict) and {"size", "dtype"} & set(given)
            ]
            name, *given = _split(made["exec"])
            computed = made.get("new_params") or {}
            names = given or [*types, *(output for output in outputs if output not in types)]
            types |= dict.fromkeys(outputs, "Tensor")
            kinds = tuple(
                _computed(one, str(computed[one]), types)
                if one in computed
                else _schema_kind(types.get(one, one))
                for one in names
            )
            found.setdefault(name, set()).add(kinds)
    return found


def _schema(function: str) -> dict[str, str]:
    """Argument to type, of ``add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor``."""
    inside = function[function.index("(") + 1 : function.rindex(") ->")]
    pairs = [part.split("=")[0].rsplit(" ", 1) for part in _split(inside) if part != "*"]
    return {name: kind for kind, name in pairs}


def _schema_kind(text: str) -> str:
    plain = re.sub(r"\[\d+\]", "[]", re.sub(r"\([a-z]!?\)", "", text).replace("?", ""))
    return SCHEMA_KINDS.get(plain, f"?{text}")


def _computed(name: str, expression: str, types: dict[str, str]) -> str:
    if name in COMPUTED:
        return COMPUTED[name]
    if "char" in expression or expression.startswith('"'):
        return "text"
    if expression in ("true", "false") or "? true : false" in expression or "effective_right" in expression:
        return "bool"
    value = re.match(r"(\w+)\.value_or\(", expression)
    if value and value[1] in types:
        return _schema_kind(types[value[1]])
    return "dtype" if "calar" in expression and "type" in expression else "int64"


def names_of(library: Path) -> set[str]:
    """The operators that torch_npu looks up."""
    return {
        name.decode() for name in re.findall(rb"(acl[A-Zn]\w*?)GetWorkspaceSize\x00", library.read_bytes())
    }


def main(arguments: Iterable[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("op_plugin", type=Path)
    op_plugin = parser.parse_args(arguments).op_plugin
    tools = find_toolchain()
    known = names_of(tools.torch_npu / "lib" / "libtorch_npu.so")
    found = from_sources(op_plugin.resolve(), tools)
    for name, ways in from_yaml(op_plugin).items():
        found.setdefault(name, set()).update(ways)
    # torch_npu's own copying calls it, outside op-plugin
    found.setdefault("aclnnInplaceCopy", set()).add(("tensor", "tensor"))
    for name in sorted(known & set(found)):
        for kinds in sorted(found[name]):
            sys.stdout.write(" ".join([name, *kinds]) + "\n")


if __name__ == "__main__":
    main()
