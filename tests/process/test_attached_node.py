"""A Node application with the real daemon attached to it: what it did is on a tape, and the tape verifies."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
CLIENT = (ROOT / "clients" / "node" / "index.mjs").as_uri()
NODE = shutil.which("node")

pytestmark = pytest.mark.skipif(NODE is None, reason="no Node here")

SHOP = f"""
import {{ setTimeout as wait }} from 'node:timers/promises';
import {{ attach, wrap }} from {json.dumps(CLIENT)};

const daemon = [{json.dumps(sys.executable)}, '-m', 'playhead', 'serve'];
export const recorder = attach({{ out: 'tapes', daemon, exitMs: 30_000, constants: {{ LIMIT: 5 }} }});
recorder.shim();

class Store {{
  #live = !process.env.NO_WORLD;
  async read(key) {{
    if (!this.#live) throw new Error('the store was reached live');
    await wait(key.length % 3);
    if (key === 'ghost') throw new RangeError('no ghost');
    return {{ key, level: key.length, at: 1e-7, big: 2 ** 53, text: 'na\\u00efve \\u2028 \\ud800' }};
  }}
  size() {{
    if (!this.#live) throw new Error('the store was reached live');
    return 3;
  }}
}}
const kv = wrap(new Store(), ['read', 'size'], {{ prefix: 'kv', sync: ['size'] }});

export const charge = recorder.wrap('charge', async (event, ctx) => {{
  const account = await kv.read(event.user);
  const [rate, other] = await Promise.all([
    ctx.respond('rate', () => wait(event.n % 2, 1.25), {{ args: ['EUR'] }}),
    kv.read('other'),
  ]);
  const first = await Promise.race([kv.read('a'), kv.read('bb'), kv.read('ccc')]);
  const seen = [ctx.now(), Date.now(), new Date().getTime(), performance.now(), ctx.monotonic(), Math.random()];
  const drawn = [ctx.random(), ctx.randint(1, 6), ctx.uuid(), crypto.randomUUID(), ctx.sample(['a', 'b', 'c'], 2)];
  recorder.note('charged', {{ user: event.user }});
  return ctx.span('work', {{ n: event.n }}, () => ({{ account, rate, other, first, seen, drawn, size: kv.size() }}));
}});
export const chains = recorder.wrap('chains', async (event) => {{
  const out = [];
  await Promise.all(['a', 'bbb', 'cccccc'].map(async (key) => {{
    out.push((await kv.read(key)).key, Math.random());
    await null;
    out.push(Date.now(), (await kv.read(`${{key}}-again`)).key);
  }}));
  return out;
}});
export const add = recorder.tool('add', (a, b) => ({{ sum: a + b + kv.size(), at: new Date() }}));
export const functions = recorder.handlers();
export const constants = {{ LIMIT: 5 }};
"""


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., str]:
    """`run(program)` runs a Node program beside shop.mjs in the test's folder; what it printed."""

    (tmp_path / "shop.mjs").write_text(SHOP)

    def go(program: str, status: int = 0, stderr: str = "") -> str:
        path = tmp_path / "program.mjs"
        path.write_text(f"import {{ recorder, charge, chains, add }} from './shop.mjs';\n{program}")
        done = subprocess.run(
            [str(NODE), str(path)], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == status and stderr in done.stderr, done.stderr
        assert stderr or not done.stderr, done.stderr
        return done.stdout

    return go


def tapes(folder: Path) -> list[Path]:
    return sorted((folder / "tapes").glob("*.jsonl"))


def calls(tape: Path) -> list[dict[str, Any]]:
    return [line for line in map(json.loads, tape.read_text().strip().split("\n")) if line["ev"] == "call"]


def until(true: Callable[[], object], what: str, limit_s: float = 30) -> None:
    deadline = time.monotonic() + limit_s
    while not true():
        assert time.monotonic() < deadline, f"waited too long for {what}"
        time.sleep(0.005)


def verified(playhead: Any, folder: Path) -> Any:
    found = tapes(folder)
    assert playhead("check-tape", *found).status == 0
    return playhead("verify", *found, "--handler", "shop.mjs", "--json", "--env", "NO_WORLD=1")


def test_what_ran_verifies(tmp_path: Path, playhead: Any, run: Callable[..., str]) -> None:
    out = run("""
await Promise.all(Array.from({ length: 20 }, (_, n) => charge({ user: `u${n}`, n })));
await charge({ user: 'ghost', n: 1 }).catch((error) => error);
await Promise.all(Array.from({ length: 10 }, (_, n) => chains({ n })));
add(1, 2);
console.log(JSON.stringify(await recorder.close()));
""")
    told = json.loads(out)
    assert (told["calls"], told["open"], told["dropped"], told["refused"]) == (32, 0, {}, 0)
    (tape,) = tapes(tmp_path)
    assert told["path"] == str(tape)
    assert [call["seq"] for call in calls(tape)] == list(range(1, 33))
    assert not tape.with_name(tape.name + ".inflight").exists()
    ended = verified(playhead, tmp_path)
    assert (ended.status, ended.json["ok"]) == (0, True), ended.stdout


def test_an_application_that_closes_nothing_verifies_too(
    tmp_path: Path, playhead: Any, run: Callable[..., str]
) -> None:
    run("charge({ user: 'u', n: 1 }).then(() => process.exit(0));")
    (tape,) = tapes(tmp_path)
    assert json.loads(tape.read_text().strip().split("\n")[-1])["ev"] == "transcript"
    assert verified(playhead, tmp_path).status == 0


def test_a_handler_that_was_changed_is_found_out(tmp_path: Path, playhead: Any, run: Callable[..., str]) -> None:
    run("add(1, 2);")
    (tmp_path / "shop.mjs").write_text(SHOP.replace("a + b + kv.size()", "a - b + kv.size()"))
    ended = verified(playhead, tmp_path)
    assert ended.status == 1
    assert "/sum" in ended.stdout


def test_a_door_that_is_reached_outside_of_its_call_has_escaped(
    tmp_path: Path, playhead: Any, run: Callable[..., str]
) -> None:
    lost = """
const jobs = [];
setInterval(() => jobs.splice(0).forEach((job) => job()), 1).unref();
export const lose = recorder.wrap('lose', () => new Promise((resolve) => {
  jobs.push(() => kv.read('lost').then(({ key }) => resolve(key), () => resolve('refused')));
  setTimeout(() => {}, 50);
}));
export const functions = recorder.handlers();
"""
    source = SHOP.replace("export const functions = recorder.handlers();", lost)
    (tmp_path / "shop.mjs").write_text(source)
    run("const { lose } = await import('./shop.mjs'); console.log(await lose(1));")
    ended = verified(playhead, tmp_path)
    assert ended.status == 1
    (result,) = ended.json["results"]
    assert (result["divergence"]["kind"], "kv.read" in result["divergence"]["message"]) == ("escaped", True)
    assert "the store was reached live" not in ended.stdout + ended.stderr


def test_an_application_killed_in_a_call_leaves_what_it_knew(
    tmp_path: Path, playhead: Any, run: Callable[..., str]
) -> None:
    run(
        """
await charge({ user: 'first', n: 0 });
const drained = async () => { while (recorder.stats().queuedBytes > 0) await new Promise(setImmediate); };
while (recorder.stats().path === null) await new Promise((resolve) => setTimeout(resolve, 5));
for (let n = 0; n < 20; n++) await charge({ user: 'u', n });
await recorder.wrap('dying', async (event, ctx) => {
  await ctx.respond('answered', () => 7);
  await ctx.respond('last', async () => {
    await drained();
    process.kill(process.pid, 'SIGKILL');
    return new Promise(() => {});
  });
})({ why: 'memory' });
""",
        -signal.SIGKILL,
    )
    (tape,) = tapes(tmp_path)
    beside = tape.with_name(tape.name + ".inflight")
    until(
        lambda: len(calls(tape)) == 21 and beside.exists() and "last" in beside.read_text(), "the daemon's last words"
    )
    shown = json.loads(playhead("show", tape, "--json").stdout)
    assert "memory" in json.dumps(shown)
    assert '"answered"' in beside.read_text()
    assert verified(playhead, tmp_path).status == 0


def test_a_killed_daemon_is_followed_by_another(tmp_path: Path, playhead: Any, run: Callable[..., str]) -> None:
    out = run(
        """
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
await charge({ user: 'first', n: 0 });
// What lies in the pipe dies with the daemon: it has to be on the tape.
const taped = (path) => path !== null && existsSync(path) && readFileSync(path, 'utf8').includes('"user":"first"');
while (!taped(recorder.stats().path)) await new Promise((r) => setTimeout(r, 5));
const first = recorder.stats().path;
await recorder.wrap('kill', async () => {
  const children = execFileSync('pgrep', ['-P', String(process.pid), '-f', 'playhead serve'], { encoding: 'utf8' });
  process.kill(Number(children.split('\\n')[0]), 'SIGKILL');
})(1);
let n = 0;
for (let path = first; path === first || path === null; { path } = recorder.stats()) {
  await charge({ user: 'u', n: n++ });
}
await charge({ user: 'last', n: 0 });
console.log(JSON.stringify([n, await recorder.close()]));
""",
        stderr="recording was interrupted",
    )
    answered, told = json.loads(out)
    assert answered > 0 and told["calls"] > 0
    assert len(tapes(tmp_path)) == 2
    assert '"user":"last"' in Path(told["path"]).read_text()
    ended = playhead("verify", *tapes(tmp_path), "--handler", "shop.mjs", "--json", "--env", "NO_WORLD=1")
    assert ended.status == 0, ended.stdout


def test_the_policy_decides_what_is_recorded_and_what_is_not(
    tmp_path: Path, playhead: Any, run: Callable[..., str]
) -> None:
    (tmp_path / "playhead.toml").write_text("[policy]\ngate = { functions = ['add'] }\nforbid = ['tok_live_[a-z]+']\n")
    run("""
const leak = recorder.wrap('add', async () => ({ token: 'tok_' + 'live_abc' }));
await charge({ user: 'u', n: 1 });
add(1, 2);
await leak({});
add(3, 4);
const { calls, dropped } = await recorder.close();
if (calls !== 2 || dropped.forbid !== 1) throw new Error(JSON.stringify([calls, dropped]));
if (recorder.stats().dropped.forbid !== 1) throw new Error(JSON.stringify(recorder.stats()));
""")
    (tape,) = tapes(tmp_path)
    assert [call["kwargs"] for call in calls(tape)] == [{"args": [1, 2]}, {"args": [3, 4]}]
    assert not [path for path in tmp_path.rglob("*.jsonl*") if "tok_live_abc" in path.read_text()]


def test_the_daemon_is_left_nowhere(run: Callable[..., str]) -> None:
    out = run("""
import { execFileSync } from 'node:child_process';
add(1, 2);
while (recorder.stats().path === null) await new Promise((resolve) => setTimeout(resolve, 5));
console.log(execFileSync('pgrep', ['-P', String(process.pid), '-f', 'playhead serve'], { encoding: 'utf8' }));
""")
    pids = [int(line) for line in out.split()]
    assert pids

    def gone(pid: int) -> bool:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        return "Z" in Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]

    until(lambda: all(map(gone, pids)), "the end of the daemon")
