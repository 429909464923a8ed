"""Workloads: texts, prompts and models to measure with."""
