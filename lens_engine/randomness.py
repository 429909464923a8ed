"""Random generators: each stage and step derives its own from the seed, so no checkpoint stores a generator's state."""

import zlib

import numpy as np


def make_generator(seed: int, stage: str, *steps: int) -> np.random.Generator:
    """A generator that depends only on the seed, the stage's name and the step."""
    return np.random.default_rng(np.random.SeedSequence([seed, zlib.crc32(stage.encode()), *steps]))
