"""Docstrings are whole sentences, say what is inherited, and no line stops in mid-sentence."""

import ast
import functools
import io
import re
import tokenize
from dataclasses import fields
from pathlib import Path

import pytest
from statements import statements
from tiers import slow_sample

import skfairtest
from skfairtest._parameters import DeclaredParameters, entries_of, sections_of

WIDTH = 100
FOLDER = Path(skfairtest.__file__).parent
FILES = sorted(FOLDER.rglob("*.py"))


@functools.cache
def docstrings(source):
    """Line number and lines of each docstring."""
    return list(_docstrings(source))


def _docstrings(source):
    for node in statements(ast.parse(source)):
        kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
        if isinstance(node, kinds) and ast.get_docstring(node):
            text = node.body[0].value
            yield text.lineno, text.value.split("\n")


def broken_lines(source):
    """Lines of running text that the first word of the next line would fit into with room."""
    for start, lines in docstrings(source):
        for i, (one, two) in enumerate(zip(lines, lines[1:], strict=False)):
            one = one.rstrip()
            if not one or not two.strip() or indent(one) != indent(two):
                continue
            if re.match(r"\s*([-*.\d>|=`{]|\w+ : )", one + " "):
                continue
            if re.match(r"\s*[-*.>|=~`\[(]|\s*\w+ : |.*::$", two):
                continue
            stops = one.endswith((".", ":", "?"))
            if two.strip()[0].islower() and not stops:
                if len(one) + 26 + len(two.split()[0]) < WIDTH:
                    yield f"{start + i}: {one.strip()}"


def indent(line):
    return len(line) - len(line.lstrip())


def loose_references(source):
    """References and items of lists whose second line is not indented below the first."""
    for start, lines in docstrings(source):
        for i, (one, two) in enumerate(zip(lines, lines[1:], strict=False)):
            head = re.match(r"\s*(\.\. \[\d+\]|[-*]) \S", one)
            if head and two.strip() and indent(two) <= indent(one):
                if not re.match(r"\s*(\.\. \[\d+\]|[-*]) \S", two):
                    yield f"{start + i + 1}: {two.strip()}"


def splinters(source):
    """Pieces of a message that stand on a line of their own, with room for the next one's word."""
    run = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.STRING or "FSTRING" in tokenize.tok_name[token.type]:
            run.append(token)
        elif token.type not in (tokenize.NL, tokenize.COMMENT):
            if run and run[0].start[0] < run[-1].end[0]:
                yield from splinters_of(run, source.split("\n"))
            run = []


def splinters_of(run, lines):
    numbers = range(run[0].start[0], run[-1].end[0])
    if any(token.string.startswith(('"""', 'r"""', 'f"""')) for token in run):
        return
    for number in numbers:
        one, two = lines[number - 1].rstrip(), lines[number].strip()
        if not one.endswith('"') or one.endswith('\\n"') or not re.match(r'f?"', two):
            continue
        word = re.match(r'f?"(\S*)', two).group(1).strip('"')
        piece = one.strip()
        if len(piece) < 30 and len(one) + len(word) + 1 < WIDTH - 10:
            yield f"{number}: {piece}"


def first_sentences(source):
    """Line number and first sentence of the docstrings of public functions and classes."""
    for node in statements(ast.parse(source)):
        kinds = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
        if isinstance(node, kinds) and not node.name.startswith("_") and ast.get_docstring(node):
            first = ast.get_docstring(node).partition("\n\n")[0]
            yield node.body[0].value.lineno, " ".join(first.split())


def fragments(source):
    """First sentences that begin in lower case, or do not end."""
    for number, first in first_sentences(source):
        if first[0].islower() or not first.endswith((".", "?", ":")):
            yield f"{number}: {first}"


@slow_sample
def test_first_sentences_are_no_fragments():
    found = [
        f"{path.relative_to(FOLDER)}:{line}"
        for path in FILES
        for line in fragments(path.read_text(encoding="utf-8"))
    ]
    assert not found, "\n".join(found)


@slow_sample
@pytest.mark.parametrize("check", [broken_lines, loose_references, splinters])
def test_no_line_stops_in_mid_sentence(check):
    found = [
        f"{path.relative_to(FOLDER)}:{line}"
        for path in FILES
        for line in check(path.read_text(encoding="utf-8"))
    ]
    assert not found, "\n".join(found)


BAD = '''
def f():
    """Say it.

    A line that stops in
    mid-sentence.

    .. [1] Author, A. (2020). A title
    of a paper.
    """
    raise ValueError(
        f"Expected {1} "
        "value; "
        "got none."
    )
'''


@pytest.mark.parametrize("check", [broken_lines, loose_references, splinters])
def test_the_checks_see_what_is_broken(check):
    assert list(check(BAD))


# What classes inherit ------------------------------------------------------------------------


#: Public classes that declare parameters.
CLASSES = [
    thing
    for module in (skfairtest, skfairtest.transports)
    for name in module.__all__
    if isinstance(thing := getattr(module, name), type) and issubclass(thing, DeclaredParameters)
]


@pytest.mark.parametrize("cls", CLASSES)
def test_every_parameter_is_described_as_the_signature_has_it(cls):
    described = entries_of(sections_of(cls.__doc__)["Parameters"])
    defaults = {field.name: field.default for field in fields(cls) if field.init}
    assert [name for names in described for name in names] == list(defaults)
    for names, entry in described.items():
        head = entry.partition("\n")[0]
        if told := re.search(r"default=(.*)$", head):
            for name in names:
                assert ast.literal_eval(told.group(1)) == defaults[name], head


class Base(DeclaredParameters):
    """Say what is shared.

    Parameters
    ----------
    first : int, default=1
        Shared.
    second : int, default=2
        Shared.

    Attributes
    ----------
    one_, two_ : int
        Shared.

        In two paragraphs.
    """

    first: int = 1
    second: int = 2


class Own(Base):
    """Say what is its own.

    Parameters
    ----------
    third : int, default=3
        Own.
    second : int, default=4
        Own.

    Attributes
    ----------
    three_ : int
        Own.

    Notes
    -----
    Stay where they are.
    """

    second: int = 4
    third: int = 3


def test_a_docstring_says_what_the_bases_say_and_its_own(monkeypatch):
    monkeypatch.setattr(Base, "__module__", "skfairtest.made_up")

    class Below(Own):
        __doc__ = Own.__doc__

    sections = sections_of(Below.__doc__)
    assert list(sections) == ["", "Parameters", "Attributes", "Notes"]
    parameters = entries_of(sections["Parameters"])
    assert list(parameters) == [("first",), ("second",), ("third",)]
    assert "default=4" in parameters["second",]
    attributes = entries_of(sections["Attributes"])
    assert list(attributes) == [("one_", "two_"), ("three_",)]
    assert attributes["one_", "two_"].endswith("In two paragraphs.")
