"""A model directory as a serving program first sees it: configuration, tensor names, tokenizer."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from npukit.patches.tree import Tree
from npukit.proof.headers import read_header


@dataclass(frozen=True)
class Model:
    """``config`` is config.json; ``own`` names the attributes that the model's own configuration class sets
    whatever config.json says; ``tensors`` are the names in the safetensors headers."""

    config: Mapping[str, Any]
    own: frozenset[str]
    tensors: tuple[str, ...]
    tokenizer_class: str

    @property
    def architecture(self) -> str:
        return str((self.config.get("architectures") or [""])[0])

    @property
    def text(self) -> Mapping[str, Any]:
        """The language model's part of the configuration."""
        inner = self.config.get("text_config")
        return inner if isinstance(inner, dict) else self.config

    @property
    def model_type(self) -> str:
        return str(self.text.get("model_type", ""))

    def has(self, attribute: str) -> bool:
        """Whether the configuration object would have it: from config.json, or from the model's own class."""
        return attribute in self.text or attribute in self.own


def read_model(directory: Path) -> Model:
    """Raises patch.no-file, patch.not-json, and ValueError for a torn safetensors file."""
    tree = Tree(directory, {})
    config = tree.document("config.json")
    tokenizer = tree.document("tokenizer_config.json") if tree.has("tokenizer_config.json") else {}
    tensors = [
        tensor.name for path in sorted(directory.glob("*.safetensors")) for tensor in read_header(path)
    ]
    return Model(
        config, own_attributes(tree, config), tuple(tensors), str(tokenizer.get("tokenizer_class", ""))
    )


def own_attributes(tree: Tree, config: Mapping[str, Any]) -> frozenset[str]:
    """The names X of every ``self.X = ...`` in the class that auto_map names for AutoConfig."""
    reference = str((config.get("auto_map") or {}).get("AutoConfig", ""))
    file, _, name = reference.rpartition(".")
    if not file or not tree.has(f"{file}.py"):
        return frozenset()
    try:
        module = ast.parse(tree.read(f"{file}.py"))
    except (SyntaxError, ValueError):
        return frozenset()
    classes = [node for node in ast.walk(module) if isinstance(node, ast.ClassDef) and node.name == name]
    return frozenset(
        target.attr
        for each in classes
        for node in ast.walk(each)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Attribute)
        and isinstance(target.value, ast.Name)
        and target.value.id == "self"
    )
