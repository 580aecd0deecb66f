"""playhead redact: an old recording, cleaned by a policy without being recorded again."""

from __future__ import annotations

import os
from typing import Any

import click

from playhead.cli.divergence import divergence_lines
from playhead.cli.options import HandlerCommand, handler_named, handler_of, handler_options, json_option
from playhead.cli.output import EXIT_DIVERGED, EXIT_SAME, emit, safe, safe_line, say
from playhead.daemon import Daemon
from playhead.engine.policy_defaults import NEWEST
from playhead.engine.policy_rules import Rules
from playhead.engine.verify import Verdict, VerifyOptions
from playhead.errors import UsageError
from playhead.redaction import RedactResult
from playhead.redaction import redact as redact_recording
from playhead.runtime.policy_file import find_policy, load_policy


@click.command("redact", cls=HandlerCommand)
@click.argument("recording")
@click.option("-o", "--output", "out", metavar="FILE", help="Write it here; without it, RECORDING itself is replaced.")
@click.option("--force", is_flag=True, help="Replace a file that is there already.")
@click.option("--policy", metavar="FILE", help="The policy; else that of the nearest playhead.toml or pyproject.toml.")
@click.option("--defaults", is_flag=True, help="Apply the shipped rules, whatever the policy says of them.")
@handler_options
@json_option
@click.pass_context
def command(ctx: click.Context, /, recording: str, out: str | None, as_json: bool, **given: Any) -> int:
    """Shape RECORDING by a policy, as if it had been recorded under it, and say whether it still verifies.

    Its transcript is hashed anew. With a handler, the new recording is verified at once: exit code 1 where the handler
    needs what was hidden.

    \b
    Example:
      playhead redact incident.json --policy playhead.toml
      playhead redact incident.jsonl --defaults -o clean.jsonl --handler handler.py
    """
    rules = _rules(given["policy"], given["defaults"])
    handler = handler_of(ctx, given) if handler_named(ctx, given) else None
    result = redact_recording(recording, out, rules, force=given["force"])
    verdict: Verdict | None = None
    if handler is not None:
        with Daemon() as daemon:
            _, verdict = daemon.verify(result.out, handler, VerifyOptions())
    if as_json:
        shown = result.to_json()
        if verdict is not None:
            shown["verdict"] = verdict.to_json()
            shown["ok"] = verdict.ok
        emit(shown)
    else:
        _tell(result, verdict)
    return EXIT_SAME if verdict is None or verdict.ok else EXIT_DIVERGED


def _rules(path: str | None, defaults: bool) -> Rules:
    if path is not None:
        rules = load_policy(path).rules
    else:
        found = find_policy(os.getcwd())
        if found is None and not defaults:
            raise UsageError("no policy: give --policy FILE, write one in playhead.toml, or take --defaults")
        rules = Rules() if found is None else found.policy.rules
    return rules._replace(defaults=NEWEST) if defaults else rules


def _tell(result: RedactResult, verdict: Verdict | None) -> None:
    done = result.rewritten
    calls = f"{done.changed:,} of {done.calls:,} event{'' if done.calls == 1 else 's'}"
    say(f"{click.style('✔', fg='green')} {safe_line(result.id)}: hidden in {calls}, written to {safe_line(result.out)}")
    if result.same_transcript:
        say(f"  the transcript is what it was: hash {done.hash}")
    else:
        say(f"  hash {done.hash} (before: {result.hash_before})")
    for warning in result.warnings:
        say(f"  warning: {safe(warning)}")
    if verdict is None:
        say("  whether it still verifies, a handler says: --handler FILE")
    elif verdict.ok:
        say(f"  {click.style('✔', fg='green')} it verifies")
    else:
        say(f"  {click.style('✘', fg='red')} it does not verify with this handler, which may need what was hidden")
        if verdict.divergence is not None:
            for line in divergence_lines(verdict.divergence):
                say(line)
