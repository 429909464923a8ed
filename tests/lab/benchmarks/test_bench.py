"""A comparison goes on without an executor that is wrong for the model, and its tables go into the page."""

from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest
import torch

from lab.benchmarks.models import ModelFamily
from lab.benchmarks.run import PAGE, Bench, write_section
from lab.benchmarks.workloads import Work, WorkloadSpec
from lens_engine.testing import tiny_causal_lm

SPEC = WorkloadSpec("W", "two prefixes and two queries", "reviews", demonstrations=1, prefixes=2, queries=2)
WORK = Work((("good great\n",), ("bad terrible\n",)), ("great It was", "terrible It was"), (" great", " terrible"))
OPTIONS = Namespace(seconds=0.01, repetitions=1, quick=True)


def test_executor_that_is_wrong_in_16_bits_only_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    tokenizer = tiny_causal_lm("llama").tokenizer

    def make(dtype: torch.dtype) -> Any:  # in 16 bits a model whose local windows packing does not keep
        return tiny_causal_lm("llama" if dtype == torch.float32 else "gpt_neo").model.to(dtype)

    family = ModelFamily("a model", tokenizer, make, torch.device("cpu"))
    bench = Bench(family, torch.bfloat16, OPTIONS)
    (line,) = capsys.readouterr().err.splitlines()
    assert "bfloat16" in line
    assert "packed" in line

    lines = bench.show(SPEC, WORK).splitlines()

    assert lines[0] == "**W**, two prefixes and two queries; `a model`, which runs cached."
    assert [line.split(",")[0] for line in lines[4:6]] == ["| Lens", "| plain batch"]


def test_section_is_replaced_and_the_rest_stays(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- begin one -->\nold\n<!-- end one -->\nafter\n")
    for _ in range(2):
        write_section("one", r"new \1 text", page)
    assert page.read_text() == "before\n<!-- begin one -->\n\nnew \\1 text\n\n<!-- end one -->\nafter\n"
    with pytest.raises(ValueError, match=r"page\.md has no section <!-- begin two -->"):
        write_section("two", "text", page)
    assert "<!-- begin engines cpu -->" in PAGE.read_text("utf-8")
