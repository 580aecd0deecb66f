"""A call's arguments by name, and the call that was made of them. Binding is a function made for each signature: for
what is not recorded it has to be quick.
"""

from __future__ import annotations

import inspect
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

_PLAIN = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class Signature:
    """Of one function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        try:
            self._parameters = list(inspect.signature(function).parameters.values())
        except (ValueError, TypeError):
            self._parameters = [
                inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL),
                inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD),
            ]
        self._bind = _binder(self._parameters)

    def bound(self, args: Sequence[Any], kwargs: Mapping[str, Any], skipped: Sequence[str]) -> Optional[Dict[str, Any]]:
        """Every argument by its name, defaults too; None if this call cannot be made."""
        try:
            found = self._bind(*args, **kwargs)
        except TypeError:
            return None
        for name in skipped:
            found.pop(name, None)
        return found

    def call(self, event: Any, given: Mapping[str, Any]) -> Tuple[List[Any], Dict[str, Any]]:
        """(args, kwargs) of the call that `bound` made this event of. `given` where it has none of that name."""
        if not isinstance(event, dict):
            return [event], {}
        found = {**given, **event} if given else event
        args: List[Any] = []
        kwargs: Dict[str, Any] = {}
        for parameter in self._parameters:
            name = parameter.name
            if name not in found:
                continue
            if parameter.kind is parameter.VAR_POSITIONAL:
                args.extend(found[name])
            elif parameter.kind is parameter.VAR_KEYWORD:
                kwargs.update(found[name])
            elif parameter.kind is parameter.KEYWORD_ONLY or (
                len(args) < self._parameters.index(parameter) and parameter.kind is parameter.POSITIONAL_OR_KEYWORD
            ):
                kwargs[name] = found[name]
            else:
                args.append(found[name])
        known = {parameter.name for parameter in self._parameters}
        kwargs.update({name: value for name, value in event.items() if name not in known})
        return args, kwargs


def _binder(parameters: Sequence[inspect.Parameter]) -> Callable[..., Dict[str, Any]]:
    """`lambda` with that very signature, which gives a dict of its arguments."""
    defaults: Dict[str, Any] = {}
    written: List[str] = []
    for number, parameter in enumerate(parameters):
        stars = "*" * (parameter.kind is parameter.VAR_POSITIONAL) or "**" * (parameter.kind is parameter.VAR_KEYWORD)
        text = f"{stars}{parameter.name}"
        if parameter.default is not parameter.empty:
            defaults[f"_{number}"] = parameter.default
            text += f"=_playhead_{number}"
        before = parameters[number - 1] if number else None
        if parameter.kind is parameter.KEYWORD_ONLY and (before is None or before.kind in _PLAIN):
            written.append("*")
        if before is not None and before.kind is parameter.POSITIONAL_ONLY is not parameter.kind:
            written.append("/")
        written.append(text)
    if parameters and parameters[-1].kind is inspect.Parameter.POSITIONAL_ONLY:
        written.append("/")
    members = ", ".join(f"{parameter.name!r}: {parameter.name}" for parameter in parameters)
    names = {f"_playhead{key}": value for key, value in defaults.items()}
    made: Callable[..., Dict[str, Any]] = eval(f"lambda {', '.join(written)}: {{{members}}}", names)
    return made
