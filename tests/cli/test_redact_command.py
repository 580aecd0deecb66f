"""`playhead record` under a policy, the replay of what it wrote, and `playhead redact` on what was recorded without."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

SECRET = "tok_live_7Hq2/Lx9 é"
MASK = "[REDACTED]"
HANDLER = """
import base64
import json
import os
import sys
from urllib.parse import quote


def handler(event, ctx):
    answer = ctx.respond("auth.login", lambda: {"access_token": SECRET, "for": event["user"]})
    token = answer["access_token"]
    print("logging", token, file=sys.stderr)
    seen = ctx.respond(
        f"http.get {token}",
        lambda: {"status": 200, "seen": token},
        args=["https://h/?t=" + quote(token, safe="")],
        kwargs={"headers": {"Authorization": "Bearer " + token}},
    )
    ctx.note("called", note=token)
    if event.get("do") == "raise":
        raise ValueError(f"refused {token}")
    if event.get("do") == "die":
        sys.stderr.flush()
        os._exit(3)
    return {
        "echo": token,
        token: {"key": os.environ.get("PLAYHEAD_HMAC_KEY"), "mine": os.environ.get("MY_KEY")},
        "base64": base64.b64encode(f"user:{token}".encode()).decode(),
        "json": json.dumps({"note": token}),
        "seen": seen,
    }
""".replace("SECRET", json.dumps(SECRET))
EVENTS = [{"user": f"early {SECRET}"}, {"user": "u1", "password": "hunter2hunter2"}, {"user": "hunter2hunter2"}]
POLICY = """
[policy]
redact = ["password", { field = "mail", hmac = "env:MY_KEY" }]
scrub = ['zz_[a-z]+']
defaults = true
"""
DRIFTED = HANDLER.replace('"echo": token', '"echo": token + "!"')


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "handler.py").write_text(HANDLER, encoding="utf-8")
    (tmp_path / "drifted.py").write_text(DRIFTED, encoding="utf-8")
    write_events(tmp_path, *EVENTS)
    return tmp_path


def write_events(folder: Path, *events: Any) -> None:
    (folder / "events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events), encoding="utf-8")


def with_policy(folder: Path, text: str = POLICY) -> None:
    (folder / "playhead.toml").write_text(text, encoding="utf-8")


ENVIRONMENT = {"MY_KEY": "key one", "PLAYHEAD_HMAC_KEY": "key two"}
NEEDLES = [
    form.encode()
    for secret in (SECRET, "hunter2hunter2")
    for form in (
        secret,
        json.dumps(secret)[1:-1],
        quote(secret, safe=""),
        quote(secret),
        base64.b64encode(secret.encode()).decode(),
        base64.b64encode(f"user:{secret}".encode()).decode()[8:-4],
    )
]


def hits(*places: Path | str) -> list[bytes]:
    """Which forms of the secrets stand in the files and texts."""
    data = b"\n".join(place.read_bytes() if isinstance(place, Path) else place.encode() for place in places)
    return [needle for needle in NEEDLES if needle in data]


def record(playhead: Any, out: str, *options: str) -> Any:
    return playhead("record", "events.jsonl", "--handler", "handler.py", "-o", out, *options, env=ENVIRONMENT)


@pytest.mark.parametrize("out", ["out.json", "out.jsonl"])
def test_a_recording_under_a_policy_holds_no_secret_and_verifies(out, folder, playhead):
    assert record(playhead, "without.json").code == 0
    assert len(hits(folder / "without.json")) > 6
    with_policy(folder)
    ran = record(playhead, out)
    assert ran.code == 0, ran.err
    assert hits(folder / out, ran.out, ran.err) == []
    assert b"key one" not in (folder / out).read_bytes()
    verified = playhead("verify", out, "--handler", "handler.py", "--strict-testimony", "--runs", "2", "--json")
    assert verified.code == 0, verified.out
    shown = playhead("show", out, "--json").json
    assert shown["recording"]["policy"] == {
        "version": 1,
        "defaults": 1,
        "redact": ["password", {"field": "mail", "hmac": "env:MY_KEY"}],
        "scrub": ["zz_[a-z]+"],
    }
    # No key of a policy reaches the handler: neither one of the names that none is given, nor one that a rule names.
    assert shown["calls"][0]["output"][MASK] == {"key": None, "mine": None}
    # Known from the second event on, and hidden in the first one too.
    assert shown["calls"][0]["event"] == {"user": f"early {MASK}"}


@pytest.mark.parametrize("out", ["out.json", "out.jsonl"])
def test_a_replay_applies_the_rules_of_the_tape_and_not_those_of_the_day(out, folder, playhead):
    with_policy(folder)
    assert record(playhead, out).code == 0
    with_policy(folder, '[policy]\nredact = ["echo"]\n')
    assert playhead("verify", out, "--handler", "handler.py").code == 0
    ran = playhead("run", out, "--handler", "handler.py", "--json")
    assert ran.code == 0
    assert hits(ran.out) == []
    drifted = playhead("verify", out, "--handler", "drifted.py", "--json")
    assert drifted.code == 1
    found = drifted.json["results"][0]["divergence"]
    assert (found["kind"], found["pointer"], found["actual"]) == ("output", "/echo", f"{MASK}!")
    assert hits(drifted.out) == []


def test_with_no_policy_nothing_is_shaped_and_no_names_are_written(folder, playhead):
    with_policy(folder)
    assert record(playhead, "out.json", "--no-policy").code == 0
    assert json.loads((folder / "out.json").read_bytes())["@playhead"]["policy"] is None
    assert hits(folder / "out.json")
    assert record(playhead, "both.json", "--no-policy", "--policy", "playhead.toml").code == 2


def test_an_error_is_shaped_with_its_evidence(folder, playhead):
    with_policy(folder)
    write_events(folder, {"user": "u", "do": "raise"})
    ran = record(playhead, "out.json", "--json")
    assert ran.code == 0, ran.err
    assert hits(folder / "out.json", ran.out) == []
    verified = playhead("verify", "out.json", "--handler", "handler.py", "--json")
    assert verified.code == 0, verified.out
    assert hits(verified.out) == []


@pytest.mark.parametrize("out", ["out.json", "out.jsonl"])
def test_a_handler_that_dies_leaves_no_secret_in_the_report_or_in_a_sidecar(out, folder, playhead):
    with_policy(folder)
    write_events(folder, {"user": f"early {SECRET}"}, {"user": "u", "do": "die"})
    ran = record(playhead, out, "--json")
    assert ran.code == 2
    assert MASK in ran.json["error"]["stderr"]
    files = [path for path in folder.iterdir() if path.name.startswith("out.")]
    assert len(files) == (2 if out.endswith("l") else 0)
    assert hits(*files, ran.out, ran.err) == []


@pytest.mark.parametrize("out", ["out.json", "out.jsonl"])
@pytest.mark.parametrize("rule", ["BEGIN [A-Z]+\\n", '"split":"secret"'], ids=["decoded", "over key and value"])
def test_what_is_forbidden_fails_the_recording_and_nothing_is_written(rule, out, folder, playhead):
    with_policy(folder, f"[policy]\nforbid = ['nothing', '''{rule}''']\n".replace("\\n", "\n"))
    write_events(folder, {"user": "u"}, {"user": {"split": "secret"}, "text": "BEGIN KEY\n"})
    before = set(folder.iterdir())
    ran = record(playhead, out, "--json")
    assert ran.code == 2
    error = ran.json["error"]
    assert (error["kind"], error["rule"], error["seq"]) == ("forbidden", "forbid[1]", 1)
    assert set(folder.iterdir()) == before


def test_a_policy_that_is_wrong_is_told_by_its_key(folder, playhead):
    with_policy(folder, "[policy]\nredakt = []\n")
    ran = record(playhead, "out.json", "--json")
    assert ran.code == 2
    assert (ran.json["error"]["kind"], ran.json["error"]["key"]) == ("policy", "policy.redakt")
    assert not (folder / "out.json").exists()


# An old recording


@pytest.mark.parametrize("name", ["old.json", "old.jsonl"])
def test_an_old_recording_is_cleaned_in_its_place_and_verifies(name, folder, playhead):
    write_events(folder, *EVENTS, {"user": "u", "do": "raise"})
    assert record(playhead, name).code == 0
    with_policy(folder, POLICY.replace(', { field = "mail", hmac = "env:MY_KEY" }', ""))
    ran = playhead("redact", name, "--handler", "handler.py", "--json", env=ENVIRONMENT)
    assert ran.code == 0, ran.out + ran.err
    assert ran.json["verdict"]["ok"]
    assert ran.json["changed"] == ran.json["events"] == 4
    assert ran.json["hashes"]["before"] != ran.json["hashes"]["after"] == ran.json["verdict"]["actualHash"]
    assert hits(folder / name, ran.out) == []
    if name == "old.jsonl":
        assert playhead("check-tape", name).code == 0
    again = playhead("redact", name, "--json").json
    assert (again["changed"], again["hashes"]["after"]) == (0, ran.json["hashes"]["after"])
    # As if it had been recorded under the policy.
    assert record(playhead, "new.json").code == 0
    assert playhead("diff", name, "new.json").code == 0


def test_a_copy_leaves_the_old_one_as_it_was(folder, playhead):
    assert record(playhead, "old.json").code == 0
    before = (folder / "old.json").read_bytes()
    ran = playhead("redact", "old.json", "--defaults", "-o", "new.json")
    assert ran.code == 0, ran.err
    assert "whether it still verifies" in ran.out
    assert (folder / "old.json").read_bytes() == before
    assert playhead("redact", "old.json", "--defaults", "-o", "new.json").code == 2
    assert playhead("redact", "old.json", "--defaults", "-o", "new.json", "--force").code == 0
    # Beside the whole one: shaped alike, they are the same.
    assert playhead("diff", "old.json", "new.json").code == 0


def test_a_plain_recording_is_cleaned_too_and_it_is_told_that_no_replay_will_know(folder, playhead):
    assert record(playhead, "old.json", "--plain").code == 0
    ran = playhead("redact", "old.json", "--defaults", "--json")
    assert ran.code == 0, ran.err
    assert hits(folder / "old.json") == []
    assert "no replay" in ran.json["warnings"][0]
    assert playhead("show", "old.json").code == 0


def test_a_sidecar_is_cleaned_with_its_tape(folder, playhead):
    write_events(folder, {"user": "u"}, {"user": "u", "do": "die"})
    assert record(playhead, "old.jsonl").code == 2
    sidecar = folder / "old.jsonl.inflight"
    assert hits(sidecar)
    assert playhead("redact", "old.jsonl", "--defaults").code == 0
    assert hits(folder / "old.jsonl", sidecar) == []
    unfinished = playhead("show", "old.jsonl", "--json").json["unfinished"]
    assert [ask["method"] for ask in unfinished[0]["asks"]] == ["respond", "respond"]


def test_a_handler_that_needs_what_was_hidden_is_told(folder, playhead):
    (folder / "handler.py").write_text(HANDLER.replace('"echo": token', '"echo": len(token)'), encoding="utf-8")
    assert record(playhead, "old.json").code == 0
    ran = playhead("redact", "old.json", "--defaults", "--handler", "handler.py")
    assert ran.code == 1
    assert "may need what was hidden" in ran.out
    assert hits(folder / "old.json") == []


def test_a_redacted_recording_is_recorded_anew_under_its_own_rules(folder, playhead):
    with_policy(folder)
    assert record(playhead, "old.json").code == 0
    (folder / "playhead.toml").unlink()
    ran = playhead("record", "old.json", "--handler", "handler.py", "-o", "new.json", env=ENVIRONMENT)
    assert ran.code == 0, ran.err
    assert playhead("diff", "old.json", "new.json").code == 0
    assert json.loads((folder / "new.json").read_bytes())["@playhead"]["policy"]["defaults"] == 1


def test_what_is_forbidden_is_not_written_anew_and_the_old_one_stays(folder, playhead):
    assert record(playhead, "old.jsonl").code == 0
    before = (folder / "old.jsonl").read_bytes()
    with_policy(folder, '[policy]\nforbid = [{ name = "early bird", match = "early" }]\n')
    ran = playhead("redact", "old.jsonl", "--json")
    assert ran.code == 2
    assert ran.json["error"]["rule"] == "early bird"
    assert (folder / "old.jsonl").read_bytes() == before
    assert {path.name for path in folder.iterdir() if path.name.startswith((".old", "old"))} == {"old.jsonl"}


def test_without_a_policy_there_is_nothing_to_clean_with(folder, playhead):
    assert record(playhead, "old.json").code == 0
    ran = playhead("redact", "old.json", "--json")
    assert ran.code == 2
    assert "no policy" in ran.json["error"]["message"]


def test_standard_input_needs_a_place(folder, playhead):
    assert playhead("redact", "-", "--defaults", "--json").json["error"]["kind"] == "usage"


def test_nothing_of_policies_is_loaded_by_those_who_have_none(folder):
    program = (
        "import sys; from playhead.cli.main import run;"
        "run(['record', 'events.jsonl', '--handler', 'handler.py', '-o', 'out.json']);"
        "run(['verify', 'out.json', '--handler', 'handler.py']);"
        "print(sorted({'re2', 'playhead.engine.policy', 'tomllib'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_a_handler_in_another_language_verifies_a_redacted_recording(folder, playhead):
    (folder / "handler.mjs").write_text(
        """
export async function handler(event, ctx) {
  const { access_token: token } = await ctx.respond('auth.login', () => ({}));
  await ctx.respond(`http.get ${token}`, () => ({}), {
    args: ['https://h/?t=' + encodeURIComponent(token)],
    kwargs: { headers: { Authorization: 'Bearer ' + token } },
  });
  return { token, line: `Cookie: sid=${token}`, base64: Buffer.from(`user:${token}`).toString('base64') };
}
""",
        encoding="utf-8",
    )
    python = HANDLER[: HANDLER.index("    ctx.note")] + (
        "    return {'token': token, 'line': f'Cookie: sid={token}',"
        " 'base64': base64.b64encode(f'user:{token}'.encode()).decode()}\n"
    )
    (folder / "handler.py").write_text(python, encoding="utf-8")
    with_policy(folder)
    assert record(playhead, "out.json").code == 0
    ran = playhead("verify", "out.json", "--handler", "handler.mjs")
    assert ran.code == 0, ran.out
