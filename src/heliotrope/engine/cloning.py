"""`Cloneable`: what holds addresses of its own arrays must be copied by its own method, or not at all."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self


class Cloneable:
    """Makes `copy.copy` and `copy.deepcopy` (of wrappers too) call `clone`, and pickling an error.

    The compiled loop finds arrays by their addresses: a copy made attribute by attribute would go on stepping the
    original's worlds.
    """

    @abstractmethod
    def clone(self) -> Self:
        """An independent copy in the same state."""

    def _twin(self) -> Self:
        """A new object with the same attributes, to begin a clone with."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        return twin

    def __copy__(self) -> Self:
        return self.clone()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.clone()

    def __reduce__(self) -> str:
        raise TypeError(
            "worlds cannot be pickled: keep get_state().to_bytes(), and set_state() it in another environment"
        )
