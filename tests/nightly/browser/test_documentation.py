"""`/docs` in a browser that heeds its policy."""

from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from tests.browser.page import Page


def test_operations_are_shown_and_tried_under_the_policy(tab: Page) -> None:
    tab.driver.get(f"{tab.host}/docs")
    waiting = WebDriverWait(tab.driver, 60)
    operations = waiting.until(lambda driver: driver.find_elements(By.CSS_SELECTOR, ".opblock-summary-path"))
    assert "/selections" in {one.text.replace("\u200b", "") for one in operations}
    tab.run("document.querySelector('#operations-health-is_alive .opblock-summary-control').click()")
    waiting.until(lambda driver: driver.find_element(By.CSS_SELECTOR, ".try-out__btn")).click()
    waiting.until(lambda driver: driver.find_element(By.CSS_SELECTOR, ".execute")).click()
    waiting.until(lambda driver: '"ok"' in driver.find_element(By.CSS_SELECTOR, ".live-responses-table").text)
    assert tab.take_log() == []
