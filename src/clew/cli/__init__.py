"""The `clew` command: one thin file per capability."""

from __future__ import annotations

import sys

import tyro

import clew
from clew.cli.demo import demo


def main() -> None:
    """Entry point of the `clew` command."""
    if sys.argv[1:] == ["--version"]:
        print(f"clew {clew.__version__}")
        return
    try:
        tyro.extras.subcommand_cli_from_dict(
            {"demo": demo},
            prog="clew",
            description="Will an exploration bonus help this agent on this task, "
            "or is memory the bottleneck?",
        )
    except (ValueError, OSError) as error:
        # a user's mistake or a full disk: a sentence, not a traceback
        print(f"clew: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
