"""Check the built site without a network: ``python docs/check_site.py docs/_build/html``.

Every link to a page of the site leads to a file that is there, and to a place on it that is there;
no page loads anything from outside; and the search knows the words that it is asked for first.
"""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

#: Elements whose address the browser fetches by itself, and the attribute that holds it.
LOADED = {
    "script": "src",
    "img": "src",
    "iframe": "src",
    "source": "src",
    "video": "src",
    "audio": "src",
    "embed": "src",
    "object": "data",
}
#: Kinds of ``<link>`` that are only said and not fetched.
SAID = {"next", "prev", "search", "canonical", "index", "genindex", "author", "copyright", "up"}
#: Words that a reader would look for first.
WORDS = ("twin", "certifi", "sbftauditor", "mitig")
URL_IN_CSS = re.compile(r"""url\(\s*['"]?([^'")]+)""")


class Page(HTMLParser):
    """Addresses that a page links to and loads, and the places on it that have a name."""

    def __init__(self, text):
        super().__init__()
        self.links, self.loads, self.names = [], [], set()
        self._style = False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        """Note what an element links to, loads and is called."""
        given = {name: value or "" for name, value in attrs}
        self.names.update(given[name] for name in ("id", "name") if given.get(name))
        if tag in LOADED and given.get(LOADED[tag]):
            self.loads.append(given[LOADED[tag]])
        if tag == "link" and not set(given.get("rel", "").split()) <= SAID:
            self.loads.append(given.get("href", ""))
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        for part in given.get("srcset", "").split(","):
            self.loads += part.split()[:1]
        self.loads += URL_IN_CSS.findall(given.get("style", ""))
        self._style = tag == "style"

    def handle_data(self, data):
        """Note what a style sheet in the page loads."""
        if self._style:
            self.loads += URL_IN_CSS.findall(data)


def is_outside(address):
    """Whether an address leads out of the site."""
    return bool(urlsplit(address).scheme or address.startswith("//"))


def broken(path, address, pages):
    """What is wrong with an address in the site, or nothing."""
    target, place = urldefrag(address)
    place = unquote(place.split(":~:")[0])
    to = (path.parent / unquote(urlsplit(target).path)).resolve() if target else path
    if to.is_dir():
        to = to / "index.html"
    if not to.exists():
        return f"{address} leads to no file"
    if place and to in pages and place not in pages[to].names:
        return f"{address}: {to.name} has no such place"
    return ""


def problems(site):
    """Everything that is wrong with a built site, a line each."""
    site = Path(site).resolve()
    # The theme keeps a template among its static files.
    paths = [path for path in site.rglob("*.html") if "_static" not in path.parts]
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in paths}
    if not pages:
        yield f"{site}: no pages"
        return
    for path, page in pages.items():
        name = path.relative_to(site)
        for address in page.loads:
            if address.startswith("data:"):
                continue
            if is_outside(address):
                yield f"{name}: loads {address}"
            elif wrong := broken(path, address, pages):
                yield f"{name}: {wrong}"
        for address in page.links:
            if not is_outside(address) and (wrong := broken(path, address, pages)):
                yield f"{name}: {wrong}"
    for path in site.rglob("*.css"):
        for address in URL_IN_CSS.findall(path.read_text(encoding="utf-8")):
            if is_outside(address) and not address.startswith("data:"):
                yield f"{path.relative_to(site)}: loads {address}"
    yield from missing_words(site)


def missing_words(site):
    """Words that the search of the site does not know."""
    index = site / "searchindex.js"
    if not index.exists():
        yield "searchindex.js is not there: the search would find nothing"
        return
    text = index.read_text(encoding="utf-8").lower()
    for word in WORDS:
        if word not in text:
            yield f"searchindex.js: {word!r} is not in it"


def main(site):
    """Print what is wrong; 1 if anything is."""
    found = sorted(set(problems(site)))
    print("\n".join(found) or "All links lead somewhere, and nothing is loaded from outside.")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
