"""A loaded model: logits, generate, stream, memory, close.

device = open_device(parse_device("cpu"))
with Session.load(LoadSpec("dir", "text-generation"), device) as session:
    inputs = session.encode([{"role": "user", "content": [{"type": "text", "text": "Hi"}]}])
    print(session.generate(inputs, max_new_tokens=8).text)
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from transformers import AutoConfig, PretrainedConfig
from transformers import __version__ as transformers_version

from npukit import registration
from npukit.accelerations import Outcome, accelerate
from npukit.decoding import GREEDY, Decoding
from npukit.devices.base import Device
from npukit.errors import NpukitError
from npukit.room import check_memory, new_tokens_that_fit
from npukit.tasks import Message, Task, open_task
from npukit.textstream import TextStream, until_stop

# transformers 4.56 renamed the argument
DTYPE = "dtype" if tuple(map(int, transformers_version.split(".")[:2])) >= (4, 56) else "torch_dtype"


@dataclass(frozen=True)
class LoadSpec:
    """What is loaded and how. ``attention`` auto is the class's own choice; ``registrations`` are the classes
    to make known first (npukit.registration); ``random_seed`` makes the same architecture with random weights
    instead; ``accelerate`` names the accelerations to try."""

    directory: str
    task: str
    dtype: str = "float32"
    attention: str = "auto"
    precision: str = "strict"
    trust_remote_code: bool = False
    registrations: list[dict[str, Any]] = field(default_factory=list)
    random_seed: int | None = None
    accelerate: Sequence[str] = ()


@dataclass(frozen=True)
class LoadReport:
    """How the weights landed: names of tensors. ``attention`` is the implementation in force, ``dtypes`` the
    number of parameters (values) in each dtype; ``load_s`` are seconds, ``accelerate_s`` those it took to
    prove and apply ``accelerations``."""

    missing: list[str]
    unexpected: list[str]
    mismatched: list[str]
    parameters: int
    attention: str
    dtypes: dict[str, int]
    load_s: float
    accelerations: list[Outcome]
    accelerate_s: float


@dataclass(frozen=True)
class Generated:
    """One answer. ``token_ms`` is the time from the start of the call to each token; all times are in
    milliseconds, and ``total_ms`` ends with the last token.

    ``finish`` is how it ended: ``stop`` (the model, or a stop text), ``length`` or ``cancelled``.
    """

    token_ids: list[int]
    text: str
    prompt_tokens: int
    token_ms: list[float]
    total_ms: float
    detokenise_ms: float
    finish: str = "stop"


@dataclass
class Session:
    """One model on one device. A context manager; ``close`` frees the memory."""

    spec: LoadSpec
    device: Device
    model: Any
    task: Task
    report: LoadReport
    precision: dict[str, bool] = field(default_factory=dict)
    decoder: Any = None  # npukit.accelerations.decoder.Decoder, where it is in force

    @classmethod
    def load(cls, spec: LoadSpec, device: Device) -> Session:
        """Load weights, or make random ones, in ``spec.dtype`` on ``device``."""
        dtype = getattr(torch, spec.dtype)
        if not device.supports(dtype):
            raise NpukitError("device.unsupported-dtype", device=str(device.name), dtype=spec.dtype)
        registration.apply(spec.registrations, spec.directory, spec.trust_remote_code)
        task = open_task(spec.task, spec.directory, spec.trust_remote_code)
        options = {DTYPE: dtype, "trust_remote_code": spec.trust_remote_code}
        if spec.attention != "auto":
            options["attn_implementation"] = spec.attention
        started = time.perf_counter()
        if spec.random_seed is None:
            model, info = task.auto_class().from_pretrained(
                spec.directory,
                output_loading_info=True,
                use_safetensors=True,
                ignore_mismatched_sizes=True,  # reported, and a failed check of verify
                **options,
            )
        else:
            info = {}
            device.seed(spec.random_seed)
            config = AutoConfig.from_pretrained(spec.directory, trust_remote_code=spec.trust_remote_code)
            model = task.auto_class().from_config(config, **options)
        registration.finish(spec.registrations, model)
        model = model.eval().to(device.torch_device)
        device.synchronize()
        loaded = time.perf_counter()
        with device.precision(spec.precision):
            accelerations, decoder = accelerate(model, spec.accelerate, device)
        report = LoadReport(
            missing=_names(info, "missing_keys"),
            unexpected=_names(info, "unexpected_keys"),
            mismatched=_names(info, "mismatched_keys"),
            parameters=sum(parameter.numel() for parameter in model.parameters()),
            attention=str(getattr(model.config, "_attn_implementation", None) or "eager"),
            dtypes=_dtypes(model),
            load_s=loaded - started,
            accelerations=accelerations,
            accelerate_s=time.perf_counter() - loaded,
        )
        return cls(spec, device, model, task, report, decoder=decoder)

    @property
    def config(self) -> PretrainedConfig:
        return self.model.config

    def encode(self, messages: list[Message], options: dict[str, Any] | None = None) -> dict[str, Any]:
        """Messages as inputs on the device, floating ones in the model's dtype."""
        inputs = self.task.encode(messages, options or {})
        return {name: self._place(value) for name, value in inputs.items()}

    def _place(self, value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        value = value.to(self.device.torch_device)
        return value.to(self.model.dtype) if value.is_floating_point() else value

    @torch.inference_mode()
    def logits(
        self, inputs: dict[str, Any], options: dict[str, Any] | None = None, precision: str | None = None
    ) -> torch.Tensor:
        """The logits of every position of one prompt: (positions, vocabulary), float32 on the CPU (float64
        of a float64 model)."""
        with self.device.precision(precision or self.spec.precision):
            output = self.model(**inputs, **{**(options or {}), "use_cache": False})
        logits = output.logits[0].cpu()
        return logits if logits.dtype == torch.float64 else logits.float()

    @torch.inference_mode()
    def generate(
        self,
        inputs: dict[str, Any],
        *,
        max_new_tokens: int,
        min_new_tokens: int | None = None,
        options: dict[str, Any] | None = None,
        decoding: Decoding = GREEDY,
        on_text: Callable[[str], None] | None = None,
        stop: Callable[[], bool] | None = None,
        on_logits: Callable[[torch.Tensor], None] | None = None,
    ) -> Generated:
        """One answer, greedy unless ``decoding`` says otherwise (its lengths give way to the arguments).

        ``min_new_tokens`` equal to ``max_new_tokens`` fixes the length, eos ignored. ``on_text`` is given the
        text as it comes; ``stop`` is asked after every token; ``on_logits`` is given what each new token was
        chosen from, (vocabulary,) on the device. Raises NpukitError ``generate.*``.
        """
        prompt_tokens = inputs["input_ids"].shape[1]
        longest = new_tokens_that_fit(self.config, prompt_tokens, max_new_tokens, min_new_tokens or 1)
        check_memory(self.config, self.device.memory(), prompt_tokens + longest, self.model.dtype.itemsize)
        if decoding.seed is not None:
            self.device.seed(decoding.seed)
        watch = _Watch(self.task, on_text, stop, decoding.stop)
        choosing = decoding.arguments()
        if decoding.repetition_penalty is not None:
            choosing["repetition_penalty"] = decoding.repetition_penalty
        given = {**inputs, **(options or {})}
        lengths = {"max_new_tokens": longest, "min_new_tokens": min_new_tokens}
        self.device.synchronize()
        watch.start()
        with self.device.precision(self.spec.precision):
            if self.decoder is not None and self.decoder.serves(given, choosing):
                tokens = self.decoder.generate(given, **lengths, watch=watch, on_logits=on_logits)
            else:
                tokens = self.model.generate(
                    **given,
                    **lengths,
                    **choosing,
                    streamer=watch,
                    stopping_criteria=[watch.criterion],
                    **({"logits_processor": [_Listener(on_logits)]} if on_logits else {}),
                )
        self.device.synchronize()
        total_ms = watch.elapsed_ms()
        token_ids = tokens[0, prompt_tokens:].tolist()
        started = time.perf_counter()
        text = self.task.decode(token_ids)
        return Generated(
            token_ids=token_ids,
            text=until_stop(text, decoding.stop),
            prompt_tokens=prompt_tokens,
            token_ms=watch.token_ms,
            total_ms=total_ms,
            detokenise_ms=(time.perf_counter() - started) * 1e3,
            finish=watch.finish or ("stop" if self._ended(token_ids) else "length"),
        )

    def _ended(self, token_ids: list[int]) -> bool:
        """Whether the model itself ended the answer."""
        eos = self.model.generation_config.eos_token_id
        return bool(token_ids) and token_ids[-1] in (eos if isinstance(eos, list) else [eos])

    def close(self) -> None:
        self.model = self.decoder = None

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class _Watch:
    """A transformers streamer and stopping criterion: notes when tokens come, passes whole text on."""

    def __init__(
        self,
        task: Task,
        on_text: Callable[[str], None] | None,
        stop: Callable[[], bool] | None,
        stop_texts: Sequence[str],
    ) -> None:
        self._on_text, self._stop = on_text, stop
        self._text = TextStream(task.decode, stop_texts) if on_text or stop_texts else None
        self._prompt_seen = False
        self.token_ms: list[float] = []
        self.finish = ""

    def start(self) -> None:
        self._started = time.perf_counter()

    def elapsed_ms(self) -> float:
        return (time.perf_counter() - self._started) * 1e3

    def put(self, value: torch.Tensor) -> None:
        if not self._prompt_seen:  # generate puts the prompt first
            self._prompt_seen = True
            return
        self.token_ms.append(self.elapsed_ms())
        if self._text:
            self._show(self._text.push(value.reshape(-1).tolist()))

    def end(self) -> None:
        if self._text:
            self._show(self._text.finish())

    def _show(self, text: str) -> None:
        if text and self._on_text:
            self._on_text(text)

    def criterion(self, input_ids: torch.Tensor, scores: Any, **_: Any) -> torch.Tensor:
        if self._text and self._text.stopped:
            self.finish = "stop"
        elif self._stop and self._stop():
            self.finish = "cancelled"
        return torch.full((input_ids.shape[0],), bool(self.finish), device=input_ids.device)


class _Listener:
    """A logits processor of transformers that changes nothing."""

    def __init__(self, listen: Callable[[torch.Tensor], None]) -> None:
        self._listen = listen

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        self._listen(scores[0])
        return scores


def _dtypes(model: Any) -> dict[str, int]:
    counts: dict[str, int] = {}
    for parameter in model.parameters():
        name = str(parameter.dtype).removeprefix("torch.")
        counts[name] = counts.get(name, 0) + parameter.numel()
    return counts


def _names(info: dict[str, Any], key: str) -> list[str]:
    """transformers gives lists, sets, or (name, shape, shape) rows, depending on its version."""
    return sorted(str(row[0]) if isinstance(row, tuple) else str(row) for row in info.get(key) or ())
