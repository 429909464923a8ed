"""The contract of an engine, and the token ids that every engine starts from."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from lab.benchmarks.workloads.models import LoadedModel
from lab.benchmarks.workloads.work import Work
from lens_engine.local.executors import Workload
from lens_engine.scoring.labels import build_label_trie
from lens_engine.scoring.tokenization import Tokens
from lens_engine.types import LabelLogProbs

Run = Callable[[], LabelLogProbs]
"""Scores a workload: `label_log_probs  # [prefixes, queries, labels]`. Only this is timed."""


class Engine(Protocol):
    """One way to score, over one loaded model."""

    @property
    def name(self) -> str: ...

    @property
    def loaded(self) -> LoadedModel: ...

    @property
    def shares_prefixes(self) -> bool:
        """Whether a prefix is computed once for its queries. If not, any part of the pairs is a fair sample."""
        ...

    @property
    def smallest_sample(self) -> int:
        """Minimum number of pairs for a fair measurement: about the pairs of one forward."""
        ...

    @property
    def note(self) -> str:
        """Settings of the engine, for the reader of a table."""
        ...

    def prepare(self, work: Work) -> Run:
        """Prepare a run, tokenisation included. The preparation is timed for no engine."""
        ...


@dataclass(frozen=True, slots=True)
class EncodedWork:
    """A workload as token ids."""

    workload: Workload
    spans: tuple[Tokens, ...]  #: of each label word

    @property
    def label_positions(self) -> int:
        """Positions whose logits are needed: the query's last token, and those of label words that go on."""
        workload = self.workload
        return len(workload.prefixes) * len(workload.queries) * len(workload.trie.tokens)


def encode(work: Work, loaded: LoadedModel) -> EncodedWork:
    """The same token ids as in `CausalLMScorer`. Every prefix must have a demonstration."""
    spans = loaded.segments.encode_spans(work.label_spans)
    workload = Workload(
        prefixes=tuple(loaded.segments.encode_prefixes(work.prefixes)),
        queries=tuple(loaded.segments.encode_queries(work.queries, is_first=False)),
        trie=build_label_trie(work.label_spans, spans),
    )
    return EncodedWork(workload, tuple(spans))


class FedTokens:
    """Counts the tokens that are fed to a model, padding included."""

    def __init__(self, model: Any) -> None:
        self.count = 0
        self._handle = model.register_forward_pre_hook(self._add, with_kwargs=True)

    def __enter__(self) -> "FedTokens":
        return self

    def __exit__(self, *_: object) -> None:
        self._handle.remove()

    def _add(self, _model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.count += (args[0] if args else kwargs["input_ids"]).numel()
