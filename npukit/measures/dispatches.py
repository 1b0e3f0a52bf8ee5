"""How many operators the host dispatches for one more decoded token."""

from __future__ import annotations

from collections import Counter
from typing import Any

from torch.utils._python_dispatch import TorchDispatchMode

from npukit.session import Session

# they make another view of the same memory: no kernel runs
VIEWS = frozenset(
    {"alias", "as_strided", "chunk", "detach", "expand", "narrow", "permute", "reshape", "select", "slice"}
    | {"split", "split_with_sizes", "squeeze", "t", "transpose", "unbind", "unfold", "unsqueeze", "view"}
    | {"_unsafe_view"}
)


class Counting(TorchDispatchMode):
    """Counts the operators dispatched while it is entered, views left out."""

    def __init__(self) -> None:
        super().__init__()
        self.operators: Counter[str] = Counter()

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        name = func.overloadpacket.__name__
        if name not in VIEWS:
            self.operators[name] += 1
        return func(*args, **(kwargs or {}))


def dispatches_per_token(session: Session, inputs: dict[str, Any], options: dict[str, Any]) -> dict[str, int]:
    """Operators by name that one decode step adds: generations of 3 and of 2 tokens, subtracted."""
    counts = []
    for tokens in (2, 3):
        with Counting() as counting:
            session.generate(inputs, max_new_tokens=tokens, min_new_tokens=tokens, options=options)
        counts.append(counting.operators)
    more = counts[1] - counts[0]
    return dict(more.most_common())


def decode_bytes(session: Session) -> int:
    """Bytes of weights that one decoded token reads: all but vision and an untied input embedding."""
    model = session.model
    embedding = model.get_input_embeddings()
    head = model.get_output_embeddings()
    looked_up = embedding is not None and (head is None or head.weight is not embedding.weight)
    left_out = {id(embedding.weight)} if looked_up else set()
    for name, parameter in model.named_parameters():
        if any(part in name for part in ("vision", "visual", "vpm", "merger")):
            left_out.add(id(parameter))
    return sum(p.numel() * p.element_size() for p in model.parameters() if id(p) not in left_out)
