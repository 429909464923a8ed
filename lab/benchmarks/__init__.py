"""Measures how fast and how exact scoring is, compared with other engines. Not installed; run it from a checkout.

`make bench` compares engines and writes docs/performance.md; `make bench-quick` takes two workloads;
`make gpu` checks and measures a CUDA device; `python -m lab.benchmarks.load` measures the service under load.
"""
