"""What `clew --version` prints: what a report of a defect needs."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

import clew

PACKAGES = ("jax", "jaxlib", "numpy", "equinox", "optax")
EXTRAS = {
    "gym": "gymnasium", "report": "pandas", "draw": "pygraphviz", "cuda": "jax-cuda12-plugin",
    "ray": "ray", "slurm": "submitit", "wandb": "wandb", "tensorboard": "tensorboard",
}  # fmt: skip
"""Of each extra, the package that it is for."""


def version_text() -> str:
    """Clew, what it runs on, the devices that jax finds, and the extras that are installed."""
    extras = [f"{name} ({package} {_version(package)})" for name, package in EXTRAS.items()]
    return "\n".join(
        [
            f"clew {clew.__version__}",
            f"python {platform.python_version()}, {platform.platform()}",
            ", ".join(f"{name} {_version(name)}" for name in PACKAGES),
            f"devices: {_devices()}",
            f"extras: {', '.join(extras)}",
        ]
    )


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _devices() -> str:
    try:
        import jax

        from clew.learner.execution import cores

        found = [f"{one.platform}: {one.device_kind}" for one in jax.local_devices()]
    except Exception as error:  # a broken driver is what somebody may be looking for
        return f"jax finds none ({next(iter(str(error).splitlines()), type(error).__name__)})"
    return ", ".join(found) + f"; {cores()} CPU cores for this process"
