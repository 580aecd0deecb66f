"""Code that takes no context: its doors are found and told, and on replay they are answered."""

import asyncio
import importlib
import sys
import threading
import warnings

import pytest
from attached_app import Fake
from fake_daemon import Daemon

from playhead_client.boundary import Boundary, BoundaryWarning, ChainTarget, install, tool, uninstall

WORLD = """
import asyncio
from datetime import datetime

class Failure(Exception):
    def __init__(self, why, code=0):
        super().__init__(why, code)
        self.code = code

ANSWER = {"name": "Alice", "x": 3}
AT = datetime(2026, 7, 3, 12, 30, 15, 123456)

def fetch(user, *, fresh=False):
    return ANSWER

def stamped(at):
    return {"at": at, "next": AT}

def fail(user):
    raise Failure(f"no such user: {user}", 42)

def both(user):
    return [fetch(user), fetch(user)]

async def later(user):
    await asyncio.sleep(0)
    return user.upper()

def soon(user):
    return later(user)

def stream(user):
    yield user

class Client:
    def __init__(self, base):
        self.base = base

    def get(self, path):
        return self.base + path

    @staticmethod
    def plain(x):
        return x

    @classmethod
    def made(cls, x):
        return [cls.__name__, x]
"""
TOOLS = """
import random
import secrets
import time
import uuid
import datetime as dt
from datetime import datetime, date
from random import choice
from time import monotonic, perf_counter as ticks

import world
from world import fetch as get, Failure

LIMIT = 3

def _hidden():
    return 1

def greet(user, *rest, punctuation="!", **more):
    return {"name": get(user)["name"] + punctuation, "rest": list(rest), "more": more}

def explode(user):
    return world.fail(user)

def caught(user):
    try:
        world.fail(user)
    except Failure as failure:
        return failure.code

def nested(user):
    return world.both(user)

def stamps():
    return world.stamped(world.AT)

async def slow(user):
    return [await world.later(user), await world.soon(user), get(user)["x"]]

def methods():
    return [world.Client("b").get("/p"), world.Client.plain(1), world.Client.made(2)]

def clocks():
    return {
        "now": datetime.now().isoformat(),
        "utc": dt.datetime.now(dt.timezone.utc).isoformat(),
        "utcnow": datetime.fromtimestamp(0, dt.timezone.utc).isoformat(),
        "today": [date.today().isoformat(), dt.datetime.today().isoformat()],
        "time": time.time(),
        "ns": time.time_ns(),
        "ticks": [monotonic(), ticks(), time.perf_counter_ns()],
        "local": list(time.localtime()),
        "fixed": [time.strftime("%Y", time.gmtime(0)), datetime(2020, 1, 2).isoformat()],
        "kinds": [isinstance(datetime.now(), datetime), isinstance(dt.date(2020, 1, 1), date)],
    }

def dice():
    cards = list(range(10))
    random.shuffle(cards)
    return {
        "float": random.random(),
        "int": [random.randint(1, 6), random.randrange(10), random.randrange(5, 50, 5), random.getrandbits(70)],
        "bytes": random.randbytes(3).hex(),
        "choice": choice(["a", "b", "c"]),
        "sample": random.sample("abcdef", 3),
        "choices": random.choices("ab", weights=[1, 3], k=5),
        "gauss": random.gauss(0, 1),
        "uniform": random.uniform(1, 2),
        "cards": cards,
        "secret": [secrets.token_hex(4), secrets.randbelow(5), secrets.choice("xy")],
        "uuid": str(uuid.uuid4()),
    }

def limited():
    return LIMIT

def unknown(thing):
    return thing
"""
REPLAY = """
import sys
sys.path.insert(0, {folder!r})
from playhead_client.boundary import Boundary, ChainTarget
import tools, world
BOUNDARY = Boundary(
    effects=[
        (world, ["fetch", "fail", "both", "later", "stamped"]),
        (world, ["soon"], {{"awaited": True}}),
        (world.Client, ["get", "plain", "made"]),
    ],
    clock_modules=[tools],
    random_modules=[tools],
    constants=[(tools, "LIMIT")],
    {more}
)
functions = BOUNDARY.handlers(tools)
"""


@pytest.fixture
def app(tmp_path, monkeypatch):
    """(world, tools) as fresh modules."""
    for name, source in (("world", WORLD), ("tools", TOOLS)):
        (tmp_path / f"{name}.py").write_text(source)
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    for name in ("world", "tools"):
        sys.modules.pop(name, None)
    world, tools = importlib.import_module("world"), importlib.import_module("tools")
    yield world, tools
    uninstall()
    for name in ("world", "tools"):
        sys.modules.pop(name, None)


@pytest.fixture
def installed(app, tmp_path):
    """The application with everything declared, and its fake daemon."""
    world, tools = app
    fake = Fake(tmp_path)
    boundary = Boundary(
        effects=[
            (world, ["fetch", "fail", "both", "later", "stamped"]),
            (world, ["soon"], {"awaited": True}),
            (world.Client, ["get", "plain", "made"]),
        ],
        clock_modules=[tools],
        random_modules=[tools],
        constants=[(tools, "LIMIT")],
    )
    install(boundary, tools, directory=str(tmp_path / "tapes"), daemon=fake.command)
    return world, tools, fake


def told_by(fake):
    uninstall()
    return fake.told_of()


def check(fake, expected):
    """What one call told between its beginning and its end."""
    told = told_by(fake)
    short = []
    for method, params in told[1:-1]:
        params.pop("call")
        params.pop("ask")
        short.append((method, params))
    assert short == expected
    return told[0][1], told[-1][1]


def test_an_effect_is_a_question_and_its_answer(installed):
    _world, tools, fake = installed
    assert tools.greet("u", 1, 2, punctuation="?", z=3)["name"] == "Alice?"
    began, ended = check(
        fake,
        [
            ("respond", {"key": "world.fetch", "args": ["u"]}),
            ("respond.settle", {"value": {"name": "Alice", "x": 3}}),
        ],
    )
    assert began["event"] == {"user": "u", "rest": [1, 2], "punctuation": "?", "more": {"z": 3}}
    assert began["lossy"] is True
    assert ended["output"] == {"name": "Alice?", "rest": [1, 2], "more": {"z": 3}}


def test_the_answer_is_the_very_object(installed):
    world, tools, fake = installed
    assert tools.nested("u")[0] is world.ANSWER
    check(
        fake,
        [
            ("respond", {"key": "world.both", "args": ["u"]}),
            ("respond.settle", {"value": [{"name": "Alice", "x": 3}] * 2}),
        ],
    )


def test_an_error_is_told_with_its_arguments(installed):
    world, tools, fake = installed
    with pytest.raises(world.Failure) as caught:
        tools.explode("ghost")
    assert caught.value.code == 42
    error = {"type": "Failure", "message": "('no such user: ghost', 42)", "args": ["no such user: ghost", 42]}
    _, ended = check(
        fake, [("respond", {"key": "world.fail", "args": ["ghost"]}), ("respond.settle", {"error": error})]
    )
    assert ended["raised"] == error


def test_times_are_carried(installed):
    world, tools, fake = installed
    assert tools.stamps()["next"] is world.AT
    at = {"__dt__": "2026-07-03T12:30:15.123456"}
    check(
        fake,
        [
            ("respond", {"key": "world.stamped", "args": [at]}),
            ("respond.settle", {"value": {"at": at, "next": at}}),
        ],
    )


def test_coroutines_and_what_functions_give_to_be_awaited(installed):
    _world, tools, fake = installed
    assert asyncio.run(tools.slow("u")) == ["U", "U", 3]
    check(
        fake,
        [
            ("respond", {"key": "world.later", "args": ["u"]}),
            ("respond.settle", {"value": "U"}),
            ("respond", {"key": "world.soon", "args": ["u"]}),
            ("respond.settle", {"value": "U"}),
            ("respond", {"key": "world.fetch", "args": ["u"]}),
            ("respond.settle", {"value": {"name": "Alice", "x": 3}}),
        ],
    )


def test_methods_are_told_without_whose_they_are(installed):
    _world, tools, fake = installed
    assert tools.methods() == ["b/p", 1, ["Client", 2]]
    check(
        fake,
        [
            ("respond", {"key": "world.Client.get", "args": ["/p"]}),
            ("respond.settle", {"value": "b/p"}),
            ("respond", {"key": "world.Client.plain", "args": [1]}),
            ("respond.settle", {"value": 1}),
            ("respond", {"key": "world.Client.made", "args": [2]}),
            ("respond.settle", {"value": ["Client", 2]}),
        ],
    )


def test_an_effect_outside_of_any_call_is_what_it_was(installed):
    world, tools, fake = installed
    assert world.fetch("u") is world.ANSWER
    assert tools._hidden() == 1
    tools.unknown(1)
    assert len(told_by(fake)) == 2


def test_names_bound_early_are_found_and_put_back(app, tmp_path):
    world, tools = app

    def names():
        return [id(each) for each in (world.fetch, tools.get, tools.greet, tools.datetime, tools.choice)]

    before = names()
    assert world.fetch is tools.get
    fake = Fake(tmp_path)
    boundary = Boundary(effects=[(world, ["fetch"])], clock_modules=[tools], random_modules=[tools])
    install(boundary, tools, directory=str(tmp_path), daemon=fake.command)
    assert not set(before) & set(names())
    assert world.fetch is tools.get
    uninstall()
    assert names() == before


def holder_class(world):
    return type("Holder", (), {"fetch": staticmethod(world.fetch)})


def holder_default(world):
    def use(fetch=world.fetch):
        return fetch

    return use


def holder_closure(world):
    fetch = world.fetch

    def use():
        return fetch

    return use


@pytest.mark.parametrize(
    "holder, place",
    [
        (holder_class, "staticmethod"),
        (holder_default, "in the defaults of the function"),
        (holder_closure, "in the closure of the function"),
        (lambda world: [world.fetch], "list"),
    ],
)
def test_what_is_held_elsewhere_is_reported_loudly(app, tmp_path, holder, place):
    world, tools = app
    held = holder(world)
    with pytest.warns(BoundaryWarning, match=f"world.fetch: .*{place}"):
        install(Boundary(effects=[(world, ["fetch"])]), tools, directory=str(tmp_path), daemon=["/nowhere"])
    assert held is not None


def test_what_cannot_be_recorded_is_reported_loudly(app, tmp_path):
    world, tools = app
    with pytest.warns(BoundaryWarning) as told:
        boundary = Boundary(effects=[(world, ["stream"])], clock_modules=[world], random_modules=[world])
        install(boundary, tools, directory=str(tmp_path), daemon=["/nowhere"])
    texts = [str(warning.message) for warning in told]
    assert any("world.stream gives its answer piece by piece" in text for text in texts)
    assert any("world binds nothing that a random module would" in text for text in texts)


def test_off_changes_nothing(app, tmp_path):
    world, tools = app
    before = dict(vars(tools))
    assert install(Boundary(effects=[(world, ["fetch"])]), tools, enabled=False) is None
    assert vars(tools) == before


def test_two_installations_are_one_too_many(installed):
    _world, tools, _fake = installed
    with pytest.raises(RuntimeError, match="installed"):
        install(Boundary(), tools)


def test_a_door_that_is_not_there_is_an_error_and_nothing_is_left(app):
    world, tools = app
    before = dict(vars(world)), dict(vars(tools))
    with pytest.raises(AttributeError):
        install(Boundary(effects=[(world, ["fetch", "no_such"])]), tools)
    assert (vars(world), vars(tools)) == before


def test_enabled_is_asked_with_the_arguments_by_name(app, tmp_path):
    world, tools = app
    fake = Fake(tmp_path)
    asked = []

    def enabled(fn, kwargs):
        asked.append((fn, kwargs))
        return kwargs.get("user") == "u1"

    install(Boundary(effects=[(world, ["fetch"])]), tools, enabled=enabled, daemon=fake.command, skip_params=["z"])
    for user in ("u1", "u2"):
        tools.explode(user) if user == "no" else tools.greet(user)
    assert asked[0] == ("greet", {"user": "u1", "rest": (), "punctuation": "!", "more": {}})
    told = told_by(fake)
    assert [params["event"]["user"] for method, params in told if method == "call.begin"] == ["u1"]


def test_a_wrong_call_is_as_wrong_as_before(installed):
    _world, tools, fake = installed
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        tools.explode()
    assert told_by(fake) == []


def test_decorated_functions_are_tools_too(app, tmp_path):
    world, _tools = app
    fake = Fake(tmp_path)

    @tool
    def one(x):
        return world.fetch(x)["x"]

    two = tool("second", lambda x, y=2: one(x))
    assert (one(1), two(1), one.__name__) == (3, 3, "one")
    install(Boundary(effects=[(world, ["fetch"])]), None, directory=str(tmp_path), daemon=fake.command)
    assert (one(1), two(1)) == (3, 3)
    told = told_by(fake)
    assert [(params["fn"], params["event"]) for method, params in told if method == "call.begin"] == [
        ("one", {"x": 1}),
        ("second", {"x": 1, "y": 2}),
    ]


def test_the_constants_go_into_the_header(installed):
    _world, tools, fake = installed
    tools.limited()
    uninstall()
    constants = fake.request("session.open")[0]["constants"]
    assert constants["tools.LIMIT"] == 3
    assert isinstance(constants["playhead.utcoffset"], float)


def test_seeded_randomness_stays_as_it_was(app, tmp_path):
    _world, tools = app
    import random

    def drawn():
        random.seed(5)
        dice = tools.dice()
        return {name: value for name, value in dice.items() if name not in ("secret", "uuid")}

    before = drawn()
    fake = Fake(tmp_path)
    install(Boundary(random_modules=[tools]), tools, directory=str(tmp_path), daemon=fake.command)
    assert drawn() == before
    told = told_by(fake)
    assert [params.get("draw", params.get("key")) for method, params in told[1:-1] if method != "respond.settle"] == [
        *("sample", None, "int", "int", "int", "int", "bytes", "int", "sample", "random.choices", "random.gauss"),
        *("random.uniform", "bytes", "int", "int", "bytes"),
    ]


def test_chains_are_told_by_what_leads_to_their_end(app, tmp_path):
    _world, tools = app

    class Snapshot:
        def __init__(self, ident, data):
            self.id, self.exists, self._data = ident, data is not None, data

        def to_dict(self):
            return self._data

    class Query:
        name = "plain"

        def __init__(self, *path):
            self.path = path

        def __getattr__(self, name):
            if name.startswith("_"):
                raise AttributeError(name)
            return lambda *args, **kwargs: Query(*self.path, name)

        def get(self):
            return Snapshot("alice", {"x": 1})

        def stream(self):
            yield Snapshot("0", {"x": 1})
            yield Snapshot("1", None)

        def set(self, data):
            return object()

    tools.db = Query()
    tools.use = lambda: None

    def chained():
        users = tools.db.collection("users")
        assert isinstance(tools.db, Query)
        assert tools.db.name == "plain"
        found = [item.id for item in users.where("x", ">", 0).stream()]
        users.document("alice").set({"ref": users.document("bob"), "found": found})
        return [users.document("alice").get().to_dict(), found]

    fake = Fake(tmp_path)
    recorded = tool("chained", chained)
    install(Boundary(chains=[ChainTarget(tools, "db")]), None, directory=str(tmp_path), daemon=fake.command)
    assert recorded() == [{"x": 1}, ["0", "1"]]
    check(
        fake,
        [
            ("respond", {"key": "db.stream", "args": ['collection("users").where("x", ">", 0)']}),
            (
                "respond.settle",
                {
                    "value": [
                        {"id": "0", "exists": True, "data": {"x": 1}},
                        {"id": "1", "exists": False, "data": None},
                    ]
                },
            ),
            (
                "respond",
                {
                    "key": "db.set",
                    "args": [
                        'collection("users").document("alice")',
                        {"ref": {"__ref__": 'collection("users").document("bob")'}, "found": ["0", "1"]},
                    ],
                },
            ),
            ("respond.settle", {"value": None, "lossy": True}),
            ("respond", {"key": "db.get", "args": ['collection("users").document("alice")']}),
            ("respond.settle", {"value": {"id": "alice", "exists": True, "data": {"x": 1}}}),
        ],
    )
    assert type(tools.db) is Query


# --- replay ---


class Answers:
    """Answers a replayed call from what was told when it was recorded, in order; keeps what was asked."""

    def __init__(self, told):
        self.left = []
        for method, params in told:
            if method in ("now", "random"):
                self.left.append((method, None, params["value"]))
            elif method == "respond":
                self.left.append((method, params, None))
            elif method == "respond.settle":
                place = next(n for n, item in enumerate(self.left) if item[0] == "respond" and item[2] is None)
                asked = self.left[place][1]
                outcome = {name: params[name] for name in ("value", "error") if name in params}
                self.left[place] = ("respond", asked, outcome)
        self.escaped = []

    def __call__(self, daemon, message):
        method, asked, answer = self.left.pop(0)
        assert message["method"] == method
        if asked is not None:
            params = message["params"]
            assert [params["key"], params.get("args"), params.get("kwargs")] == [
                *(asked["key"], asked.get("args"), asked.get("kwargs")),
            ]
        daemon.answer(message, answer)


@pytest.fixture
def replay(tmp_path):
    """`replay(told, more="")` runs what was recorded again, in a process of its own."""
    daemons = []

    def run(told, more="", constants=None):
        path = tmp_path / "app_replay.py"
        path.write_text(REPLAY.format(folder=str(tmp_path), more=more))
        daemon = Daemon(path)
        daemons.append(daemon)
        about = daemon.initialize(constants=constants or {})["result"]
        answers = Answers(told)
        result, said = daemon.run(0, told[0][1]["event"], answers, told[0][1]["fn"])
        assert answers.left == []
        return result, said, about

    yield run
    for daemon in daemons:
        daemon.close()


@pytest.mark.parametrize(
    "use",
    [
        lambda tools: tools.greet("u", 1, punctuation="?", z=3),
        lambda tools: tools.caught("ghost"),
        lambda tools: tools.nested("u"),
        lambda tools: tools.stamps(),
        lambda tools: tools.methods(),
        lambda tools: tools.clocks(),
        lambda tools: tools.dice(),
        lambda tools: asyncio.run(tools.slow("u")),
    ],
    ids=["greet", "caught", "nested", "stamps", "methods", "clocks", "dice", "slow"],
)
def test_a_replay_gives_what_was_recorded(installed, replay, use):
    _world, tools, fake = installed
    use(tools)
    told = told_by(fake)
    result, _, _ = replay(told, constants=fake.request("session.open")[0]["constants"])
    assert result == {"output": told[-1][1]["output"]}


def test_an_error_comes_back_as_what_it_was(installed, replay):
    world, tools, fake = installed
    with pytest.raises(world.Failure):
        tools.explode("ghost")
    told = told_by(fake)
    result, _, _ = replay(told)
    expected = told[-1][1]["raised"]
    assert {name: result["raised"][name] for name in ("type", "message", "args")} == expected


def test_the_constants_of_the_tape_are_put_back(installed, replay):
    _world, tools, fake = installed
    tools.limited()
    told = told_by(fake)
    result, _, about = replay([*told[:-1], told[-1]], constants={"tools.LIMIT": 77})
    assert result == {"output": 77}
    assert about["constants"]["tools.LIMIT"] == 77


def test_naive_times_are_those_of_the_tape(installed, replay):
    _world, tools, fake = installed
    tools.clocks()
    told = told_by(fake)
    constants = {**fake.request("session.open")[0]["constants"], "playhead.utcoffset": 5.5 * 3600}
    result, _, _ = replay(told, constants=constants)
    from datetime import datetime, timedelta

    here = datetime.fromisoformat(told[-1][1]["output"]["now"])
    offset = datetime.now().astimezone().utcoffset()
    assert datetime.fromisoformat(result["output"]["now"]) == here - offset + timedelta(hours=5.5)


def test_a_live_door_that_a_replay_reaches_stays_shut(tmp_path, app, replay):
    (tmp_path / "tools.py").write_text(
        TOOLS
        + """
import threading

def strayed(user):
    seen = []
    def stray():
        try:
            seen.append(world.fetch(user))
        except Exception as error:
            seen.append(type(error).__name__)
    thread = threading.Thread(target=stray)
    thread.start()
    thread.join()
    return seen
"""
    )
    told = [("call.begin", {"fn": "strayed", "event": {"user": "u"}})]
    result, said, _ = replay(told)
    assert result == {"output": ["DeterminismError"]}
    escaped = [message["params"] for message in said if message["method"] == "escaped"]
    assert [params["key"] for params in escaped] == ["world.fetch"]
    assert "tools.py:" in escaped[0]["where"]


def test_a_chain_is_replayed_without_its_client(app, tmp_path, replay):
    _world, _tools = app
    (tmp_path / "tools.py").write_text(
        """
db = None

def chained():
    users = db.collection("users")
    found = [(item.id, item.exists, item.to_dict()) for item in users.where("x", ">", 0).stream()]
    users.document("alice").set({"x": 1})
    return [found, users.document("alice").get().get("x")]
"""
    )
    told = [
        ("call.begin", {"fn": "chained", "event": {}}),
        ("respond", {"key": "db.stream", "args": ['collection("users").where("x", ">", 0)']}),
        ("respond.settle", {"value": [{"id": "0", "exists": True, "data": {"x": 1}}]}),
        ("respond", {"key": "db.set", "args": ['collection("users").document("alice")', {"x": 1}]}),
        ("respond.settle", {"value": None}),
        ("respond", {"key": "db.get", "args": ['collection("users").document("alice")']}),
        ("respond.settle", {"value": {"id": "alice", "exists": True, "data": {"x": 5}}}),
    ]
    text = REPLAY.replace("clock_modules=[tools],", "").replace("random_modules=[tools],", "")
    text = text.replace('constants=[(tools, "LIMIT")],', 'chains=[ChainTarget(tools, "db")],')
    path = tmp_path / "app_replay.py"
    path.write_text(text.format(folder=str(tmp_path), more=""))
    daemon = Daemon(path)
    try:
        daemon.initialize()
        result, _ = daemon.run(0, {}, Answers(told), "chained")
        assert result == {"output": [[["0", True, {"x": 1}]], 5]}
    finally:
        daemon.close()


def test_two_calls_at_once_never_mix(installed):
    _world, tools, fake = installed
    threads = [threading.Thread(target=lambda n=n: [tools.greet(f"u{n}") for _ in range(20)]) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    calls = {}
    for method, params in told_by(fake):
        calls.setdefault(params["call"], []).append((method, params))
    assert len(calls) == 80
    for told in calls.values():
        assert [method for method, _ in told] == ["call.begin", "respond", "respond.settle", "call.end"]
        assert told[1][1]["args"] == [told[0][1]["event"]["user"]]


def test_no_warning_for_an_application_that_is_in_order(app, tmp_path):
    world, tools = app
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        install(Boundary(effects=[(world, ["fetch"])], clock_modules=[tools]), tools, daemon=["/nowhere"])
