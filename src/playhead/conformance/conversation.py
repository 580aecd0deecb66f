"""One conversation as it goes on: what the daemon says next, and what a candidate's line has against it. No I/O.

Matching follows protocol/vectors/README.md: ids as the candidate gives them, texts of messages free, defaults written
out or not, the items of `asked` in one notification or in several.
"""

from __future__ import annotations

import re
from collections import deque
from typing import Any, NamedTuple

from playhead import jsontext
from playhead.conformance.schemas import Schemas
from playhead.conformance.vectors import Pattern, Step, Vector, encoded, plain
from playhead.engine.diff import first_difference
from playhead.engine.divergence import ABSENT
from playhead.wire.message import FRAME_LEVELS, Malformed, Response, Stray, quoted, read_message

# What version 1 has: a client that repeats whatever it was offered has not understood it.
_CAPABILITIES = ("window", "reset")
_DEFAULTS: dict[str, Any] = {"clock": "wall", "draw": "float"}
_EMPTY_IS_ABSENT = ("args", "kwargs")
_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"')
_SPACE = re.compile(rb"[ \t\r]")


class Problem(NamedTuple):
    """What is wrong: in words, at which step, where in the frame, and the sentences that say so."""

    text: str
    step: int | None = None
    pointer: str | None = None
    expected: Any = ABSENT
    actual: Any = ABSENT
    # What the candidate sent.
    line: str | None = None
    # Names of sentences, besides those that the vector holds.
    rules: tuple[str, ...] = ()


class Lacking(NamedTuple):
    """What the candidate does not have at all, though the conversation is about it."""

    text: str
    step: int
    rules: tuple[str, ...]


class Awaited(NamedTuple):
    """What the candidate has to send next: a frame, or one item of `asked`, which has a number of its own."""

    step: int
    frame: dict[str, Any]
    item: int | None = None

    def __str__(self) -> str:
        if self.item is not None:
            return f"{_item_of(self)['m']} in asked"
        if "method" in self.frame:
            return str(self.frame["method"])
        answer = "the error" if "error" in self.frame else "the answer"
        return f"{answer} to request {_shown_id(self.frame['id'])}"


class Conversation:
    """Send what is `due`, hand every line to `take`, until `over`."""

    def __init__(self, vector: Vector, schemas: Schemas) -> None:
        self._schemas = schemas
        self._vector = vector
        self._steps = deque(vector.steps)
        self._awaited: deque[Awaited] = deque()
        # Replies to settlements are wanted at once: nobody has to wait for them.
        self._at_once: list[Step] = []
        self._sent_at_once: set[int] = set()
        # Requests of ours that are open, and what they asked for.
        self._ours: dict[tuple[type, Any], str] = {}
        # Requests of the candidate's that are open, by the id in the vector: its own id, and the method.
        self._theirs: dict[Any, tuple[Any, str]] = {}
        self._spans: dict[Any, Any] = {}
        # What the candidate said of itself.
        self.about: dict[str, Any] | None = None

    @property
    def awaited(self) -> Awaited | None:
        """What has to come next; None where the daemon speaks, or the input ends."""
        return self._awaited[0] if self._awaited else None

    @property
    def over(self) -> bool:
        """Whether the end of the input comes next."""
        return not self._awaited and not self._at_once and (not self._steps or self._steps[0].frame is None)

    def due(self) -> list[bytes]:
        """The lines that the daemon says now."""
        lines = [self._said(step) for step in self._at_once]
        self._at_once = []
        while not self._awaited and self._steps and (frame := self._steps[0].frame) is not None:
            step = self._steps.popleft()
            if step.sender == "handler":
                self._await(step.number, frame)
            elif step.number not in self._sent_at_once:
                lines.append(self._said(step))
        return lines

    def _await(self, step: int, frame: dict[str, Any]) -> None:
        if frame.get("method") == "asked":
            self._awaited.extend(Awaited(step, frame, item) for item in range(len(frame["params"]["asks"])))
        else:
            self._awaited.append(Awaited(step, frame))

    def _said(self, step: Step) -> bytes:
        assert step.frame is not None
        frame = step.frame
        if "method" not in frame:
            own, method = self._theirs.pop(frame["id"])
            frame = {**frame, "id": own}
            message = "response"
        else:
            method = frame["method"]
            message = "request" if "id" in frame else "notification"
            if message == "request":
                self._ours[_key(frame["id"])] = method
        if not step.invalid and self._schemas.knows(method):
            complaint = self._schemas.complaint(method, message, plain(frame))
            assert complaint is None, f"{self._vector.id}, step {step.number}: {complaint}"
        return encoded(frame) + b"\n"

    def take(self, line: bytes) -> Problem | Lacking | None:
        """What is wrong with a line of the candidate's, without its line end; None if nothing is."""
        awaited = self.awaited
        at = None if awaited is None else awaited.step
        found = self._read(line, awaited)
        if isinstance(found, Problem | Lacking):
            if isinstance(found, Problem):
                found = found._replace(step=at if found.step is None else found.step, line=quoted(line))
            return found
        return None

    def _read(self, line: bytes, awaited: Awaited | None) -> Problem | Lacking | None:
        message = read_message(line)
        if isinstance(message, Stray):
            return Problem(f"a line on stdout is no frame: {message.text}", rules=("T1", "T2", "T6"))
        if isinstance(message, Malformed):
            return Problem(message.reason, rules=("F1", "T4", "T5", "I1", "F9"))
        if _SPACE.search(_STRING.sub(b"", line)):
            return Problem("the frame is not compact: there is white space outside its strings", rules=("F4",))
        frame: Any = jsontext.loads(line, depth=jsontext.MAX_DEPTH + FRAME_LEVELS)
        if isinstance(message, Response):
            return self._answered(frame, awaited)
        return self._asked(frame, awaited)

    # What the candidate asks or says

    def _asked(self, frame: dict[str, Any], awaited: Awaited | None) -> Problem | None:
        method = frame["method"]
        kind = "request" if "id" in frame else "notification"
        if not self._schemas.knows(method) or self._schemas.sender(method) != "handler":
            return Problem(f"{method} is nothing that a handler sends", pointer="/method", rules=("N2",))
        if self._schemas.kind(method) != kind:
            return Problem(f"{method} is a {self._schemas.kind(method)}; this is a {kind}", rules=("N2",))
        complaint = self._schemas.complaint(method, kind, frame)
        if complaint is not None:
            return Problem(
                f"the {kind} breaks its schema: {complaint.message} ({complaint.schema})", pointer=complaint.pointer
            )
        if method == "asked":
            return self._items(frame)
        if awaited is None or awaited.item is not None or awaited.frame.get("method") != method:
            return _instead(method, awaited)
        if kind == "request":
            if any(_key(own) == _key(frame["id"]) for own, _ in self._theirs.values()):
                return Problem(f"the id {_shown_id(frame['id'])} is open already", pointer="/id", rules=("I2", "I4"))
            self._theirs[awaited.frame["id"]] = (frame["id"], method)
        problem = self._different(awaited.frame["params"], frame["params"], method, ("params",))
        if problem is not None:
            return problem
        if method == "respond.settle":
            self._reply_at_once(awaited.frame["id"])
        self._awaited.popleft()
        return None

    def _items(self, frame: dict[str, Any]) -> Problem | None:
        """The items of one `asked`, however many of those that are awaited it has."""
        for number, item in enumerate(frame["params"]["asks"]):
            if not self._awaited and self._steps and self._steps[0].sender == "handler":
                # The next `asked` of the vector, in the same one here.
                step = self._steps.popleft()
                assert step.frame is not None
                self._await(step.number, step.frame)
            awaited = self.awaited
            if awaited is None or awaited.item is None:
                return _instead(f"{item['m']} in asked", awaited)
            expected = _item_of(awaited)
            if frame["params"]["call"] != awaited.frame["params"]["call"]:
                return Problem(
                    "asked names another call",
                    pointer="/params/call",
                    expected=awaited.frame["params"]["call"],
                    actual=frame["params"]["call"],
                )
            if expected["m"] != item["m"]:
                return _instead(f"{item['m']} in asked", awaited)
            place = ("params", "asks", number, "p")
            problem = self._different(expected.get("p", {}), item.get("p", {}), item["m"], place)
            if problem is not None:
                return problem
            self._awaited.popleft()
        return None

    def _reply_at_once(self, asked: Any) -> None:
        for step in self._steps:
            frame = step.frame
            if frame is not None and step.sender == "daemon" and "method" not in frame and frame["id"] == asked:
                self._at_once.append(step)
                self._sent_at_once.add(step.number)
                return

    def _different(
        self, expected: dict[str, Any], actual: dict[str, Any], method: str, place: tuple[str | int, ...]
    ) -> Problem | None:
        # A member of a later version is nobody's business; one of this version is.
        known = self._schemas.members(method) | expected.keys()
        actual = {name: value for name, value in actual.items() if name in known}
        if method == "span":
            expected = {**expected, "sid": self._spans.setdefault(expected["sid"], actual["sid"])}
        return _difference(_explicit(expected), _explicit(actual), place, f"{method} differs")

    # What the candidate answers

    def _answered(self, frame: dict[str, Any], awaited: Awaited | None) -> Problem | Lacking | None:
        if frame["id"] is None:
            return Problem("the candidate could not read a frame", actual=frame.get("error"), rules=("I6",))
        method = self._ours.get(_key(frame["id"]))
        if method is None:
            return Problem(
                f"no request with the id {_shown_id(frame['id'])} is open", pointer="/id", rules=("I3", "I4")
            )
        told = f"the answer to {method} ({_shown_id(frame['id'])})"
        if self._schemas.knows(method):
            complaint = self._schemas.complaint(method, "response", frame)
            if complaint is not None:
                return Problem(
                    f"{told} breaks its schema: {complaint.message} ({complaint.schema})", pointer=complaint.pointer
                )
        expected = None if awaited is None or awaited.item is not None else awaited.frame
        if awaited is None or expected is None or "method" in expected or _key(expected["id"]) != _key(frame["id"]):
            return _instead(told, awaited)
        if ("error" in expected) != ("error" in frame):
            side = "error" if "error" in expected else "result"
            other = "result" if side == "error" else "error"
            return Problem(f"{told} has no {side}", pointer=f"/{side}", expected=expected[side], actual=frame[other])
        del self._ours[_key(frame["id"])]
        self._awaited.popleft()
        if "error" in expected:
            return _difference(_fault(expected["error"]), _fault(frame["error"]), ("error",), f"{told} differs")
        if method == "initialize":
            return self._introduced(expected["result"], frame["result"], awaited.step)
        if method == "handle":
            return _difference(_outcome(expected["result"]), _outcome(frame["result"]), ("result",), f"{told} differs")
        return None

    def _introduced(self, expected: dict[str, Any], actual: dict[str, Any], step: int) -> Problem | Lacking | None:
        self.about = actual
        if expected["protocol"] != actual["protocol"]:
            return _difference(expected["protocol"], actual["protocol"], ("result", "protocol"), "the version differs")
        offered = next(
            step.frame["params"]["capabilities"]
            for step in self._vector.steps
            if step.frame is not None and step.frame.get("method") == "initialize"
        )
        for name in actual["capabilities"]:
            if name not in offered or name not in _CAPABILITIES or actual["capabilities"][name] is not True:
                reason = "was not offered" if name not in offered else "is none that version 1 has, or is not true"
                return Problem(
                    f"the capability {name} {reason}",
                    step,
                    "/result/capabilities",
                    expected={name: value for name, value in offered.items() if name in _CAPABILITIES},
                    actual=actual["capabilities"],
                    rules=("A5",),
                )
        for name in sorted(self._vector.functions - set(actual["functions"])):
            return Lacking(f"the function {name} is not served", step, ("A6",))
        for name in sorted(self._vector.capabilities - actual["capabilities"].keys()):
            return Lacking(f"the capability {name} is not offered", step, ("A5",))
        return None


def _item_of(awaited: Awaited) -> dict[str, Any]:
    assert awaited.item is not None
    item: dict[str, Any] = awaited.frame["params"]["asks"][awaited.item]
    return item


def _instead(what: str, awaited: Awaited | None) -> Problem:
    wanted = "nothing was to come" if awaited is None else f"{awaited} was to come"
    return Problem(f"{what} came where {wanted}", expected=ABSENT if awaited is None else awaited.frame)


def _key(value: Any) -> tuple[type, Any]:
    return type(value), value


def _shown_id(value: Any) -> str:
    return jsontext.dumps(value).decode()[:60]


def _explicit(params: dict[str, Any]) -> dict[str, Any]:
    """Params without what is a default, and errors without what is evidence."""
    found = {
        name: value
        for name, value in params.items()
        if _DEFAULTS.get(name, ABSENT) != value and not (name in _EMPTY_IS_ABSENT and not value)
    }
    if isinstance(found.get("error"), dict):
        found["error"] = _compared(found["error"])
    return found


def _compared(error: dict[str, Any]) -> dict[str, Any]:
    return {name: error[name] for name in ("type", "message")}


def _fault(error: dict[str, Any]) -> dict[str, Any]:
    """An error of JSON-RPC without its text, which is for people."""
    return {name: error[name] for name in ("code", "data") if name in error}


def _outcome(result: dict[str, Any]) -> dict[str, Any]:
    if "raised" in result:
        return {"raised": _compared(result["raised"])}
    return {"output": result["output"]}


def _difference(expected: Any, actual: Any, place: tuple[str | int, ...], text: str) -> Problem | None:
    found = first_difference(_filled(expected, actual), actual)
    if found is None:
        return None
    pointer = "".join(f"/{token}" for token in place) + found.pointer
    return Problem(f"{text} at {pointer}", pointer=pointer, expected=found.expected, actual=found.actual)


def _filled(expected: Any, actual: Any) -> Any:
    """What is expected, with what the candidate sent in the place of what it is free in."""
    if isinstance(expected, Pattern):
        fits = expected.text is None or (isinstance(actual, str) and expected.text in actual)
        return actual if fits else f"a text with {expected.text} in it"
    if isinstance(expected, dict) and isinstance(actual, dict) and "output" not in expected:
        return {name: _filled(value, actual.get(name)) for name, value in expected.items()}
    return expected
