"""Sums over configuration keys, such as ``head_dim - qk_rope_head_dim``: names, numbers and + - * // only."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
}


def evaluate(expression: str, values: Mapping[str, Any]) -> int:
    """The whole number that ``expression`` gives. Raises ValueError naming what is wrong with it."""
    try:
        tree = ast.parse(expression.strip(), mode="eval").body
        return _value(tree, values)
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise ValueError(f"{expression!r} is no sum of keys") from error
    except ZeroDivisionError as error:
        raise ValueError(f"{expression!r} divides by zero") from error


def _value(node: ast.expr, values: Mapping[str, Any]) -> int:
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        return int(OPERATORS[type(node.op)](_value(node.left, values), _value(node.right, values)))
    if isinstance(node, ast.Name):
        found = values.get(node.id)
        if isinstance(found, bool) or not isinstance(found, int):
            raise ValueError(f"{node.id} is {found!r}, not a whole number")
        return found
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    raise ValueError("only keys, whole numbers and + - * // can be used")
