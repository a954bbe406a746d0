"""Docstrings are whole and messages filled: no line stops in mid-sentence with room to spare."""

import ast
import functools
import io
import re
import tokenize
from pathlib import Path

import pytest
from tiers import slow_sample

import skfairtest

WIDTH = 100
FOLDER = Path(skfairtest.__file__).parent
FILES = sorted(FOLDER.rglob("*.py"))


@functools.cache
def docstrings(source):
    """Line number and lines of each docstring."""
    return list(_docstrings(source))


def _docstrings(source):
    for node in ast.walk(ast.parse(source)):
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
