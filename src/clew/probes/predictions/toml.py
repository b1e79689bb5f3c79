"""Predictions as a small TOML file: a [[prediction]] table each, in the words of the code."""

from __future__ import annotations

import tomllib
from pathlib import Path

from clew.probes.predictions.claims import Prediction
from clew.store.canonical import plain
from clew.validate import BadInput, known_names

_STUDY = Path(__file__).with_name("study.toml")


def read_predictions(path: Path) -> list[Prediction]:
    """The predictions that a file declares, validated whole."""
    try:
        return _parsed(path.read_text(encoding="utf-8"))
    except RecursionError:
        raise BadInput(f"{path}: it is nested too deep") from None
    except OSError as error:
        raise BadInput(f"{path} cannot be read ({error.strerror})") from None
    except ValueError as error:
        raise BadInput(f"{path}: {error}") from None


def study() -> list[Prediction]:
    """P1 to P6 of the published study, whose file is an example of how to write one's own."""
    return read_predictions(_STUDY)


def _parsed(text: str) -> list[Prediction]:
    declared = plain(tomllib.loads(text), "file")
    known_names("field", declared, ("prediction",))
    tables = declared.get("prediction", [])
    if not isinstance(tables, list) or not tables:
        raise BadInput("prediction is missing; there must be at least one [[prediction]] table")
    found = []
    for number, table in enumerate(tables, 1):
        try:
            found.append(Prediction.from_json(table))
        except BadInput as error:
            raise BadInput(f"prediction {number}: {error}") from None
    names = [each.name for each in found]
    if twice := [name for name in names if names.count(name) > 1]:
        raise BadInput(f"prediction {twice[0]!r} is there twice; give each a name of its own")
    return found
