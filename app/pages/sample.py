"""The sample: rows for a first selection. They lie in a checkout, and in an image among the scripts of the pages."""

from pathlib import Path

FILES = ("train.csv", "test.csv")
_FOLDERS = (Path(__file__).parent / "static" / "support_desk", Path(__file__).parents[2] / "examples" / "support_desk")


def find_sample(name: str) -> Path | None:
    """A file of the sample; None where it did not come with the installation."""
    return next((one / name for one in _FOLDERS if (one / name).is_file()), None) if name in FILES else None


def has_sample() -> bool:
    return find_sample(FILES[0]) is not None
