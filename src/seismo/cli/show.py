"""The commands that show what a run is made of: `seismo show kernel`."""

from __future__ import annotations

import re
from typing import Annotated

import typer

from seismo.cli.arguments import ScenarioFile
from seismo.errors import DeviceError

# Compute capabilities that CUDA 13.0 compiles for.
OLDEST = (7, 5)
NEWEST = (12, 1)

app = typer.Typer(no_args_is_help=True)


@app.callback()
def show() -> None:
    """Show what a run is made of."""


@app.command()
def kernel(
    scenario: ScenarioFile,
    number: Annotated[
        int | None,
        typer.Argument(metavar="[NUMBER]", help="Print the PTX of this one [default: a table]."),
    ] = None,
    architecture: Annotated[
        str, typer.Option("--architecture", help="Of the GPU: 9.0 is Hopper, 8.0 Ampere.")
    ] = "9.0",
) -> None:
    """List the GPU kernels of a scenario: registers, loads and stores, bytes; or print their PTX.

    They are compiled here; no GPU is needed.
    """
    from seismo.backends.gpu.requirements import refuse_without_compiler
    from seismo.scenario import load

    version = re.fullmatch(r"(\d+)\.?(\d)", architecture)
    target = (int(version[1]), int(version[2])) if version else (0, 0)
    if not OLDEST <= target <= NEWEST:
        oldest, newest = (".".join(map(str, limit)) for limit in (OLDEST, NEWEST))
        raise DeviceError(f"--architecture {architecture}: give a number from {oldest} to {newest}")
    refuse_without_compiler()
    from seismo.backends.gpu.compile.code_cache import compile_ptx
    from seismo.runs.tools.kernels import facts_of, launched

    requests = launched(load(scenario), target)
    if number is not None:
        if not 1 <= number <= len(requests):
            raise DeviceError(f"kernel {number}: there are 1 to {len(requests)}")
        print(compile_ptx(requests[number - 1]))
        return
    print(
        f"{'':>3} {'kernel':<28}{'points':<38}{'block, planes':<18}{'registers':>9}{'spilled':>8}"
        f"{'loads':>6}{'stores':>7}{'bytes a point':>14}"
    )
    for n, one in enumerate(map(facts_of, requests), 1):
        print(
            f"{n:>3} {one.name:<28}{one.where:<38}{one.layout:<18}{one.registers:>9}"
            f"{one.spilled:>8}{one.loads:>6}{one.stores:>7}{one.moved or '':>14}"
        )
