"""The licences of everything that Clew installs, as their packages state them: a table in Markdown.

    make licences

Follows the requirements of the extras `report`, `gym` and `draw` as far as they are installed here.
"""

from __future__ import annotations

import re
from importlib.metadata import Distribution, PackageNotFoundError, distribution

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

EXTRAS = ("gym", "report", "draw")
HEAD = """# Licences

What Clew depends on, with the extras `gym`, `report` and `draw`, and the licence that each package
states of itself.
Clew is under the MIT licence, and contains nothing of them. Made by `make licences`.

| package | licence |
|---|---|"""


def main() -> None:
    found: dict[str, str] = {}
    follow("clew", EXTRAS, found)
    del found["clew"]
    print(HEAD)
    for name, licence in sorted(found.items()):
        print(f"| {name} | {licence} |")


def follow(name: str, extras: tuple[str, ...], found: dict[str, str]) -> None:
    """Add a package and all that it requires on this machine."""
    try:
        package = distribution(name)
    except PackageNotFoundError:
        return
    known, found[name] = name in found, licence(package)
    for text in package.requires or () if not known or extras else ():
        needed = Requirement(text)
        wanted = needed.marker is None or any(
            needed.marker.evaluate({"extra": extra}) for extra in ("", *extras)
        )
        if wanted and canonicalize_name(needed.name) not in found:
            follow(canonicalize_name(needed.name), tuple(needed.extras), found)


def licence(package: Distribution) -> str:
    """By its SPDX expression, or else by what older metadata say."""
    about = package.metadata
    if stated := about.get("License-Expression"):
        return stated
    classified = [
        line.rpartition(" :: ")[2]
        for line in about.get_all("Classifier") or ()
        if line.startswith("License :: OSI Approved")
    ]
    first = (about.get("License") or "").strip().split("\n")[0]
    named = classified or ([first] if first else ["not stated"])
    return re.sub(r"\s+", " ", ", ".join(named))


if __name__ == "__main__":
    main()
