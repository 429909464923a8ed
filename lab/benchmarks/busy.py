"""The same scoring alone and beside a busy process, by OMP_WAIT_POLICY: `python -m lab.benchmarks.busy [REPETITIONS]`.

Each figure is the median of the repetitions of a process of its own.
"""

import os
import subprocess
import sys
import time
from statistics import median

_POLICIES, _REPETITIONS = ("unset", "PASSIVE"), 9
_BUSY = [sys.executable, "-c", f"import os\nwhile os.getppid() == {os.getpid()}: pass"]  # ends with this process
_SCORE = [sys.executable, "-m", "lab.benchmarks.busy", "score"]


def main(repetitions: int = _REPETITIONS) -> None:
    sys.stdout.write(f"seconds; load {os.getloadavg()[0]:.2f} when it began\n")
    sys.stdout.write("| OMP_WAIT_POLICY | alone | beside a busy process | times as long |\n|---|---|---|---|\n")
    for policy in _POLICIES:
        alone = _run_child(policy, repetitions)
        busy = subprocess.Popen(_BUSY)
        try:
            beside = _run_child(policy, repetitions)
        finally:
            busy.kill()
            busy.wait()
        sys.stdout.write(f"| {policy} | {alone:.3f} | {beside:.3f} | {beside / alone:.1f} |\n")
        sys.stdout.flush()


def _run_child(policy: str, repetitions: int) -> float:
    environment = {name: value for name, value in os.environ.items() if name != "OMP_WAIT_POLICY"}
    environment |= {} if policy == "unset" else {"OMP_WAIT_POLICY": policy}
    return float(subprocess.check_output([*_SCORE, str(repetitions)], env=environment))


def measure_scoring(repetitions: int) -> float:
    """Median seconds of scoring with the bundled model on all processors."""
    from lab.benchmarks.workloads import WORKLOADS, build_work
    from lens_engine.local.load import load_scorer
    from lens_engine.local.model_files import BUNDLED_MODEL

    scorer, work = load_scorer(BUNDLED_MODEL, device="cpu"), build_work(WORKLOADS[0]).part(2, 14)
    seconds = []
    for _ in range(1 + repetitions):  # the first warms up
        scorer.release()  # so that prefixes are fed each time
        start = time.perf_counter()
        scorer.score(work.prefixes, work.queries, work.label_spans)
        seconds.append(time.perf_counter() - start)
    return median(seconds[1:])


if __name__ == "__main__":
    *is_child, number = sys.argv[1:] or [str(_REPETITIONS)]
    sys.stdout.write(f"{measure_scoring(int(number))}\n") if is_child else main(int(number))
