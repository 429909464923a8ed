"""The parts of a result that tell of the run: rows, cost, and where it comes from."""

from typing import Any

from pydantic import Field

from lens_engine.scoring.base import LabelScorer
from lens_engine.scoring.spending import Paid, find_paid_scorer
from lens_engine.types import Record


class Provenance(Record):
    """Everything needed to repeat the run."""

    lens: str = Field(description="Version of Lens.")
    model: str = Field(description="Name of the model.")
    revision: str = Field(description="Revision of the model's files: a SHA-256, or a commit of the Hugging Face hub.")
    dtype: str = Field(description="Precision of the model: float32, bfloat16 or float16.")
    device: str = Field(description="Device on which the model ran.")
    device_name: str | None = Field(
        None, description="Name of the GPU on which the model ran; null on a processor.", examples=["NVIDIA H200"]
    )
    executor: str = Field(description="How the model was given the prompts: packed, cached or plain.")
    executor_note: str | None = Field(
        None,
        description="Why faster executors were refused for this model, and how calls run with prompts that exceed the "
        "window of its sliding attention; null if there is nothing to say. Not part of `digest`.",
    )
    seed: int = Field(description="Seed of every random choice.")
    dataset_sha256: str = Field(description="SHA-256 of the texts and labels of the dataset, in order.")
    test_sha256: str | None = Field(
        description="SHA-256 of the texts and labels of the test rows; null without test rows."
    )
    config: dict[str, Any] = Field(description="Value of every option.")


class RowCounts(Record):
    """Number of rows of each kind."""

    labelled: int = Field(description="Number of labelled rows that are used: each may be a demonstration.")
    search: int = Field(description="Number of rows on which LENS searched; 0 without a search.")
    judging: int = Field(description="Number of rows on which every contender was judged.")
    test: int = Field(description="Number of test rows; 0 without a file of test rows.")
    duplicates_dropped: int = Field(description="Number of rows dropped because their text occurred before.")
    conflicting_texts: int = Field(
        description="Number of texts that occurred with more than one label; all their rows were dropped."
    )
    leaked_from_test: int = Field(
        description="Number of dataset rows dropped because the test rows contain the same text."
    )
    near_test_rows: int = Field(
        0,
        description="Number of test rows whose text is nearly equal to that of a labelled row: a cosine of "
        " their sets of five characters of at least 0.85. Of very many rows, a sample is compared.",
    )
    skipped_too_long: int = Field(0, description="Number of rows left out because their texts are equal after the cut.")
    trimmed_too_long: int = Field(0, description="Number of rows whose text was cut because of its length.")


class Payment(Record):
    """What the server of a model was asked, and what it cost. Checks at connection are not in it."""

    requests: int = Field(description="Number of requests that the server answered.")
    tokens: int = Field(description="Number of tokens of prompts, as the server counted.")
    cached_tokens: int = Field(description="Number of these tokens that the server had in its cache.")
    usd: float | None = Field(description="Cost by the prices of the endpoint (USD); null without prices.")

    @classmethod
    def of(cls, paid: Paid, scorer: LabelScorer) -> "Payment | None":
        """What was paid for a scorer; None for a model on this machine."""
        asked = find_paid_scorer(scorer)
        if asked is None:
            return None
        usd = None if asked.spending.prices is None else paid.usd
        return cls(requests=paid.requests, tokens=paid.tokens, cached_tokens=paid.cached_tokens, usd=usd)


class Spending(Record):
    """Cost of the run, with all attempts of a resumed run. `seconds` excludes loading the model."""

    pairs: int = Field(description="Number of pairs scored; a pair is one prefix and one query.")
    tokens: int = Field(description="Tokens scored; a prefix counts once per call; cached pairs included.")
    seconds: float = Field(description="Wall-clock time (seconds).")
    pairs_from_cache: int = Field(0, description="Number of pairs whose scores came from an earlier run.")
    permutations_judged: int = Field(description="Number of permutations that the search of LENS ranked.")
    token_budget: int | None = Field(
        None,
        description="Maximum number of tokens of one forward at the end of the run; halved each time memory ran out.",
    )
    paid: Payment | None = Field(
        None, description="What the server of the model was asked and paid; null for a model on the machine of the run."
    )
