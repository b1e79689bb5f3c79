"""The `clew` command: one thin file per capability."""

from __future__ import annotations

import sys

import clew
from clew.validate import BadInput, one_of


def main() -> None:
    """Entry point of the `clew` command."""
    if sys.argv[1:] == ["--version"]:
        print(f"clew {clew.__version__}")
        return
    # jax takes a second to import: not before it is needed
    import tyro

    from clew.cli.arguments import registry
    from clew.cli.bench import bench
    from clew.cli.classify import classify
    from clew.cli.demo import demo
    from clew.cli.listing import list_
    from clew.cli.merge import merge
    from clew.cli.probe import probe
    from clew.cli.report import report
    from clew.cli.run import run
    from clew.cli.show import show
    from clew.cli.status import status
    from clew.cli.train import train

    commands = {
        "demo": demo,
        "run": run,
        "train": train,
        "status": status,
        "show": show,
        "report": report,
        "probe": probe,
        "merge": merge,
        "classify": classify,
        "list": list_,
        "bench": bench,
    }

    words = sys.argv[1:] or ["--help"]
    try:
        if not words[0].startswith("-"):
            one_of("command", words[0], tuple(commands))
        tyro.extras.subcommand_cli_from_dict(
            commands,
            args=words,
            prog="clew",
            registry=registry,
            description="Will an exploration bonus help this agent on this task, "
            "or is memory the bottleneck?",
        )
    except (BadInput, OSError) as error:
        # a user's mistake or a full disk: a sentence, not a traceback
        print(f"clew: {_sentence(error)}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)


def _sentence(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{str(error.filename)!r} cannot be read or written ({error.strerror})"
    return str(error)
