"""A page as its reader sees it: found by words, waited for, used by mouse or by keyboard."""

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from selenium.common.exceptions import StaleElementReferenceException, WebDriverException
from selenium.webdriver import ActionChains, Chrome, Keys
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement

from tests.e2e.waiting import until

T = TypeVar("T")

SECONDS = 90.0
"""How long a test waits for what a page will show."""

_FIELD = (
    "//*[self::input or self::textarea or self::select]"
    "[ancestor::label[starts-with(normalize-space(), {0})] or @aria-label={0} or @id=//label[.={0}]/@for]"
)
_CHECKBOX = "//input[@type='checkbox']"
_MOST_TABS = 200
_REPLACED = "does not belong to the document"


@dataclass(frozen=True)
class Page:
    """One tab."""

    driver: Chrome
    host: str  #: scheme, name and port of the service
    downloads: Path

    # What it shows.

    @property
    def text(self) -> str:
        """What a reader sees."""
        return " ".join(str(self.run("return document.body.innerText")).split())

    @property
    def path(self) -> str:
        return self.driver.current_url.removeprefix(self.host)

    def see(self, words: str) -> None:
        """Wait until the page says this."""
        try:
            until(lambda: words in self.text, words, SECONDS)
        except AssertionError as error:
            raise AssertionError(f"{error}; {self.path} says: {self.text[:3000]}") from error

    def see_no_more(self, words: str) -> None:
        until(lambda: words not in self.text, f"the page does not say any more: {words}", SECONDS)

    def find(self, xpath: str) -> WebElement:
        """The first displayed element, once it is there."""
        try:
            return self.wait(lambda: next(iter(self.find_all(xpath)), None), xpath)
        except AssertionError as error:
            raise AssertionError(f"{error}; {self.path} says: {self.text[:3000]}") from error

    def find_all(self, xpath: str) -> list[WebElement]:
        return [one for one in self.driver.find_elements(By.XPATH, xpath) if one.is_displayed()]

    def find_checkboxes(self) -> list[WebElement]:
        """Those that are there, once there is one."""
        self.find(_CHECKBOX)
        return self.find_all(_CHECKBOX)

    def wait(self, condition: Callable[[], T | None], what: str) -> T:
        """The first true value of `condition`, which may meet elements that the page has just replaced."""

        def look() -> T | None:
            try:
                return condition()
            except StaleElementReferenceException:
                return None
            except WebDriverException as error:
                if _REPLACED in str(error):  # Chromium's word for an element that goes while it is read
                    return None
                raise

        return until(look, what, SECONDS)

    def run(self, script: str, *values: Any) -> Any:
        return self.driver.execute_script(script, *values)  # type: ignore[no-untyped-call]

    # What its reader does.

    def open(self, path: str) -> None:
        self.driver.get(self.host + path)

    def reload(self) -> None:
        self.driver.refresh()

    def press_button(self, name: str) -> None:
        self._click(f"//button[normalize-space()={quote(name)} or @aria-label={quote(name)}]")

    def follow(self, name: str) -> None:
        """Click a link."""
        self._click(f"//a[normalize-space()={quote(name)}]")

    def unfold(self, name: str) -> None:
        self._click(f"//details[not(@open)]/summary[starts-with(normalize-space(), {quote(name)})]")

    def field(self, name: str) -> WebElement:
        """The field that a label names."""
        return self.find(_FIELD.format(quote(name)))

    def fill_in(self, name: str, value: str) -> None:
        def write() -> bool:
            field = self.field(name)
            if field.get_attribute("type") != "file":
                field.clear()
            field.send_keys(value)
            return True

        self.wait(write, name)

    def drop_file(self, name: str, path: Path) -> None:
        """Drop a file from another window on the field."""
        place = self.run(
            "arguments[0].scrollIntoView({block: 'center'}); return arguments[0].getBoundingClientRect().toJSON()",
            self.field(name),
        )
        at = {"x": place["x"] + place["width"] / 2, "y": place["y"] + place["height"] / 2}
        data = {"items": [], "files": [str(path)], "dragOperationsMask": 1}
        for kind in ("dragEnter", "dragOver", "drop"):
            self.driver.execute_cdp_cmd("Input.dispatchDragEvent", {"type": kind, "data": data, **at})

    def confirm(self) -> None:
        """Answer the question that the browser asks with yes."""
        self.wait(lambda: self._accept(), "the browser asks")

    def wait_for_download(self, name: str) -> bytes:
        """The content of a file that the browser saves. It is taken away."""
        path = self.downloads / name
        until(path.exists, f"a file {name}", SECONDS)
        content = path.read_bytes()
        path.unlink()
        return content

    # By keyboard.

    def press(self, *keys: str) -> None:
        """Press and release keys, one after the other."""
        ActionChains(self.driver).send_keys(*keys).perform()

    @property
    def focused(self) -> WebElement:
        return self.driver.switch_to.active_element

    def tab_to(self, name: str) -> WebElement:
        """Press Tab until the focus is on what this names. Whatever has the focus on the way shows it."""
        for _ in range(_MOST_TABS):
            self.press(Keys.TAB)
            with suppress(StaleElementReferenceException):  # the page replaced it meanwhile
                focused = self.focused
                assert self.has_outline(focused), f"the focus is not to be seen: {focused.get_attribute('outerHTML')}"
                if name in name_of(focused):
                    return focused
        raise AssertionError(f"{_MOST_TABS} tabs do not come to {name}; {self.path} says: {self.text[:3000]}")

    def has_outline(self, element: WebElement) -> bool:
        """Whether one sees that the element has the focus. The body has it where nothing has it."""
        script = """
            const {outlineStyle, outlineWidth} = getComputedStyle(arguments[0]);
            return arguments[0] === document.body || (outlineStyle !== "none" && parseFloat(outlineWidth) > 0);
        """
        return bool(self.run(script, element))

    # How it looks.

    def resize(self, width: int, height: int = 900) -> None:
        """The size of what is shown."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)

    def prefer(self, scheme: str) -> None:
        """Be light or dark."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    # What the browser noted.

    def take_log(self) -> list[dict[str, Any]]:
        """What the console says since the last call."""
        found: list[dict[str, Any]] = self.driver.get_log("browser")  # type: ignore[no-untyped-call]
        return found

    def take_traffic(self, method: str) -> list[dict[str, Any]]:
        """The parameters of events of the network since the last call."""
        entries = self.driver.get_log("performance")  # type: ignore[no-untyped-call]
        found = [json.loads(entry["message"])["message"] for entry in entries]
        return [one["params"] for one in found if one["method"] == method]

    def _click(self, xpath: str) -> None:
        def click() -> bool:
            self.find(xpath).click()
            return True

        self.wait(click, xpath)

    def _accept(self) -> bool:
        self.driver.switch_to.alert.accept()
        return True


def name_of(element: WebElement) -> str:
    """How a screen reader names it. The driver knows no name of a summary: it is its text."""
    return " ".join((element.accessible_name or element.text).split())


def quote(text: str) -> str:
    """A text as XPath writes it. No text here has both kinds of quotes."""
    return f"'{text}'" if "'" not in text else f'"{text}"'
