"""Folder names that people can read and every filesystem accepts.

A name is made from a configuration and nothing else; what makes it unique is the hash at its end.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from clew.store.canonical import digest
from clew.validate import printable

HASH = 8
WORD, WHOLE = 32, 100
ARM = ("environment", "reward", "architecture", "bonus")
"""Fields of a configuration: with its seed, they name a run."""
NAME = re.compile(rf"[a-z0-9]+(-[a-z0-9]+)*-[0-9a-f]{{{HASH}}}")


def run_name(config: Mapping[str, object], identity: str | None = None) -> str:
    """Such as `tinyreproduce-dense-gru-e3b-s3-1f2e3d4c`; `identity` is the hash, if it is known."""
    return folder_name(_words(config) or ["run"], identity or digest(config))


def world_name(config: Mapping[str, object]) -> str:
    """An environment with the options that were chosen for it: `MiniGrid-MemoryS13[view=7]`."""
    given: object = config.get("environment_options")
    chosen = cast(dict[str, object], given) if isinstance(given, dict) else {}
    return bracketed(str(config.get("environment", "")), chosen)


def bracketed(name: str, chosen: Mapping[str, object]) -> str:
    """A name, and values by name in brackets after it, to be printed: lists as a store has them."""
    inside = ",".join(f"{field}={_as_list(value)}" for field, value in sorted(chosen.items()))
    return printable(name + (f"[{inside}]" if inside else ""))


def _as_list(value: object) -> object:
    return list(cast(tuple[object, ...], value)) if isinstance(value, tuple) else value


def listed(values: Iterable[object], last: str = "and") -> str:
    """Each value once: 'a, b and c'."""
    found = list(dict.fromkeys(str(value) for value in values))
    return ", ".join(found) if len(found) < 2 else f"{', '.join(found[:-1])} {last} {found[-1]}"


def pack_name(configs: Sequence[Mapping[str, object]], identity: str) -> str:
    """What all its runs have in common, how many there are, and the pack's hash."""
    rows = [_words(config) for config in configs]
    common = [word for word in rows[0] if all(word in row for row in rows)]
    return folder_name([*common, f"x{len(rows)}"], identity)


def folder_name(words: Sequence[str], identity: str) -> str:
    """Join words and the beginning of a hash."""
    text = "-".join(slug(word) for word in words)[:WHOLE].strip("-")
    return f"{text}-{identity[:HASH]}"


def slug(word: str, longest: int = WORD) -> str:
    """Lower-case letters a–z, digits and single hyphens within; never empty.

    Nothing is left that has a special meaning to a filesystem, a shell or a path: no separators,
    dots, blanks or capitals.
    """
    simple = unicodedata.normalize("NFKD", word).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", simple).strip("-")[:longest].strip("-") or "x"


def _words(config: Mapping[str, object]) -> list[str]:
    words = [str(config[field]) for field in ARM if isinstance(config.get(field), str)]
    seed = config.get("seed")
    return [*words, f"s{seed}"] if type(seed) is int else words
