"""The paper's eight tasks: label words, four templates and the hyper-parameters of each.

Li & Qiu (2023), section 4.1 and appendix A. The label names are those of the public datasets.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from lens_engine.prompt.template import Task, Template
from lens_engine.prompt.verbalizer import Verbalizer

_SENTIMENT = (
    "{text} A {label} one.",
    "{text} It was {label}.",
    "{text} All in all {label}.",
    "{text} A {label} piece.",
)
_TOPIC = (
    "{text} Topic: {label}.",
    "{text} Subject: {label}.",
    "{text} This is about {label}.",
    "{text} It is about {label}.",
)
_SUBJECTIVITY = ("{text} This is {label}.", "{text} It's all {label}.", "{text} It's {label}.", "{text} Is it {label}?")

_TWO_STARS = {"positive": "great", "negative": "terrible"}
_FIVE_STARS = {
    "very positive": "great",
    "positive": "good",
    "neutral": "okay",
    "negative": "bad",
    "very negative": "terrible",
}
_QUESTIONS = {
    "description": "Description",
    "entity": "Entity",
    "abbreviation": "Expression",
    "human": "Human",
    "location": "Location",
    "number": "Number",
}
_NEWS = {"world": "World", "sports": "Sports", "business": "Business", "technology": "Technology"}
_CLASSES = (
    "Company, Educational Institution, Artist, Athlete, Office Holder, Mean of Transportation, Building, Natural "
    "Place, Village, Animal, Plant, Album, Film, Written Work"
)
_ONTOLOGY = {name.lower(): name for name in _CLASSES.split(", ")}


@dataclass(frozen=True, slots=True)
class PaperTask:
    """A dataset of the paper, with its templates, label words and hyper-parameters."""

    words: Mapping[str, str]  #: label -> label word
    templates: tuple[str, ...]
    rho: float  #: progressive factor
    initial_score_size: int  #: l
    num_demonstrations: int = 8  #: n
    balanced: bool = True

    def task(self, template: int = 0) -> Task:
        """The task with template number `template`, counted from 0."""
        return Task(Template(self.templates[template]), Verbalizer(dict(self.words)))


PAPER_TASKS: dict[str, PaperTask] = {
    "sst-2": PaperTask(_TWO_STARS, _SENTIMENT, rho=2, initial_score_size=14),
    "sst-5": PaperTask(_FIVE_STARS, _SENTIMENT, rho=2, initial_score_size=11, num_demonstrations=10),
    "amazon": PaperTask(_FIVE_STARS, _SENTIMENT, rho=3, initial_score_size=4),
    "mr": PaperTask(_TWO_STARS, _SENTIMENT, rho=2, initial_score_size=11),
    "subj": PaperTask(
        {"subjective": "subjective", "objective": "objective"}, _SUBJECTIVITY, rho=2, initial_score_size=12
    ),
    "trec": PaperTask(_QUESTIONS, _TOPIC, rho=2, initial_score_size=20, num_demonstrations=12),
    "agnews": PaperTask(_NEWS, _TOPIC, rho=3, initial_score_size=4),
    "dbpedia": PaperTask(_ONTOLOGY, _TOPIC, rho=3, initial_score_size=4, num_demonstrations=4, balanced=False),
}
