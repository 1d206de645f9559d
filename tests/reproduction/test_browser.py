"""The page in headless Chromium, if it is installed."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")

OPTIONS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage",
)  # fmt: skip


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    driver = shutil.which("chromedriver")
    if not chromium or not driver:
        pytest.skip("there is no chromium with its chromedriver on this machine")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for option in (*OPTIONS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    service = webdriver.ChromeService(executable_path=driver)
    opened = webdriver.Chrome(options=options, service=service)
    opened.get("about:blank")
    opened.get_log("performance")  # requests of the browser itself
    yield opened
    opened.quit()


@pytest.fixture
def opened(browser: Any, done: Any) -> Any:
    """The page, on a laptop in the light."""
    show(browser, 1280)
    browser.get((done[0] / "index.html").as_uri())
    return browser


def show(browser: Any, width: int, scheme: str = "light") -> None:
    size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def test_no_errors_and_no_network(opened: Any, done: Any) -> None:
    assert opened.get_log("browser") == []
    requests = [
        address
        for entry in opened.get_log("performance")
        for address in re.findall(r'"Network.requestWillBeSent".*?"url":"(.*?)"', entry["message"])
    ]
    assert (done[0] / "index.html").as_uri() in requests
    assert [address for address in requests if address.startswith(("http", "ws"))] == []


def test_all_images_and_charts_are_shown(opened: Any) -> None:
    opened.execute_script("document.querySelectorAll('img').forEach(i => { i.loading = 'eager' })")
    broken = opened.execute_async_script(
        "const done = arguments[0], all = [...document.images];"
        "Promise.allSettled(all.map(i => i.decode()))"
        ".then(() => done(all.filter(i => !i.naturalWidth).length))"
    )
    assert broken == 0
    charts = opened.execute_script(
        "return [...document.querySelectorAll('figure.chart svg')].map(s => "
        "[s.getBoundingClientRect().width, s.getBoundingClientRect().height,"
        " s.querySelectorAll('text').length])"
    )
    assert len(charts) == 8
    for width, height, texts in charts:
        assert width > 300
        assert 0.5 < height / width < 0.9
        assert texts > 10


def test_claims_can_be_filtered(opened: Any, done: Any) -> None:
    shown = (
        "return [...document.querySelectorAll('.claims tbody tr')]"
        ".filter(r => r.offsetParent).length"
    )
    assert opened.execute_script(shown) == len(done[1].claims)
    for verdict in ("holds", "partly", "misses"):
        opened.execute_script(f"document.querySelector('.filter [value={verdict}]').click()")
        expected = sum(claim.verdict == verdict for claim in done[1].claims)
        assert opened.execute_script(shown) == expected, verdict


@pytest.mark.parametrize("width", [1280, 768, 390, 320])
def test_nothing_is_wider_than_the_screen(opened: Any, width: int) -> None:
    show(opened, width)
    found = opened.execute_script("return document.documentElement.scrollWidth")
    assert found <= width
    small = opened.execute_script(
        "return [...document.querySelectorAll('svg text')].filter(t => t.textContent.trim())"
        ".map(t => t.getBoundingClientRect().height).filter(h => h > 0 && h < 8).length"
    )
    assert small == 0 or width < 390


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_enough_contrast(opened: Any, scheme: str) -> None:
    """Contrast by WCAG: 4.5 for text."""
    show(opened, 1280, scheme)
    worst = opened.execute_script(
        Path(__file__).with_name("contrast.js").read_text(encoding="utf-8")
    )
    assert worst["count"] > 300
    assert worst["ratio"] >= 4.5, worst
    back = opened.execute_script("return getComputedStyle(document.body).backgroundColor")
    lightness = sum(map(int, re.findall(r"\d+", back)[:3])) / 3
    assert (lightness > 128) == (scheme == "light")
