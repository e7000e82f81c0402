"""What goes wrong because of what the user typed, and is said in one line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class CommandError(Exception):
    """A command cannot do what it was asked; the message is for the user."""


@contextmanager
def user_errors(*types: type[Exception]) -> Iterator[None]:
    """Exceptions of these types are the user's doing: they become `CommandError`."""
    try:
        yield
    except types as error:
        # Gymnasium appends all keywords to what the environment says about one of them.
        message, _, _ = str(error).partition(" was raised from the environment creator")
        # Python's own words for a wrong keyword name a constructor that nobody has called.
        _, _, keyword = message.partition(".__init__() got an unexpected keyword argument ")
        raise CommandError(f"there is no parameter {keyword}" if keyword else message) from error
