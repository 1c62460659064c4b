"""The advice: what it is, where in the product it lives, and what measures it here.

The letters say which kind of text gives it: A and B are about Numba kernels and streams, C about
several GPUs, D about Python on GPUs, E about feeding a GPU with data, F about storage in few bits
(Fabien-Ouellet 2020); G is what no such text says and this project found.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module

from ladder.stand import Stand
from ladder.worth import NotHereError, Worth

PROCESSOR, CARD, CARDS = "a processor", "a GPU", "2 GPUs"


@dataclass(frozen=True)
class Row:
    """A piece of advice.

    Attributes:
        number: of it.
        advice: in one sentence.
        here: what it is in a simulator of waves.
        places: where in the product, as file:name.
        needs: what it is measured on.
        measure: (file, function) of this folder; none where nothing here measures it.
        ways: files that say what is wrong without it; the measuring one if none is named.
    """

    number: int
    origin: str
    advice: str
    here: str
    places: tuple[str, ...]
    needs: str
    measure: tuple[str, str] | None = None
    ways: tuple[str, ...] = ()

    @property
    def beside(self) -> tuple[str, ...]:
        """The files that do without it."""
        return self.ways or (self.measure or ())[:1]

    @property
    def anchor(self) -> str:
        """What a link to it names."""
        return f"row-{self.number}"

    def measured(self, stand: Stand) -> Worth:
        """Measure it.

        Raises:
            NotHereError: the machine cannot show it.
        """
        have = [PROCESSOR, CARD, CARDS][: 1 + min(2, stand.cards)]
        if self.needs not in have or self.measure is None:
            raise NotHereError(f"needs {self.needs}")
        file, name = self.measure
        return getattr(import_module(f"ladder.{file}"), name)(stand)


ROWS = (
    Row(1, "A", "Let neighbouring threads read neighbouring addresses.",
        "x lies contiguous, warps begin on lines of 128 bytes and take 128 points of x",
        ("grid/decomposition.py:Subdomain.offset", "backends/gpu/sweeps/kernels.py:SweepKernel"),
        PROCESSOR, ("kernels", "coalesced"), ("strided",)),
    Row(2, "A", "A sequential loop in a kernel serialises it: reduce in stages, in shared memory.",
        "the watch for NaN and overflow finds the largest number of a field on the card",
        ("backends/gpu/arrays.py:largest_kernel",
         "solver/accuracy/stability_monitor.py:StabilityMonitor"),
        CARD, ("sequential", "measure")),
    Row(3, "A, D, E", "Keep data on the device: transfers dwarf kernels.",
        "fields, model, wavelets and records stay on the card from the first step to the last",
        ("backends/gpu/backend.py:GpuBackend", "solver/fields.py:Fields"),
        CARD, ("copied", "measure")),
    Row(4, "A", "Copy through pinned memory, in pieces.",
        "snapshots go through a ring of pinned buffers into chunks",
        ("backends/gpu/card.py:Card.host_buffer", "output/pipeline.py:Ring"),
        CARD, ("pageable", "measure")),
    Row(5, "A", "Use registers and shared memory.",
        "a thread keeps the planes around it in registers as it goes down",
        ("backends/gpu/sweeps/march.py:marching", "backends/gpu/sweeps/march_tile.py:PlaneTile"),
        CARD, ("kernels", "registers"),
        ("flat", "tile", "scalar_queue")),
    Row(6, "A", "Spread the work over all cores: enough blocks of threads.",
        "a table of layouts; planes for a thread so few that blocks are many",
        ("backends/gpu/sweeps/layouts.py:H200", "backends/gpu/sweeps/layouts.py:BlockShape"), CARD,
        ("kernels", "blocks"), ("layouts",)),
    Row(7, "A, B, C, E", "Profile first, and measure each step.",
        "`run --profile` writes a timeline of stages, halos and output, with no profiler",
        ("backends/timeline.py:Profiled", "backends/timeline.py:Timeline",
         "runs/progress.py:RunProfile"),
        PROCESSOR, ("watching", "profile")),
    Row(8, "B", "Streams overlap copies with kernels that do not depend on them.",
        "snapshots are cut out, and copied on a stream of their own beside the next steps",
        ("backends/gpu/card.py:Card.send", "output/pipeline.py:SnapshotRecorder"),
        CARD, ("waiting_output", "measure")),
    Row(9, "B", "Kernels that depend on one another gain nothing from two streams.",
        "velocity and stress follow one another on one line; events stand only where lines join",
        ("backends/gpu/launch_order.py:assign_streams",), CARD, ("streams", "dependent")),
    Row(10, "B", "A kernel that fills the card gains nothing from a second stream.",
        "large shots go one after the other",
        ("solver/discretize.py:discretize", "backends/gpu/backend.py:GpuBackend"),
        CARD, ("streams", "side_by_side")),
    Row(11, "B", "Small independent work does gain from running together.",
        "small shots advance in one batch, one more dimension of each launch",
        ("acquisition/sources.py:evenly", "backends/gpu/sweeps/kernels.py:SweepKernel"),
        CARD, ("surveys", "measure")),
    Row(12, "B", "Tune the kernel before adding streams: unroll, coalesce, watch registers.",
        "differences are written out with their coefficients; launch bounds that do not spill",
        ("backends/operators/derivatives.py:added",
        "backends/gpu/sweeps/layouts.py:BlockShape.bounds"), CARD, ("kernels", "unrolled"),
        ("looped", "layouts")),
    Row(13, "B", "Writers that meet need synchronisation or atomic operations.",
        "a thread for each cell adds all sources there in a fixed order",
        ("backends/point_kernels.py:amount", "solver/sampling/injection.py:Injection"),
        CARD, ("atomics", "measure")),
    Row(14, "B", "Split a large job in parts, each on its stream, and combine at the end.",
        "interior, layers, records and snapshots run side by side as far as they may",
        ("backends/gpu/launch_order.py:dependencies", "backends/gpu/launches.py:Graphs"),
        CARD, ("streams", "independent")),
    Row(15, "C", "Communication can cost more than it saves: small problems are slower on two.",
        "`--gpus auto` takes as many as help, and says what a step is expected to take on each",
        ("runs/resources/placement.py:worth_taking",
         "runs/resources/placement.py:step_seconds"), CARDS,
        ("several", "small")),
    Row(16, "C", "Divide evenly: no GPU idle.",
        "parts are cut by cost, a point in an absorbing layer counting more",
        ("grid/decomposition.py:decompose",), CARDS, ("several", "cut")),
    Row(17, "C", "Move as little as possible between GPUs, nothing through the host.",
        "halos only, straight into the other card's memory: copied, or stored by kernels if small",
        ("solver/parallel/halo.py:Halo",
        "backends/device_threads.py:ThreadCommunicator.link"), CARDS, ("several",
        "exchanged")),
    Row(18, "C", "Let each device work asynchronously, with few points of synchronisation.",
        "what neighbours wait for is computed first, and travels beside the rest",
        ("solver/simulation.py:Simulation", "backends/gpu/launches.py:Graphs"),
        CARDS, ("several", "turns")),
    Row(19, "C", "Use the libraries that know the hardware.",
        "CuPy on a card, NCCL between cards of several processes, MPI between processes",
        ("backends/gpu/launches.py:Messages", "backends/communicator.py:join"),
        CARDS, ("several", "processes")),
    Row(20, "C", "Know the topology: PCIe, NVLink, memory.",
        "cards without access to each other's memory are found, and served through the host's",
        ("backends/device_threads.py:ThreadCommunicator.peers",
        "backends/select.py:report"), CARDS, ("several", "host")),
    Row(21, "D", "Make CPU code parallel by decorator.",
        "formulas compiled for the processor's vectors, tiles dealt to all cores",
        ("backends/cpu/backend.py:CpuBackend", "backends/cpu/tiles.py:VectorLanes"),
        PROCESSOR, ("machines", "processor"), ("slices", "loops")),
    Row(22, "D", "Threads of a block: a multiple of 32, at least 128.",
        "blocks of 256 threads, a warp along x; runs too small for a card stay on the CPU",
        ("backends/gpu/sweeps/layouts.py:BlockShape.fitted",
        "runs/resources/placement.py:reason_for_cpu"), CARD, ("kernels", "warps"), ("layouts",)),
    Row(23, "D", "Test on a CPU first, then move to the GPU.",
        "one formula, one scenario, both backends; tests run the GPU's code on the CPU",
        ("backends/select.py:choose", "backends/operators/derivatives.py:Operators"),
        CARD, ("machines", "both")),
    Row(24, "D", "CuPy is NumPy on the GPU.",
        "memory, streams, graphs and launches are CuPy's",
        ("backends/gpu/card.py:Card.launch",), CARD, ("launches", "measure")),
    Row(25, "D", "Compile once, then run over batches.",
        "kernels are kept on disk under a key of all that goes into them",
        ("backends/gpu/code_cache.py:load_or_compile",), CARD, ("compiled_again",
        "measure")),
    Row(26, "D", "Work is dispatched asynchronously: wait before you stop the clock.",
        "every timing waits for the card or uses its events",
        ("runs/loop/time_loop.py:StepTimer.settle", "backends/gpu/card.py:Card.bandwidth"),
        CARD, ("unsynchronised", "measure")),
    Row(27, "D", "See what the GPU is doing.",
        "speed, share of the bandwidth, utilisation, memory, power and heat, live and as series",
        ("runs/loop/time_loop.py:Telemetry", "backends/gpu/detect.py:health_of",
         "output/figures/seismograms.py:telemetry", "backends/select.py:report"),
        PROCESSOR, ("watching", "telemetry")),
    Row(28, "E", "A GPU starves when its data pipeline is slow: use workers.",
        "a pool compresses and a thread writes beside the steps",
        ("output/pipeline.py:Pipeline",), PROCESSOR, ("gzip_in_loop", "measure")),
    Row(29, "E", "Too small a batch leaves the card idle; memory bounds it.",
        "survey.batch: auto takes as many shots as fill the card and fit it",
        ("acquisition/sources.py:evenly", "runs/resources/memory.py:memory_of"),
        PROCESSOR, ("surveys", "batches")),
    Row(30, "E", "Fuse layers of work into fewer kernels.",
        "all velocities in one kernel, all stresses in another",
        ("equations/elastic/formulas.py:isotropic_velocity",
         "equations/elastic/formulas.py:isotropic_stress"),
        PROCESSOR, ("kernels", "fused"), ("unfused",)),
    Row(31, "E", "No needless copies to the host, no intermediate results there.",
        "maps of largest values, decimation and the watch work on the device",
        ("solver/sampling/peak_maps.py:PeakMaps", "solver/sampling/field_sampling.py:FieldSampler"),
        CARD, ("host_maps", "measure")),
    Row(32, "E", "Several GPUs: one process that drives them, or one process each.",
        "one process drives its GPUs, a thread each; ranks joined by MPI take a card each",
        ("backends/device_threads.py:DeviceThreads",
        "backends/communicator.py:join"), CARDS, ("several", "processes")),
    Row(33, "F", "Store numbers in as few bits as the answer needs, and compute in more.",
        "with `precision: float16` fields and model have 16 bits, formulas compute in 32",
        ("features/half_precision/table.py:in_16_bits",
        "equations/acoustic/constant_density.py:in_increments",
         "backends/row_kernels.py:dither"),
        CARD, ("fewer_bits", "measure")),
    Row(34, "G", "Keep on the chip what the next step needs: the time loop within the kernel.",
        "small planes live in the shared memory of a cluster, large acoustic ones in tiles",
        ("backends/gpu/resident/program.py:resident_program",
         "backends/gpu/resident/kernel.py:ClusterKernel",
         "backends/gpu/resident/kernel.py:TileKernel"),
        CARD, ("on_chip", "measure")),
    Row(35, "G", "Compute nothing that is known: points that no wave has reached stay 0.",
        "steps of a run from rest update the box that the fastest waves can have reached",
        ("solver/parallel/active_region.py:phases",), PROCESSOR, ("still", "measure")),
)  # fmt: skip
