"""Measures how fast and how exact scoring is, compared with other engines. Not installed; run it from a checkout.

`make bench` compares engines, times a search and writes docs/performance.md; `make bench-quick` takes two workloads;
`make bench-studies` measures number formats, growth and memory; `make gpu` checks and measures a CUDA card.
"""
