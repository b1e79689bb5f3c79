"""A SLURM of one node in a folder: munged, slurmctld and slurmd as Debian's packages have them.

`python -m tests.clusters.slurm FOLDER` starts one and prints what to export; it needs root, ends
with Ctrl-C, and touches nothing outside the folder. No systemd, no cgroups, no accounting.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "squeue", "scancel", "scontrol")
PATH = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])

# A job that was queued again waits until its old credentials have expired: 120 s if not for
# `cred_expire`. Two jobs share the node whatever it has, so `cpus` may be more than there are.
CONFIGURATION = """
ClusterName=clew
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=5
CryptoType=crypto/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
SwitchType=switch/none
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_interval=2,batch_sched_delay=0,bf_interval=2
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=30
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} State=UNKNOWN
PartitionName=main Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


def missing() -> str:
    """Why no SLURM can be started here; empty if one can."""
    absent = [name for name in PROGRAMS if shutil.which(name, path=PATH) is None]
    if absent:
        return f"not installed: {', '.join(absent)} (Debian: slurmctld slurmd munge)"
    return "" if os.geteuid() == 0 else "slurmd needs root"


@contextlib.contextmanager
def cluster(folder: Path, cpus: int = 2) -> Iterator[dict[str, str]]:
    """A running SLURM; what its clients need in their environment."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("state", "spool"):
        (folder / name).mkdir(exist_ok=True)
    host = socket.gethostname().split(".")[0]
    text = CONFIGURATION.format(folder=folder, host=host, ports=_free_ports(2), cpus=cpus)
    (folder / "slurm.conf").write_text(text)
    environment = {"SLURM_CONF": str(folder / "slurm.conf"), "PATH": PATH}
    started: list[subprocess.Popen[bytes]] = []
    try:
        for command in (_munge(folder), ["slurmctld", "-D"], ["slurmd", "-D", "-N", host]):
            log = (folder / f"{command[0]}.out").open("wb")
            inherited = {**os.environ, **environment}
            started.append(subprocess.Popen(command, env=inherited, stdout=log, stderr=log))
            time.sleep(1.0)
        _wait_for_node(environment, started, folder)
        yield environment
    finally:
        for process in reversed(started):
            process.send_signal(signal.SIGTERM)
        for process in started:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(20)
            process.kill()


def _munge(folder: Path) -> list[str]:
    key = folder / "munge.key"
    key.write_bytes(os.urandom(128))
    key.chmod(0o400)
    files = {"key-file": key} | {
        f"{name}-file": folder / f"munge.{name}" for name in ("log", "pid", "seed")
    }
    options = [f"--{name}={path}" for name, path in files.items()]
    # the folder is a test's own, wherever it lies: --force forgives what lies above it
    return ["munged", "--foreground", "--force", f"--socket={folder}/munge.socket", *options]


def _wait_for_node(
    environment: dict[str, str], started: list[subprocess.Popen[bytes]], folder: Path
) -> None:
    until = time.monotonic() + 60
    said = ""
    while time.monotonic() < until and all(process.poll() is None for process in started):
        ask = ["sinfo", "--noheader", "--format=%T"]
        inherited = {**os.environ, **environment}
        done = subprocess.run(ask, env=inherited, capture_output=True, text=True, check=False)
        said = done.stdout.strip() or done.stderr.strip()
        if said == "idle":
            return
        time.sleep(1.0)
    logs = "\n".join(
        f"--- {path.name}\n{path.read_text(errors='replace')[-2000:]}"
        for path in sorted((*folder.glob("*.log"), *folder.glob("*.out")))
    )
    raise RuntimeError(f"SLURM did not start; sinfo says {said!r}\n{logs}")


def _free_ports(number: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(number)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


if __name__ == "__main__":
    with cluster(Path(sys.argv[1]).absolute()) as to_export, contextlib.suppress(KeyboardInterrupt):
        for name, value in to_export.items():
            print(f"export {name}={value}", flush=True)
        signal.pause()
