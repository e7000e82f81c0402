"""Sensors: how an agent sees a 2-D world, as facts (`GridSensor`), rays (`RaySensor`) or a picture (`CameraSensor`)."""

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
from .spec import GridSpec
from .world import Entities, Raster, World

__all__ = [
    "Bins",
    "Channel",
    "Count",
    "Custom",
    "Distance",
    "Entities",
    "GridSensor",
    "GridSpec",
    "InWorld",
    "Occupied",
    "OneHot",
    "Property",
    "Raster",
    "Self",
    "TagIndex",
    "Tiles",
    "Visible",
    "World",
]
