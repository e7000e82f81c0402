"""Agents that learn, on PyTorch (extra `agents`); one file per algorithm, and what they share in files of its own."""
