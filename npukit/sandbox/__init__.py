"""A private directory of packages that only npukit's own worker sees; the shared environment stays as it is.

wanted = plan(recipe.requires)        # what is missing beside what is installed; nothing, if it serves
if wanted.needed:
    box = find(wanted.requires, root) or build(wanted, root)
    environment["PYTHONPATH"] = box.python_path(environment.get("PYTHONPATH"))
"""

from npukit.sandbox.build import build, remove
from npukit.sandbox.pip import Pip
from npukit.sandbox.plan import Conflict, Package, Plan, plan
from npukit.sandbox.proof import Sandbox, find
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
    "plan",
    "remove",
]
