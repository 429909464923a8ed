"""Numeric noise: by how much a score may differ with the device, the kernel or what is scored beside it.

A permutation leads another by counted rows, and rows whose labels are closer together than the
rounding may turn over. A lead is within the noise when as many rows may turn as it has.
"""

ROUNDING_NATS = {"float32": 1e-4, "float16": 0.03, "bfloat16": 0.2}
"""Rounding of the difference between the two likeliest labels, in nats: nineteen of twenty move by less, against
float32 on the same weights. SmolLM2-135M in bfloat16, after eight demonstrations: 0.08 on SST-2, 0.17 on TREC (after
one: 0.10 and 0.28). float16 came some eight times as near; float32 is against itself, by another executor."""


def rounding_nats(dtype: str, *, calibrated: bool) -> float:
    """Rounding of a margin. Calibration subtracts a second difference, with a rounding of its own.

    A dtype that is not in `ROUNDING_NATS` counts as the coarsest.
    """
    return ROUNDING_NATS.get(dtype, max(ROUNDING_NATS.values())) * (2 if calibrated else 1)
