"""Expressions that run in time linear in the text, whatever they and the text are: RE2.

The only module that knows google-re2, which is loaded with the first expression and not before: a policy of field
names alone, and everyone without a policy, does without it.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any, Final

from playhead.errors import PolicyError

# Of the memory a match may take; what is beyond it is slower, not wrong.
_MEMORY: Final = 64 << 20
_NAMED_GROUP: Final = re.compile(r"\(\?P?<[A-Za-z_][A-Za-z0-9_]*>")
# An escape; and what keeps an expression from being put among others in a first look.
_ESCAPE: Final = re.compile(r"\\(.)", re.DOTALL)
_ALONE: Final = re.compile(r"\\Q|\(\?[imsU]*-[imsU]*m")


@cache
def _re2() -> Any:
    return importlib.import_module("re2")


def compiled(expression: str) -> Any:
    """The expression, for texts in UTF-8. Raises ValueError with what is wrong with it."""
    options = _re2().Options()
    options.log_errors = False
    options.max_mem = _MEMORY
    try:
        return _re2().compile(expression.encode(), options)
    except _re2().error as error:
        raise ValueError(_message(error)) from None
    except UnicodeEncodeError:
        raise ValueError("half a surrogate pair") from None


def _message(error: Exception) -> str:
    said = error.args[0] if error.args else ""
    return said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)


def literals(texts: Iterable[str]) -> Any:
    """What finds the first of these texts, the longest where several begin."""
    options = _re2().Options()
    options.log_errors = False
    options.max_mem = _MEMORY
    options.longest_match = True
    escape = _re2().escape
    return _re2().compile(b"|".join(escape(text.encode("utf-8", "surrogatepass")) for text in texts), options)


class Expressions:
    """Several expressions as one: whether any matches, which is the first, and where they match.

    `expressions` are (name, expression, key): the key is what an error names. Raises PolicyError.
    """

    def __init__(self, expressions: Sequence[tuple[str, str, str]]) -> None:
        self._names = [name for name, _, _ in expressions]
        # With the group that is hidden, 0 for all.
        self._compiled: list[tuple[Any, int]] = []
        for _, expression, key in expressions:
            try:
                found = compiled(expression)
                self._compiled.append((found, found.groupindex.get(b"secret", 0)))
            except ValueError as error:
                raise PolicyError(f"not an expression that RE2 knows: {error}", key=key) from None
        texts = [expression for _, expression, _ in expressions]
        self._together = [text for text in texts if _ALONE.search(text) is None]
        self._any = _any_of(self._together)
        self._alone = len(self._together) < len(texts) or (self._any is None and bool(texts))

    def __len__(self) -> int:
        return len(self._compiled)

    def may_match(self, lines: bytes) -> bool:
        """Whether anything may match in one of these texts, which are put one a line: never False where one does."""
        return self._alone or (self._any is not None and self._any.search(lines) is not None)

    def first(self, text: bytes) -> str | None:
        """The name of the first expression that matches."""
        if not self.may_match(text):
            return None
        for name, (expression, _) in zip(self._names, self._compiled, strict=True):
            if expression.search(text) is not None:
                return name
        return None

    def spans(self, text: bytes) -> Iterator[tuple[int, int]]:
        """What is to be hidden: where each expression matches, or its group `secret` where it has one."""
        if not self.may_match(text):
            return
        for expression, group in self._compiled:
            for match in expression.finditer(text):
                start, end = match.span(group)
                if start < end:
                    yield start, end


def _any_of(expressions: Sequence[str]) -> Any:
    """All of them in one, for a first look; None where they cannot be put together."""
    if not expressions:
        return None
    try:
        return compiled("|".join(f"(?m:{_loosened(text)})" for text in expressions))
    except ValueError:
        return None


def _loosened(expression: str) -> str:
    """An expression that matches wherever the given one does, and where one text ends and the next line begins.

    Its groups have no names, which may stand once in an expression.
    """
    ends = {"A": "^", "z": "$"}
    return _NAMED_GROUP.sub("(?:", _ESCAPE.sub(lambda found: ends.get(found[1], found[0]), expression))
