"""Sensors: how an agent sees a 2-D world, as facts (`GridSensor`), rays (`RaySensor`) or a picture (`CameraSensor`)."""

from .adapters import minatar_channels, minatar_pose, minatar_world, minigrid_pose, minigrid_world
from .camera import CameraSensor
from .channels import (
    Bins,
    Channel,
    Count,
    Custom,
    Distance,
    InWorld,
    Occupied,
    OneHot,
    Property,
    Self,
    TagIndex,
    Tiles,
    Visible,
)
from .grid import GridSensor
from .png_stack import (
    decode_png_stack,
    encode_png_stack,
    is_trivial_mapping,
    pack_bits,
    stack_mapping,
    unpack_bits,
)
from .rays import RaySensor
from .spec import GridSpec
from .world import Entities, Raster, World
from .wrappers import GridObservation, History, VectorGridObservation

__all__ = [
    "Bins",
    "CameraSensor",
    "Channel",
    "Count",
    "Custom",
    "Distance",
    "Entities",
    "GridObservation",
    "GridSensor",
    "GridSpec",
    "History",
    "InWorld",
    "Occupied",
    "OneHot",
    "Property",
    "Raster",
    "RaySensor",
    "Self",
    "TagIndex",
    "Tiles",
    "VectorGridObservation",
    "Visible",
    "World",
    "decode_png_stack",
    "encode_png_stack",
    "is_trivial_mapping",
    "minatar_channels",
    "minatar_pose",
    "minatar_world",
    "minigrid_pose",
    "minigrid_world",
    "pack_bits",
    "stack_mapping",
    "unpack_bits",
]
