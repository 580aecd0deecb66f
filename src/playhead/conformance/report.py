"""What a run came to: counts, the badge, the exit code, and the same as JSON, TAP and JUnit. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from xml.sax.saxutils import escape, quoteattr

from playhead import jsontext
from playhead.conformance.conversation import Problem
from playhead.conformance.runner import Result
from playhead.conformance.vectors import LEVELS, SETS, Rule, plain
from playhead.engine.divergence import ABSENT
from playhead.errors import UsageError

# What no XML document may hold.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SHOWN_CHARACTERS = 300
# Too short to be told from a level by a reader, and too long to be one.
NO_BADGE = "none"


class Report(NamedTuple):
    """All results, what is wrong with the list of expected failures, and whether all of a level was played."""

    command: str
    level: str
    results: Sequence[Result]
    # Names on the list that are of a required set.
    misplaced: Sequence[str]
    whole: bool
    rules: Mapping[str, Rule]

    @property
    def handler(self) -> dict[str, Any] | None:
        return next((result.handler for result in self.results if result.handler), None)

    @property
    def badge(self) -> str | None:
        """The highest level of which nothing failed; None where parts were left out."""
        if not self.whole:
            return None
        failed = {result.vector.set for result in self.results if result.status == "failed"}
        reached = [
            level
            for level, sets in LEVELS.items()
            if not failed & set(sets) and self._played(sets) and not self.misplaced
        ]
        return reached[-1] if reached else NO_BADGE

    def _played(self, sets: Sequence[str]) -> bool:
        return set(sets) <= {result.vector.set for result in self.results}

    @property
    def ok(self) -> bool:
        return not self.misplaced and all(result.status not in ("failed", "unexpected") for result in self.results)

    @property
    def counts(self) -> dict[str, int]:
        found = Counter(result.status for result in self.results)
        return {status: found[status] for status in ("passed", "failed", "expected", "unexpected", "lacking")}

    def sets(self) -> Iterator[tuple[str, int, int]]:
        """Each set that was played, how many of it passed, and of how many."""
        for name in SETS:
            of = [result for result in self.results if result.vector.set == name]
            if of:
                yield name, sum(result.status in ("passed", "unexpected") for result in of), len(of)

    def sentences(self, result: Result) -> list[Rule]:
        """The sentences of the spec behind a failure: those that it is about first."""
        named = () if result.problem is None else result.problem.rules
        found = [self.rules[name] for name in named if name in self.rules]
        return found or list(result.vector.rules)

    def to_json(self) -> dict[str, Any]:
        return {
            "ok": self.ok,
            "exit": 0 if self.ok else 1,
            "command": self.command,
            "level": self.level,
            "badge": self.badge,
            "handler": self.handler,
            "counts": self.counts,
            "misplaced": list(self.misplaced),
            "sessions": [self._session(result) for result in self.results],
        }

    def _session(self, result: Result) -> dict[str, Any]:
        vector = result.vector
        found: dict[str, Any] = {"id": vector.id, "name": vector.name, "set": vector.set, "status": result.status}
        if result.lacks is not None:
            found["lacks"] = result.lacks
        if result.problem is not None:
            problem = result.problem
            places = {"step": problem.step, "pointer": problem.pointer, "line": problem.line}
            values = {"expected": problem.expected, "actual": problem.actual}
            found["problem"] = {
                "message": problem.text,
                **{name: value for name, value in places.items() if value is not None},
                **{name: _shortened(value) for name, value in values.items() if value is not ABSENT},
                "rules": [f"[{rule.name}] {rule.text}" for rule in self.sentences(result)],
            }
            if result.stderr:
                found["problem"]["stderr"] = result.stderr[-2000:]
        return found

    def tap(self) -> Iterator[str]:
        yield "TAP version 14"
        yield f"1..{len(self.results)}"
        for number, result in enumerate(self.results, 1):
            bad = result.status in ("failed", "expected")
            description = f"{result.vector.set}: {result.vector.id}".replace("#", "\\#")
            directive = {
                "expected": " # TODO an expected failure",
                "lacking": f" # SKIP {result.lacks}",
                "unexpected": " - is on the list of expected failures, and passed",
            }.get(result.status, "")
            yield f"{'not ok' if bad or result.status == 'unexpected' else 'ok'} {number} - {description}{directive}"
            if result.problem is not None:
                yield "  ---"
                for line in self.lines(result):
                    yield f"  # {line}"
                yield "  ..."
        for name in self.misplaced:
            yield f"# {name} is on the list of expected failures, and required"

    def junit(self) -> str:
        counts = self.counts
        failures = counts["failed"] + counts["unexpected"]
        out = [
            '<?xml version="1.0" encoding="UTF-8"?>',
            f'<testsuites tests="{len(self.results)}" failures="{failures}">',
        ]
        for name, _, of in self.sets():
            results = [result for result in self.results if result.vector.set == name]
            wrong = sum(result.status in ("failed", "unexpected") for result in results)
            passed_over = sum(result.status in ("expected", "lacking") for result in results)
            out.append(f'  <testsuite name="{name}" tests="{of}" failures="{wrong}" skipped="{passed_over}">')
            for result in results:
                out += self._case(result)
            out.append("  </testsuite>")
        out.append("</testsuites>")
        return "\n".join(out) + "\n"

    def _case(self, result: Result) -> Iterator[str]:
        head = f"    <testcase classname={quoteattr(result.vector.set)} name={quoteattr(result.vector.id)}"
        match result.status:
            case "passed":
                yield f"{head}/>"
            case "failed":
                assert result.problem is not None
                text = _xml("\n".join(self.lines(result)))
                yield f"{head}><failure message={_attribute(result.problem.text)}>{text}</failure></testcase>"
            case "unexpected":
                yield f'{head}><failure message="expected to fail, and passed"/></testcase>'
            case "expected":
                yield f'{head}><skipped message="an expected failure"/></testcase>'
            case "lacking":
                yield f"{head}><skipped message={_attribute(result.lacks or '')}/></testcase>"

    def lines(self, result: Result) -> Iterator[str]:
        """A failure as a person reads it."""
        problem = result.problem
        if problem is None:
            return
        yield problem.text if problem.step is None else f"frame {problem.step}: {problem.text}"
        yield from _values(problem)
        for rule in self.sentences(result):
            yield f"[{rule.name}] {rule.text}"


def _values(problem: Problem) -> Iterator[str]:
    for name, value in (("expected", problem.expected), ("actual", problem.actual)):
        if value is not ABSENT:
            yield f"  {name:<9}{_shown(value)}"
        elif problem.pointer is not None and (problem.expected is not ABSENT or problem.actual is not ABSENT):
            yield f"  {name:<9}nothing"
    if problem.line is not None:
        yield f"  sent     {problem.line}"


def _shown(value: Any) -> str:
    text = jsontext.dumps(plain(value)).decode()
    if len(text) <= _SHOWN_CHARACTERS:
        return text
    return f"{text[: _SHOWN_CHARACTERS - 40]} … {text[-40:]} ({len(text)} characters)"


def _shortened(value: Any) -> Any:
    """For JSON: a value that would fill a screen as a text of its beginning and its end."""
    shown = _shown(value)
    return plain(value) if len(shown) <= _SHOWN_CHARACTERS else shown


def _xml(text: str) -> str:
    return escape(_NOT_XML.sub("�", text))


def _attribute(text: str) -> str:
    return quoteattr(_NOT_XML.sub("�", text))


def read_expected_failures(text: str, known: Sequence[str], path: str) -> list[str]:
    """The names on a list of expected failures: one a line, `#` begins a comment. UsageError for an unknown one."""
    names = []
    for number, line in enumerate(text.split("\n"), 1):
        name = line.partition("#")[0].strip()
        if not name:
            continue
        if name not in known:
            raise UsageError(f"{path}:{number}: there is no session {name!r}")
        names.append(name)
    return names
