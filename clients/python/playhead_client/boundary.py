"""Declare the doors of an application whose functions take no context, record its calls, and replay them.

    BOUNDARY = Boundary(effects=[(http_client, ["fetch", "post"])], clock_modules=[tools])
    install(BOUNDARY, tools, directory="flight", enabled=True)

and in the file that is replayed, `functions = BOUNDARY.handlers(tools)`.
"""

from __future__ import annotations

import functools
import inspect
import json
import warnings
from contextlib import contextmanager
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from . import errors
from .attach import attach
from .attached import AttachedCall
from .bindings import Patches, also_held
from .chains import ChainTarget, proxy
from .clocks import Zone, clock_standins
from .context import Span
from .doors import Replayed, effect, replay
from .draws import random_standins
from .gate import Decision
from .recorder import Recorder, verdict_of
from .signatures import Signature
from .surroundings import inside, leave, surroundings, trace
from .taken import revive, take_marked

ZONE = "playhead.utcoffset"
Function = Callable[..., Any]


class BoundaryWarning(UserWarning):
    """A door that was declared and is not, or not everywhere, recorded."""


class Boundary:
    """The doors of an application.

    `effects`: (module or class, [names of its functions]), and perhaps {"awaited": True} for plain functions of which
    the result is awaited, {"method": True} for those whose first argument is no input. `chains`: ChainTarget(holder,
    attribute). `clock_modules` and `random_modules`: modules in which the clock and the dice matter. `constants`:
    (module, name) of what was taken from the environment; put back before a replay. `error_revivers`: type name ->
    function of the list of arguments.
    """

    def __init__(
        self,
        effects: Iterable[Tuple[Any, ...]] = (),
        chains: Iterable[ChainTarget] = (),
        clock_modules: Iterable[Any] = (),
        random_modules: Iterable[Any] = (),
        constants: Iterable[Tuple[Any, str]] = (),
        error_revivers: Optional[Mapping[str, Callable[[List[Any]], BaseException]]] = None,
    ) -> None:
        self.effects = [(entry[0], list(entry[1]), dict(entry[2]) if len(entry) > 2 else {}) for entry in effects]
        self.chains = list(chains)
        self.clock_modules = list(clock_modules)
        self.random_modules = list(random_modules)
        self.constants = list(constants)
        self.error_revivers = dict(error_revivers or {})

    def handlers(self, module: Any = None, *, given: Optional[Mapping[str, Any]] = None) -> "Handlers":
        """The public functions of a module (and those decorated with `tool`) as handlers that `serve` can replay.

        From here on the doors of this process take their answers from the context of the call. `given` are arguments
        that were not recorded, by name.
        """
        replay.on = True
        patches = Patches()
        _open_doors(self, patches)
        return Handlers({name: _replaying(tool, dict(given or {})) for name, tool in _tools(module)}, self)

    def taken_constants(self) -> Dict[str, Any]:
        """The constants as they are now, by dotted name."""
        found: Dict[str, Any] = {}
        for holder, name in self.constants:
            found[_dotted(holder, name)] = _through(getattr(holder, name))
        return {**found, ZONE: Zone.offset_s()} if self.clock_modules else found

    def restore(self, constants: Mapping[str, Any]) -> None:
        """Put back the constants of a tape."""
        for holder, name in self.constants:
            if _dotted(holder, name) in constants:
                setattr(holder, name, revive(constants[_dotted(holder, name)]))
        offset_s = constants.get(ZONE)
        if isinstance(offset_s, (int, float)):
            Zone.taped_s = float(offset_s)

    def revivers(self) -> Dict[str, Callable[[errors.Error], Any]]:
        """Those of `error_revivers`, and the exception classes of the modules whose functions are doors."""
        found: Dict[str, Callable[[errors.Error], Any]] = {}
        for holder, _, _ in self.effects:
            for value in list(vars(holder).values()):
                if isinstance(value, type) and issubclass(value, Exception):
                    found.setdefault(value.__name__, functools.partial(_of_class, value))
        for name, reviver in self.error_revivers.items():
            found[name] = functools.partial(_of_arguments, reviver)
        return found


class Handlers(Dict[str, Function]):
    """Functions for `serve`, with what else it should know."""

    def __init__(self, functions: Mapping[str, Function], boundary: Boundary) -> None:
        super().__init__(functions)
        self.constants = {name: value for name, value in boundary.taken_constants().items() if name != ZONE}
        self.revivers = boundary.revivers()
        self.restore = boundary.restore


class _Installed(NamedTuple):
    boundary: Boundary
    recorder: Recorder
    patches: Patches
    skipped: Tuple[str, ...]


class _Slot:
    """What is installed in this process."""

    installed: Optional[_Installed] = None


# The functions that `tool` was given, by name.
_decorated: Dict[str, Function] = {}


def install(
    boundary: Boundary,
    module: Any = None,
    *,
    directory: str = "flight",
    enabled: Union[bool, Callable[[str, Dict[str, Any]], Any]] = True,
    skip_params: Sequence[str] = ("svc",),
    **settings: Any,
) -> Optional[Recorder]:
    """Record the calls of the public functions of a module, and of those decorated with `tool`.

    `enabled` is a bool, or `(fn, kwargs) -> bool`, asked for every call. `skip_params` are arguments that are not
    recorded. `settings` are those of `attach`. Returns its recorder; None if recording is off, and then nothing is
    changed anywhere. Doors that are not recorded everywhere are reported as BoundaryWarning. Raises RuntimeError if
    something is installed, AttributeError for a door that is not there.
    """
    if not callable(enabled) and not enabled:
        return None
    if _Slot.installed is not None:
        raise RuntimeError("a boundary is installed in this process already; uninstall() it first")
    settings.setdefault("constants", {})
    constants = {**boundary.taken_constants(), **dict(settings.pop("constants"))}
    patches = Patches()
    try:
        recorder = attach(out=directory, enabled=enabled, constants=constants, **settings)
        _open_doors(boundary, patches)
        _Slot.installed = _Installed(boundary, recorder, patches, tuple(skip_params))
        for name, function in _public(module):
            if not hasattr(function, "__playhead_tool__"):
                made = _tool(name, function)
                patches.set(module, name, made)
                patches.everywhere([(function, made)])
    except BaseException:
        patches.undo()
        _Slot.installed = None
        raise
    return recorder


def uninstall(timeout_s: Optional[float] = None) -> Optional[Dict[str, Any]]:
    """Put everything back, and end the session; what the daemon says of it."""
    installed, _Slot.installed = _Slot.installed, None
    if installed is None:
        return None
    installed.patches.undo()
    return installed.recorder.close(timeout_s)


def tool(fn: Union[str, Function, None] = None, function: Optional[Function] = None) -> Any:
    """`@tool`, `@tool("name")` or `tool("name", function)`: calls of it are recorded while something is installed."""
    if callable(fn):
        return tool(fn.__name__, fn)
    if function is None:
        return functools.partial(tool, fn)
    name = fn or function.__name__
    _decorated[name] = function
    return _tool(name, function)


@contextmanager
def span(name: str, **data: Any) -> Iterator[Span]:
    """`with span("charge") as s:` says when something begins and ends. Outside of a recorded call it is nothing."""
    ctx = _context()
    if ctx is None:
        yield Span()
        return
    with ctx.span(name, **{key: _through(value) for key, value in data.items()}) as opened:
        yield opened


def note(name: str, **data: Any) -> None:
    """Say that something happened. Outside of a recorded call it is nothing."""
    ctx = _context()
    if ctx is not None:
        ctx.note(name, **{key: _through(value) for key, value in data.items()})


def _context() -> Any:
    around = surroundings.get()
    if type(around) is AttachedCall and around.records:
        return around.context
    return around.ctx if type(around) is Replayed and not around.over else None


def _tools(module: Any) -> Iterator[Tuple[str, Function]]:
    for name, function in _public(module):
        yield name, inspect.unwrap(function, stop=lambda step: not hasattr(step, "__playhead_tool__"))
    yield from _decorated.items()


def _public(module: Any) -> Iterator[Tuple[str, Function]]:
    """The functions that a module defines and does not hide."""
    for name, value in [] if module is None else list(vars(module).items()):
        mine = callable(value) and not name.startswith("_") and getattr(value, "__module__", "") == module.__name__
        if mine and not inspect.isclass(value):
            yield name, value


def _tool(name: str, function: Function) -> Function:
    signature = Signature(function)
    wrapped = _coroutine_tool(name, function, signature) if inspect.iscoroutinefunction(function) else None
    made = wrapped or _plain_tool(name, function, signature)
    functools.update_wrapper(made, function)
    made.__playhead_tool__ = name  # type: ignore[attr-defined]
    return made


class _Gatekeeper:
    """What is known of a tool for one installation: whether and how it is recorded."""

    def __init__(self, name: str, signature: Signature) -> None:
        self._name = name
        self._signature = signature
        self._installed: Optional[_Installed] = None
        self._decides: Union[bool, Decision] = False

    def begin(self, installed: _Installed, args: Any, kwargs: Any, waits: bool) -> Optional[AttachedCall]:
        if installed is not self._installed:
            self._installed, self._decides = installed, installed.recorder.decides(self._name)
        decides = self._decides
        if decides is False:
            return None
        event = self._signature.bound(args, kwargs, installed.skipped)
        if event is None:
            return None  # The call itself will say what is wrong with its arguments.
        header = trace.get()
        if decides is not True and not decides(event, header):
            return None
        return installed.recorder.begin(self._name, event, header, waits, take_marked)


def _plain_tool(name: str, function: Function, signature: Signature) -> Function:
    around, enter, reset = surroundings.get, surroundings.set, surroundings.reset
    keeper = _Gatekeeper(name, signature)

    def called(*args: Any, **kwargs: Any) -> Any:
        installed = _Slot.installed
        if installed is None:
            return function(*args, **kwargs)
        outer = around()
        if outer is not None and inside(outer, True) is not None:
            return function(*args, **kwargs)
        call = keeper.begin(installed, args, kwargs, False)
        if call is None:
            inner: List[bool] = []
            token = enter(inner)
            try:
                return function(*args, **kwargs)
            finally:
                inner.append(True)
                try:
                    reset(token)
                except ValueError:
                    pass
        token = enter(call)
        try:
            output = function(*args, **kwargs)
        except BaseException as error:
            leave(token)
            call.raised(error, take_marked)
            if call.attachment.loud:
                call.verdict()
            raise
        leave(token)
        call.returned(output, take_marked)
        if call.attachment.loud:
            call.verdict()
        return output

    return called


def _coroutine_tool(name: str, function: Function, signature: Signature) -> Function:
    keeper = _Gatekeeper(name, signature)

    async def called(*args: Any, **kwargs: Any) -> Any:
        installed = _Slot.installed
        if installed is None:
            return await function(*args, **kwargs)
        outer = surroundings.get()
        if outer is not None and inside(outer, True) is not None:
            return await function(*args, **kwargs)
        call = keeper.begin(installed, args, kwargs, True)
        if call is None:
            inner: List[bool] = []
            token = surroundings.set(inner)
            try:
                return await function(*args, **kwargs)
            finally:
                inner.append(True)
                leave(token)
        token = surroundings.set(call)
        try:
            output = await function(*args, **kwargs)
        except BaseException as error:
            leave(token)
            call.raised(error, take_marked)
            if call.attachment.loud:
                await verdict_of(call)
            raise
        leave(token)
        call.returned(output, take_marked)
        if call.attachment.loud:
            await verdict_of(call)
        return output

    return called


def _open_doors(boundary: Boundary, patches: Patches) -> None:
    """Put the stand-ins in place, everywhere that they are found."""
    doors: Dict[str, Any] = {}
    homes: Dict[str, Tuple[Any, str, bool, bool]] = {}
    for holder, names, how in boundary.effects:
        for name in names:
            real = inspect.getattr_static(holder, name) if isinstance(holder, type) else getattr(holder, name)
            key = _dotted(holder, name)
            if inspect.isgeneratorfunction(real) or inspect.isasyncgenfunction(real):
                warnings.warn(f"{key} gives its answer piece by piece: it is not recorded", BoundaryWarning, 4)
            elif isinstance(holder, type):
                patches.set(holder, name, _class_door(key, real, bool(how.get("awaited"))))
            elif not hasattr(real, "__playhead_door__"):
                doors[key] = real
                homes[key] = (holder, name, bool(how.get("method")), bool(how.get("awaited")))
    # Before there are stand-ins, which hold them too.
    held = also_held(doors) if doors else []
    if held:
        text = "; ".join(held)
        warnings.warn(f"doors that are also held elsewhere, and not recorded there: {text}", BoundaryWarning, 4)
    replaced = [(real, effect(key, real, *homes[key][2:])) for key, real in doors.items()]
    for (holder, name, _, _), (_, made) in zip(homes.values(), replaced):
        patches.set(holder, name, made)
    patches.everywhere(replaced)
    for target in boundary.chains:
        _open_chain(target, patches)
    for modules, standins, what in (
        (boundary.clock_modules, clock_standins(), "clock"),
        (boundary.random_modules, random_standins(), "random"),
    ):
        by_id = {id(real): made for real, made in standins}
        for module in modules:
            bound = [(name, value) for name, value in list(vars(module).items()) if id(value) in by_id]
            for name, value in bound:
                patches.set(module, name, by_id[id(value)])
            standing = {id(made) for made in by_id.values()}
            if not bound and not any(id(value) in standing for value in vars(module).values()):
                text = f"{module.__name__} binds nothing that a {what} module would: nothing in it is recorded"
                warnings.warn(text, BoundaryWarning, 4)


def _class_door(key: str, real: Any, awaited: bool) -> Any:
    if isinstance(real, (staticmethod, classmethod)):
        return type(real)(effect(key, real.__func__, isinstance(real, classmethod), awaited))
    return effect(key, real, True, awaited)


def _open_chain(target: ChainTarget, patches: Patches) -> None:
    real = getattr(target.holder, target.attr, None)
    held = [] if real is None else also_held({target.attr: real})  # Before there is a proxy, which holds it too.
    made = proxy(target)
    if made is None:
        return
    inside = getattr(target.holder, "__dict__", None)
    elsewhere = [text for text in held if not _is_its_own(text, target, inside)]
    if elsewhere:
        warnings.warn(f"a client that is also held elsewhere: {'; '.join(elsewhere)}", BoundaryWarning, 5)
    patches.set(target.holder, target.attr, made)
    if real is not None:
        patches.everywhere([(real, made)])


def _is_its_own(text: str, target: ChainTarget, inside: Any) -> bool:
    kind = type(target.holder)
    return inside is not None and text.endswith(f"a member of a {kind.__module__}.{kind.__qualname__}")


def _replaying(function: Function, given: Dict[str, Any]) -> Function:
    signature = Signature(function)

    if inspect.iscoroutinefunction(function):

        async def replaying(event: Any, ctx: Any) -> Any:
            args, kwargs = signature.call(revive(event), given)
            with _in_call(ctx):
                output = await function(*args, **kwargs)
            return _through(output)

        return replaying

    def replaying_plainly(event: Any, ctx: Any) -> Any:
        args, kwargs = signature.call(revive(event), given)
        with _in_call(ctx):
            output = function(*args, **kwargs)
        return _through(output)

    return replaying_plainly


@contextmanager
def _in_call(ctx: Any) -> Iterator[None]:
    call = Replayed(ctx)
    token = surroundings.set(call)
    replay.call = call
    try:
        yield
    finally:
        call.over = True
        leave(token)


def _of_class(kind: Any, error: errors.Error) -> Any:
    made = errors.revive({**error, "args": revive(error.get("args", []))}, {str(error.get("type")): kind})
    return made if isinstance(made, kind) else None


def _of_arguments(reviver: Callable[[List[Any]], BaseException], error: errors.Error) -> Any:
    try:
        return reviver(revive(error.get("args") or []))
    except Exception:
        return None


def _dotted(holder: Any, name: str) -> str:
    if isinstance(holder, type):
        return f"{holder.__module__}.{holder.__qualname__}.{name}"
    return f"{getattr(holder, '__name__', type(holder).__name__)}.{name}"


def _through(value: Any) -> Any:
    return json.loads(take_marked(value)[0])
