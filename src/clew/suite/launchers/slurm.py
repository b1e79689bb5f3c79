"""Workers as a SLURM array job, through submitit.

A job ends early in three ways, and every one of them begins with a checkpoint: its own time is
nearly up; SLURM says so (SIGUSR1); or it is preempted (SIGTERM). It is then queued again, by
SLURM if it was SLURM's wish, else by submitit. Only `scancel` ends it for good.
"""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import submitit  # pyright: ignore[reportMissingImports]

from clew.suite.launchers.base import Resources
from clew.suite.stop import Stop, seconds_of
from clew.suite.worker import LOGS, WorkerConfig, run_worker
from clew.validate import BadInput

JOB_TIME = "4h"
LONGEST_MARGIN, SHORTEST_MARGIN = 120.0, 30.0
POLL = 5.0
GONE = 30.0
"""Seconds that a result may take to be seen after its job has left the queue."""
PATIENCE = 60.0
"""Seconds for SLURM to answer a question."""
REQUEUES = 100_000

# One that `Stop` listens to; jobs learn of it through their environment. With submitit's own
# choice, USR2, it would end a job at once, and not at a checkpoint.
submitit.JobEnvironment.USR_SIG = "USR1"


def launch(
    config: WorkerConfig, resources: Resources, stop: Stop, tell: Callable[[str], None]
) -> list[str]:
    """Submit an array of workers and watch it. To stop watching leaves it in the queue."""
    if config.time_limit is not None:
        raise BadInput(
            "time_limit has no effect with --on slurm; use job_time, the longest time of a job"
        )
    jobs = _submit(config, resources)
    array = jobs[0].job_id.split("_")[0]
    tell(f"submitted job {array}, {len(jobs)} workers; logs in {config.store / LOGS / 'slurm'}")
    failures, left = [], {job.job_id: time.monotonic() for job in jobs}
    with stop:
        while left and not stop.reason:
            time.sleep(POLL)
            tell("")
            failures += _ended(jobs, left)
    if left:
        tell(f"job {array} stays in the queue; `scancel {array}` ends it, at a checkpoint")
    return failures


def _ended(jobs: Sequence[Any], left: dict[str, float]) -> list[str]:
    """Strike out the workers that have ended; a sentence for each that failed.

    `left` has the time when each was last seen. Whether a job is over is asked of the queue, not
    of `sacct`, as submitit would: not every cluster keeps accounts.
    """
    failures, now, queued = [], time.monotonic(), _in_queue()
    for job in [job for job in jobs if job.job_id in left]:
        if job.paths.result_pickle.exists():
            del left[job.job_id]
            failures += _failure(job)
        elif queued is None or job.job_id in queued:
            left[job.job_id] = now
        elif now - left[job.job_id] > GONE:
            del left[job.job_id]
            failures.append(f"worker {job.job_id} was cancelled or killed; see {job.paths.stderr}")
    return failures


@dataclasses.dataclass(frozen=True)
class SlurmWorker:
    """What submitit runs in a job, and runs again when the job was queued again."""

    config: WorkerConfig

    def __call__(self) -> int:
        """Work; the number of packs that are left, which is 0 unless somebody cancels the job."""
        with Stop(self.config.time_limit) as stop:
            outcome = run_worker(self.config, stop)
        if outcome.left:
            _leave()
        return outcome.left

    def checkpoint(self) -> Any:
        """Everything is in the store, so the same call is queued again."""
        return submitit.helpers.DelayedSubmission(self)


def _leave() -> None:
    """End this job now that its checkpoint is written, and have it queued again."""
    state = _ask("squeue", "--noheader", "--format=%T", "--jobs", os.environ["SLURM_JOB_ID"])
    if state is not None and state.strip() != "RUNNING":
        sys.exit(1)  # SLURM is about to requeue it, or a person has cancelled it
    # Our handlers are gone and submitit's are back: it requeues the job, and does not return.
    signal.raise_signal(getattr(signal, f"SIG{submitit.JobEnvironment.USR_SIG}"))


def _submit(config: WorkerConfig, resources: Resources) -> Sequence[Any]:
    seconds = seconds_of(resources.job_time or JOB_TIME, "job_time") // 60 * 60
    margin = max(SHORTEST_MARGIN, min(LONGEST_MARGIN, seconds / 10))
    worker = SlurmWorker(dataclasses.replace(config, time_limit=seconds - margin))
    given = {
        "partition": resources.partition,
        "gpus_per_node": resources.gpus or None,
        "cpus_per_task": resources.cpus,
        # a step does not inherit this from its job
        "srun_args": resources.cpus and [f"--cpus-per-task={resources.cpus}"],
    }
    folder = config.store / LOGS / "slurm"
    try:
        executor = submitit.SlurmExecutor(folder, max_num_timeout=REQUEUES)
        executor.update_parameters(
            **{name: value for name, value in given.items() if value is not None},
            job_name=f"clew-{config.suite.name}",
            time=int(seconds // 60),
            signal_delay_s=int(margin / 2),
            setup=[f"export SUBMITIT_PREEMPT_SIGNAL={submitit.JobEnvironment.USR_SIG}"],
            additional_parameters={"requeue": True, **resources.sbatch},
        )
        return executor.submit_array([worker] * (resources.workers or 1))
    except RuntimeError as error:
        raise BadInput(f"SLURM did not take the job: {str(error).strip()}") from None


def _failure(job: Any) -> list[str]:
    error = job.exception()
    if error is None:
        return [f"worker {job.job_id} left {job.result()} packs"] if job.result() else []
    # submitit quotes the traceback between two rules, and adds advice
    last = str(error).rpartition("\n---")[0].strip().splitlines()[-1:] or [str(error)]
    return [f"worker {job.job_id} failed: {last[0]} (all of it in {job.paths.stderr})"]


def _in_queue() -> set[str] | None:
    """Our jobs that SLURM has not finished with; None if it does not answer."""
    user = f"--user={os.getuid()}"
    answer = _ask("squeue", "--noheader", "--array", "--format=%i", user)
    return None if answer is None else set(answer.split())


def _ask(*command: str) -> str | None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return None
    return done.stdout if done.returncode == 0 else None
