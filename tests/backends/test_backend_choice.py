"""Where a run goes: every reason against a GPU is named with its remedy, before any work starts.

Nothing here needs a GPU: what a machine has is a plain record (`GpuEnvironment`), and the card a
stand-in.
"""

import re
import subprocess
import sys
import threading
import tomllib
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest

import seismo
from seismo.backends.device_threads import DeviceThreads
from seismo.backends.gpu import detect
from seismo.backends.gpu.detect import (
    TESTED,
    Gpu,
    GpuEnvironment,
    cuda_of,
    extra_for,
    numbers,
    problems,
)
from seismo.backends.select import choose, choose_all, optional_gpu
from seismo.errors import DeviceError

H200 = Gpu("NVIDIA H200", (9, 0), 140 << 30)
V100 = Gpu("Tesla V100", (7, 0))
SOUND = GpuEnvironment(
    driver=(13, 0), gpus=(H200, H200), numpy="2.4.6", numba_cuda="0.30.4",
    cupy=(("cupy-cuda13x", "14.2.0"),), runtime=(13, 2), ptx=(9, 0),
)  # fmt: skip


def having(**changes) -> GpuEnvironment:
    return replace(SOUND, **changes)


def problem(facts: GpuEnvironment, number: int = 0) -> str:
    return next(problems(facts, number), "")


def test_a_sound_machine_has_no_obstacle():
    assert not list(problems(SOUND, 1))


AGAINST = {
    "driver": ({"driver": None, "gpus": ()}, "no NVIDIA driver"),
    "hidden": ({"gpus": (), "visible": ""}, "CUDA_VISIBLE_DEVICES='' shows no GPU; unset it"),
    "none": (
        {"gpus": (), "driver_error": "no CUDA-capable device is detected (100)"},
        "finds no GPU: no CUDA-capable device is detected",
    ),
    "old driver": ({"driver": (11, 4)}, "supports CUDA 11.4, .* 12.4; update the driver to 550"),
    "old card": ({"gpus": (V100,)}, r"Tesla V100 \(compute capability 7.0\); seismo needs 8.0"),
    "no packages": (
        {"cupy": (), "numba_cuda": None},
        r"cupy and numba-cuda is not installed; pip install 'seismo\[gpu\]'",
    ),
    "no cupy": ({"cupy": ()}, "^cupy is not installed"),
    "extra of the driver": (
        {"cupy": (), "driver": (12, 4)},
        r"cupy is not installed; pip install 'seismo\[gpu-cuda12\]'",
    ),
    "two": (
        {"cupy": (("cupy-cuda13x", "14.2.0"), ("cupy-cuda12x", "14.2.0"))},
        "in each other's way; pip uninstall cupy-cuda13x cupy-cuda12x, then",
    ),
    "numpy": ({"numpy": "2.5.0"}, "numpy 2.5.0 is not one .* pip install 'numpy>=2.4,<2.5'"),
    "new numba-cuda": ({"numba_cuda": "0.31.0"}, "pip install 'numba-cuda>=0.30.4,<0.31'"),
    "old numba-cuda": ({"numba_cuda": "0.30.3"}, "numba-cuda 0.30.3"),
    "cupy's version": ({"cupy": (("cupy-cuda13x", "13.6.0"),)}, "'cupy-cuda13x>=14.2,<15'"),
    "cupy's import": (
        {"cupy_error": "libcudart.so.13: cannot open", "runtime": None},
        r"cannot be imported \(libcudart.so.13: cannot open\); pip install",
    ),
    "nvvm": (
        {"ptx": None, "nvvm_error": "libNVVM cannot be found"},
        r"no working NVVM \(libNVVM cannot be found\); pip install 'seismo\[gpu\]'",
    ),
    "runtime": (
        {"driver": (12, 4), "ptx": (8, 4)},
        r"supports CUDA 12.4, cupy-cuda13x brings 13.2; update the driver to 580 or later, or "
        r"pip uninstall cupy-cuda13x, then pip install 'seismo\[gpu-cuda12\]'",
    ),
    "ptx": (
        {"ptx": (9, 2)},
        r"supports CUDA 13.0, .* \(PTX 9.2\) for CUDA 13.2; pip install 'cuda-toolkit==13.0.\*'",
    ),
    "ptx of 12": (
        {"driver": (12, 4), "cupy": (("cupy-cuda12x", "14.2.0"),), "runtime": (12, 9),
         "ptx": (8, 8)},
        r"\(PTX 8.8\) for CUDA 12.9; pip install 'cuda-toolkit==12.4.\*'",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", AGAINST)
def test_what_is_missing_is_named_with_its_remedy(case):
    """The GPU asked for is one line and exit code 2; otherwise the CPU is taken and says why."""
    changes, words = AGAINST[case]
    facts = having(**changes)
    assert re.search(words, problem(facts)), problem(facts)
    with pytest.raises(DeviceError, match=r"^backend gpu: ") as caught:
        choose("gpu", detect=lambda: facts)
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 2
    chosen = choose("auto", detect=lambda: facts)
    assert chosen.name == "cpu"
    assert re.match(r"on the CPU, \d+ threads?; no GPU: ", chosen.note)
    assert chosen.note.endswith(problem(facts))


def test_every_obstacle_is_listed_in_order():
    """What stands first has to be repaired first."""
    facts = having(numpy="2.5.1", numba_cuda="0.29.0", ptx=(9, 5), cupy_error="no module")
    found = list(problems(facts, 0))
    assert [line.split()[0] for line in found] == [
        "numba-cuda", "numpy", "cupy-cuda13x", "the",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("driver", "runtime", "ptx", "works"),
    [
        ((12, 4), (12, 9), (8, 4), True),  # libraries of a later minor version run
        ((13, 0), (12, 9), (8, 8), True),  # a driver runs what is older
        ((13, 0), (13, 2), (9, 0), True),
        ((13, 0), (13, 0), (9, 1), False),  # but its compiler reads no later kernels
        ((12, 9), (13, 0), (8, 8), False),
        ((12, 7), (12, 4), (8, 7), False),
        ((12, 8), (12, 4), (8, 7), True),
    ],
)
def test_pairs_of_driver_and_libraries(driver, runtime, ptx, works):
    cupy = ((f"cupy-cuda{runtime[0]}x", "14.2.0"),)
    assert (not problem(having(driver=driver, runtime=runtime, ptx=ptx, cupy=cupy))) == works


def test_versions_of_kernels():
    """PTX 8.5 came with CUDA 12.5, 8.6 with 12.7, 8.8 with 12.9, 9.0 with 13.0 (release notes)."""
    wanted = {(8, 0): (12, 0), (8, 5): (12, 5), (8, 6): (12, 7), (8, 8): (12, 9), (9, 0): (13, 0)}
    assert {ptx: cuda_of(ptx) for ptx in wanted} == wanted


def card_named(name):
    return lambda number: SimpleNamespace(
        name=name, lanes=lambda precision, narrow=False: SimpleNamespace(width=4), array=lambda a: a
    )


def test_a_gpu_is_taken_where_there_is_one():
    pytest.importorskip("numba_cuda")
    opened = card_named("NVIDIA H200")
    chosen = choose("auto", detect=lambda: SOUND, opened=opened)
    assert (chosen.name, chosen.note) == ("gpu", "on NVIDIA H200 (GPU 0 of 2)")
    alone = choose("gpu", 0, detect=lambda: having(gpus=(H200,)), opened=opened)
    assert alone.note == "on NVIDIA H200 (GPU 0)"
    backend = alone.make("float32")
    assert (backend.name, backend.precision) == ("gpu", "float32")


def test_the_first_gpu_that_is_new_enough_is_taken():
    pytest.importorskip("numba_cuda")
    taken = []

    def opened(number):
        taken.append(number)
        return card_named("a card")(number)

    facts = having(gpus=(V100, H200))
    choose("auto", detect=lambda: facts, opened=opened)
    assert taken == [1]
    with pytest.raises(DeviceError, match="device: 0: GPU 0 is Tesla V100"):
        choose("auto", 0, detect=lambda: facts)


def test_a_card_that_does_not_open_leaves_the_cpu():
    def busy(number):
        raise DeviceError(f"GPU {number} cannot be used: out of memory")

    assert "out of memory" in choose("auto", detect=lambda: SOUND, opened=busy).note
    with pytest.raises(DeviceError, match="backend gpu: GPU 1 cannot be used"):
        choose("gpu", 1, detect=lambda: SOUND, opened=busy)


def test_a_gpu_that_is_not_there():
    for wanted in ("auto", "gpu"):
        with pytest.raises(DeviceError, match="no GPU 2; choose from 0 NVIDIA H200, 1 NVIDIA"):
            choose(wanted, 2, detect=lambda: SOUND)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("tpu",), "'tpu' is none; choose auto, cpu or gpu"),
        (("cpu", 0), "device: 0 is a GPU's number"),
        (("gpu", None, 4), "threads: 4 are for the CPU"),
        (("cpu", None, 10**6), "threads: 1000000; this machine offers 1 to"),
    ],
)
def test_what_does_not_go_together_is_refused(arguments, words):
    with pytest.raises(DeviceError, match=words):
        choose(*arguments, detect=lambda: SOUND)


def test_several_gpus_that_are_new_enough_share_a_run():
    """Each is opened by whoever makes it."""
    pytest.importorskip("numba_cuda")
    taken = []

    def opened(number):
        taken.append(number)
        return card_named("a card")(number)

    facts = having(gpus=(H200, V100, H200))
    choices = choose_all(2, detect=lambda: facts, opened=opened)
    assert [c.note for c in choices] == ["on NVIDIA H200 (GPUs 0, 2 of 3)"] * 2
    assert [c.together for c in choices] == [2, 2]
    assert not taken
    choices[1].make("float32")
    assert taken == [2]
    assert len(choose_all("auto", detect=lambda: facts, opened=opened)) == 2
    (one,) = choose_all(None, "auto", detect=lambda: facts, opened=opened)
    assert (one.note, one.together) == ("on a card (GPU 0 of 3)", None)


@pytest.mark.parametrize(
    "asked",
    [
        {"wanted": "gpu"}, {"wanted": "cpu"}, {"device": 0}, {"threads": 2}, {"gpus": 1},
        {"ranks": SimpleNamespace(has_others=True)},
    ],
)  # fmt: skip
def test_a_gpu_is_optional_where_nobody_asks_for_anything(asked):
    named = partial(optional_gpu, visible=lambda: (V100, H200))
    assert named(None) == named("auto") == "NVIDIA H200"
    assert named(**{"gpus": None} | asked) == ""
    assert optional_gpu(None, visible=lambda: (V100,)) == ""


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((3,), "gpus: 3; there are 2, choose 1 to 2"),
        ((0,), "gpus: 0; there are 2"),
        ((2, "auto", 0), "device: 0 is one GPU, gpus: 2; give one of the two"),
        ((2, "auto", None, 4), "threads: 4 are for the CPU"),
        ((2, "cpu"), "gpus: 2 with backend cpu; leave one of the two out"),
        (("all",), "gpus: 'all'; give a number of GPUs, or 'auto'"),
    ],
)
def test_what_does_not_go_with_several_gpus_is_refused(arguments, words):
    with pytest.raises(DeviceError, match=words):
        choose_all(*arguments, detect=lambda: SOUND)


def test_several_gpus_where_there_is_none():
    with pytest.raises(DeviceError, match="gpus: there is no NVIDIA driver"):
        choose_all(2, detect=lambda: having(driver=None, gpus=()))


def ranks_with_cards(count: int, wanted: str, **how) -> list:
    """Let ranks of one machine choose."""

    def opened(number):
        return SimpleNamespace(name="a card", slot=f"0000:0{number}:00.0")

    def choice_of(ranks):
        return ranks.allgather(
            choose(wanted, ranks=ranks, detect=lambda: SOUND, opened=opened, **how)
        )

    return DeviceThreads(count).run(choice_of)


def test_each_rank_takes_a_card_of_its_own():
    for wanted in ("gpu", "auto"):
        notes = [chosen.note for chosen in ranks_with_cards(2, wanted)]
        assert notes == ["on a card (GPU 0 of 2)", "on a card (GPU 1 of 2)"]


def test_more_ranks_than_cards_are_refused_or_go_to_the_cpu():
    with pytest.raises(DeviceError, match="ranks 0 and 2 would share a GPU of "):
        ranks_with_cards(3, "gpu")
    for chosen in ranks_with_cards(3, "auto"):
        assert chosen.name == "cpu"
        assert "no GPU: ranks 0 and 2 would share" in chosen.note
    with pytest.raises(DeviceError, match="device: 1 for 2 ranks; leave it out: each has one"):
        ranks_with_cards(2, "gpu", device=1)
    with pytest.raises(DeviceError, match="gpus: 2 for each of 3 ranks; leave it out"):
        DeviceThreads(3).run(lambda ranks: choose_all(2, ranks=ranks, detect=lambda: SOUND))


def test_the_cpu_asks_nobody():
    def ask():
        raise AssertionError

    for note in (choose("cpu", detect=ask).note, choose("auto", threads=1, detect=ask).note):
        assert re.fullmatch(r"on the CPU, \d+ threads?", note)


def test_looking_around_works_on_any_machine():
    facts = detect.detect()
    assert facts.driver is None or numbers("12") <= facts.driver
    assert list(problems(facts, 0)) or facts.gpus
    assert numbers("14.2.0rc1") == (14, 2, 0)
    assert numbers("") == ()


def test_the_driver_is_asked_once(monkeypatch):
    asked = []

    def none_is_there(name):
        asked.append(name)
        raise OSError

    monkeypatch.setattr(detect.ctypes, "CDLL", none_is_there)
    detect._query_driver.cache_clear()
    try:
        assert optional_gpu(None) == ""
        assert choose("auto", threads=None).name == "cpu"
        assert asked == ["libcuda.so.1"]
    finally:
        detect._query_driver.cache_clear()


def test_nvvm_says_which_kernels_it_writes():
    pytest.importorskip("numba_cuda")
    ptx, trouble = detect._try_nvvm()
    assert not trouble, trouble
    assert ptx >= (8, 0)


def test_nvvm_is_tried_once_for_the_same_packages(monkeypatch, tmp_path):
    """An earlier process's answer will do, but errors are not kept, nor other folders' answers."""
    answers = [(None, "broken"), ((9, 0), ""), ((8, 5), "")]
    monkeypatch.setattr(detect, "_try_nvvm", lambda: answers.pop(0))
    monkeypatch.setenv("SEISMO_CACHE_DIR", str(tmp_path))
    assert detect._kept_nvvm() == (None, "broken")
    assert detect._kept_nvvm() == detect._kept_nvvm() == ((9, 0), "")
    monkeypatch.setenv("CUDA_HOME", "/another")
    assert detect._kept_nvvm() == ((8, 5), "")
    assert not answers


def test_the_context_is_made_while_cupy_is_imported(monkeypatch):
    """Of the GPU that was asked for, and of none where packages are missing."""
    made = []
    monkeypatch.setattr(detect, "_query_driver", lambda: ((13, 0), (H200, H200), "", ()))
    monkeypatch.setattr(detect, "_make_context", made.append)
    monkeypatch.setattr(detect, "_import_cupy", lambda: ((13, 0), ""))
    monkeypatch.setattr(detect, "_try_nvvm", lambda: ((9, 0), ""))
    for installed in (None, "1.0"):
        monkeypatch.setattr(detect, "_installed", lambda name, installed=installed: installed)
        detect.detect(number=1)
        detect.detect()
    assert made == [1]


def test_the_driver_makes_the_primary_context(monkeypatch):
    called = threading.Event()

    def get(device, number):
        device._obj.value = 10 + number
        return 0

    def retain(context, device):
        assert device.value == 11
        called.set()

    driver = SimpleNamespace(cuDeviceGet=get, cuDevicePrimaryCtxRetain=retain)
    monkeypatch.setattr(detect.ctypes, "CDLL", lambda name: driver)
    detect._make_context(1)
    assert called.wait(10)


def test_the_extras_install_what_is_tested():
    project = tomllib.loads(Path(__file__).parents[2].joinpath("pyproject.toml").read_text())
    extras = project["project"]["optional-dependencies"]
    needs = [*extras["gpu"], *extras["gpu-cuda12"], *project["project"]["dependencies"]]
    for package, (least, below) in TESTED.items():
        found = [n for n in needs if re.match(rf"{package}(-cuda\d+x)?(\[.*\])?>", n)]
        assert found, package
        assert all(n.endswith(f">={least},<{below}") for n in found), found


FAR = "import sys, seismo.backends.select as c; c.choose('cpu'); print('cupy' in sys.modules)"


def test_the_cpu_imports_nothing_for_gpus():
    done = subprocess.run([sys.executable, "-c", FAR], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


SCENARIO = """\
physics: acoustic
grid: {extent: {x: 200 m, z: 200 m}, spacing: 10 m, order: 4}
time: {duration: 0.05 s}
boundaries: {layer: {points: 8}}
model: [{type: uniform, vp: 1500 m/s}]
sources:
  - {type: pressure, position: {x: 90 m, z: 90 m}, wavelet: {type: ricker, frequency: 10 Hz}}
"""


@pytest.fixture
def no_gpu(tmp_path, monkeypatch):
    """Work beside a scenario, on a machine without a driver."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.yaml").write_text(SCENARIO)
    for chooser in (choose, choose_all):
        monkeypatch.setitem(chooser.__kwdefaults__, "detect", GpuEnvironment)


@pytest.mark.parametrize("command", ["run", "check", "bench"])
def test_the_command_line_without_a_gpu(no_gpu, command_line, command):
    arguments = (command, "W1") if command == "bench" else (command, "s.yaml")
    code, out, err = command_line(*arguments, "--backend", "gpu")
    assert (code, out) == (2, "")
    assert err.startswith("backend gpu: there is no NVIDIA driver (libcuda.so.1); install ")
    assert err.count("\n") == 1


def test_several_gpus_on_the_command_line_without_one(no_gpu, command_line):
    for command in ("run", "check"):
        for asked in (("2",), ("2", "--backend", "gpu"), ("auto", "--backend", "gpu")):
            code, out, err = command_line(command, "s.yaml", "--gpus", *asked)
            assert (code, out) == (2, "")
            assert err.startswith("gpus: there is no NVIDIA driver (libcuda.so.1); install ")
            assert err.count("\n") == 1
        assert command_line(command, "s.yaml", "--gpus", "auto")[0] == 0
    code, _, err = command_line("run", "s.yaml", "--gpus", "0")
    assert code == 2
    assert "'0': give a number of GPUs from 1 on, or auto" in err


def test_a_run_says_where_it_goes(no_gpu, command_line):
    code, _, err = command_line("run", "s.yaml")
    assert code == 0
    assert re.match(r"on the CPU, \d+ threads?; no GPU: there is no NVIDIA driver", err)
    assert command_line("run", "s.yaml", "--gpus", "auto")[2].startswith(err.split("\n")[0])
    code, _, err = command_line("run", "s.yaml", "--backend", "cpu")
    assert re.match(r"on the CPU, \d+ threads?\n", err)
    assert command_line("run", "s.yaml", "--quiet") == (0, "", "")
    results = seismo.run("s.yaml", backend="cpu")
    assert results.summary["threads"] >= 1
    assert results.summary["device"]


def test_a_wrong_backend_names_the_right_ones(no_gpu, command_line):
    code, _, err = command_line("run", "s.yaml", "--backend", "tpu")
    assert code == 2
    assert "auto" in err
    with pytest.raises(seismo.SeismoError, match="choose auto, cpu or gpu"):
        seismo.run("s.yaml", backend="tpu")
    assert extra_for((13, 1)) == "gpu"
