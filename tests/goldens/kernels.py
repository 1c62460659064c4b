"""Compare the code of the GPU's kernels with what was recorded, or record it anew; needs no GPU.

    python tests/goldens/kernels.py [CASE ...]            print what differs; exit code 1 if so
    python tests/goldens/kernels.py --write [CASE ...]    record the cases anew

The benchmark's cases for GPUs are built on a card that only compiles, those in space on smaller
cubes, whose sides leave the same remainder by 64 points. A kernel is a hash of its PTX, in which
names of functions and modules are numbers: a kernel that was only renamed or moved stays the same.
Numbers of instructions stand beside the hashes.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from copy import deepcopy
from dataclasses import dataclass
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from seismo.backends.gpu import code_cache
from seismo.backends.gpu.backend import GpuBackend
from seismo.backends.gpu.code_cache import CompileRequest, types_of
from seismo.runs.tools.bench import CARD_CASES, SPACING
from seismo.runs.tools.kernels import CompilingCard
from seismo.scenario import from_dict
from seismo.solver.discretize import discretize
from seismo.solver.simulation import Simulation

RECORD = Path(__file__).with_name("kernels.json")
CAPABILITY = (9, 0)
MODULUS = 64  # points along an axis that make no difference to kernels
COMMENT = re.compile(r"//.*")
FUNCTION = re.compile(r"^[\s.a-z]*\.(?:entry|func)\s+(?:\([^)]*\)\s*)?([\w$]+)", re.MULTILINE)
VARIABLE = re.compile(
    r"^[\s.a-z]*\.(?:global|shared|const)\s[^;={]*?([A-Za-z_$][\w$]*)(?:\[\d*\])*\s*[;=]",
    re.MULTILINE,
)
INSTRUCTION = re.compile(r"^\s+(?:@!?%p\d+\s+)?[a-z].*;$", re.MULTILINE)
WORD = re.compile(r"[A-Za-z_$][\w$]*")


@dataclass(frozen=True)
class NotedLaunch:
    """A launch that does nothing; planes that are stepped on the chip are recognised by calls."""

    call: Any

    def __call__(self) -> None:
        """Do nothing."""


class NotingCard(CompilingCard):
    """A card that only compiles, kernels with the time loop inside, too."""

    def launch(self, *what: Any, call: Any = None, **how: Any) -> NotedLaunch:
        """Note a kernel."""
        super().launch(*what, **how)
        return NotedLaunch(call)

    def clustered(
        self, kernel: Any, sizes: Any, arguments: tuple, beside: Sequence[Any] = ()
    ) -> Callable[[int, int], None]:
        """Note a kernel with the loop inside, and others beside it."""
        signature = types_of((*arguments, 0, 0), True, np.ndarray)
        for one in (kernel, *beside):
            request = CompileRequest(one, signature, (sizes.threads, 1), True, self.capability)
            self.requests[request.name] = request
        return lambda first, count: None

    def postpone(self, launches: Any) -> None:
        """Compile nothing later."""


def smaller(scenario: dict[str, Any]) -> dict[str, Any]:
    """Return a scenario of the benchmark in space on fewer points; those in a plane as they are."""
    extent = scenario["grid"]["extent"]
    if "y" not in extent:
        return scenario
    layers = 2 * scenario["boundaries"]["layer"]["points"]
    nodes = round(extent["x"] / SPACING) + 1
    few = (nodes + layers) % MODULUS + MODULUS - layers
    small = deepcopy(scenario)
    (source,), (line,) = small["sources"], small["receivers"]
    small["grid"]["extent"] = dict.fromkeys("xyz", (few - 1) * SPACING)
    for position in (source["position"], line["start"], line["end"]):
        position |= {a: min(position[a], (few - 1) * SPACING) for a in "xyz"}
    line["count"] = few
    small["model"][0]["layers"][1]["top"] = SPACING * (few // 2)
    return small


def requests_of(name: str) -> list[CompileRequest]:
    """Return the kernels that the steps of a case launch."""
    scenario = from_dict(smaller(CARD_CASES[name].scenario))
    code_cache.without_card(CAPABILITY)
    card = NotingCard(CAPABILITY)
    Simulation(discretize(scenario), GpuBackend(scenario.precision, card))
    return card.take_requests()


def code_of(request: CompileRequest) -> tuple[str, str]:
    """Compile a kernel; return the hash of its code, and what it is with its instructions."""
    text = code_cache.compile_ptx(request)
    digest = hashlib.sha256(without_names(text).encode()).hexdigest()[:16]
    kernel = request.kernel
    constants = getattr(kernel, "constants", None)
    across = getattr(constants, "stretched", "") and f" across {constants.stretched}"
    instructions = len(INSTRUCTION.findall(text))
    return digest, f"{str(kernel).split()[0].rpartition('.')[2]}{across}: {instructions}"


def without_names(text: str) -> str:
    """Return PTX without comments, with numbers in the place of names that it declares."""
    text = COMMENT.sub("", text)
    names = dict.fromkeys((*FUNCTION.findall(text), *VARIABLE.findall(text)))
    numbers = {name: f"name_{number}" for number, name in enumerate(names)}
    return WORD.sub(lambda word: numbered(word[0], numbers), text)


def numbered(word: str, numbers: dict[str, str]) -> str:
    """Return the number of a name, or of the function whose parameter it is."""
    function, parameter, count = word.rpartition("_param_")
    return (
        f"{numbers[function]}{parameter}{count}" if function in numbers else numbers.get(word, word)
    )


def take(name: str) -> list[CompileRequest]:
    """Return the kernels of a case, in a process of its own."""
    warnings.simplefilter("ignore")
    return requests_of(name)


def recorded(names: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return for each case the hashes of its kernels, and what they are."""
    processes = len(os.sched_getaffinity(0))
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        wanted = dict(zip(names, pool.map(take, names), strict=True))
        # Cases share kernels: each is compiled once.
        requests = {request.name: request for some in wanted.values() for request in some}
        codes = dict(zip(requests, pool.map(code_of, requests.values()), strict=True))
    return {name: dict(codes[one.name] for one in some) for name, some in wanted.items()}


def main() -> int:
    """Compare or write; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="record anew")
    parser.add_argument("cases", nargs="*", default=list(CARD_CASES), metavar="CASE")
    options = parser.parse_args()
    began = time.monotonic()
    found = recorded(options.cases)
    compilers = {name: version(name) for name in ("numba", "numba-cuda", "nvidia-nvvm")}
    known = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {"cases": {}}
    if options.write:
        content = {"compilers": compilers, "cases": known["cases"] | found}
        RECORD.write_text(json.dumps(content, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        return 0
    if known["compilers"] != compilers:
        print(f"recorded with {known['compilers']}, not {compilers}")
    lines = [
        f"{name}: {what}, {verb}"
        for name in options.cases
        for verb, old, new in (
            ("as it was", known["cases"][name], found[name]),
            ("as it is", found[name], known["cases"][name]),
        )
        for digest, what in old.items()
        if digest not in new
    ]
    print(*lines, sep="\n", end="\n" * bool(lines))
    print(f"{len(lines)} kernels differ, {time.monotonic() - began:.0f} s")
    return bool(lines)


if __name__ == "__main__":
    sys.exit(main())
