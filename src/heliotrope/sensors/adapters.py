"""Worlds and poses of other people's environments, for `GridObservation(env, sensor, world_of, pose_of)`.

Neither library is imported here: the functions read the attributes of the environment that they are given.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .world import Entities, Raster

__all__ = ["minatar_channels", "minatar_pose", "minatar_world", "minigrid_pose", "minigrid_world"]

_MINIGRID_KINDS = (
    "unseen", "empty", "wall", "floor", "door", "key", "ball", "box", "goal", "lava", "agent",
)  # fmt: skip
"""Names of MiniGrid's object numbers, in order."""

_WALL, _DOOR = _MINIGRID_KINDS.index("wall"), _MINIGRID_KINDS.index("door")
_BLOCKED_DOOR = 255
"""Tile id of a door that is not open, since openness is a matter of state in MiniGrid and of tile here."""


def minigrid_world(env: Any) -> Raster:
    """The map of a MiniGrid environment.

    Tiles are MiniGrid's object numbers, except that doors that are not open have the id 255 and block sight, as walls
    do. The planes `color` (0..5) and `state` (0..2) hold the other two numbers of each cell.

    Args:
        env: a MiniGrid environment, wrapped or not.
    """
    grid = env.unwrapped.grid
    # MiniGrid indexes by column, then row.
    cells = grid.encode().transpose(1, 0, 2)
    tiles = cells[..., 0].astype(np.uint8)
    tiles[(tiles == _DOOR) & (cells[..., 2] != 0)] = _BLOCKED_DOOR
    names = dict(enumerate(_MINIGRID_KINDS)) | {_BLOCKED_DOOR: "closed door"}
    return Raster(tiles, {"color": cells[..., 1], "state": cells[..., 2]}, opaque=(_WALL, _BLOCKED_DOOR), names=names)


def minigrid_pose(env: Any) -> NDArray[np.float64]:
    """Pose of a MiniGrid agent: x, y, heading on the map of `minigrid_world`."""
    base = env.unwrapped
    column, row = (int(value) for value in base.agent_pos)
    # MiniGrid counts directions clockwise from the right; headings are counter-clockwise from up.
    quarter = (3 - int(base.agent_dir)) % 4
    return np.array(
        [column + 0.5, base.grid.height - row - 0.5, quarter * (np.pi / 2)],
    )


def _minatar(env: Any) -> Any:
    """The MinAtar game inside a Gymnasium wrapper, or the game itself."""
    inner = getattr(env, "unwrapped", env)
    return getattr(inner, "game", inner)


def minatar_channels(env: Any) -> tuple[str, ...]:
    """Names of a MinAtar game's planes, in order."""
    game = _minatar(env)
    named = getattr(getattr(game, "env", game), "channels", None)
    if named:
        return tuple(name for name, _ in sorted(named.items(), key=lambda item: item[1]))
    return tuple(f"plane{i}" for i in range(game.state_shape()[2]))


def minatar_world(env: Any) -> Entities:
    """The objects of a MinAtar game: one square of side 1 per set bit, tagged with its plane's name.

    `GridSensor.minatar(minatar_channels(env))` then reproduces the game's own observation.

    Args:
        env: `minatar.Environment` or one of its Gymnasium environments.
    """
    game = _minatar(env)
    state = np.asarray(game.state(), dtype=np.bool_)
    rows, columns, planes = np.nonzero(state)
    position = np.stack([columns + 0.5, state.shape[0] - rows - 0.5], axis=1)
    return Entities(
        position, planes, size=1.0, names=minatar_channels(env), bounds=(0, 0, state.shape[1], state.shape[0])
    )


def minatar_pose(env: Any) -> NDArray[np.float64]:
    """The centre of a MinAtar board, from which the whole of it is seen."""
    rows, columns = _minatar(env).state_shape()[:2]
    return np.array([columns / 2, rows / 2, 0.0])
