from lens_engine.judging.rounding import ROUNDING_NATS, rounding_nats


def test_coarser_formats_round_more_and_unknown_ones_most() -> None:
    sizes = [rounding_nats(dtype, calibrated=False) for dtype in ("float32", "float16", "bfloat16")]

    assert sizes == sorted(sizes)
    assert rounding_nats("bfloat16", calibrated=False) == ROUNDING_NATS["bfloat16"]
    assert rounding_nats("float8", calibrated=False) == max(sizes)
    assert rounding_nats("float16", calibrated=True) == 2 * ROUNDING_NATS["float16"]
