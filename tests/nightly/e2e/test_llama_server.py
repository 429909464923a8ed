"""The real llama-server says what Lens computes: what every test of a client of it stands on."""

from contextlib import closing
from pathlib import Path

import pytest

from lens_engine.config import SelectionConfig
from lens_engine.model.base import LabelScorer
from lens_engine.model.local.load import load_scorer
from lens_engine.model.local.model_files import BUNDLED_MODEL
from lens_engine.model.servers.address import Endpoint
from lens_engine.model.servers.scorer import open_endpoint
from lens_engine.prompt.template import Task
from lens_engine.rows.problem import Problem
from lens_engine.run.pipeline import select_support_examples
from lens_engine.types import Example
from tests.endpoints.double import MODEL, Double, ModelBehind, serving
from tests.llama_server.server import LlamaServer
from tests.llama_server.weights import float32_weights

PREFIX = ("Sharp, funny and warm. It was great.\n", "Two hours that I will not get back. It was terrible.\n")
QUERIES = ["I loved every minute of it. It was", "Dull. It was"]
TASK = Task("{text} It was {label}.\n", {"bad": "terrible", "good": "great"})
_ENDS = ("", " of it", " again", " this time", " at last")
CONFIG = SelectionConfig.model_validate(
    {
        "num_demonstrations": 2,
        "rows": {"search": 24, "judging": 12},
        "filtering": {"keep": 6, "rounds": 2, "initial_score_size": 2, "max_score_size": 4},
        "search": {"validation": 8, "sets": 4, "beam_width": 2, "children": 2, "iterations": 1, "forms": ["fixed"]},
        "classifier": {"kind": "none"},
    }
)


def test_scorer_of_servers_gives_the_local_scores(llama_server: LlamaServer) -> None:
    """With tokens of its own and of the model's files; label words of several tokens share nodes."""
    spans = [" great", " terrible", " fine", " photosynthesis", " not so good", " not my thing"]
    right = load_scorer(BUNDLED_MODEL, dtype="float32", device="cpu").score([PREFIX, ()], QUERIES, spans)
    for tokenizer in (None, BUNDLED_MODEL):
        endpoint = Endpoint("llama-cpp", llama_server.url, float32_weights().name, tokenizer=tokenizer)
        with closing(open_endpoint(endpoint, answer_bytes=None)) as scorer:
            found = scorer.score([PREFIX, ()], QUERIES, spans)
        assert found == pytest.approx(right, rel=0, abs=1e-3)
        assert scorer.conformance.repeat_nats < 1e-3


def choose(scorer: LabelScorer) -> list[tuple[int, ...]]:
    """Rows of what the search of a small selection found, the best first."""
    said = {"bad": ("Dull", "Slow", "A mess"), "good": ("Warm", "Sharp", "A joy")}
    things = [f"the {thing}{end}" for thing in ("plot", "cast", "music", "end", "jokes", "pace") for end in _ENDS]
    texts = [(label, f"{word}, {thing}.") for thing in things for label in said for word in said[label]]
    examples = [Example(row, text, label) for row, (label, text) in enumerate(texts)]
    result = select_support_examples(Problem(TASK, examples), scorer, CONFIG, progress=False)
    found = sorted({one.name: one.rows for one in result.contenders if one.method == "lens"}.items())
    assert found
    return [rows for _, rows in found]


def choose_at(endpoint: Endpoint, folder: Path) -> list[tuple[int, ...]]:
    with closing(open_endpoint(endpoint, cache_dir=folder, answer_bytes=None)) as scorer:
        return choose(scorer)


def test_selection_through_servers_is_that_of_the_model_here(llama_server: LlamaServer, tmp_path: Path) -> None:
    local = load_scorer(BUNDLED_MODEL, dtype="float32", device="cpu")
    chosen = choose(local)
    with serving(Double(ModelBehind(local))) as double:
        assert choose_at(Endpoint("vllm", double.url, MODEL), tmp_path) == chosen
    real = Endpoint("llama-cpp", llama_server.url, float32_weights().name)
    assert choose_at(real, tmp_path) == chosen
