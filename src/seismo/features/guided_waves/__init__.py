"""Waves guided by beds beside absorbing layers."""

from seismo.features import Feature

FEATURE = Feature(
    "guided_waves",
    layer_media="side_layers:in_side_layers",
)
