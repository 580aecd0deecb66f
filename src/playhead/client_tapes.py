"""Tapes that the functions of a client of `playhead serve` are verified by, where they are."""

from __future__ import annotations

import contextlib

from playhead import jsontext
from playhead.daemon import no_progress, opened_tape, other_constants, report_unexpected, shaping
from playhead.engine.policy_calls import Shaper
from playhead.engine.verify import Verdict
from playhead.errors import PlayheadError
from playhead.runtime.client_caller import ClientCaller
from playhead.runtime.policies import policy_of_tape
from playhead.runtime.runs import Playing, choose_function, verify_run
from playhead.session.commands import HandlerInfo
from playhead.session.verification import Verification


class OpenedTape:
    """A tape that the functions of a client are verified by: it is open until `close`, whichever thread plays it.

    PlayheadError where it is none, or cannot be verified as is wanted.
    """

    def __init__(self, wanted: Verification) -> None:
        self._wanted = wanted
        self._policy: Shaper | None = None
        if wanted.fn is not None:
            choose_function(wanted.functions, wanted.fn)
        self._open = contextlib.ExitStack()
        try:
            self._tape = self._open.enter_context(opened_tape(wanted.tape))
            Playing(self._tape, wanted.options)
            self._policy = policy_of_tape(self._tape.policy)
        except BaseException:
            self._open.close()
            raise
        self.constants = self._tape.constants

    def close(self) -> None:
        self._open.close()

    def verify(self, caller: ClientCaller) -> bytes:
        """The result of `verify --json` for this tape, as JSON text."""
        named = {"recording": self._wanted.tape}
        try:
            result = {**named, "id": self._tape.meta.id, **self._verdict(caller).to_json()}
        except PlayheadError as error:
            result = {**named, "ok": False, "error": error.to_json()}
        except Exception as unexpected:
            told = {"kind": "internal", "message": f"internal error, reference {report_unexpected(unexpected)}"}
            result = {**named, "ok": False, "error": told}
        return jsontext.dumps(result)

    def _verdict(self, caller: ClientCaller) -> Verdict:
        policy = self._policy
        known = 0 if policy is None else policy.learned
        verdict = self._verified(caller)
        gone = verdict.divergence is not None and verdict.divergence.kind in ("timeout", "protocol")
        if policy is None or verdict.ok or policy.learned == known or gone:
            return verdict
        # As in Daemon._verify_under.
        caller.renew()
        return self._verified(caller)

    def _verified(self, caller: ClientCaller) -> Verdict:
        wanted, policy = self._wanted, self._policy

        def chosen(taped: str | None) -> str:
            return choose_function(wanted.functions, wanted.fn, taped)

        with shaping(policy):
            verdict = verify_run(self._tape, caller, chosen, wanted.options, no_progress, lambda: None, policy)
            info = HandlerInfo("", "", "", "", wanted.functions, wanted.constants, 1)
            return verdict._replace(warnings=(*other_constants(self._tape, info, policy), *verdict.warnings))
