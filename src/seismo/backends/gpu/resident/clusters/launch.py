"""Launches of kernels whose blocks work together, in clusters or all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from cuda.bindings import driver

from seismo.backends.gpu.resident.clusters.layout import (
    ClusterError,
    ClusterSizes,
    TileSizes,
)

PORTABLE = 8  # blocks of a cluster that every card of compute capability 9.0 and later runs


def launch_clusters(
    function: Any, stream: Any, sizes: ClusterSizes, arguments: Sequence[Any]
) -> None:
    """Launch a kernel of clusters.

    Args:
        function: the kernel, as CuPy loaded it.
        stream: CuPy's stream.
        sizes: of the launch.
        arguments: NumPy scalars.

    Raises:
        ClusterError: the driver refuses; nothing was launched.
    """
    clusters, blocks, threads, shared = sizes
    attributes = driver.CUfunction_attribute
    if blocks > PORTABLE:
        name = attributes.CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED
        _done(driver.cuFuncSetAttribute(driver.CUfunction(function.ptr), name, 1))
    dimension = driver.CUlaunchAttribute()
    dimension.id = driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
    dimension.value.clusterDim.x = blocks
    dimension.value.clusterDim.y = 1
    dimension.value.clusterDim.z = 1
    _launch(function, stream, TileSizes(clusters * blocks, threads, shared), dimension, arguments)


def launch_together(function: Any, stream: Any, sizes: TileSizes, arguments: Sequence[Any]) -> None:
    """Launch a kernel whose blocks all run at the same time.

    Args:
        function: the kernel, as CuPy loaded it.
        stream: CuPy's stream.
        sizes: of the launch.
        arguments: NumPy scalars.

    Raises:
        ClusterError: the card has no room for all; nothing was launched.
    """
    cooperative = driver.CUlaunchAttribute()
    cooperative.id = driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_COOPERATIVE
    cooperative.value.cooperative = 1
    _launch(function, stream, sizes, cooperative, arguments)


def _launch(
    function: Any, stream: Any, sizes: TileSizes, attribute: Any,
    arguments: Sequence[Any],
) -> None:  # fmt: skip
    blocks, threads, shared = sizes
    handle = driver.CUfunction(function.ptr)
    size = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
    _done(driver.cuFuncSetAttribute(handle, size, shared))
    configuration = driver.CUlaunchConfig()
    configuration.gridDimX = blocks
    configuration.gridDimY = configuration.gridDimZ = 1
    configuration.blockDimX = threads
    configuration.blockDimY = configuration.blockDimZ = 1
    configuration.sharedMemBytes = shared
    configuration.hStream = driver.CUstream(stream.ptr)
    configuration.attrs = [attribute]
    configuration.numAttrs = 1
    # The driver copies the arguments from where these pointers point.
    scalars = [np.array([value]) for value in arguments]
    pointers = np.array([one.ctypes.data for one in scalars], np.uint64)
    _done(driver.cuLaunchKernelEx(configuration, handle, pointers.ctypes.data, 0))


def _done(result: tuple[Any, ...]) -> None:
    status = result[0]
    if int(status):
        raise ClusterError(
            f"the driver refuses a launch of blocks that work together: {status.name}"
        )
