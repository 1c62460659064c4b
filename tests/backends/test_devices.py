"""What a machine has, said in lines: devices, links, all that is missing, where `auto` would go.

Nothing here needs a GPU: what there is is a plain record.
"""

from types import SimpleNamespace

from seismo.backends.gpu.detect import DeviceLink
from seismo.backends.select import report
from test_backend_choice import H200, SOUND, V100, having


def said(facts) -> list[str]:
    return list(report(facts, opened=lambda number: SimpleNamespace(name=f"card {number}")))


def test_gpus_their_links_and_the_choice():
    links = (
        DeviceLink(0, 1, True, True),
        DeviceLink(0, 2, True, False),
        DeviceLink(1, 2, False, False),
    )
    lines = said(having(gpus=(H200, H200, H200), links=links))
    assert lines[0].startswith("CPU: ")
    assert lines[1] == "GPU 0: NVIDIA H200 (compute capability 9.0), 140 GiB"
    assert lines[4:7] == [
        "GPU 0 - GPU 1: over NVLink",
        "GPU 0 - GPU 2: directly, over PCIe",
        "GPU 1 - GPU 2: by the host",
    ]
    assert "for CUDA 13.0" in lines[7]
    assert lines[8] == "cupy-cuda13x 14.2.0, numba-cuda 0.30.4, numpy 2.4.6"
    assert lines[9:] == ["--backend auto: on card 0 (GPU 0 of 3), small runs on the CPU"]


def test_all_that_is_missing_is_named_once():
    """An old card beside a new one, which packages are in the way of."""
    lines = said(having(gpus=(V100, H200), cupy=(), numba_cuda=None))
    missing = [line for line in lines if line.startswith("missing: ")]
    assert len(missing) == 2
    assert "GPU 0 is Tesla V100" in missing[0]
    assert "cupy and numba-cuda is not installed" in missing[1]
    assert "on the CPU" in lines[-1]
    assert "no GPU: cupy and numba-cuda is not installed" in lines[-1]


def test_a_machine_without_gpus():
    lines = said(having(driver=None, gpus=(), cupy=(), numba_cuda=None, numpy=None))
    assert lines[1].startswith("missing: there is no NVIDIA driver (libcuda.so.1); install ")
    assert len(lines) == 3
    assert SOUND.links == ()
