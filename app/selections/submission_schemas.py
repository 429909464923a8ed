"""Wire types of a submission: what is searched for, and in which rows."""

from collections.abc import Callable
from typing import Annotated, Any, ClassVar

from pydantic import Field, StringConstraints, field_validator, model_validator

from app.selections.parts import ModelName, Name, RowsBody
from app.web.validation import Incoming
from lens_engine.config import PresetName
from lens_engine.prompt.request import MAX_WORDINGS
from lens_engine.prompt.template import MAX_INSTRUCTION_CHARACTERS
from lens_engine.prompt.verbalizer import DEFAULT_TEMPLATE, word_of_label

LabelWord = Annotated[str, StringConstraints(max_length=200)]
Label = Annotated[str, StringConstraints(min_length=1, max_length=200)]
Pattern = Annotated[str, StringConstraints(max_length=20_000)]
Instruction = Annotated[str, StringConstraints(max_length=MAX_INSTRUCTION_CHARACTERS)]


def _allow_list_of_labels(schema: dict[str, Any]) -> None:
    """Say in the JSON schema of a verbalizer that a list of labels is accepted too."""
    labels = {"type": "string", "minLength": 1, "maxLength": 200}
    schema["anyOf"].insert(1, {"type": "array", "items": labels, "maxItems": 1000})


def _allow_one_text(default: str | None) -> Callable[[dict[str, Any]], None]:
    """Say in the JSON schema of a list of texts that one text is accepted too."""

    def allow(schema: dict[str, Any]) -> None:
        options: list[dict[str, Any]] = schema.pop("anyOf", None) or [
            {name: schema.pop(name) for name in ("type", "items", "minItems", "maxItems")}
        ]
        options[0]["uniqueItems"] = True
        schema.update(anyOf=[options[0]["items"], *options], default=default)

    return allow


class SelectionSpec(Incoming):
    """The task, the model and the options of a selection."""

    other_names: ClassVar = {
        "label_words": "verbalizer",
        "prompt": "template",
        "seed": "options.seed",
        "system_prompt": "instruction",
    }

    template: list[Pattern] | None = Field(
        default=None,
        min_length=1,
        max_length=MAX_WORDINGS,
        description="Prompt with one `{text}` followed by one `{label}`, or a list of several, which the run "
        f"compares. Null for {DEFAULT_TEMPLATE!r}, with the name of the column of labels for Topic if it says "
        "what the labels are.",
        examples=["{text} It was {label}.", ["{text} Topic: {label}.", "Text: {text}\nLabel: {label}\n"]],
        json_schema_extra=_allow_one_text(None),
    )
    verbalizer: dict[Label, LabelWord] | None = Field(
        default=None,
        max_length=1000,
        description="Label word of each label of the dataset. A list of labels, or null for the labels of the dataset: "
        "each label is its own word, with spaces for underscores.",
        examples=[{"positive": "great", "negative": "terrible"}, ["billing", "delivery"]],
        json_schema_extra=_allow_list_of_labels,
    )
    separator: str = Field(default="\n", max_length=100, description="Text that ends each demonstration.")
    instruction: list[Instruction] = Field(
        default=[""],
        min_length=1,
        max_length=MAX_WORDINGS,
        description="Text that stands once before the demonstrations, or begins the system message of a chat; empty "
        f"for none. Or a list of several: each is tried with each template, at most {MAX_WORDINGS} in all.",
        examples=["Which team should answer this ticket: billing or delivery?", ["", "Which team should answer?"]],
        json_schema_extra=_allow_one_text(""),
    )
    model: ModelName | None = Field(default=None, description="Model name from GET /models; null for the default.")
    preset: PresetName = Field(
        default="quick",
        description="Complete configuration to start from. quick: minutes on a CPU with a small model. standard: "
        "with many rows five to ten times the work of quick. paper: the paper's settings.",
    )
    options: dict[str, Any] = Field(
        default_factory=dict,
        description="Options that override the preset, such as `seed`; nested like `spec.config` in "
        "the answer of GET /selections/{selection_id}.",
        examples=[{"seed": 1, "search": {"beam_width": 4}}],
    )
    name: Name | None = Field(default=None, description="Display name.")

    @field_validator("template", "instruction", mode="before")
    @classmethod
    def list_one_text(cls, value: object) -> object:
        """One text becomes a list of one."""
        if isinstance(value, str):
            return [value]
        if value is not None and not isinstance(value, list):
            raise ValueError("must be a string or a list of strings")
        return value

    @field_validator("verbalizer", mode="before")
    @classmethod
    def give_words_to_labels(cls, value: object) -> object:
        """A list of labels becomes a mapping; what is wrong with a label is found there."""
        if value is None or isinstance(value, dict):
            return value
        if not isinstance(value, list) or not all(isinstance(label, str) for label in value):
            raise ValueError("must be an object of labels and label words, or a list of labels")
        if len(set(value)) < len(value):
            raise ValueError("has a label twice; give it once")
        return {label: word_of_label(label) for label in value}


class SubmissionBody(RowsBody):
    """The JSON body of POST /selections: inline examples, or the dataset of an earlier selection."""

    one_of = ("examples", "dataset_id")
    other_names: ClassVar = {"dataset": "examples", "rows": "examples", "test": "test_examples"}

    spec: SelectionSpec = Field(default_factory=SelectionSpec, description="What to search for; all has a default.")
    examples: list[Any] | None = Field(
        default=None,
        description='Dataset rows: objects with "text" and "label" or other usual names. A large dataset is sent as '
        "a file, in a form.",
    )
    test_examples: list[Any] | None = Field(
        default=None, description="Test rows for the report; null to judge by cross-validation on the dataset."
    )
    dataset_id: str | None = Field(default=None, max_length=40, description="`dataset_id` of one of your selections.")
    test_dataset_id: str | None = Field(
        default=None, max_length=40, description="`test_dataset_id` or `dataset_id` of one of your selections."
    )

    @model_validator(mode="after")
    def has_one_source_of_test_rows(self) -> "SubmissionBody":
        if self.test_examples is not None and self.test_dataset_id is not None:
            raise ValueError("give either `test_examples` or `test_dataset_id`, not both")
        return self


EXAMPLE_SPEC: dict[str, Any] = {
    "template": "{text} It was {label}.",
    "verbalizer": {"positive": "great", "negative": "terrible"},
    "preset": "quick",
    "options": {"num_demonstrations": 2, "search": {"sets": 4}},
}
_PRAISE = ["A warm and funny film", "I would watch it again", "The cast is a delight", "Sharp, tender, alive"]
_BLAME = ["A dull two hours", "I left before the end", "The jokes fall flat", "Loud, long and empty"]
_SCENES = ["from the first scene", "on a rainy evening", "with my family", "in a full house", "at the festival"]

EXAMPLE_SUBMISSION: dict[str, Any] = {
    "spec": EXAMPLE_SPEC,
    "examples": [
        {"text": f"{sentence} {scene}.", "label": label}
        for label, sentences in (("positive", _PRAISE), ("negative", _BLAME))
        for scene in _SCENES
        for sentence in sentences
    ],
}
