"""Options shared by all tests."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--data",
        default=None,
        help="a folder (or file) of recorded cases to replay instead of those in tests/conformance/data",
    )
