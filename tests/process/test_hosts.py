"""Plain files of every hosted language through `--handler FILE`: the golden recording, and what goes wrong on the way.

A language whose interpreter is not there is skipped, or fails where PLAYHEAD_REQUIRE_ALL is set.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
GOLDEN = ROOT / "protocol/vectors/tape/recordings/incident-4211.golden.json"
HASH = "8be4a5d798d12bbcfbf7c4a1c2fd59938c2fa1c7fdfa8a69972b205c68fe159c"


class Language(NamedTuple):
    interpreter: str
    suffix: str
    # A handler that prints by every way it has, starts a program that prints, and reads.
    prints: str
    # A file that does not load, and a word of what is said of it.
    broken: tuple[str, str]
    empty: str
    package: str
    # The folder of its client, where that has not the name of the interpreter.
    folder: str | None = None


LANGUAGES = {
    "ruby": Language(
        "ruby",
        ".rb",
        'puts "loading"\n'
        "def handler(event, ctx)\n"
        '  print "1"\n  STDOUT.write "2"\n  system "echo 3"\n  warn "4"\n  [event, $stdin.read, ctx.now]\nend\n',
        ("def handler(", "SyntaxError"),
        "1\n",
        "ruby",
    ),
    "php": Language(
        "php",
        ".php",
        '<?php echo "loading\\n";\nreturn function ($event, $ctx) {\n'
        '    echo "1"; fwrite(STDOUT, "2"); passthru("echo 3"); fwrite(STDERR, "4");\n'
        "    return [$event, stream_get_contents(STDIN), $ctx->now()];\n};\n",
        ("<?php function handler(", "ParseError"),
        "<?php $x = 1;\n",
        "php-cli",
    ),
    "bash": Language(
        "bash",
        ".sh",
        "echo loading\n"
        'handler() {\n  printf 1; printf 2 >&1; bash -c "echo 3"; echo 4 >&2\n  local all; IFS= read -r -d "" all\n'
        '  ctx.now && REPLY="[$1,\\"$all\\",$REPLY]"\n}\n',
        ("handler( {", "syntax error"),
        "true\n",
        "bash",
    ),
    "lua": Language(
        "lua5.4",
        ".lua",
        'print("loading")\nreturn function(event, context)\n'
        '  io.write("1"); io.stdout:write("2\\n"); os.execute("echo 3"); io.stderr:write("4\\n")\n'
        '  return { event, io.read("a"), context:now() }\nend\n',
        ("return function(", "expected near"),
        "local x = 1\n",
        "lua5.4",
        "lua",
    ),
}


@pytest.fixture(params=LANGUAGES)
def language(request: pytest.FixtureRequest) -> Language:
    language = LANGUAGES[request.param]
    if shutil.which(language.interpreter) is None and os.environ.get("PLAYHEAD_REQUIRE_ALL", "0") in ("", "0"):
        pytest.skip(f"{language.interpreter} is not installed")
    return language


def example(language: Language, name: str) -> Path:
    return ROOT / "clients" / (language.folder or language.interpreter) / "examples" / (name + language.suffix)


def test_the_example_verifies_and_the_drifted_one_diverges(playhead, language):
    ended = playhead("verify", GOLDEN, "--json", "--handler", example(language, "charge"))
    (result,) = ended.json["results"]
    assert (ended.status, result["ok"], result["actualHash"]) == (0, True, HASH), result
    ended = playhead("verify", GOLDEN, "--json", "--handler", example(language, "charge_drifted"))
    (result,) = ended.json["results"]
    assert (ended.status, result["divergence"]["seq"], result["divergence"]["pointer"]) == (1, 1, "/approved"), result


def test_what_a_file_records_another_language_verifies(playhead, language, tmp_path):
    (tmp_path / "events.json").write_text('[{"sku": "A1", "amount": 3}, {"sku": "B2", "amount": 9}]')
    ended = playhead("record", "events.json", "--handler", example(language, "two_effects"), "-o", "tape.json")
    assert ended.status == 0, ended.stderr
    ended = playhead("verify", "tape.json", "--handler", ROOT / "clients/python/examples/two_effects.py")
    assert ended.status == 0, ended.stdout


def test_what_a_file_prints_is_no_stray_text_and_what_it_reads_is_empty(playhead, language, tmp_path):
    (tmp_path / "events.json").write_text("[5]")
    (tmp_path / f"prints{language.suffix}").write_text(language.prints)
    handler = ("--handler", f"prints{language.suffix}", "--show-stderr")
    ended = playhead("record", "events.json", *handler, "--clock-start", 0, "-o", "tape.json", "--strict-stdout")
    assert ended.status == 0, ended.stderr
    for text in ("loading", "12", "3", "4"):
        assert text in ended.stderr
    ended = playhead("verify", "tape.json", "--json", *handler, "--strict-stdout")
    assert (ended.status, ended.json["results"][0]["warnings"]) == (0, [])
    ended = playhead("show", "tape.json", "--json")
    assert '[5,"",0]' in ended.stdout.replace(" ", "").replace("\n", "")


def test_a_file_that_cannot_be_served_is_told_with_its_own_words(playhead, language, tmp_path):
    source, word = language.broken
    for text, words in ((source, word), (language.empty, "has no handler")):
        (tmp_path / f"broken{language.suffix}").write_text(text)
        ended = playhead("verify", GOLDEN, "--handler", f"broken{language.suffix}")
        assert ended.status == 2
        assert words in ended.stdout + ended.stderr


@pytest.mark.parametrize("name", LANGUAGES)
def test_a_missing_interpreter_is_named_with_what_brings_it(playhead, name, tmp_path):
    language = LANGUAGES[name]
    file = tmp_path / f"handler{language.suffix}"
    file.write_text("")
    ended = playhead("verify", GOLDEN, "--handler", file, PATH=str(tmp_path))
    assert ended.status == 2
    for words in (f"{language.interpreter} is not installed", f"apt-get install {language.package}"):
        assert words in ended.stdout + ended.stderr
