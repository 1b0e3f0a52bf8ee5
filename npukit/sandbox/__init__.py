"""A private directory of packages that only npukit's own worker sees; the shared environment stays as it is.

box = required(recipe.runtime.requires, root)       # none where what is installed serves
box = build(plan(requires), root)                   # what `npukit patch` does where there is none yet
environment["PYTHONPATH"] = box.python_path(environment.get("PYTHONPATH"))
"""

from npukit.sandbox.build import build, remove
from npukit.sandbox.pip import Pip
from npukit.sandbox.plan import Conflict, Package, Plan, lacking, plan
from npukit.sandbox.proof import Sandbox, find, required
from npukit.sandbox.shared import PROTECTED, Shared

__all__ = [
    "PROTECTED",
    "Conflict",
    "Package",
    "Pip",
    "Plan",
    "Sandbox",
    "Shared",
    "build",
    "find",
    "lacking",
    "plan",
    "remove",
    "required",
]
