"""A recipe: everything npukit knows about one model, read strictly from TOML into frozen dataclasses.

Reading lists every fault at once. Recipes are found by name in ``$NPUKIT_RECIPES`` (directories, first wins)
and in ``npukit/recipes``; a path holds a separator or ends in ``.toml``.
"""

from __future__ import annotations

import dataclasses
import difflib
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from npukit.accelerations import AUTO, VERSIONS
from npukit.errors import NpukitError
from npukit.strict import read_table
from npukit.toml import TOMLDecodeError, load_toml

BUILTIN_RECIPES = Path(__file__).parent / "recipes"
TASKS = ("auto", "text-generation", "image-text-to-text")
DTYPES = ("float32", "float16", "bfloat16", "float64")
SOURCES = ("builtin", "local", "huggingface", "modelscope", "gitcode", "pypi")
SCHEMA = 1
NAME = re.compile(r"\w[\w.+-]*")  # it names files and directories
NAME_BYTES = 100


@dataclass(frozen=True)
class Source:
    """Where the files are. ``order`` is tried from the front; ``only`` forbids everything else."""

    order: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    builtin: str = ""
    local: str = ""
    huggingface: str = ""
    modelscope: str = ""
    gitcode: str = ""
    pypi: dict[str, Any] = field(default_factory=dict)
    revision: str = ""
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()


@dataclass(frozen=True)
class Expect:
    """What must be there after a fetch: counts of the safetensors headers, and files by path."""

    tensors: int = 0
    parameters: int = 0
    files: dict[str, dict[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class Asset:
    """A file beside the weights, a demo picture say, by address; its bytes and sha256 must be these."""

    name: str
    url: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Runtime:
    """What the model needs around it."""

    requires: tuple[str, ...] = ()
    trust_remote_code: bool = False
    remote_code: dict[str, str] = field(default_factory=dict)
    patches: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True)
class Load:
    """How the model is loaded unless options say otherwise. ``accelerate`` names accelerations; ``auto`` is
    every one that proves itself."""

    dtype: str = "float32"
    attention: str = "auto"
    precision: str = "strict"
    accelerate: tuple[str, ...] = (AUTO,)


@dataclass(frozen=True)
class Prompt:
    """One question with what a right answer holds. ``expect`` are keywords, all of them, case ignored."""

    id: str
    text: str
    images: tuple[str, ...] = ()
    system: str = ""
    expect: tuple[str, ...] = ()


@dataclass(frozen=True)
class Generation:
    """Options of every generation; ``inputs`` are given to the processor and to generate."""

    max_new_tokens: int = 48
    inputs: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Verify:
    """Limits of verify. ``control_seed`` makes the random-weights control.

    ``config`` are values that must be on ``model.config``, by dotted key; a table of counts judges a list
    (``{ full_attention = 6 }``). ``texts`` are measured beside the built-in english and chinese ones, and
    ``max_perplexity`` limits what any of them may have. ``languages`` are the texts that the model must know
    (english, chinese); without keywords, limits and languages, it must know one of them. ``max_fallbacks`` is
    how many of its operators may lack a kernel on the NPU.
    """

    control_seed: int = 1234
    config: dict[str, Any] = field(default_factory=dict)
    min_hits: float = 1.0
    max_control_hits: float = 0.0
    languages: tuple[str, ...] = ()
    texts: dict[str, str] = field(default_factory=dict)
    max_perplexity: dict[str, float] = field(default_factory=dict)
    max_fallbacks: int = 0


@dataclass(frozen=True)
class Accuracy:
    """Limits of accuracy beside the noise floor, per candidate dtype where given (``[accuracy.float16]``).

    ``dtype`` is the candidate's where the one of ``[load]`` would compare the reference with itself. A limit
    of 0 is none: the noise floor alone decides.
    """

    dtype: str = "bfloat16"
    min_cosine: float = 0.0
    max_relative_l2: float = 0.0
    float32: dict[str, float] = field(default_factory=dict)
    float16: dict[str, float] = field(default_factory=dict)
    bfloat16: dict[str, float] = field(default_factory=dict)

    def limits(self, dtype: str) -> dict[str, float]:
        """The limits that hold for a candidate of ``dtype``."""
        common = {"min_cosine": self.min_cosine, "max_relative_l2": self.max_relative_l2}
        return {**common, **getattr(self, dtype, {})}


@dataclass(frozen=True)
class Bench:
    """Defaults of bench, and floors that judge: tokens per second, bytes at the peak."""

    warmup: int = 5
    rounds: int = 20
    new_tokens: int = 48
    prompt: str = ""
    min_tokens_per_s: float = 0.0
    max_peak_bytes: int = 0


@dataclass(frozen=True)
class Recipe:
    """One model. ``path`` is the file it was read from (empty for a derived one)."""

    name: str
    title: str
    task: str
    source: Source
    prompts: tuple[Prompt, ...]
    summary: str = ""
    summary_zh: str = ""
    license: str = ""
    tags: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    notes_zh: tuple[str, ...] = ()
    expect: Expect = field(default_factory=Expect)
    assets: tuple[Asset, ...] = ()
    runtime: Runtime = field(default_factory=Runtime)
    load: Load = field(default_factory=Load)
    generation: Generation = field(default_factory=Generation)
    verify: Verify = field(default_factory=Verify)
    accuracy: Accuracy = field(default_factory=Accuracy)
    bench: Bench = field(default_factory=Bench)
    schema: int = SCHEMA
    path: str = ""

    def prompt(self, prompt_id: str = "") -> Prompt:
        """The prompt called ``prompt_id``, or the first one."""
        return next((p for p in self.prompts if p.id == prompt_id), self.prompts[0])


# --- reading


def load_recipe(path: Path) -> Recipe:
    """Read one file. Raises NpukitError ``recipe.*`` with every fault listed."""
    try:
        document = load_toml(path)
    except OSError as error:
        raise NpukitError("recipe.unreadable", path=str(path), reason=error.strerror or str(error)) from error
    except (TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:  # the last: nested too deep
        raise NpukitError("recipe.not-toml", path=str(path), reason=str(error)) from error
    return recipe_from(document, str(path))


def recipe_from(document: dict[str, Any], path: str = "") -> Recipe:
    """Build a recipe from a parsed document. Raises NpukitError ``recipe.faults`` listing every fault."""
    faults: list[str] = []
    values = read_table(Recipe, {k: v for k, v in document.items() if k != "path"}, "", faults)
    if not faults:
        faults.extend(_meaning(values))
    if faults:
        listed = "\n".join(f"  - {fault}" for fault in faults)
        raise NpukitError("recipe.faults", path=path or "the recipe", count=len(faults), faults=listed)
    return dataclasses.replace(values, path=path)


def _meaning(recipe: Recipe) -> list[str]:
    """Faults that the types alone do not show."""
    faults = []

    def one_of(where: str, value: str, allowed: tuple[str, ...]) -> None:
        if value not in allowed:
            faults.append(f"{where}: {value!r} is none of {', '.join(allowed)}")

    if recipe.schema != SCHEMA:
        faults.append(f"schema: {recipe.schema} is not one this npukit reads ({SCHEMA})")
    if not NAME.fullmatch(recipe.name) or len(recipe.name.encode()) > NAME_BYTES:
        faults.append(
            f"name: {recipe.name!r} must be 1 to {NAME_BYTES} bytes of letters, digits, '.', '_', '+', '-' "
            "without spaces, colons or separators, and begin with a letter or a digit"
        )
    one_of("task", recipe.task, TASKS)
    one_of("load.dtype", recipe.load.dtype, DTYPES)
    one_of("load.precision", recipe.load.precision, ("strict", "fast", "default"))
    for name in recipe.load.accelerate:
        one_of("load.accelerate", name, (AUTO, *VERSIONS))
    for key in ("order", "only"):
        for name in getattr(recipe.source, key):
            one_of(f"source.{key}", name, SOURCES)
            if name in SOURCES and not getattr(recipe.source, name):
                faults.append(f"source.{name}: missing, though source.{key} names it")
    if not (recipe.source.order or recipe.source.only):
        faults.append("source.order: names no source")
    for asset in recipe.assets:
        if len(asset.sha256) != 64 or not asset.url.startswith(("https://", "http://")):
            faults.append(f"assets: {asset.name!r} needs an http(s) url and a sha256 of 64 digits")
    if not recipe.prompts:
        faults.append("prompts: at least one is needed")
    ids = [prompt.id for prompt in recipe.prompts]
    faults.extend(
        f"prompts: the id {i!r} is used twice" for i in sorted({i for i in ids if ids.count(i) > 1})
    )
    if recipe.bench.prompt and recipe.bench.prompt not in ids:
        faults.append(f"bench.prompt: {recipe.bench.prompt!r} is the id of no prompt")
    if recipe.generation.max_new_tokens < 1:
        faults.append("generation.max_new_tokens: must be at least 1")
    if recipe.verify.control_seed < 0:
        faults.append("verify.control_seed: must be at least 0")
    for key in ("min_hits", "max_control_hits"):
        if not 0 <= getattr(recipe.verify, key) <= 1:
            faults.append(f"verify.{key}: a share from 0 to 1 was expected")
    for dtype in ("float32", "float16", "bfloat16"):
        for key in getattr(recipe.accuracy, dtype):
            one_of(f"accuracy.{dtype}", key, ("min_cosine", "max_relative_l2"))
    if recipe.bench.rounds < 1 or recipe.bench.warmup < 0 or recipe.bench.new_tokens < 1:
        faults.append("bench: rounds and new_tokens must be at least 1, warmup at least 0")
    from npukit.patches import faults as of_patches
    from npukit.sandbox.plan import unreadable

    faults.extend(of_patches(recipe.runtime.patches, "runtime.patches"))
    faults.extend(f"runtime.requires: {fault}" for fault in unreadable(recipe.runtime.requires))
    return faults


# --- finding


def search_path() -> list[Path]:
    """Directories that hold recipes, first wins."""
    own = [Path(p).expanduser() for p in os.environ.get("NPUKIT_RECIPES", "").split(os.pathsep) if p]
    return [*own, BUILTIN_RECIPES]


def recipe_files() -> dict[str, Path]:
    """Every recipe file by name."""
    found: dict[str, Path] = {}
    for directory in search_path():
        for path in sorted(directory.glob("*.toml")):
            found.setdefault(path.stem, path)
    return found


def find_recipe(model: str) -> Recipe:
    """The recipe a user means by ``model``: a name, or a path to a ``.toml``."""
    if model.endswith(".toml"):
        return load_recipe(Path(model).expanduser())
    files = recipe_files()
    if model in files:
        return load_recipe(files[model])
    if os.sep in model:
        raise NpukitError("recipe.not-recipe", path=model)
    raise unknown(model, list(files))


def unknown(model: str, names: list[str]) -> NpukitError:
    """The error for a name that nothing carries, with the nearest one."""
    near, known = difflib.get_close_matches(model, names, 1, 0.5), ", ".join(names)
    if near:
        return NpukitError("recipe.unknown", name=model, nearest=near[0], known=known)
    return NpukitError("recipe.unlike", name=model, known=known)
