"""Results from files that somebody names: a record, a report's results.json, a report, a whole home."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from npukit.errors import NpukitError
from npukit.recipe import find_recipe
from npukit.results import FORMAT, Check, Judged, StageResult
from npukit.stages import stage_named
from npukit.stages.base import Stage


def read_results(path: Path) -> list[Judged]:
    """Every result at ``path``, judged as its file says, else under the recipe's limits of today.

    Raises NpukitError ``results.*``: a file that is no result of this format is never passed over.
    """
    if path.is_dir():
        report = path / "results.json"
        files = [report] if report.is_file() else sorted(path.glob("results/**/*.json"))
        if not files:
            raise NpukitError("results.none", path=str(path))
        return [judged for file in files for judged in read_results(file)]
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise NpukitError("results.unreadable", path=str(path), reason=str(error)) from error
    rows = document if isinstance(document, list) else [document]
    return [_judged(row, path) for row in rows]


def _judged(row: Any, path: Path) -> Judged:
    if isinstance(row, dict) and isinstance(row.get("format"), int) and row["format"] != FORMAT:
        raise NpukitError("results.other-format", path=str(path), format=row["format"], reads=FORMAT)
    try:
        result = StageResult.from_json(row)
    except ValueError as error:
        raise NpukitError("results.unreadable", path=str(path), reason=str(error)) from error
    stage, has = stage_named(result.stage), result.inputs.get("stage", "unknown")
    if has != stage.identity:
        raise NpukitError("results.other-version", path=str(path), has=has, reads=stage.identity)
    return Judged(result, _checks(row, stage, result), True, str(path))


def _checks(row: dict[str, Any], stage: Stage, result: StageResult) -> tuple[Check, ...]:
    if "checks" in row:
        names = Check.__dataclass_fields__
        return tuple(Check(**{name: check[name] for name in names}) for check in row["checks"])
    try:
        recipe = find_recipe(result.model)
    except NpukitError:
        return ()  # the recipe is not here: figures can be compared, verdicts not
    return stage.judge(recipe, result)
