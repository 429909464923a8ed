"""`python -m tests.chaos.worker`: the real worker, which imports what a run needs before it forks.

The run of a doubled scorer lasts a second, and the imports of its work-horse last longer. Imported once, they leave
time for many more selections. Nothing imported here is torch.
"""

import sklearn.linear_model
import sklearn.metrics  # noqa: F401

import worker.jobs  # noqa: F401
from worker.__main__ import main

if __name__ == "__main__":
    raise SystemExit(main())
