"""When the machine will be taken away: the end of a batch job, or a limit that the user gives."""

from __future__ import annotations

import os
import re
import subprocess
import time

_LEFT = re.compile(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+)\Z")  # [[days-]hours:]minutes:seconds


def time_of_end(limit: float | None = None) -> float | None:
    """Return the time (s since 1970) at which the run will be ended, None where nothing tells.

    Args:
        limit: seconds from now on that the user allows.
    """
    ends = [job_end(), None if limit is None else time.time() + limit]
    return min((end for end in ends if end is not None), default=None)


def job_end() -> float | None:
    """Ask SLURM when the job ends: newer versions say so, older ones have to be asked."""
    told = os.environ.get("SLURM_JOB_END_TIME", "")
    if told.isdecimal():
        return float(told)
    job = os.environ.get("SLURM_JOB_ID", "")
    left = seconds(_asked("squeue", "-h", "-j", job, "-o", "%L")) if job else None
    return None if left is None else time.time() + left


def seconds(left: str) -> int | None:
    """Read a duration as SLURM writes it, such as 1-02:03:04; None for UNLIMITED and the like."""
    match = _LEFT.match(left.strip())
    if match is None:
        return None
    days, hours, minutes, rest = (int(part or 0) for part in match.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + rest


def _asked(*command: str) -> str:
    try:
        return subprocess.run(
            command, capture_output=True, text=True, timeout=10, check=False
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return ""
