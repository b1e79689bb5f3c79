"""`clew run`: train a suite, or go on with it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Literal

from clew.cli.parsing import SuiteName
from clew.cli.registry import register

NO_OPTIONS: dict[str, str] = {}


@register("run")
def run(
    suite: SuiteName,
    /,
    store: Path = Path("results"),
    pack_size: int | None = None,
    time_limit: str | None = None,
    checkpoint_every: str = "2m",
    retry: bool = False,
    dry_run: bool = False,
    yes: bool = False,
    no_cache: bool = False,
    tensorboard: bool = False,
    wandb: bool = False,
    json: bool = False,
    on: Literal["local", "slurm", "ray"] = "local",
    workers: int | None = None,
    gpus: int | None = None,
    cpus: int | None = None,
    partition: str | None = None,
    job_time: str | None = None,
    sbatch: dict[str, str] = NO_OPTIONS,
) -> None:
    """Train every run of a suite that is not finished yet; after a stop, go on.

    Exit code: 0 if every run is finished, 3 if some failed or diverged, 4 if some are not finished,
    5 if a worker failed.

    Args:
        suite: A suite that ships (`clew list` names them), or a TOML file of your own.
        store: Folder for the results; several workers may share one.
        pack_size: Runs trained together in one program; if not given, as many as suit this device.
            Packs that a store has planned stay as they are, unless --retry is given too.
        time_limit: Stop at a checkpoint after this time, such as 25m or 2h.
        checkpoint_every: Time between checkpoints; a crash loses at most this much. 0s writes one
            after every evaluation.
        retry: Train failed and diverged runs again; with --pack-size, in packs of that size.
        dry_run: Only say what there is to do, how long it would take, and how much it would write.
        yes: Go ahead with more than 20,000 runs.
        no_cache: Neither read nor keep compiled programs in the user's cache folder.
        tensorboard: Log for TensorBoard while it trains, into the store.
        wandb: Log for Weights & Biases while it trains; without an account, into the store.
        json: Print one JSON object a line instead of progress bars.
        on: Where the workers run: on this machine, or on a cluster that can reach the store.
        workers: Number of workers. If not given: 1 here and on SLURM; on Ray one for each GPU, or
            for each node if there are no GPUs.
        gpus: GPUs of each worker, 0 or 1. If not given: 0 on SLURM; on Ray 1 if there are any.
        cpus: CPU cores of each worker.
        partition: Partition of SLURM.
        job_time: Longest time of a SLURM job, 4h if not given. A job that is not done by then is
            queued again.
        sbatch: More options for SLURM's sbatch, in pairs, such as: account NAME qos NAME.
    """
    from clew.cli.beforehand import why_no_answer
    from clew.cli.dry_run import print_forecast, require_moderate
    from clew.cli.output import console_for, json_alone, say
    from clew.cli.training import train_here, train_on_cluster
    from clew.suite import find_suite, seconds_of
    from clew.suite.launchers import Resources, WorkerConfig
    from clew.suite.logs import chosen

    resources = Resources(
        workers=workers, gpus=gpus, cpus=cpus, partition=partition, job_time=job_time, sbatch=sbatch
    )
    resources.only_for(on)
    with json_alone(json):  # an environment may print
        config = WorkerConfig(
            suite=find_suite(suite),
            store=store,
            pack_size=pack_size,
            time_limit=None if time_limit is None else seconds_of(time_limit),
            checkpoint_every=seconds_of(checkpoint_every, "checkpoint_every"),
            cache=not no_cache,
            logs=chosen(tensorboard=tensorboard, wandb=wandb),
        )
        require_moderate(config.suite, yes)
        if dry_run:
            print_forecast(config, workers or 1, retry, json, on)
            return
        if alone := why_no_answer(config.suite):
            say(console_for(json), alone, style="bold")
        if on == "local":
            sys.exit(train_here(config, workers or 1, retry, json))
        sys.exit(train_on_cluster(on, config, resources, retry, json))
