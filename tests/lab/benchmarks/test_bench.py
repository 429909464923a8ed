"""A comparison goes on without an executor that is wrong for the model."""

from typing import Any

import torch

from lab.benchmarks.bench import Bench, Effort
from lab.benchmarks.workloads.models import ModelFamily
from lab.benchmarks.workloads.work import Work, WorkloadSpec
from lens_engine.testing import tiny_causal_lm

SPEC = WorkloadSpec("W", "two prefixes and two queries", "reviews", demonstrations=1, prefixes=2, queries=2)
WORK = Work((("good great\n",), ("bad terrible\n",)), ("great It was", "terrible It was"), (" great", " terrible"))
EFFORT = Effort(seconds=0.01, repetitions=1, checked_queries=1, largest_batch=4)


def test_executor_that_is_wrong_in_16_bits_only_is_left_out() -> None:
    tokenizer = tiny_causal_lm("llama").tokenizer

    def make(dtype: torch.dtype) -> Any:  # in 16 bits a model whose local windows packing does not keep
        return tiny_causal_lm("llama" if dtype == torch.float32 else "gpt_neo").model.to(dtype)

    said: list[str] = []
    bench = Bench(ModelFamily("a model", tokenizer, make, torch.device("cpu")), torch.bfloat16, EFFORT, said.append)

    assert len(said) == 1
    assert "bfloat16" in said[0]
    assert "packed" in said[0]

    run = bench.run(SPEC, WORK)

    assert run.executor == "cached"
    assert [engine.engine for engine in run.engines][:2] == ["cached", "plain"]
