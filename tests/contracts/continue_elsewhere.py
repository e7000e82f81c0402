"""Run in a process of its own: restores the snapshots of a JSON file and answers which of them went on as expected."""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from contracts.cases import CASES
from contracts.checks import continue_here

if __name__ == "__main__":
    tasks = json.loads(Path(sys.argv[1]).read_text())
    sys.stdout.write(json.dumps([continue_here(CASES[task["case"]], task) for task in tasks]))
