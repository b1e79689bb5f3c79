"""Which suites there are, and how to find one by name. Importing this does not import jax."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

from clew.registry import Registry
from clew.validate import BadInput, hint, listing

if TYPE_CHECKING:
    from clew.suite.suite import Suite

suites: Registry[Suite] = Registry("suite", "clew.suite.library", "clew.suites")
register = suites.register
"""Decorates a function that makes a suite; its docstring begins with what the suite is about."""


def names() -> tuple[str, ...]:
    """Of the suites that ship."""
    return suites.names()


def find_suite(name: str) -> Suite:
    """A suite that ships, by name, or a user's own, by the path of its TOML file."""
    if name in names():
        return dataclasses.replace(suites.make(name), about=suites[name].outline().about)
    path = Path(name)
    if path.suffix == ".toml" or path.exists():
        if not path.is_file():
            raise BadInput(f"{name!r} is not a file; name a .toml file, or {listing(names())}")
        if path.suffix in (".csv", ".tsv", ".jsonl", ".parquet", ".py"):
            raise BadInput(
                f"{name!r} is not a suite, which is a .toml file; `clew new suite NAME` writes "
                "one, and `clew report FILE` reads results"
            )
        from clew.suite.toml import read_suite

        return read_suite(path)
    here = [str(each) for each in path.parent.glob("*.toml")]
    raise BadInput(
        f"suite={name!r} is not valid; choose {listing(names())}, or the path of a .toml file"
        f"{hint(name, names()) or hint(path.with_suffix('.toml'), here)}"
    )
