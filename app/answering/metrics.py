"""Numbers of what is answered at once."""

from prometheus_client import CollectorRegistry, Counter, Histogram

_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)


class AnsweringMetrics:
    """How many texts are computed together, and how often models are opened: of a process that computes."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._batches = Histogram(
            "lens_answers_batch_texts", "Texts that are computed together.", buckets=_SIZES, registry=registry
        )
        self._loads = Counter(
            "lens_answers_model_loads", "Models opened to answer at once, by `outcome`.", ["outcome"], registry=registry
        )
        for outcome in ("opened", "refused"):
            self._loads.labels(outcome)

    def note_batch(self, number: int) -> None:
        self._batches.observe(number)

    def note_load(self, outcome: str) -> None:
        self._loads.labels(outcome).inc()


class AskingMetrics(AnsweringMetrics):
    """Also what an API process is asked."""

    def __init__(self, registry: CollectorRegistry) -> None:
        super().__init__(registry)
        self._answers = Counter(
            "lens_answers",
            "Texts asked for an answer at once, by `contender` (classifier, prompt, words) and `outcome`: answered, or "
            "the code of the refusal.",
            ["contender", "outcome"],
            registry=registry,
        )

    def note_answers(self, contender: str, outcome: str, number: int) -> None:
        self._answers.labels(contender, outcome).inc(number)
