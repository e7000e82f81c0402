"""Playing an environment by hand: in a window (pygame) or in the terminal (standard library only)."""

from heliotrope.play.controls import Control, controls
from heliotrope.play.session import Session

__all__ = ["Control", "Session", "controls"]
