"""One seed, a named generator for each stage and step, so that no generator's state is ever stored."""

import zlib

import numpy as np


def make_generator(seed: int, stage: str, *steps: int) -> np.random.Generator:
    """A generator that depends on the seed, the stage's name and the step, and on nothing else."""
    return np.random.default_rng(np.random.SeedSequence([seed, zlib.crc32(stage.encode()), *steps]))
