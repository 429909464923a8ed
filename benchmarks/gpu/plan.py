"""The plan of `make gpu`: the steps in order, most information first, with their shares of eight minutes."""

from dataclasses import replace
from pathlib import Path

from benchmarks.gpu.runner import Setting, Step
from benchmarks.gpu.steps.alternatives import compare_alternatives
from benchmarks.gpu.steps.comparison import compare_engines, search_once
from benchmarks.gpu.steps.exactness import check_exactness
from benchmarks.gpu.steps.kernel import check_attention
from benchmarks.gpu.steps.machine import read_end, read_machine, touch_device
from benchmarks.gpu.steps.memory import check_memory
from benchmarks.gpu.steps.profile import profile_forwards
from benchmarks.gpu.steps.repeatability import check_repeatability
from benchmarks.gpu.steps.unit_tests import run_tests
from benchmarks.workloads.tokenizer import train_tokenizer

START = Step("start", touch_device, 60)
"""Tells how processes can be started. Its seconds go from those of the last step."""

# A step ends early when it is done, and leaves its time to the next ones: at the end, to the search.
STEPS = (
    Step("machine", read_machine, 25),
    Step("kernel", check_attention, 35),
    Step("exactness", check_exactness, 50),
    Step("tests", run_tests, 45),
    Step("repeatability", check_repeatability, 45),
    Step("memory", check_memory, 30),
    Step("profile", profile_forwards, 60),
    Step("alternatives", compare_alternatives, 65),
    Step("comparison", compare_engines, 100),
    Step("closing", read_end, 10),
    Step("search", search_once, 15),
)


def rehearse(setting: Setting, folder: Path) -> Setting:
    """The setting for a processor, at tiny size. The tokenizer of the tiny model is written to `folder`."""
    train_tokenizer().save_pretrained(folder)
    return replace(setting, device="cpu", model="random:mini", tokenizer=folder, is_rehearsal=True)
