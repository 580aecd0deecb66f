"""What playhead raises when it could not look; a finding is a value (a verdict), never one of these.

An error's type says whose fault it is and its fields say where. `to_json` is the form every `--json` result and every
wire error carries, so that text, JSON and the exit code never disagree. No message holds a secret or a traceback.
"""

from __future__ import annotations

from typing import Any, ClassVar


class PlayheadError(Exception):
    """Base of everything raised on purpose. `kind` is the stable word for it in `--json` output."""

    kind: ClassVar[str] = "internal"

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message

    def where(self) -> dict[str, Any]:
        """The members that say where: only those that are known."""
        return {}

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "message": self.message, **self.where()}


class UsageError(PlayheadError):
    """The command line, or an argument of the Python API, asks for something that cannot be done."""

    kind = "usage"


class InputOutputError(PlayheadError):
    """A file could not be read or written."""

    kind = "io"

    def __init__(self, message: str, *, path: str | None = None) -> None:
        super().__init__(message)
        self.path = path

    def where(self) -> dict[str, Any]:
        return {} if self.path is None else {"path": self.path}


class NotCanonical(PlayheadError, TypeError):
    """A value that JSON cannot carry without loss. `pointer` (RFC 6901) says where in the value."""

    kind = "not_canonical"

    def __init__(self, reason: str, *, pointer: str = "") -> None:
        super().__init__(f"{pointer or 'the value'}: {reason}")
        self.reason = reason
        self.pointer = pointer

    def where(self) -> dict[str, Any]:
        return {"pointer": self.pointer}


class _Located(PlayheadError):
    """An error in a text: any of path, line and column (from 1), byte offset (from 0), JSON Pointer."""

    def __init__(
        self,
        reason: str,
        *,
        path: str | None = None,
        pointer: str | None = None,
        line: int | None = None,
        column: int | None = None,
        offset: int | None = None,
    ) -> None:
        self.reason = reason
        self.path = path
        self.pointer = pointer
        self.line = line
        self.column = column
        self.offset = offset
        super().__init__(self._text())

    def _text(self) -> str:
        place = self.path or ""
        if self.line is not None:
            place += f":{self.line}" if place else f"line {self.line}"
            if self.column is not None:
                place += f":{self.column}" if self.path else f" column {self.column}"
        # A column says it more closely.
        if self.pointer is not None and (self.line is None or self.column is None):
            place += f" at {self.pointer or '/'}" if place else f"{self.pointer or 'the top'}"
        return f"{place}: {self.reason}" if place else self.reason

    def at_path(self, path: str) -> _Located:
        """The same error, knowing the file it was found in."""
        return type(self)(
            self.reason, path=path, pointer=self.pointer, line=self.line, column=self.column, offset=self.offset
        )

    def where(self) -> dict[str, Any]:
        fields = {
            "path": self.path,
            "pointer": self.pointer,
            "line": self.line,
            "column": self.column,
            "offset": self.offset,
        }
        return {"reason": self.reason, **{name: value for name, value in fields.items() if value is not None}}


class JSONTextError(_Located, ValueError):
    """A text that is not one exact JSON value (protocol/spec.md, "Exact JSON")."""

    kind = "json"


class TapeFormatError(_Located, ValueError):
    """A tape that is malformed: `pointer` for a wrong shape, `line` and `column` for a text that is not JSON."""

    kind = "tape_format"


class RecordingFormatError(TapeFormatError):
    """A recording (`.json`, version 1) that is malformed."""


class SourceFormatError(_Located, ValueError):
    """A log, an array of events or a scenario that cannot be read as events."""

    kind = "source_format"


class PolicyError(PlayheadError):
    """A policy that cannot be applied as it is written: `key` is the place in the file, as in policy.redact[1].hmac."""

    kind = "policy"

    def __init__(self, reason: str, *, key: str | None = None, path: str | None = None) -> None:
        places = [place for place in (path, key) if place is not None]
        super().__init__(": ".join([*places, reason]))
        self.reason = reason
        self.key = key
        self.path = path

    def at_path(self, path: str) -> PolicyError:
        """The same error, knowing the file it was found in."""
        return PolicyError(self.reason, key=self.key, path=path)

    def where(self) -> dict[str, Any]:
        fields = {"path": self.path, "key": self.key}
        return {"reason": self.reason, **{name: value for name, value in fields.items() if value is not None}}


class Forbidden(PlayheadError):
    """The rule `rule` of a policy forbids what would have been written; what it was is told nowhere."""

    kind = "forbidden"

    def __init__(self, rule: str, *, seq: int | None = None) -> None:
        place = "" if seq is None else f"event {seq}: "
        super().__init__(f"{place}the policy forbids what would be written: rule {rule!r}")
        self.rule = rule
        self.seq = seq

    def where(self) -> dict[str, Any]:
        return {"rule": self.rule, **({} if self.seq is None else {"seq": self.seq})}


class DeterminismError(PlayheadError):
    """A question that the tape cannot answer: `divergence` is the wire form of the finding."""

    kind = "diverged"

    def __init__(self, message: str, *, divergence: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.divergence = divergence or {}

    def where(self) -> dict[str, Any]:
        return {"divergence": self.divergence} if self.divergence else {}


class HandlerError(PlayheadError):
    """The handler's process did not do its part. `fault` is the verdict kind: crash, timeout or protocol."""

    kind = "handler"

    def __init__(
        self,
        message: str,
        *,
        fault: str,
        seq: int | None = None,
        call: int | None = None,
        stderr: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message)
        self.fault = fault
        self.seq = seq
        self.call = call
        self.stderr = stderr
        self.hint = hint

    def where(self) -> dict[str, Any]:
        fields = {"fault": self.fault, "seq": self.seq, "call": self.call, "stderr": self.stderr, "hint": self.hint}
        return {name: value for name, value in fields.items() if value is not None}


class HandlerStartError(HandlerError):
    """The handler could not be started, or ended or failed before `initialize` was answered."""

    kind = "handler_start"
