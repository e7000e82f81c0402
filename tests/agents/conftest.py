"""Learners in tests use one thread: the machine's cores are shared by pytest's workers."""

import os

import pytest

# PyTorch reads it when it is imported.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


@pytest.fixture(autouse=True, scope="session")
def one_thread() -> None:
    import torch

    torch.set_num_threads(1)
