"""Launches of kernels whose blocks work together in clusters; CuPy's own know none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from cuda.bindings import driver

from seismo.backends.gpu.cluster_layout import ClusterError

PORTABLE = 8  # blocks of a cluster that every card of compute capability 9.0 and later runs


def launch_clusters(
    function: Any, stream: Any, sizes: tuple[int, int, int, int], arguments: Sequence[Any]
) -> None:
    """Launch a kernel of clusters.

    Args:
        function: the kernel, as CuPy loaded it.
        stream: CuPy's stream.
        sizes: clusters, blocks of a cluster, threads of a block, bytes of shared memory.
        arguments: NumPy scalars.

    Raises:
        ClusterError: the driver refuses; nothing was launched.
    """
    clusters, blocks, threads, shared = sizes
    handle = driver.CUfunction(function.ptr)
    attributes = driver.CUfunction_attribute
    wanted = {attributes.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: shared}
    if blocks > PORTABLE:
        wanted[attributes.CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED] = 1
    for attribute, value in wanted.items():
        _done(driver.cuFuncSetAttribute(handle, attribute, value))
    dimension = driver.CUlaunchAttribute()
    dimension.id = driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
    dimension.value.clusterDim.x = blocks
    dimension.value.clusterDim.y = 1
    dimension.value.clusterDim.z = 1
    configuration = driver.CUlaunchConfig()
    configuration.gridDimX = clusters * blocks
    configuration.gridDimY = configuration.gridDimZ = 1
    configuration.blockDimX = threads
    configuration.blockDimY = configuration.blockDimZ = 1
    configuration.sharedMemBytes = shared
    configuration.hStream = driver.CUstream(stream.ptr)
    configuration.attrs = [dimension]
    configuration.numAttrs = 1
    # The driver copies the arguments from where these pointers point.
    scalars = [np.array([value]) for value in arguments]
    pointers = np.array([one.ctypes.data for one in scalars], np.uint64)
    _done(driver.cuLaunchKernelEx(configuration, handle, pointers.ctypes.data, 0))


def _done(result: tuple[Any, ...]) -> None:
    status = result[0]
    if int(status):
        raise ClusterError(f"the driver refuses a launch of clusters: {status.name}")
