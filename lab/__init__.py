"""Measurements of Lens from a checkout. Not part of the wheel.

python -m lab.experiments.table      the paper's table: LENS, its rivals, other readings of it
python -m lab.experiments.prompts    prompts of every form: docs/results/prompts.csv
python -m lab.benchmarks.run         scoring beside other engines (`make bench`, `make bench-quick`)
python -m lab.benchmarks.check       executors in their order of speed (`make nightly`)
python -m lab.benchmarks.gpu         a CUDA device, checked and measured (`make gpu`)
python -m lab.benchmarks.load        the HTTP service under load
"""
