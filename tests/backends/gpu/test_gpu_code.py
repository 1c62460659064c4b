"""The code of the GPU's kernels, compiled to PTX without a GPU: what it loads, stores and computes.

A float64 instruction in a float32 kernel runs at 1/64 of the speed on many cards; local memory
means that what a thread holds does not fit its registers; a field that is read number by number
instead of 16 bytes at a time keeps less of the memory's latency busy. None of these changes a
result, so that no other test sees them.
"""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import solver
from test_solver_backends import CASES, faces

numba_cuda = pytest.importorskip("numba_cuda", reason="the GPU's kernels need numba-cuda")

from numba.cuda import dispatcher  # noqa: E402

from seismo.backends import point_kernels as faults  # noqa: E402
from seismo.backends import row_kernels as slices  # noqa: E402
from seismo.backends.gpu import (  # noqa: E402
    code_cache,
    compile_server,
)
from seismo.backends.gpu.backend import GpuBackend  # noqa: E402
from seismo.backends.gpu.sweeps import blocks  # noqa: E402
from seismo.backends.gpu.sweeps.blocks import row_rotation  # noqa: E402
from seismo.backends.gpu.sweeps.kernels import SweepKernel  # noqa: E402
from seismo.backends.point_kernels import add_slopes  # noqa: E402
from seismo.backends.row_kernels import pack_rows, unpack_rows  # noqa: E402
from seismo.features.loss import mechanisms  # noqa: E402
from seismo.runs.tools.kernels import (  # noqa: E402
    Code,
    CompilingCard,
    is_interior,
)

ARCHITECTURES = [(8, 0), (9, 0)]
LANES = {"float32": "v4.f32", "float64": "v2.f64"}


def target(architecture: tuple[int, int]) -> str:
    return "sm_{}{}".format(*architecture)


def launched(architecture, name, dimensions, case="free_surface", wanted=lambda kernel: True,
             **changes) -> CompilingCard:  # fmt: skip
    """Build a simulation and the search of the watch on a card that notes their kernels."""
    card = CompilingCard(architecture, wanted)
    cells = {2: (44, 40), 3: (40, 24, 24)}[dimensions]
    document = solver.plan(
        name, dimensions, cells=cells, steps=3,
        **({"precision": "float32", "boundaries": faces(case, dimensions)} | changes),
    )  # fmt: skip
    simulation = solver.build(document, backend=lambda precision: GpuBackend(precision, card))
    field = next(iter(simulation.solvers[0].fields.arrays(0).values()))
    simulation.backend.largest(field, 10)
    return card


@pytest.fixture
def compiler(monkeypatch):
    """Let device functions, which ask for the card's capability, believe in one."""
    monkeypatch.setattr(dispatcher, "get_current_device", dispatcher.get_current_device)

    def compiled(architecture, *what, **how) -> list[Code]:
        code_cache.without_card(architecture)
        return launched(architecture, *what, **how).codes()

    return compiled


def check(code: Code, architecture, precision: str) -> None:
    """Hold one kernel to what the module's docstring says."""
    name = str(code.kernel)
    assert f".target {target(architecture)}" in code.text
    assert ".local" not in code.text, name
    if precision == "float32":
        assert ".f64" not in code.text, name
    if code.is_sweep:
        check_sweep(code, name, LANES[precision])


def check_sweep(code: Code, name: str, lane: str) -> None:
    """Fields are read and written in lanes of 16 bytes, and one number alone from tables only.

    Denormal numbers are taken for 0, as on the CPU (`seismo.backends.cpu.threads`).
    """
    assert not code.instructions(r"(?:add|sub|mul|fma|div)\.(?!ftz|.*\.ftz)[a-z.]*f32"), name
    loads, stores = code.instructions(r"ld\.global"), code.instructions(r"st\.global")
    assert any(load.endswith(lane) for load in loads), name
    assert f"st.global.{lane}" in stores, name
    number = lane[-3:]
    alone = {load for load in loads if load.endswith(number) and ".v" not in load}
    assert alone <= {f"ld.global.nc.{number}"}, name  # nc: nothing writes there
    if is_interior(code.kernel) and not code.kernel.constants.closed:
        assert all(load.endswith(lane) for load in loads), name
    if not code.kernel.constants.masked:  # no row ends within a lane
        assert set(stores) == {f"st.global.{lane}"}, name
    assert ".maxntid" in code.text
    assert ".minnctapersm" in code.text


def some(kernel) -> bool:
    """Choose kernels that hold every kind of code, few enough for every day."""
    constants = getattr(kernel, "constants", None)
    return constants is None or is_interior(kernel) or constants.stretched == "xz"


QUICK = {
    ("acoustic", 2): some,
    ("acoustic_variable_density", 2): is_interior,
    ("elastic_sh", 2): is_interior,
    ("elastic", 3): is_interior,
}


@pytest.mark.parametrize(("name", "dimensions"), QUICK)
def test_kernels(name, dimensions, compiler):
    """On the older architecture for planes, on the newer one for space."""
    architecture, wanted = ARCHITECTURES[dimensions - 2], QUICK[name, dimensions]
    codes = compiler(architecture, name, dimensions, wanted=wanted)
    assert any(is_interior(code.kernel) for code in codes)
    assert wanted is not some or any("Largest" in str(code.kernel) for code in codes)
    for code in codes:
        check(code, architecture, "float32")


def test_what_normal_stresses_share_is_rounded_as_it_stands(compiler):
    """Else it is fused with one of them, and those of water differ; once for each of four lanes."""
    codes = compiler((9, 0), "elastic", 2, wanted=is_interior)
    stress = [code for code in codes if "stress" in str(code.kernel)]
    assert stress
    for code in stress:
        assert re.findall(r"begin inline asm\s+(mov\.f32)", code.text) == ["mov.f32"] * 4


@pytest.mark.parametrize(("most", "listed"), [(blocks.MOST_BLOCKS, False), (1, True)])
def test_more_blocks_than_a_launch_takes_are_listed(monkeypatch, most, listed):
    monkeypatch.setattr(blocks, "MOST_BLOCKS", most)
    card = launched((9, 0), "acoustic", 2)
    assert listed != any(is_interior(request.kernel) for request in card.requests.values())


@pytest.mark.parametrize("lanes", [5, 8, 96, 103])
@pytest.mark.parametrize("x_end", [0, -3])
def test_odd_rows_are_turned(lanes, x_end):
    """Each lane is taken once; warps of rows on lines, and of those on half lines, begin on one."""
    strides, width, first = np.array([432, 432 * 10]), 4, 32
    turn = row_rotation(strides, width, np.array([[first, first + 4 * lanes + x_end]] * 2))
    for y in range(4):
        found = [turn.rotated(first + n * width, y, width) for n in range(lanes)]
        assert sorted(found) == [first + n * width for n in range(lanes)]
        starts = [x + y * 432 for x in found[::8]]
        assert all(x % 32 == 0 for x in starts[: -(-(lanes - 4) // 8)])
        assert y % 2 or found == sorted(found)


@pytest.mark.parametrize(
    ("strides", "width", "ends"),
    [
        ((448, 4480), 4, (32, 416)),  # all rows begin on lines
        ((432, 4320), 2, (32, 416)),  # so they do where a number takes 8 bytes
        ((4320, 432), 4, (32, 416)),  # a march would go from one kind to the other
        ((432, 4320), 4, (12, 28)),  # none begins on one
        ((432, 4320), 4, (32, 48)),  # a row ends before its first line
    ],
)
def test_no_row_is_turned(strides, width, ends):
    assert row_rotation(np.array(strides), width, np.array([ends])) is None


def layer(axes: str) -> Callable:
    """Choose the kernels of layers across some axes."""
    return lambda kernel: getattr(getattr(kernel, "constants", None), "stretched", "") == axes


def test_a_march_across_a_layer_reads_each_row_once(compiler):
    """Field and fluxes stay in registers: a plane brings one of each, and neighbours within it."""
    codes = compiler((9, 0), "acoustic", 3, "layers", order=8, wanted=layer("z"))
    assert len(codes) == 2  # of even and of odd steps
    for code in codes:
        check(code, (9, 0), "float32")
        _, march = code.text.rsplit("prefetch", 1)
        blocks = re.split(r"^\$L__BB\S+:", march, flags=re.MULTILINE)
        loads = max(len(re.findall(r"ld\.global\S*v4\.f32", block)) for block in blocks)
        brought, around, own, profile = 2, 2 + 8, 3, 3
        assert loads == brought + around + own + profile
        asked = {"past", "coefficient", "outer memory"}  # of a row ahead
        assert len(code.instructions(r"prefetch\.global\.L2")) == len(asked)


def test_a_march_has_its_plane_in_shared_memory(compiler):
    """At order 16 across a layer: of 32 neighbours in the plane none is read from the cache."""
    wanted = layer("z")
    code, *_ = compiler((9, 0), "acoustic", 3, "layers", order=16, wanted=wanted)
    check(code, (9, 0), "float32")
    assert code.kernel.shape.tile
    rows = 16
    beside = 4  # lanes
    assert len(code.instructions(r"ld\.shared\S*v4\.f32")) >= rows + beside
    assert len(code.instructions(r"bar(?:rier)?\.")) == 1
    assert code.instructions(r"cp\.async\.cg\.shared\.global")
    _, march = code.text.rsplit("bar", 1)
    blocks = re.split(r"^\$L__BB\S+:", march, flags=re.MULTILINE)
    loads = max(len(re.findall(r"ld\.global\S*v4\.f32", block)) for block in blocks)
    assert loads <= 2 + 3 + 3  # brought, own, profile


def test_a_march_asks_the_cache_for_what_comes(compiler):
    """Past, present and coefficient of a later plane."""
    (code, *_) = compiler((9, 0), "acoustic", 3, "layers", wanted=is_interior, order=8)
    assert len(code.instructions(r"prefetch\.global\.L2")) == 3


def test_a_layer_asks_the_cache_for_what_it_changes(compiler):
    """Of velocities three fields and three memory variables, of stresses six and three."""
    codes = compiler((9, 0), "elastic", 3, "layers", wanted=layer("y"), order=4)
    asked = [len(code.instructions(r"prefetch\.global\.L2")) for code in codes]
    assert sorted(asked) == [6, 9]


def test_a_layer_does_not_ask_for_what_it_only_writes(compiler):
    """Slopes are new: but for the two memory variables along y nothing is read before."""
    codes = compiler((9, 0), "acoustic_tti", 3, "layers", wanted=layer("y"), order=8)
    asked = [len(code.instructions(r"prefetch\.global\.L2")) for code in codes if slopes_of(code)]
    assert asked
    assert set(asked) == {2}


def slopes_of(code: Code) -> bool:
    return code.kernel.formula.kind == "centred"


@pytest.mark.parametrize(("storage", "count"), [(16, 12), (32, 0)])
def test_memory_of_16_bits_is_asked_for_before_it_is_late(storage, count, compiler, monkeypatch):
    """Three shear stresses and their nine memory variables, read after stores of normal ones."""
    monkeypatch.setattr(mechanisms, "MOST_UNLIKE", math.inf)
    attenuation = {"reference_frequency": 20.0, "storage": storage}
    codes = compiler(
        (9, 0), "viscoelastic", 3, "layers", wanted=is_interior, order=4, attenuation=attenuation
    )
    asked = [len(c.instructions(r"prefetch\.global\.L2")) for c in codes if is_stress(c)]
    assert asked
    assert set(asked) == {count}


def is_stress(code: Code) -> bool:
    return code.kernel.formula.kind == "memory"


def test_the_highest_order_is_not_too_deep_for_the_compiler(compiler):
    """A layer's row of its profile has 53 numbers there, and a march 46 lanes.

    Even and odd steps have two kernels of one code: one of them is compiled.
    """
    code_cache.without_card((9, 0))
    for dimensions, axes in ((2, "xz"), (3, "z")):
        card = launched((9, 0), "acoustic", dimensions, "layers", order=16, wanted=layer(axes))
        even, _ = card.requests.values()
        assert ".visible .entry" in code_cache.compile_ptx(even)


def names_in(folder):
    return {path.name for path in folder.iterdir() if path.suffix in (".ptx", ".cubin")}


def bodies() -> dict[str, code_cache.CompileRequest]:
    """Return the kernels of bodies of a small case, by their names."""
    card = launched((9, 0), "acoustic", 2, wanted=lambda kernel: not hasattr(kernel, "variant"))
    return {request.name: request for request in card.requests.values()}


def numbered(*kernels: str) -> list[code_cache.CompileRequest]:
    """Return requests for kernels that are only names."""
    return [code_cache.CompileRequest(kernel, (), None, False, (9, 0)) for kernel in kernels]


@pytest.fixture(scope="module")
def of_this_file():
    """Start a server for the tests of this file."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(code_cache.machine, "cores", lambda: 2)
        return compile_server.CompileServer()


@pytest.fixture
def server(monkeypatch, of_this_file):
    """Take that server for the process's."""
    monkeypatch.setattr(code_cache, "compile_server", lambda: of_this_file)
    return of_this_file


def test_kernels_are_compiled_by_the_server_and_kept(monkeypatch, tmp_path, server):
    """Several kernels go to other processes; what is kept is not compiled again."""
    monkeypatch.setenv("SEISMO_CACHE_DIR", str(tmp_path / "kernels"))
    requests = bodies()
    assert len(requests) > code_cache.ALONE
    monkeypatch.setattr(code_cache, "compile_ptx", None)
    for _ in range(2):
        codes = code_cache.load_or_compile(list(requests.values()))
        assert codes.keys() == requests.keys() == names_in(tmp_path / "kernels")
        monkeypatch.setattr(code_cache, "compile_server", None)


def test_what_is_kept_is_the_code_of_the_card(monkeypatch, tmp_path):
    """An ELF file where the assembler is there, else PTX; both hold the entry that is named."""
    monkeypatch.setattr(dispatcher, "get_current_device", dispatcher.get_current_device)
    code_cache.without_card((9, 0))
    name, request = next(iter(bodies().items()))
    for version, start in (("13.0", b"\x7fELF"), ("", b"//")):
        monkeypatch.setenv("SEISMO_CACHE_DIR", str(tmp_path / (version or "none")))
        monkeypatch.setattr(code_cache, "assembler_version", lambda version=version: version)
        ((entry, code),) = code_cache.load_or_compile([request]).values()
        assert code.lstrip().startswith(start)
        assert entry.encode() in code
    assert request.name != name  # the assembler is part of it


BOUND = """\
import sys, solver
from seismo.backends.gpu.backend import GpuBackend
from seismo.runs.tools.kernels import CompilingCard
card = CompilingCard((9, 0))
solver.build(solver.plan("elastic", 2), backend=lambda precision: GpuBackend(precision, card))
print(len(card.requests) > 5, "numba" in sys.modules)
"""


def test_kernels_are_bound_and_named_without_numba():
    """Half a second of imports, which a run whose kernels are kept does without."""
    command = [sys.executable, "-c", BOUND]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(solver.__file__).parent)
    assert done.stdout == "True False\n", done.stderr


def test_what_the_assembler_cannot_read_is_left_to_the_driver(monkeypatch, tmp_path):
    monkeypatch.setenv("SEISMO_CACHE_DIR", str(tmp_path))
    text = ".version 99.9\n.visible .entry later()"
    monkeypatch.setattr(code_cache, "compile_ptx", lambda request: text)
    assert [*code_cache.load_or_compile(numbered("a")).values()] == [("later", text.encode())]


@pytest.mark.parametrize(("cores", "program"), [(2, "/bin/false"), (1, "/nowhere")])
def test_what_the_server_leaves_undone_is_compiled_here(cores, program, monkeypatch, tmp_path):
    """It ends before it has read what is wanted; on one core there is none."""
    monkeypatch.setenv("SEISMO_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(code_cache.machine, "cores", lambda: cores)
    monkeypatch.setattr(compile_server.sys, "executable", program)
    compile_server.compile_server.cache_clear()
    monkeypatch.setattr(code_cache, "compile_ptx", lambda request: ".visible .entry here()")
    requests = numbered(*(f"{n}" * 2**20 for n in range(code_cache.ALONE + 1)))  # fills a pipe
    codes = code_cache.load_or_compile(requests)
    compile_server.compile_server.cache_clear()
    assert [entry for entry, _ in codes.values()] == ["here"] * len(requests)
    assert codes.keys() == names_in(tmp_path)


@pytest.mark.parametrize(
    ("backend", "threads", "driver", "started"),
    [("auto", None, True, 1), ("gpu", None, True, 1), ("auto", None, False, 0),
     ("cpu", None, True, 0), ("auto", 2, True, 0)],
)  # fmt: skip
def test_the_server_starts_early_for_a_gpu(backend, threads, driver, started, monkeypatch):
    starts = []
    monkeypatch.setattr(compile_server, "has_driver", lambda: driver)
    monkeypatch.setattr(compile_server.machine, "cores", lambda: 2)
    monkeypatch.setattr(compile_server, "compile_server", lambda: starts.append(1))
    monkeypatch.setattr(compile_server, "visible_gpus", tuple)
    compile_server.start_early(backend, threads)
    assert len(starts) == started


def test_a_kernel_that_does_not_compile_leaves_others_alone(tmp_path, server):
    good = dict([next(iter(bodies().items()))])
    (bad,) = numbered("nothing to write")
    server.compile(str(tmp_path), {"bad": bad} | good)
    assert names_in(tmp_path) == good.keys()


def test_the_server_ends_with_whoever_started_it(server):
    """However long the machine takes over that; no later test of this file asks the server."""
    process = server._process
    assert process.poll() is None
    process.stdin.close()
    assert process.wait(timeout=600) == 0


def test_kernels_that_nobody_uses_go_when_others_come(monkeypatch, tmp_path):
    monkeypatch.setenv("SEISMO_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(code_cache, "compile_ptx", lambda request: ".visible .entry compiled()")
    old, used, new = numbered("a", "b", "c")
    monkeypatch.setattr(code_cache.machine, "cores", lambda: 1)
    code_cache.load_or_compile([old, used])
    for path in tmp_path.iterdir():
        os.utime(path, (0, 0))
    code_cache.load_or_compile([used])
    code_cache.load_or_compile([new])
    assert names_in(tmp_path) == {used.name, new.name}


@pytest.mark.parametrize("precision", solver.slow_but({"float32"}, LANES))
def test_bodies_of_output_and_halos(precision, compiler):
    """What cuts, rounds, raises peaks and packs, as `cuts`, `maps` and `halo` launch it.

    And the body of slopes, `add_slopes`.
    """
    card = CompilingCard((9, 0))
    backend, whole = GpuBackend(precision, card), np.uint32
    rows, field, found = np.zeros(4, np.int64), np.zeros(9, precision), np.zeros(9, np.float32)
    beside = (np.zeros((4, 8), np.int64), np.zeros((4, 8), precision))
    table, counts = np.zeros((4, 80), precision), np.zeros((4, 3), np.int32)
    ints = np.zeros(9, np.int32)
    code_cache.without_card((9, 0))
    for body, arguments in (
        (slices.cut, (found, rows, field, rows, 2, field.dtype.type(3), 1)),
        (slices.cut_beside, (found, rows, field, rows, 2, *beside, 1)),
        (slices.add_multiplied, (found, rows, field, rows, 2, *beside, field, rows)),
        (slices.shorten, (found.view("u4"), rows, whole(1), whole(3), whole(7))),
        (slices.change, (field, field, field, rows)),
        (slices.oscillate, (field, rows, 9, field, field, field, rows, rows, table)),
        (slices.raise_peaks, (found, field, rows, rows, backend.clock, 9)),
        (slices.raise_along, (found, field, rows, rows, 9, field, field, backend.clock, 9)),
        (faults.sum_segment, (field, *[ints] * 3, *[field] * 4, rows, rows)),
        (faults.spread, (table, *[counts] * 5, field)),
        (faults.add_spread, (field, table, rows, rows, counts)),
        (pack_rows, (field, 3, 64, rows, rows, *[field] * 6)),
        (unpack_rows, (field, 3, 64, rows, rows, *[field] * 6)),
    ):
        backend.each_row(body, 4, 64, arguments, (0,))
    backend.each(add_slopes, 4, (field, field, rows, field, field, 1, 64, field), (0,))
    codes = card.codes()
    assert len(codes) == 14
    for code in codes:
        check(code, (9, 0), precision)


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ARCHITECTURES, ids=target)
@pytest.mark.parametrize("precision", LANES)
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(("name", "dimensions"), solver.EVERY_EQUATION)
def test_every_kernel(name, dimensions, case, precision, architecture, compiler):
    for code in compiler(architecture, name, dimensions, case, precision=precision):
        check(code, architecture, precision)


def _assembler() -> Path | None:
    """Find NVIDIA's assembler where pip puts it."""
    site = Path(numba_cuda.__file__).parents[1]
    return next(iter(site.glob("nvidia/*/bin/ptxas")), None)


def check_registers(code: Code, architecture, folder: Path) -> None:
    """The launch bounds limit the registers; none may be spilled to memory."""
    file = folder / "one.ptx"
    file.write_text(code.text)
    done = subprocess.run(
        [_assembler(), "-v", f"-arch={target(architecture)}", file, "-o", os.devnull],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    spills = [int(n) for n in re.findall(r"(\d+) bytes spill", done.stderr)]
    assert spills, done.stderr
    assert not np.any(spills), f"{code.kernel}: {done.stderr}"


assembled = pytest.mark.skipif(
    _assembler() is None, reason="needs ptxas: pip install nvidia-cuda-nvcc"
)


@pytest.mark.slow
@assembled
@pytest.mark.parametrize("architecture", ARCHITECTURES, ids=target)
@pytest.mark.parametrize(("name", "dimensions"), solver.EVERY_EQUATION)
def test_interior_kernels_fit_their_registers(name, dimensions, architecture, compiler, tmp_path):
    for code in compiler(architecture, name, dimensions, wanted=is_interior):
        check_registers(code, architecture, tmp_path)


@pytest.mark.slow
@assembled
@pytest.mark.parametrize("order", [10])
def test_layers_across_x_of_high_orders_fit_their_registers(order, compiler, tmp_path):
    """With as many threads as layers of 20 points take; from order 12 on some are spilled."""
    wide = solver.faces(3) | {"layer": {"points": 20}}

    def is_side(kernel) -> bool:
        return isinstance(kernel, SweepKernel) and kernel.constants.stretched == "x"

    found = compiler((9, 0), "acoustic", 3, order=order, boundaries=wide, wanted=is_side)
    assert found
    for code in found:
        check_registers(code, (9, 0), tmp_path)
