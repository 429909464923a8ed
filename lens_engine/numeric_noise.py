"""Numeric noise: by how much a score may differ with the device, the kernel or what is scored beside it.

A permutation leads another by counted rows, and rows whose labels are closer together than the
rounding may turn over. A lead is within the noise when as many rows may turn as it has.
"""

ROUNDING_NATS = {"float32": 1e-4, "float16": 0.03, "bfloat16": 0.25}
"""Rounding of a difference of two label log-probabilities, in nats: the largest seen against float32
on the same weights (SmolLM2-135M)."""


def rounding_nats(dtype: str, *, calibrated: bool) -> float:
    """Rounding of a margin. Calibration subtracts a second difference, with a rounding of its own.

    A dtype that is not in `ROUNDING_NATS` counts as the coarsest.
    """
    return ROUNDING_NATS.get(dtype, max(ROUNDING_NATS.values())) * (2 if calibrated else 1)
