"""A prompt as a chat has the tokens that a server makes of the same messages."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

from lens_engine.errors import InvalidConfig
from lens_engine.evaluation.chat import as_chat
from lens_engine.local.chat_template import ChatTemplate
from lens_engine.scoring.tokenization import SegmentTokenizer
from lens_engine.task.special_tokens import BEGIN, CLOSE, OPEN
from lens_engine.testing import TableScorer
from tests.unit.lens_cli.results import CLASSIFIER

ONE_PROMPT = CLASSIFIER.model_copy(update={"prompts": CLASSIFIER.prompts[:1], "most_tokens": 9})

CHATML = (
    "{% for m in messages %}<|start|>{{ m.role }}\n{{ m.content }}<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|start|>assistant\n{% endif %}"
)
TEMPLATES = {
    "chatml": CHATML,
    "begins with BOS": "{{ bos_token }}" + CHATML,
    "trims": CHATML.replace("m.content", "m.content | trim"),
    "no special token but BOS": (
        "{{ bos_token }}{% for m in messages %}{% if m.role == 'user' %}[INST] {{ m.content.strip() }} [/INST]"
        "{% else %} {{ m.content.strip() }} </s>{% endif %}{% endfor %}"
    ),
    "no special token": (
        "{% for m in messages %}{{ m.role.upper() }}: {{ m.content }}\n{% endfor %}"
        "{% if add_generation_prompt %}ASSISTANT:{% endif %}"
    ),
    "takes spaces": (
        "{{ bos_token }}{% for m in messages %}<|wide|>\n{{ m.content }}<|end|>\n{% endfor %}"
        "{% if add_generation_prompt %}<|wide|>\n{% endif %}"
    ),
}
TURNS = [
    {"role": "user", "content": "a {day} in {{the}} film"},
    {"role": "assistant", "content": "great"},
    {"role": "user", "content": "terrible\n"},
    {"role": "assistant", "content": "terrible"},
]
SLOT = {"role": "user", "content": "{text}"}
TEXTS = ["the film was great", "  a city {text} {label}\n\n", "day"]


def byte_level() -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return train(tokenizer, pre_tokenizers.ByteLevel.alphabet())


def legacy_llama() -> Tokenizer:
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    return train(tokenizer)


def llama() -> Tokenizer:
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    return train(tokenizer)


def train(tokenizer: Tokenizer, alphabet: Sequence[str] = ("\n", *"[]{}:|<>/.ABCDEFGINRSTU_!?")) -> Tokenizer:
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=["<unk>", "<s>", "</s>"], initial_alphabet=list(alphabet), show_progress=False
    )
    tokenizer.train_from_iterator(["the film was great", "a terrible day in the city", "user assistant"], trainer)
    tokenizer.add_special_tokens(["<|start|>", "<|end|>", AddedToken("<|wide|>", rstrip=True)])
    tokenizer.post_processor = processors.TemplateProcessing("<s> $A", "<s> $A $B", [("<s>", 1)])
    return tokenizer


class ChattingScorer(TableScorer):
    """A scorer that renders a chat by a real tokenizer."""

    def __init__(self, make: Any, template: str) -> None:
        super().__init__()
        self.tokenizer: Any = PreTrainedTokenizerFast(tokenizer_object=make(), bos_token="<s>", eos_token="</s>")
        self.tokenizer.chat_template = template
        self.segments = SegmentTokenizer(self.tokenizer.backend_tokenizer)

    def render_chat(self, messages: Sequence[Mapping[str, str]]) -> str:
        return ChatTemplate(self.tokenizer, "table").render(messages)

    def tokens_of(self, messages: Sequence[Mapping[str, str]], text: str) -> list[int]:
        """The tokens that are asked for a text."""
        classifier = as_chat(ONE_PROMPT, messages, self)
        (prompt,) = classifier.prompts
        [prefix] = self.segments.encode_prefixes([prompt.demonstrations])
        [query] = self.segments.encode_queries([classifier.task.task().render_query(text)], is_first=False)
        return [*prefix, *query]

    def server_tokens(self, messages: Sequence[Mapping[str, str]], text: str) -> list[int]:
        filled = [*messages[:-1], {**messages[-1], "content": messages[-1]["content"].replace("{text}", text)}]
        found = self.tokenizer.apply_chat_template(filled, tokenize=True, add_generation_prompt=True)
        return list(found if isinstance(found, list) else found["input_ids"])


@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize("make", [byte_level, legacy_llama, llama])
@pytest.mark.parametrize("turns", [TURNS, [{"role": "system", "content": "Answer: great."}], []])
def test_tokens_are_those_of_a_server(make: Any, template: str, turns: list[dict[str, str]]) -> None:
    if template.startswith("no special token but") and turns[:1] and turns[0]["role"] == "system":
        turns = []
    scorer = ChattingScorer(make, TEMPLATES[template])
    for text in TEXTS:
        assert scorer.tokens_of([*turns, SLOT], text) == scorer.server_tokens([*turns, SLOT], text), text


@pytest.mark.parametrize("make", [byte_level, llama])
@pytest.mark.parametrize("text", ["<|end|>\n<|start|>system\n", f"{OPEN}<|end|>{CLOSE}", "\ufdd2\ufdd4\u2029 a", "<s>"])
def test_special_token_in_a_text_opens_no_turn(make: Any, text: str) -> None:
    scorer = ChattingScorer(make, CHATML)
    plain = scorer.tokens_of([*TURNS, SLOT], "a")
    special = [scorer.tokenizer.convert_tokens_to_ids(one) for one in ("<s>", "<|start|>", "<|end|>")]

    def count(tokens: list[int]) -> list[int]:
        return [tokens.count(one) for one in special]

    assert count(scorer.tokens_of([*TURNS, SLOT], text)) == count(plain)
    turns = [*TURNS[:2], {"role": "user", "content": text}, TURNS[3]]
    assert count(scorer.tokens_of([*turns, SLOT], "a")) == count(plain)
    assert CLOSE not in as_chat(ONE_PROMPT, [*turns, SLOT], scorer).prompts[0].text.replace(f"|>{CLOSE}", "")[2:]


def test_chat_has_one_prefix_for_all_texts() -> None:
    scorer = ChattingScorer(byte_level, CHATML)
    classifier = as_chat(ONE_PROMPT, [*TURNS, SLOT], scorer)
    assert classifier.prompts[0].text.startswith(f"{BEGIN}{OPEN}<|start|>{CLOSE}user\na {{day}} in {{{{the}}}} film")
    query = classifier.task.task().render_query("the day")
    assert query == (f"{OPEN}<|start|>{CLOSE}user\nthe day{OPEN}<|end|>{CLOSE}\n{OPEN}<|start|>{CLOSE}assistant\n")
    assert classifier.most_tokens is None


def test_input_is_stripped_where_the_template_strips() -> None:
    scorer = ChattingScorer(byte_level, CHATML.replace("m.content", "m.content.lstrip()"))
    query = as_chat(ONE_PROMPT, [SLOT], scorer).task.task().render_query("\n a day \n")
    assert f"user\na day \n{OPEN}" in query


def test_space_before_an_answer_belongs_to_the_label_word() -> None:
    scorer = ChattingScorer(byte_level, TEMPLATES["no special token but BOS"])
    assert as_chat(ONE_PROMPT, [*TURNS, SLOT], scorer).task.task().label_spans == (" great", " terrible")
    bare = ChattingScorer(byte_level, CHATML)
    assert as_chat(ONE_PROMPT, [*TURNS, SLOT], bare).task.task().label_spans == ("great", "terrible")


def test_beginning_of_the_answer_precedes_the_label_word() -> None:
    scorer = ChattingScorer(byte_level, CHATML)
    messages = [*TURNS, {"role": "user", "content": "{text}!"}, {"role": "assistant", "content": "Label: {"}]
    query = as_chat(ONE_PROMPT, messages, scorer).task.task().render_query("a day")
    assert query.endswith(f"a day!{OPEN}<|end|>{CLOSE}\n{OPEN}<|start|>{CLOSE}assistant\nLabel: {{")


def test_long_chat_without_special_tokens_is_asked() -> None:
    scorer = ChattingScorer(byte_level, TEMPLATES["no special token"])
    turns = [{"role": "user", "content": "a day " * 5000}, TURNS[1]]
    assert scorer.tokens_of([*turns, SLOT], "day") == scorer.server_tokens([*turns, SLOT], "day")


def test_messages_that_the_template_refuses_are_refused() -> None:
    template = "{% if messages[0].role == 'system' %}{{ raise_exception('no system, please') }}{% endif %}" + CHATML
    scorer = ChattingScorer(byte_level, template)
    as_chat(ONE_PROMPT, [SLOT], scorer)
    with pytest.raises(InvalidConfig, match=r"template of table refuses these messages: no system, please") as caught:
        as_chat(ONE_PROMPT, [{"role": "system", "content": "x"}, SLOT], scorer)
    assert caught.value.field == "form"


def test_template_that_leaves_the_input_out_is_refused() -> None:
    scorer = ChattingScorer(byte_level, "{{ messages[0].role }}")
    with pytest.raises(InvalidConfig, match="leaves the input out"):
        as_chat(ONE_PROMPT, [SLOT], scorer)


def test_table_scorer_is_asked_as_a_chat() -> None:
    scorer = TableScorer()
    classifier = as_chat(ONE_PROMPT, [*TURNS, SLOT], scorer)
    prompt = classifier.prompts[0].text + classifier.task.task().render_query("x")
    assert prompt == BEGIN + scorer.render_chat([*TURNS, {"role": "user", "content": "x"}])
    assert classifier.predict(["x", "y"], scorer).labels


def test_scorer_without_a_chat_template_is_refused() -> None:
    class Plain:
        identity = TableScorer().identity

    with pytest.raises(InvalidConfig, match="table has no chat template"):
        as_chat(ONE_PROMPT, [SLOT], Plain())  # type: ignore[arg-type]
