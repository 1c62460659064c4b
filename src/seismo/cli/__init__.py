"""The command line: `seismo run`, `resume`, `submit`, `check`, `info`, `plot`, `new`, ...

Commands import their modules when they are called, so that `seismo --help` is quick. Every error
a user can meet is one line a mistake on stderr and an exit code of its own; a traceback needs
--debug.
"""

from __future__ import annotations

import atexit
import errno
import gc
import os
import signal
import sys
import warnings
from functools import partial
from typing import NoReturn, TextIO

from seismo.errors import (
    InsufficientMemoryError,
    SeismoError,
    StorageError,
    printable,
)

INTERRUPTED = 130
PIPE_CLOSED = 141
TERMINATED = 143
# EAGAIN: of a pipe that is full, and shall not be waited for.
_UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EAGAIN)
_NO_MEMORY = ("failed to map segment", "cannot allocate memory", "can't start new thread")


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line and exit; the entry point of `seismo`."""
    command_line = sys.argv[1:] if arguments is None else arguments
    if arguments is None and not sys.warnoptions:
        # Those of libraries help nobody on a command line; `python -W error -m seismo` shows them.
        warnings.simplefilter("ignore")
    # A batch system ends a job with SIGTERM: leave as from an error, so that nothing stays behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))
    # Imports make 100,000 objects that stay: seldom search them for unreachable ones. The last
    # search takes 0.3 s, and the process ends anyway.
    gc.set_threshold(50_000)
    atexit.register(gc.freeze)
    sys.exit(_call([a for a in command_line if a != "--debug"], debug="--debug" in command_line))


def _call(arguments: list[str], debug: bool) -> int:
    try:
        try:
            if arguments[:1] == ["--version"]:  # without Typer, whose import takes longer
                from seismo.output import package_version

                print(f"seismo {package_version('seismo')}")
            else:
                from seismo.cli.commands import app

                app(arguments, prog_name="seismo")
        finally:
            sys.stdout.flush()
    except BaseException as error:
        if isinstance(error, SystemExit) and not error.code:
            return 0
        from seismo.backends.communicator import end_all

        return end_all(partial(_code_of, error, debug))
    return 0


def _goes_nowhere(*streams: TextIO) -> None:
    """Discard output that Python flushes at exit: it cannot be written."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in streams:
        os.dup2(nowhere, stream.fileno())


def _is_out_of_memory(error: BaseException | None) -> bool:
    """Whether an error came of too little memory, for a library or a thread of it too."""
    while error is not None:
        if isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM:
            return True
        if any(words in str(error).lower() for words in _NO_MEMORY):
            return True
        error = error.__cause__ or error.__context__
    return False


def _is_closed_pipe(error: BaseException) -> bool:
    """Whether output went nowhere; Click makes an exit with code 1 of it."""
    cause = error.__context__ if isinstance(error, SystemExit) else error
    return isinstance(cause, BrokenPipeError)


def _code_of(error: BaseException, debug: bool) -> int:
    """Print the error to stderr and return the exit code."""
    if _is_closed_pipe(error):
        _goes_nowhere(sys.stdout, sys.stderr)
        return PIPE_CLOSED
    try:
        sys.stdout.flush()
    except OSError:
        _goes_nowhere(sys.stdout)
    try:
        return _report(error, debug)
    except OSError:  # stderr has no room either
        _goes_nowhere(sys.stderr)
        return code_of(error)


def code_of(error: BaseException) -> int:
    """Return the exit code of an error."""
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else int(error.code is not None)
    if isinstance(error, SeismoError):
        return error.exit_code
    if _is_out_of_memory(error):
        return InsufficientMemoryError.exit_code
    if isinstance(error, OSError) and error.errno in _UNWRITABLE:
        return StorageError.exit_code
    return SeismoError.exit_code


def _report(error: BaseException, debug: bool) -> int:
    """Print an error to stderr and return its exit code."""
    code = code_of(error)
    if debug and not isinstance(error, SystemExit):
        import traceback

        traceback.print_exception(error)
    reason = printable(" ".join(f"{type(error).__name__}: {error}".split()))
    if isinstance(error, SystemExit):
        lines = ["interrupted"] if code == INTERRUPTED else []
    elif isinstance(error, SeismoError):
        lines = [printable(line) for line in str(error).split("\n")]
    elif code == InsufficientMemoryError.exit_code:
        why = "" if isinstance(error, MemoryError) else f" ({reason})"
        lines = [f"out of memory{why}; `seismo check` reports the memory of a run"]
    elif code == StorageError.exit_code:
        where = printable(getattr(error, "filename", None) or "output")
        lines = [f"{where}: cannot be written: {os.strerror(getattr(error, 'errno', 0))}"]
    else:
        lines = [f"internal error, please report it (seismo --debug ...): {reason}"]
    for line in lines:
        print(line, file=sys.stderr)
    sys.stderr.flush()
    return code
