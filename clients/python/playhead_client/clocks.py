"""Stand-ins for `time` and `datetime`: the same, but that a recorded call tells what the clock said, and a replayed one
is told.

Wall clocks are read to the microsecond: that much of a time survives as milliseconds in a float64, to the last digit.
What gives a clock's reading in another form (`localtime()`, `process_time()`) is asked for by its name.
"""

from __future__ import annotations

import datetime as real_datetime
import time as real_time
from typing import Any, Callable, Dict, List, Optional

from .attached import AttachedCall
from .doors import ask_now, replay, replayed, shut
from .standins import Standin
from .surroundings import surroundings
from .taken import take_marked

_Datetime = real_datetime.datetime
_Date = real_datetime.date
_EPOCH = _Datetime(1970, 1, 1)
# Up to here a number of nanoseconds comes back from milliseconds in a float64.
_MOST_EXACT_NS = 1 << 52


class Zone:
    """The offset from UTC of naive local times: the one of the tape while it is replayed."""

    taped_s: Optional[float] = None

    @classmethod
    def offset_s(cls) -> float:
        """This machine's now."""
        offset = _Datetime.now(real_datetime.timezone.utc).astimezone().utcoffset()
        return 0.0 if offset is None else offset.total_seconds()


def wall_us() -> int:
    """Microseconds since the Unix epoch."""
    around = surroundings.get()
    if type(around) is AttachedCall:
        told_us = real_time.time_ns() // 1000
        if around.records:
            around.question("now", f',"value":{told_us / 1000!r}')
        return told_us
    if replay.on:
        call = replayed()
        if call is not None:
            us: int = round(call.ctx.now() * 1000)
            return us
        shut("time.time")
    return real_time.time_ns() // 1000


def ticks_ns(read: Callable[[], int]) -> int:
    """Nanoseconds of a clock that never goes back."""
    around = surroundings.get()
    if type(around) is not AttachedCall and replay.on:
        call = replayed()
        if call is not None:
            return _exact_ns(call.ctx.monotonic())
        shut("time.monotonic")
    ns = read()
    if type(around) is AttachedCall and around.records:
        value = ns / 1e6
        around.question("now", f',"clock":"monotonic","value":{value!r}')
        return _exact_ns(value)
    return ns


def _exact_ns(ms: float) -> int:
    ns = round(ms * 1e6)
    return ns if ns < _MOST_EXACT_NS else round(ns / 1000) * 1000


def _named(name: str, real: Callable[..., Any], made: Callable[[Any], Any] = lambda value: value) -> Callable[..., Any]:
    """A reading that is asked for by name; `made` makes it of its JSON."""

    def read(*args: Any) -> Any:
        around = surroundings.get()
        if type(around) is not AttachedCall and replay.on:
            call = replayed()
            if call is not None:
                return made(ask_now(call.ctx, name, lambda: _told(real(*args)), list(args)))
            shut(name)
        value = real(*args)
        if type(around) is AttachedCall and around.records:
            around.settle(around.respond(name, args, None, take_marked), _told(value), take_marked)
        return value

    read.__name__ = name.rpartition(".")[2]
    return read


def _told(value: Any) -> Any:
    return list(value) if isinstance(value, real_time.struct_time) else value


# --- time ---


def _time() -> float:
    return wall_us() / 1e6


def _time_ns() -> int:
    return wall_us() * 1000


def _monotonic() -> float:
    return ticks_ns(real_time.monotonic_ns) / 1e9


def _monotonic_ns() -> int:
    return ticks_ns(real_time.monotonic_ns)


def _perf_counter() -> float:
    return ticks_ns(real_time.perf_counter_ns) / 1e9


def _perf_counter_ns() -> int:
    return ticks_ns(real_time.perf_counter_ns)


def _sleep(seconds: float) -> None:
    if replayed() is None:
        real_time.sleep(seconds)


def _unless_given(name: str, real: Callable[..., Any], at: int, made: Callable[[Any], Any]) -> Callable[..., Any]:
    """A function that reads the clock only where the argument at `at` is not there."""
    read = _named(name, real, made)

    def shown(*args: Any) -> Any:
        return real(*args) if len(args) > at and args[at] is not None else read(*args[:at])

    shown.__name__ = name.rpartition(".")[2]
    return shown


def _struct(value: Any) -> Any:
    return real_time.struct_time(value) if isinstance(value, list) else value


_TIME: Dict[str, Callable[..., Any]] = {
    "time": _time,
    "time_ns": _time_ns,
    "monotonic": _monotonic,
    "monotonic_ns": _monotonic_ns,
    "perf_counter": _perf_counter,
    "perf_counter_ns": _perf_counter_ns,
    "process_time": _named("time.process_time", real_time.process_time),
    "process_time_ns": _named("time.process_time_ns", real_time.process_time_ns),
    "thread_time": _named("time.thread_time", real_time.thread_time),
    "localtime": _unless_given("time.localtime", real_time.localtime, 0, _struct),
    "gmtime": _unless_given("time.gmtime", real_time.gmtime, 0, _struct),
    "ctime": _unless_given("time.ctime", real_time.ctime, 0, str),
    "asctime": _unless_given("time.asctime", real_time.asctime, 0, str),
    "strftime": _unless_given("time.strftime", real_time.strftime, 1, str),
    "sleep": _sleep,
}


# --- datetime ---


def _datetime_of(us: int, tz: Any) -> Any:
    if tz is None and Zone.taped_s is not None and replayed() is not None:
        return _EPOCH + real_datetime.timedelta(microseconds=us, seconds=Zone.taped_s)
    seconds, microseconds = divmod(us, 1_000_000)
    return _Datetime.fromtimestamp(seconds, tz).replace(microsecond=microseconds)


class _DatetimeMeta(type):
    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, _Datetime)

    def __subclasscheck__(cls, other: type) -> bool:
        return issubclass(other, _Datetime)

    def __getattr__(cls, name: str) -> Any:
        return getattr(_Datetime, name)


class DatetimeStandin(metaclass=_DatetimeMeta):
    """The class `datetime`, whose `now`, `utcnow` and `today` are told."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        return _Datetime(*args, **kwargs)

    @classmethod
    def now(cls, tz: Any = None) -> Any:
        return _datetime_of(wall_us(), tz)

    @classmethod
    def utcnow(cls) -> Any:
        return _EPOCH + real_datetime.timedelta(microseconds=wall_us())

    @classmethod
    def today(cls) -> Any:
        return _datetime_of(wall_us(), None)


class _DateMeta(type):
    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, _Date)

    def __subclasscheck__(cls, other: type) -> bool:
        return issubclass(other, _Date)

    def __getattr__(cls, name: str) -> Any:
        return getattr(_Date, name)


class DateStandin(metaclass=_DateMeta):
    """The class `date`, whose `today` is told."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        return _Date(*args, **kwargs)

    @classmethod
    def today(cls) -> Any:
        return _datetime_of(wall_us(), None).date()


def clock_standins() -> List[Any]:
    """(the real thing, what stands for it), wherever a module has bound it, by whatever name."""
    time = Standin(real_time, _TIME)
    datetime = Standin(real_datetime, {"datetime": DatetimeStandin, "date": DateStandin})
    functions = [(getattr(real_time, name), standin) for name, standin in _TIME.items()]
    classes = [(_Datetime, DatetimeStandin), (_Date, DateStandin)]
    return [(real_time, time), (real_datetime, datetime), *classes, *functions]
