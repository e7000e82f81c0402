"""`python -m heliotrope` is the command `heliotrope`."""

import sys

from heliotrope.cli import main

if __name__ == "__main__":
    sys.exit(main())
