from lens_engine.search.rounding import ROUNDING_NATS, rounding_nats


def test_coarser_formats_round_more_and_unknown_ones_most() -> None:
    sizes = [rounding_nats(dtype) for dtype in ("float32", "float16", "bfloat16")]

    assert sizes == sorted(sizes)
    assert rounding_nats("bfloat16") == ROUNDING_NATS["bfloat16"]
    assert rounding_nats("float8") == max(sizes)
