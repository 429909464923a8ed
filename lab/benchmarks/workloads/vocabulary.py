"""Clauses and words of the synthetic texts, written for this project. Signal words tell the label."""

from collections.abc import Mapping

SENTIMENT_CLAUSES = (
    "the {thing} of the film is {signal}",
    "its {thing} feels {signal} from the first scene to the last",
    "{people} may find the {thing} {signal}",
    "a {signal} {thing} and a {thing} that stays in the mind",
    "the {people} give it a {signal} {thing}",
    "what the {people} wanted was a {signal} evening",
    "you leave with a {signal} feeling about the {thing}",
    "{signal} in every {thing}",
    "there is a {thing} about two {people} on a train",
    "the {people} wrote the {thing} over one winter",
)
NEWS_CLAUSES = (
    "the {signal} was announced by {people} in {place} on Tuesday",
    "{people} from {place} said the {signal} would change the {thing} within a year",
    "a report about the {signal} names the {thing} as the reason",
    "after weeks of talks the {people} agreed on the {signal}",
    "{place} waits for the {signal} while the {thing} goes on as before",
    "officials in {place} would not comment on the {thing}",
    "the {people} expect another {signal} before the end of the month",
)
ENTITY_CLAUSES = (
    "known for the {signal}, it is found near {place}",
    "it is a {signal} named after {people} of {place}",
    "the {signal} dates from the year 19{number}",
    "{people} described the {signal} as the first of its kind in {place}",
    "about {number} {people} took part in its {thing}",
    "a second {signal} followed {number} years later",
    "records of the {thing} are kept in {place}",
)

THINGS = (
    *("story", "ending", "camera work", "music", "dialogue", "pace", "second half", "title", "idea", "plan", "history"),
    *("opening", "schedule", "design", "budget", "archive", "first chapter", "cast", "setting", "tone", "market"),
)
PEOPLE = (
    *("actors", "writers", "viewers", "critics", "neighbours", "teachers", "students", "engineers", "reporters"),
    *("families", "visitors", "members", "farmers", "old friends", "three brothers", "local councils"),
)
PLACES = (
    *("Lisbon", "the north of Norway", "Nairobi", "a small town in Ohio", "Kyoto", "the Andes", "Melbourne", "Quebec"),
    *("the old harbour", "Tunis", "the coast of Wales", "Seoul", "the Danube valley", "Montevideo", "Krakow"),
)

SENTIMENT_SIGNALS: Mapping[str, tuple[str, ...]] = {
    "positive": (
        *("warm", "clever", "lovely", "funny", "bright", "moving", "fresh", "gentle", "thrilling", "wonderful"),
        *("generous", "graceful", "memorable", "charming", "rich"),
    ),
    "negative": (
        *("dull", "clumsy", "tired", "empty", "noisy", "awful", "boring", "lifeless", "stale", "tedious"),
        *("confused", "shallow", "forgettable", "painful", "bland"),
    ),
}
NEWS_SIGNALS: Mapping[str, tuple[str, ...]] = {
    "world": ("peace treaty", "border crossing", "election", "embassy", "ceasefire", "refugee camp", "prime minister"),
    "sports": ("final match", "penalty", "world record", "league title", "injured striker", "tennis coach", "marathon"),
    "business": (
        "share price",
        "merger",
        "quarterly profit",
        "interest rate",
        "oil price",
        "takeover bid",
        "bank loan",
    ),
    "technology": (
        "new browser",
        "software update",
        "web server",
        "mobile phone",
        "chip",
        "space probe",
        "search tool",
    ),
}
ENTITY_SIGNALS: Mapping[str, tuple[str, ...]] = {
    "company": ("software firm", "airline", "publisher", "maker of tools"),
    "educational institution": ("university", "grammar school", "college of law", "music academy"),
    "artist": ("jazz singer", "painter", "novelist", "guitarist"),
    "athlete": ("goalkeeper", "sprinter", "tennis player", "rower"),
    "office holder": ("senator", "mayor", "bishop", "minister of trade"),
    "mean of transportation": ("steam locomotive", "light aircraft", "frigate", "sports car"),
    "building": ("town hall", "church tower", "railway station", "museum"),
    "natural place": ("river", "crater lake", "mountain pass", "glacier"),
    "village": ("hamlet of ten houses", "parish", "fishing village", "rural district"),
    "animal": ("beetle", "species of frog", "moth", "freshwater fish"),
    "plant": ("orchid", "species of fern", "shrub", "flowering tree"),
    "album": ("live album", "second record", "compilation", "debut album"),
    "film": ("silent film", "drama", "comedy directed abroad", "short film"),
    "written work": ("novel", "weekly journal", "book of poems", "comic series"),
}
