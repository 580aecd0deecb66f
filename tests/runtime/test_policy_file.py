"""Where a policy comes from: files from a folder upwards, and keys in the environment."""

from __future__ import annotations

from pathlib import Path

import pytest

from playhead.errors import InputOutputError, PolicyError
from playhead.runtime.policies import policy_of_tape, policy_with
from playhead.runtime.policy_file import find_policy, load_policy
from playhead.runtime.policy_places import may_have_policy

POLICY = '[policy]\nredact = ["password"]\n'
IN_PYPROJECT = '[project]\nname = "x"\n[tool.playhead.policy]\nredact = ["pin"]\n'
KEYED = '[policy]\nredact = [{ field = "email", hmac = "env:K" }]\n'


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({}, None),
        ({"playhead.toml": POLICY}, "playhead.toml"),
        ({"a/playhead.toml": POLICY}, "a/playhead.toml"),
        ({"a/b/pyproject.toml": IN_PYPROJECT, "playhead.toml": POLICY}, "a/b/pyproject.toml"),
        ({"a/b/playhead.toml": POLICY, "a/b/pyproject.toml": IN_PYPROJECT}, "a/b/playhead.toml"),
        ({"a/b/pyproject.toml": '[project]\nname = "playhead"\n', "playhead.toml": POLICY}, "playhead.toml"),
        ({"a/b/playhead.toml": "", "playhead.toml": POLICY}, "playhead.toml"),
        ({"a/b/c/playhead.toml": POLICY}, None),
    ],
    ids=lambda value: str(list(value)) if isinstance(value, dict) else str(value),
)
def test_the_nearest_file_with_a_policy_counts(files, found, tmp_path):
    for name, text in files.items():
        write(tmp_path / name, text)
    folder = tmp_path / "a" / "b"
    folder.mkdir(parents=True, exist_ok=True)
    policy = find_policy(str(folder), {})
    assert (None if policy is None else policy.path) == (None if found is None else str(tmp_path / found))
    if found is not None:
        assert may_have_policy(str(folder))


def test_nothing_is_loaded_where_no_file_speaks_of_a_policy(tmp_path):
    write(tmp_path / "pyproject.toml", '[project]\nname = "x"\n')
    assert not may_have_policy(str(tmp_path))


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("[policy]\nredakt = []\n", "policy.redakt"),
        ('[policy]\nscrub = ["("]\n', "policy.scrub[0]"),
        ("[polici]\n", "polici"),
        ("policy = 4\n", "policy"),
        (KEYED, "policy.redact[0].hmac"),
        ("[policy\n", None),
        ("[sink]\n", None),
    ],
)
def test_what_is_wrong_is_told_with_its_file_and_its_key(text, key, tmp_path):
    path = str(write(tmp_path / "policy.toml", text))
    with pytest.raises(PolicyError) as refused:
        load_policy(path, {})
    assert refused.value.path == path
    assert refused.value.key == key
    assert str(refused.value).startswith(f"{path}: ")


def test_a_file_that_is_not_there_is_told(tmp_path):
    with pytest.raises(InputOutputError):
        load_policy(str(tmp_path / "absent.toml"))


def test_keys_come_from_the_environment_and_are_on_no_tape(tmp_path):
    path = str(write(tmp_path / "playhead.toml", KEYED))
    policy = load_policy(path, {"K": "first key"})
    other = load_policy(path, {"K": "another key"})
    value = {"email": "a@example.com"}
    assert policy.shape(value) != other.shape(value)
    assert "first key" not in repr(policy.names)
    assert policy.keys == ("K",)


def test_a_tape_without_names_has_no_policy():
    assert policy_of_tape(None) is None
    assert policy_with(None, None) is None


def test_a_tape_that_was_shaped_before_keeps_its_rules_beside_those_of_a_file(tmp_path):
    policy = load_policy(str(write(tmp_path / "playhead.toml", POLICY)))
    both = policy_with({"version": 1, "redact": ["pin"], "defaults": 1}, policy)
    assert both is not None
    assert both.names == {"version": 1, "defaults": 1, "redact": ["pin", "password"]}
    assert both.shape({"pin": "1", "password": "x"}) == {"pin": "[REDACTED]", "password": "[REDACTED]"}


def test_a_rule_that_a_tape_does_not_spell_out_is_taken_from_the_file_at_hand(tmp_path, monkeypatch):
    path = write(tmp_path / "playhead.toml", '[policy]\nscrub = ["the-very-secret"]\n')
    names = load_policy(str(path)).names
    monkeypatch.chdir(tmp_path)
    replay = policy_of_tape(names)
    assert replay is not None
    assert replay.shape_text("the-very-secret") == "[REDACTED]"
    path.unlink()
    alone = policy_of_tape(names)
    assert alone is not None
    assert alone.notices
