"""Engines: ways to score every prefix with every query, from token ids and with the same weights.

An engine has a name, a loaded model and a note on its settings. `shares_prefixes` says whether a prefix is computed
once for its queries; if not, any part of the pairs is a fair sample. `smallest_sample` is the number of pairs of about
one forward. `prepare` makes a run, tokenisation included, and is timed for no engine.
"""

from collections.abc import Callable
from dataclasses import dataclass

from lab.benchmarks.models import LoadedModel
from lab.benchmarks.workloads import Work
from lens_engine.model.local.executors import ExecutorName
from lens_engine.model.local.load import scorer_from_model
from lens_engine.model.local.scorer import CausalLMScorer
from lens_engine.types import LabelLogProbs

EXECUTORS: tuple[ExecutorName, ...] = ("packed", "cached", "plain")
"""Our executors, from fast to slow."""

Run = Callable[[], LabelLogProbs]
"""Scores a workload: `label_log_probs  # [prefixes, queries, labels]`. Only this is timed."""


@dataclass(frozen=True)
class LensEngine:
    """`CausalLMScorer` with one executor. Plain is the usual way: whole prompts, sorted by length, right-padded, and
    logits at the label positions only."""

    loaded: LoadedModel
    scorer: CausalLMScorer

    @classmethod
    def over(cls, loaded: LoadedModel, executor: ExecutorName) -> "LensEngine":
        """
        Raises:
            ModelError: this executor is wrong for the model.
        """
        return cls(loaded, scorer_from_model(loaded.model, loaded.tokenizer, executor=executor))

    @property
    def name(self) -> str:
        return self.scorer.identity.executor

    @property
    def shares_prefixes(self) -> bool:
        return self.name != "plain"

    @property
    def smallest_sample(self) -> int:
        return 56 if self.shares_prefixes else 8

    @property
    def note(self) -> str:
        return f"{self.scorer.token_budget} tokens a forward"

    def prepare(self, work: Work) -> Run:
        """The scorer remembers token ids, so only the run before the timed ones tokenises."""

        def run() -> LabelLogProbs:
            label_log_probs = self.scorer.score(work.prefixes, work.queries, work.label_spans)
            self.scorer.release()  # every run feeds every prefix
            return label_log_probs

        return run
