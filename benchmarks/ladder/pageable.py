"""A frame of output is copied into ordinary memory.

What is wrong: the card writes to fixed addresses only. The driver copies through a small fixed
buffer of its own, piece by piece, and the host waits.
"""

from __future__ import annotations

import numpy as np

from ladder.stand import Stand, difference
from ladder.worth import Side, Worth


def measure(stand: Stand) -> Worth:
    """Compare it with the product's pinned ring."""
    backend, size = stand.backend, stand.scale.elastic**3
    field = backend.array(np.random.default_rng(3).standard_normal(size, np.float32))
    buffers = [
        ("ordinary memory", np.empty(field.nbytes, np.uint8)),
        ("pinned memory", backend.host_buffer(field.nbytes)),
    ]
    sides = []
    for name, buffer in buffers:
        host = buffer.view(np.float32)

        def send(count: int, host: np.ndarray = host) -> None:
            for _ in range(count):
                backend.send(field, host).wait()

        send(1)  # its pages are there now
        sides.append(Side(name, field.nbytes / stand.seconds(send, backend.wait) / 1e9))
    off, on = (buffer.view(np.float32) for _, buffer in buffers)
    scenario = f"{field.nbytes / 2**20:.0f} MiB from the card"
    return Worth(scenario, "GB/s", tuple(sides), difference(off, on))
