"""Waves guided by beds beside absorbing layers."""

from seismo.features import Feature

FEATURE = Feature(
    "guided_waves",
    layer_media="side_layers:in_side_layers",
    field_damping="guides:field_damping",
    uneven_rows="side_layers:mixed_rows",
)
