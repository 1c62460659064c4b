"""Results on disk: an HDF5 file per run, its writer, its reader and its provenance.

Provenance is enough to repeat the run, and nothing private. Environment variables are taken from a
list of names that decide speed or placement; anything else (tokens, paths, mail addresses) stays
out of the file.
"""

from __future__ import annotations

import os
import platform
import shlex
import socket
import subprocess
import sys
from datetime import UTC, datetime
from functools import cache
from importlib import metadata
from pathlib import Path

RECORDED_VARIABLES = (
    "CUDA_VISIBLE_DEVICES",
    "MKL_NUM_THREADS",
    "NUMBA_CPU_NAME",
    "GOMP_SPINCOUNT",
    "NUMBA_DISABLE_JIT",
    "NUMBA_NUM_THREADS",
    "NUMBA_THREADING_LAYER",
    "OMP_NUM_THREADS",
    "OMP_PLACES",
    "OMP_PROC_BIND",
    "OMP_WAIT_POLICY",
    "SLURM_CPUS_PER_TASK",
    "SLURM_JOB_ID",
    "SLURM_JOB_NUM_NODES",
    "SLURM_NTASKS",
)
_PACKAGES = ("numpy", "numba", "h5py", "isal")


def provenance() -> dict[str, object]:
    """Return who computed this: versions, commit, machine, command line, threads and time."""
    from seismo.backends import machine  # with NumPy, which a package's version does not need

    return {
        "seismo": package_version("seismo"),
        "commit": commit(Path(__file__).resolve()),
        "python": platform.python_version(),
        **{name: package_version(name) for name in _PACKAGES},
        "platform": platform.platform(),
        "cpu": machine.processor(),
        "cpu_count": os.cpu_count(),
        "threads": machine.threads(),
        "host": socket.gethostname(),
        "command": shlex.join(sys.argv),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "environment": {k: os.environ[k] for k in RECORDED_VARIABLES if k in os.environ},
    }


def package_version(name: str) -> str:
    """Return the version of an installed package, or ``unknown``."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return str(getattr(sys.modules.get(name), "__version__", "unknown"))


@cache
def commit(file: Path) -> str | None:
    """Return the git commit that `file` belongs to, with ``+changes`` if the tree differs.

    An installed copy may lie inside somebody else's repository, so only a tracked file counts.
    """
    if _git(file.parent, "ls-files", "--error-unmatch", file.name) is None:
        return None
    head = _git(file.parent, "rev-parse", "HEAD")
    changed = _git(file.parent, "status", "--porcelain", "--untracked-files=no")
    return head and head + ("+changes" if changed else "")


def _git(folder: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments],
            capture_output=True,
            text=True,
            timeout=5,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
