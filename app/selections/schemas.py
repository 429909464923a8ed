"""The wire types of selections. What comes in and what goes out differ by type."""

from datetime import datetime
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from app.selections.states import Status
from lens_engine.config import PresetName, SelectionConfig
from lens_engine.result import SelectionResult
from lens_engine.types import Phase, StopReason

MAX_INPUTS = 100

Name = Annotated[str, StringConstraints(min_length=1, max_length=200)]
ModelName = Annotated[str, StringConstraints(min_length=1, max_length=100)]
LabelWord = Annotated[str, StringConstraints(max_length=200)]
Label = Annotated[str, StringConstraints(min_length=1, max_length=200)]
Input = Annotated[str, StringConstraints(max_length=100_000)]


class Incoming(BaseModel):
    """Unknown fields are refused: a misspelt option must not be ignored."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class Outgoing(BaseModel):
    model_config = ConfigDict(frozen=True, from_attributes=True)


class SelectionSpec(Incoming):
    """What is asked of the model, and how it is searched."""

    template: str = Field(
        max_length=20_000, description="One `{text}` and, after it, one `{label}`.", examples=["{text} It was {label}."]
    )
    verbalizer: dict[Label, LabelWord] = Field(
        max_length=1000,
        description="A label word for each label of the dataset.",
        examples=[{"positive": "great", "negative": "terrible"}],
    )
    separator: str = Field(default="\n", max_length=100, description="What ends a demonstration.")
    model: ModelName | None = Field(default=None, description="A name from GET /models; null for the default.")
    preset: PresetName = Field(default="standard", description="A whole configuration to start from.")
    options: dict[str, Any] = Field(
        default_factory=dict,
        description="Laid over the preset; nested as the `config` in the answer is.",
        examples=[{"seed": 1, "search": {"beam_width": 4}}],
    )
    name: Name | None = Field(default=None, description="For people.")


class SubmissionBody(Incoming):
    """The JSON form of POST /selections: inline examples, or a dataset that is already here."""

    spec: SelectionSpec
    examples: list[Any] | None = Field(default=None, description='Objects with "text" and "label".')
    test_examples: list[Any] | None = Field(default=None, description="Rows for the report; null to hold some out.")
    dataset_id: str | None = Field(default=None, max_length=40)
    test_dataset_id: str | None = Field(default=None, max_length=40)

    @model_validator(mode="after")
    def has_one_source(self) -> "SubmissionBody":
        if (self.examples is None) == (self.dataset_id is None):
            raise ValueError("give either examples or dataset_id")
        if self.test_examples is not None and self.test_dataset_id is not None:
            raise ValueError("give either test_examples or test_dataset_id")
        return self


class ProgressOut(Outgoing):
    """Where a run is. A pair is one prefix (the demonstrations) and one query, scored."""

    phase: Phase
    step: int
    steps: int
    pairs_done: int
    pairs_total: int
    tokens_done: int
    tokens_total: int
    tokens_per_second: float | None
    eta_seconds: float | None
    best_validation_accuracy: float | None


class SpecOut(Outgoing):
    """The spec as it is run, every option resolved."""

    template: str
    verbalizer: dict[str, str]
    separator: str
    model: str
    preset: PresetName
    config: SelectionConfig


class SelectionOut(Outgoing):
    """A selection: its spec, its state and one time for each state it has been in."""

    id: str
    name: str | None
    status: Status
    spec: SpecOut
    dataset_id: str
    test_dataset_id: str | None
    warnings: list[str] = Field(
        description="What was taken but may surprise, in the dataset and in the test rows.",
        examples=[["dataset: 2 blank rows were skipped and are not counted in row numbers"]],
    )
    progress: ProgressOut | None
    attempt: int = Field(description="Times a worker began or resumed it.")
    partial: bool | None = Field(description="Whether the result is the best of a run that was stopped.")
    stop_reason: StopReason | None
    error: dict[str, Any] | None = Field(description="A problem (RFC 9457) when the selection failed.")
    digest: str | None = Field(description="Of the result: equal for equal runs.")
    created_at: datetime
    queued_at: datetime
    started_at: datetime | None
    cancel_requested_at: datetime | None
    cancelled_at: datetime | None
    succeeded_at: datetime | None
    failed_at: datetime | None


class SelectionPage(Outgoing):
    items: list[SelectionOut]
    next: str | None = Field(description="Cursor of the next page; null on the last.")


class EventOut(Outgoing):
    """One thing that happened; ids grow."""

    id: int
    at: datetime
    type: str = Field(examples=["status"])
    data: dict[str, Any] = Field(examples=[{"from": "queued", "to": "running", "attempt": 1}])


class EventPage(Outgoing):
    items: list[EventOut]
    next: str | None


class SupportExamplesOut(SelectionResult):
    """The result of a selection, and whose it is."""

    selection_id: str


class RenderBody(Incoming):
    """One input, or several."""

    input: Input | None = Field(default=None, examples=["The plot never gets going."])
    inputs: list[Input] | None = Field(default=None, min_length=1, max_length=MAX_INPUTS)

    @model_validator(mode="after")
    def has_one(self) -> "RenderBody":
        if (self.input is None) == (self.inputs is None):
            raise ValueError("give either input or inputs")
        return self


class TokenCounts(Outgoing):
    """Tokens by the selection's model. The query's are not known to the API, which holds no model."""

    demonstrations: int
    query: int | None = None


class RenderedPrompt(Outgoing):
    """The prompt to send, byte for byte what was evaluated; the model's answer is the label word."""

    prompt: str
    characters: int
    tokens: TokenCounts


class Rendered(RenderedPrompt):
    selection_id: str


class RenderedMany(Outgoing):
    selection_id: str
    prompts: list[RenderedPrompt]
