"""A policy: what it hides and refuses, that twice is once, and that a replay comes to the same text."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

from playhead import jsontext
from playhead.canonical import clone_json
from playhead.engine.policy import MASK, Policy
from playhead.engine.policy_defaults import NEWEST, SHIPPED
from playhead.errors import Forbidden, PolicyError

ROOT = Path(__file__).resolve().parents[2]
VECTORS = ROOT / "protocol" / "vectors" / "policy"
SCHEMA_FILE = ROOT / "protocol" / "schema" / "policy.schema.json"
SCHEMA_URI = SCHEMA_FILE.as_uri()
SCHEMA = json.loads(SCHEMA_FILE.read_text())
REGISTRY: Registry[Any] = Registry().with_resource(
    SCHEMA_URI, Resource.from_contents(SCHEMA, default_specification=DRAFT202012)
)
TOKEN = "tok_7Hq2Lx9"
KEYS = {"K": b"a key for tests"}


def cases(*patterns: str) -> list[Any]:
    found = []
    for pattern in patterns:
        for path in sorted(VECTORS.glob(pattern)):
            vectors = jsontext.loads(path.read_bytes())
            assert isinstance(vectors, dict)
            keys = {name: text.encode() for name, text in vectors.get("keys", {}).items()}
            found += [
                pytest.param(vectors["policy"], keys, case, id=f"{path.stem}: {case['name']}")
                for case in vectors["cases"]
            ]
    assert len(found) > 5
    return found


@pytest.mark.parametrize(("table", "keys", "case"), cases("redact/*.json", "scrub/*.json"))
def test_a_value_is_shaped_as_the_vectors_say_and_shaping_it_again_changes_nothing(table, keys, case):
    before = jsontext.dumps(case["value"])
    policy = Policy.of(table, keys=keys)
    shaped = policy.shape(case["value"])
    assert jsontext.dumps(shaped) == jsontext.dumps(case["shaped"])
    assert policy.shape(shaped) == shaped
    assert Policy.of(table, keys=keys).shape(shaped) == shaped
    assert jsontext.dumps(case["value"]) == before, "the value itself is left as it was"
    assert policy.names is not None
    assert Policy.from_names(policy.names, keys=keys).shape(case["value"]) == shaped, "a replay has the same rules"


@pytest.mark.parametrize(("table", "keys", "case"), cases("forbid/*.json"))
def test_what_is_forbidden_is_told_by_the_name_of_the_rule_alone(table, keys, case):
    policy = Policy.of(table, keys=keys)
    hit = None
    try:
        policy.check(case["value"])
        policy.check_line(jsontext.dumps(case["value"]))
    except Forbidden as error:
        hit = error.rule
        assert "PRIVATE" not in str(error) and "aaaa" not in str(error)
    assert hit == case["rule"]


# Twice is once

SECRETS = [TOKEN, "s3cr3t/with+odd==", "hunter2hunter2", "päss wörd long", 'quo"te\\d secret', "12345678"]
MARKS = ["%5BREDACTED%5D", "[REDACTED#3]", "x[REDACTED]y", "[[REDACTED]]", "EDACTED", "hmac:0123456789abcdef"]
LINES = ["a=b&token=xyz", "password=hunter2hunter2;x", "Cookie: a=b; c=longcookievalue", "Bearer abc"]
TEXTS = st.one_of(
    st.text(max_size=12),
    st.sampled_from([*SECRETS, *MARKS, *LINES, MASK]),
    st.tuples(st.text(max_size=5), st.sampled_from(SECRETS), st.text(max_size=5)).map("".join),
)
NAMES = ["password", "Email", "token", "name", "value", "x-api-key", "note", "cookie", "Authorization"]
OBJECT_KEYS = st.one_of(st.sampled_from(NAMES), TEXTS)
LEAVES = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), TEXTS)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(OBJECT_KEYS, inner, max_size=4),
        st.dictionaries(OBJECT_KEYS, inner, max_size=3).map(json.dumps),
        st.lists(inner, max_size=3).map(json.dumps),
    ),
    max_leaves=14,
)
GREEDY = ["tok_[A-Za-z0-9]+", "[A-Z]{3,}", "^b", "b$", r"\d{4,}", "e", r"\Ax", r"\bred\b"]
POLICIES = {
    "fields alone": Policy.of({"redact": ["password", {"field": "email", "hmac": "env:K"}, "note"]}, keys=KEYS),
    "shipped rules": Policy.of({"redact": ["note"], "defaults": True}),
    "expressions that match almost anything": Policy.of({"redact": ["password"], "scrub": GREEDY}),
}


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
@settings(max_examples=100)
@given(value=VALUES)
def test_shaping_twice_is_shaping_once(policy, value):
    value = clone_json(value)
    first = policy.fresh()
    shaped = first.shape(value)
    assert policy.fresh().shape(shaped) == shaped
    assert first.shape(shaped) == shaped


@settings(max_examples=100)
@given(value=VALUES)
def test_without_rules_a_value_is_itself(value):
    for policy in (Policy.of({}), Policy.of({"defaults": False, "forbid": ["x"]})):
        assert policy.shape(value) is value


# A replay starts from the mask

HANDLERS: dict[str, Callable[[str], Any]] = {
    "as it is": lambda token: token,
    "in a longer text": lambda token: f"Bearer {token}!",
    "in a key": lambda token: {f"session:{token}": [1]},
    "in JSON, compact": lambda token: json.dumps({"note": token}, separators=(",", ":")),
    "in JSON, spread": lambda token: json.dumps({"note": token}, indent=2),
    "in JSON in JSON": lambda token: json.dumps({"a": json.dumps({"token": token})}),
    "in a path": lambda token: f"https://h/p/{quote(token, safe='')}/q",
    "in a query": lambda token: f"https://h/?a=1&q={quote_plus(token)}&token={quote(token)}",
    "in base64": lambda token: base64.b64encode(token.encode()).decode(),
    "in base64, behind a user": lambda token: base64.b64encode(f"user:{token}".encode()).decode(),
    "in base64, for URLs and without padding": lambda token: (
        base64.urlsafe_b64encode(f"~~~{token}?".encode()).decode().rstrip("=")
    ),
    "as a header": lambda token: {"headers": {"Authorization": f"Bearer {token}"}},
    "as lines of headers": lambda token: f"Host: h\r\nAuthorization: Bearer {token}\r\n",
    "in an error": lambda token: {"type": "Refused", "message": f"{token!r} is not valid", "args": [token]},
    "twice": lambda token: [token + token, {token: token}],
}


@pytest.mark.parametrize("secret", [TOKEN, 'p/a+s "s" ö=', "a secret\tof words"])
@pytest.mark.parametrize("rule", ["token", {"field": "token", "hmac": "env:K"}], ids=["mask", "token"])
@pytest.mark.parametrize("handler", HANDLERS.values(), ids=HANDLERS)
def test_a_handler_that_carries_a_secret_through_comes_to_the_same_on_a_replay(handler, rule, secret):
    policy = Policy.of({"redact": [rule], "defaults": True}, keys=KEYS)
    answer = {"token": secret}
    taped_answer, taped_output = policy.shape_all((answer, handler(secret)))
    text = jsontext.dumps([taped_answer, taped_output]).decode()
    for needle in (secret, json.dumps(secret)[1:-1], quote(secret), base64.b64encode(secret.encode()).decode()):
        assert needle not in text
    replayed = Policy.from_names(policy.names or {}, keys=KEYS).shape(handler(taped_answer["token"]))
    assert replayed == taped_output


def test_a_secret_is_found_in_what_was_shaped_together_before_it_was_known():
    first, second = Policy.of({"redact": ["token"]}).shape_all((f"early {TOKEN}", {"token": TOKEN}))
    assert (first, second) == (f"early {MASK}", {"token": MASK})


def test_a_session_remembers_and_another_one_does_not():
    policy = Policy.of({"redact": ["token"]})
    policy.shape({"token": TOKEN})
    assert policy.learned == 1
    assert policy.shape_text(f"stderr: {TOKEN}") == f"stderr: {MASK}"
    assert policy.fresh().shape_text(f"stderr: {TOKEN}") == f"stderr: {TOKEN}"


def test_of_very_many_secrets_the_oldest_are_forgotten_and_the_others_are_found():
    policy = Policy.of({"redact": ["token"]})
    secrets = [f"secret-{number:05d}" for number in range(3000)]
    for secret in secrets:
        policy.shape({"token": secret})
    assert all(policy.shape_text(secret) == MASK for secret in secrets[-1000:])
    assert policy.shape_text(secrets[0]) == secrets[0]
    assert policy.shape([f"a {secret} b" for secret in secrets[-1000:]]) == [f"a {MASK} b"] * 1000


def test_a_value_may_be_a_thousand_levels_deep():
    value: Any = {"token": TOKEN}
    for _ in range(999):
        value = [value]
    shaped = Policy.of({"redact": ["token"]}).shape(value)
    assert jsontext.dumps(shaped) == jsontext.dumps(value).replace(TOKEN.encode(), MASK.encode())


def test_a_rule_that_fails_hides_all_of_the_text(monkeypatch):
    policy = Policy.of({"scrub": ["x"]})

    def broken(text: bytes) -> Any:
        raise RuntimeError("broken")

    monkeypatch.setattr(policy._scrub, "spans", broken)
    assert policy.shape(["axb", 1]) == [MASK, 1]


def test_an_expression_runs_in_linear_time():
    policy = Policy.of({"scrub": ["(a|aa)+$", "(x+x+)+y"]})
    text = "a" * 50_000 + "!" + "x" * 50_000
    assert policy.shape_text(text) == text


# The table

WRONG: list[tuple[str, dict[str, Any]]] = [
    ("policy.redakt", {"redakt": ["x"]}),
    ("policy.redact", {"redact": "password"}),
    ("policy.redact[0]", {"redact": [4]}),
    ("policy.redact[0]", {"redact": [" "]}),
    ("policy.redact[1].field", {"redact": ["a", {"hmac": "env:K"}]}),
    ("policy.redact[0].mask", {"redact": [{"field": "a", "mask": "x"}]}),
    ("policy.redact[0].hmac", {"redact": [{"field": "a", "hmac": "the key itself"}]}),
    ("policy.redact[0].hmac", {"redact": [{"field": "a", "hmac": "env:"}]}),
    ("policy.scrub[0].match", {"scrub": [{"name": "x"}]}),
    ("policy.forbid[0].name", {"forbid": [{"match": "x"}]}),
    ("policy.forbid", {"forbid": {"a": "b"}}),
    ("policy.defaults", {"defaults": "yes"}),
    ("policy.on_forbid", {"on_forbid": "shout"}),
    ("policy.gate.fn", {"gate": {"fn": ["x"]}}),
    ("policy.gate.functions", {"gate": {"functions": "x"}}),
    ("policy.gate.where", {"gate": {"where": ["/a"]}}),
    ('policy.gate.where."user"', {"gate": {"where": {"user": 1}}}),
    ("policy.gate.sample", {"gate": {"sample": 2}}),
    ("policy.gate.sample", {"gate": {"sample": True}}),
]


@pytest.mark.parametrize(("key", "table"), WRONG, ids=[f"{key} {table}" for key, table in WRONG])
def test_a_table_that_is_wrong_is_refused_by_its_key_and_by_the_schema(key, table):
    with pytest.raises(PolicyError) as refused:
        Policy.of(table, keys=KEYS)
    assert refused.value.key == key
    assert "the key itself" not in str(refused.value)
    assert not Draft202012Validator(SCHEMA).is_valid(table)


@pytest.mark.parametrize(
    ("key", "table"),
    [
        ("policy.scrub[1]", {"scrub": ["fine", "(?=ahead)"]}),
        ("policy: the rule 'x'", {"forbid": [{"name": "x", "match": "["}]}),
        ("policy.redact[0].hmac", {"redact": [{"field": "a", "hmac": "env:ABSENT"}]}),
    ],
)
def test_what_only_shows_when_it_is_applied_is_refused_by_its_key_too(key, table):
    with pytest.raises(PolicyError) as refused:
        Policy.of(table, keys=KEYS)
    assert refused.value.key == key


@pytest.mark.parametrize("table", SCHEMA["examples"], ids=["empty", "everything"])
def test_the_examples_of_the_schema_are_policies(table):
    policy = Policy.of(table, keys={"PLAYHEAD_HMAC_KEY": b"k"})
    assert policy.gate == table.get("gate")
    assert policy.on_forbid == table.get("on_forbid", "drop")


# What a tape says of it


def test_a_tape_names_the_rules_and_never_a_key():
    table = {
        "redact": ["password", {"field": "email", "hmac": "env:K"}],
        "scrub": ["tok_[a-z]+", {"name": "iban", "match": "DE[0-9]+"}],
        "forbid": ["x", {"name": "pem", "match": "-----BEGIN"}],
        "defaults": True,
    }
    names = Policy.of(table, keys=KEYS).names
    assert names == {
        "version": 1,
        "defaults": NEWEST,
        "redact": ["password", {"field": "email", "hmac": "env:K"}],
        "scrub": ["tok_[a-z]+", {"name": "iban", "match": "DE[0-9]+"}],
        "forbid": ["forbid[0]", "pem"],
    }
    assert Draft202012Validator({"$ref": f"{SCHEMA_URI}#/$defs/names"}, registry=REGISTRY).is_valid(names)


def test_no_rules_have_no_names():
    assert Policy.of({}).names is None
    assert Policy.of({"gate": {"sample": 0.5}}).names is None


def test_a_secret_that_is_spelt_out_as_an_expression_is_not_written_on_the_tape():
    policy = Policy.of({"scrub": ["hunter2-the-secret", "shape_[0-9]+"]})
    names = policy.names
    assert names is not None
    assert "hunter2" not in json.dumps(names)
    replay = Policy.from_names(names)
    assert replay.shape_text("hunter2-the-secret shape_1") == f"hunter2-the-secret {MASK}"
    assert "scrub[0]" in replay.notices[0]
    at_hand = Policy.from_names(names, known=policy.rules)
    assert at_hand.shape_text("hunter2-the-secret shape_1") == f"{MASK} {MASK}"
    assert at_hand.notices == ()


def test_a_key_that_a_replay_has_not_got_is_told_and_the_mask_takes_its_place():
    policy = Policy.of({"redact": [{"field": "email", "hmac": "env:K"}]}, keys=KEYS)
    shaped = policy.shape({"email": "a@example.com"})
    replay = Policy.from_names(policy.names or {})
    assert replay.shape(shaped) == shaped
    assert replay.shape({"email": "a@example.com"}) == {"email": MASK}
    assert "K" in replay.notices[0]


@pytest.mark.parametrize(
    "names",
    [{}, {"version": 9, "later": 1}, {"redact": 4, "scrub": [4, {"name": "x"}], "forbid": [None], "defaults": "1"}],
)
def test_what_a_tape_says_and_is_not_understood_is_passed_over(names):
    assert Policy.from_names(names).shape({"password": "x"}) == {"password": "x"}


def test_shipped_rules_of_a_later_version_are_those_that_are_known():
    policy = Policy.from_names({"version": 1, "defaults": NEWEST + 1})
    assert policy.shape({"password": "x"}) == {"password": MASK}
    assert str(NEWEST + 1) in policy.notices[0]


# The shipped rules


def test_every_shipped_shape_hides_an_example_and_its_name_is_its_own():
    for version, shipped in SHIPPED.items():
        assert len({shape.name for shape in shipped.scrub}) == len(shipped.scrub), version
        assert len(set(shipped.fields)) == len(shipped.fields), version
    table = {"scrub": [{"name": shape.name, "match": shape.match} for shape in SHIPPED[NEWEST].scrub]}
    for name, text in EXAMPLES.items():
        assert MASK in Policy.of({"scrub": [rule for rule in table["scrub"] if rule["name"] == name]}).shape_text(text)
    assert set(EXAMPLES) == {shape.name for shape in SHIPPED[NEWEST].scrub}


# Put together here: whole, they look to scanners like what they stand for.
EXAMPLES = {
    "private key (PEM)": "-----BEGIN EC PRIVATE " + "KEY-----\nMII\n-----END EC PRIVATE " + "KEY-----",
    "authorization, in text": "authorization: Basic " + "dTpwdw==",
    "bearer token, in text": "Bearer " + "abcdefgh" * 3,
    "password in a URL": "postgres://user:" + "pa55@db/x",
    "JSON Web Token": "eyJhbGciOiJub25l" + "In0.eyJzdWIiOiJ1MSJ9.x",
    "AWS access key id": "AKIA" + "IOSFODNN7EXAMPLE",
    "AWS secret access key, in text": "aws_secret_access_key = " + "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "GitHub token": "ghp_" + "a1B2" * 9,
    "GitLab token": "glpat-" + "a1B2" * 5,
    "Slack token": "xoxb-" + "123456789012-abc",
    "Slack webhook": "https://hooks.slack.com/services/" + "T00000000/B00000000/XXXXXXXX",
    "Stripe key": "sk_" + "live_" + "a1B2" * 4,
    "Google API key": "AIza" + "a1B2c" * 7,
    "Google OAuth": "GOCSPX-" + "a1B2" * 6,
    "Azure storage key": "AccountName=x;AccountKey=" + "a1B2" * 12 + "==",
    "Azure shared access signature": "https://h/?sv=1&sig=" + "a1B2" * 6 + "%3D",
    "npm token": "npm_" + "a1B2" * 9,
    "PyPI token": "pypi-" + "a1B2" * 12,
    "SendGrid key": "SG." + "a1B2" * 5 + "." + "a1B2" * 5,
    "Twilio key": "SK" + "0123456789abcdef" * 2,
    "model provider key": "sk-" + "proj-" + "a1B2" * 6,
}


def test_the_guide_lists_every_shipped_rule_and_no_other():
    page = (ROOT / "docs" / "guide" / "policy.md").read_text(encoding="utf-8")
    assert f"\nVersion {NEWEST}." in page
    fields = re.search(r"^Fields: (.+)\.$", page, re.MULTILINE)
    shapes = re.search(r"^Shapes: (.+)\.$", page, re.MULTILINE)
    assert fields is not None and shapes is not None
    assert re.findall(r"`([^`]+)`", fields[1]) == list(SHIPPED[NEWEST].fields)
    assert shapes[1] == ", ".join(shape.name for shape in SHIPPED[NEWEST].scrub)
