"""Measurements of Lens from a checkout. Not part of the wheel.

python -m lab.experiments.table      the paper's table: LENS, its rivals, other readings of it
python -m lab.experiments.few_rows   accuracy by number of labelled rows, beside what a run expected
python -m lab.benchmarks.run         scoring beside other engines (`make bench`, `make bench-quick`)
python -m lab.benchmarks.gpu         a CUDA device, checked and measured (`make gpu`)
python -m lab.benchmarks.answers     answers at once of a service that runs here
"""
