"""npukit brings open models to work on Huawei Ascend NPUs through torch_npu, with proof."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from npukit.api import load as load
    from npukit.errors import NpukitError as NpukitError

__version__ = "0.1.0"
__all__ = ["NpukitError", "__version__", "load"]


def __getattr__(name: str) -> Any:
    """The public names, imported when they are used: ``import npukit`` stays light."""
    if name == "load":
        from npukit.api import load

        return load
    if name == "NpukitError":
        from npukit.errors import NpukitError

        return NpukitError
    raise AttributeError(f"module 'npukit' has no attribute {name!r}")
