"""What the outside asks of a run by signals: SIGUSR1 to save, SIGTERM to save and stop.

A handler only sets a flag, which the run reads between steps; a signal that comes twice, as batch
systems send them, asks once.
"""

from __future__ import annotations

import signal
from types import FrameType


class Signals:
    """Flags that signals set while it is open; use as a context manager.

    Attributes:
        save: a checkpoint is asked for; whoever writes it takes the flag back.
        stop: the run shall stop at a checkpoint.
    """

    def __init__(self) -> None:
        self.save = self.stop = False

    def __enter__(self) -> Signals:
        """Listen instead of those who did before."""
        self._before = {
            number: signal.signal(number, self._receive)
            for number in (signal.SIGUSR1, signal.SIGTERM)
        }
        return self

    def __exit__(self, *exception: object) -> None:
        """Let those listen again who did before."""
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _receive(self, number: int, frame: FrameType | None) -> None:
        if number == signal.SIGTERM:
            self.stop = True
        else:
            self.save = True
