"""The same scoring alone and beside busy processes, by OMP_WAIT_POLICY: `python -m lab.benchmarks.busy`.

Each policy has a process of its own, and the median of its repetitions is shown.
"""

import os
import subprocess
import sys
import time
from statistics import median

_POLICIES, _REPETITIONS = ("unset", "PASSIVE"), 9
_BUSY = [sys.executable, "-c", "while True: pass"]
_SCORE = [sys.executable, "-m", "lab.benchmarks.busy", "score"]


def main() -> None:
    sys.stdout.write(f"seconds; load {os.getloadavg()[0]:.2f} when it began\n| busy | {' | '.join(_POLICIES)} |\n")
    for number in range(2):
        busy = [subprocess.Popen(_BUSY) for _ in range(number)]
        try:
            seconds = map(_run_child, _POLICIES)
            sys.stdout.write(f"| {number} | {' | '.join(f'{one:.2f}' for one in seconds)} |\n")
            sys.stdout.flush()
        finally:
            for one in busy:
                one.kill()
                one.wait()


def _run_child(policy: str) -> float:
    environment = os.environ | ({} if policy == "unset" else {"OMP_WAIT_POLICY": policy})
    return float(subprocess.check_output(_SCORE, env=environment))


def measure_scoring() -> float:
    """Median seconds of scoring with the bundled model on all processors."""
    from lab.benchmarks.workloads import WORKLOADS, build_work
    from lens_engine.local.load import load_scorer
    from lens_engine.local.model_files import BUNDLED_MODEL

    scorer, work = load_scorer(BUNDLED_MODEL, device="cpu"), build_work(WORKLOADS[0]).part(2, 14)
    seconds = []
    for _ in range(1 + _REPETITIONS):  # the first warms up
        scorer.release()  # so that prefixes are fed each time
        start = time.perf_counter()
        scorer.score(work.prefixes, work.queries, work.label_spans)
        seconds.append(time.perf_counter() - start)
    return median(seconds[1:])


if __name__ == "__main__":
    sys.stdout.write(f"{measure_scoring()}\n") if sys.argv[1:] == ["score"] else main()
