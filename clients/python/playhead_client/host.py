"""Serve the handler of one file: `python .../playhead_client/host.py FILE.py`, no import and no call needed in it.

FILE defines `handler(event, ctx)` (or `default`), or a dict `functions` of several; `constants` and `revivers` are
taken too. The folder of FILE comes first on sys.path, this package last, so nothing of it can hide what FILE imports.

A reset loads FILE anew, and with it what it imports from its own folder; other modules stay as they are.
"""

from __future__ import annotations

import os
import sys
import threading
from types import ModuleType, TracebackType
from typing import Any, Dict, Mapping, Optional


def main(argv: Optional[Any] = None) -> int:
    arguments = sys.argv[1:] if argv is None else list(argv)
    if not arguments:
        print("usage: host.py FILE.py", file=sys.stderr)
        return 2
    package = _package()
    in_fd, out_fd = package.take_stdio()
    path = os.path.abspath(arguments[0])
    try:
        before = _Surroundings(path)
        module = _load(path, arguments)
        session = _session(package, module, path)
    except _CannotLoad as error:
        print(f"playhead: {error}", file=sys.stderr, flush=True)
        return 1
    if threading.active_count() == 1:  # What a thread holds that was started while loading cannot be dropped.

        def reset() -> Any:
            before.restore(module.__name__)
            return _session(package, _load(path, arguments), path)

        session.reset = reset
    package.serve_over(session, in_fd, out_fd)
    return 0


class _Surroundings:
    """What loading a file changes, and its handlers may, as it was before."""

    def __init__(self, path: str) -> None:
        self._folder = os.path.join(os.path.realpath(os.path.dirname(path)), "")
        self._modules = set(sys.modules)
        self._path = list(sys.path)
        self._cwd = _working_folder()
        self._environment = dict(os.environ)

    def restore(self, name: str) -> None:
        """Forget the module of that name, and those from the folder of the file."""
        for found, module in list(sys.modules.items()):
            ours = found in self._modules or found.partition(".")[0] == "playhead_client"
            if found == name or (not ours and self._is_near(module)):
                del sys.modules[found]
        sys.path[:] = self._path
        if self._cwd is not None:
            os.chdir(self._cwd)
        if dict(os.environ) != self._environment:
            os.environ.clear()
            os.environ.update(self._environment)

    def _is_near(self, module: Any) -> bool:
        file = getattr(module, "__file__", None)
        places = [file] if isinstance(file, str) else list(getattr(module, "__path__", ()))
        for place in places:
            real = os.path.realpath(place)
            below = real[len(self._folder) :].split(os.sep)
            # Compiled modules cannot be loaded twice, and what lies in a folder of packages is nobody's own code.
            if real.startswith(self._folder) and not real.endswith(_COMPILED) and not _INSTALLED.intersection(below):
                return True
        return False


def _working_folder() -> Optional[str]:
    try:
        return os.getcwd()
    except OSError:  # It has been removed.
        return None


class _CannotLoad(Exception):
    """What is wrong with the file, in words for whoever wrote it."""


def _package() -> Any:
    """playhead_client.serve, of the package this file lies in, whatever else of that name is installed."""
    here = os.path.dirname(os.path.abspath(__file__))
    if sys.path and os.path.abspath(sys.path[0]) == here:
        del sys.path[0]  # Run as a script, Python puts this folder first; `import errors` would find ours.
    parent = os.path.dirname(here)
    if parent not in sys.path:
        sys.path.append(parent)
    if "playhead_client" not in sys.modules:
        from importlib.util import module_from_spec, spec_from_file_location

        spec = spec_from_file_location(
            "playhead_client", os.path.join(here, "__init__.py"), submodule_search_locations=[here]
        )
        if spec is None or spec.loader is None:
            raise ImportError("playhead_client is incomplete", path=here)
        module = module_from_spec(spec)
        sys.modules["playhead_client"] = module
        spec.loader.exec_module(module)
    from importlib import import_module

    return import_module("playhead_client.serve")


def _load(path: str, arguments: Any) -> ModuleType:
    sys.path.insert(0, os.path.dirname(path))
    sys.argv = [path, *arguments[1:]]
    stem = os.path.splitext(os.path.basename(path))[0]
    # Under its own name, so that a second import of it finds the same module; never over one that is there.
    name = stem if stem.isidentifier() and stem not in sys.modules else "handler"
    module = ModuleType(name)
    module.__file__ = path
    sys.modules[name] = module
    try:
        with open(path, "rb") as file:
            text = file.read()
    except OSError as error:
        raise _CannotLoad(f"cannot read {path}: {error.strerror or error}") from None
    try:
        exec(compile(text, path, "exec"), module.__dict__)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise _CannotLoad(f"cannot load {path}\n{_told(error, path)}") from None
    return module


def _session(package: Any, module: ModuleType, path: str) -> Any:
    members = vars(module)
    functions: Dict[str, Any] = {}
    several = members.get("functions")
    if isinstance(several, Mapping):
        functions.update(several)
    alone = members.get("handler", members.get("default"))
    if callable(alone):
        functions.setdefault("handler", alone)
    if not functions:
        raise _CannotLoad(
            f"{path} defines no handler: it needs handler(event, ctx), or default, or a dict functions of several"
        )
    version = members.get("__version__")
    # Functions made by a boundary know these themselves.
    constants, revivers = members.get("constants"), members.get("revivers")
    restore = members.get("restore", getattr(several, "restore", None))
    try:
        return package.Session(
            functions,
            name=os.path.basename(path),
            version=version if isinstance(version, str) else None,
            constants=constants if isinstance(constants, Mapping) else getattr(several, "constants", None),
            revivers=revivers if isinstance(revivers, Mapping) else getattr(several, "revivers", None),
            restore=restore if callable(restore) else None,
        )
    except (ValueError, TypeError) as error:
        raise _CannotLoad(f"{path}: {error}") from None


def _told(error: BaseException, path: str) -> str:
    """The traceback from the file's own first line on: how it was loaded is of no interest to its author."""
    import traceback

    trace: Optional[TracebackType] = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename != path:
        trace = trace.tb_next
    return "".join(traceback.format_exception(type(error), error, trace)).rstrip("\n")


_COMPILED = (".so", ".pyd", ".dylib")
_INSTALLED = frozenset({"site-packages", "dist-packages"})

if __name__ == "__main__":
    sys.exit(main())
