"""`module:variable` to the object, and what to tell when that fails."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import sysconfig
import traceback
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

from agui_bridge.errors import BridgeError, ConfigurationError

__all__ = ["import_object"]

DEBUG_HINT: Final = "--debug shows the whole trace."

_PACKAGE: Final = str(Path(__file__).parent)
_LIBRARIES: Final = ("stdlib", "purelib", "platlib")


def import_object(target: str, folder: Path | None = None, *, kind: type | None = None) -> Any:
    """Import what `module:variable` names.

    Args:
        target: the variable may have dots, too.
        folder: where modules are looked for first; by default the current one.
        kind: what it should be; else the error names the module's variables of that kind.

    Raises:
        ConfigurationError: there is no such module or variable, it is of another kind, or the
            module can't be imported; then its cause is what the module raised.
    """
    folder = (folder or Path.cwd()).resolve()
    module_name, _, variable = target.partition(":")
    if not module_name or not variable:
        raise ConfigurationError(_form(target))
    look_in(folder)
    module = _import(module_name, folder)
    found: Any = module
    for part in variable.split("."):
        if not hasattr(found, part):
            raise ConfigurationError(_nothing(module, variable, kind))
        found = getattr(found, part)
    if kind is not None and not isinstance(found, kind):
        is_class = isinstance(found, type)
        what = f"the class {found.__name__}" if is_class else f"of type {type(found).__name__}"
        others = _suggestion(module, kind)
        raise ConfigurationError(f"{target} should be a {kind.__name__}, but is {what}.{others}")
    return found


def look_in(folder: Path) -> None:
    """Have modules looked for in a folder first.

    Args:
        folder: an absolute path.
    """
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def _import(name: str, folder: Path) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name + ".").startswith(error.name + "."):
            raise ConfigurationError(
                f"There is no module {name!r} in {folder}.\n"
                "Run the command in the module's folder, or install its package."
            ) from None
        raise _broken(name, error) from error
    except SystemExit as error:
        raise _broken(name, error, "it called sys.exit()") from error
    except BridgeError as error:
        # It says itself what is wrong, and what to do.
        raise ConfigurationError(f"{error}\n{_place(error)}") from error
    except Exception as error:
        raise _broken(name, error) from error


def _broken(name: str, error: BaseException, said: str | None = None) -> ConfigurationError:
    told = said or f"{type(error).__name__}: {getattr(error, 'msg', None) or error}"
    told = " ".join(told.split())
    return ConfigurationError(f"The module {name!r} can't be imported: {told}\n{_place(error)}")


def _place(error: BaseException) -> str:
    """Where it was in the author's code: a syntax error's line, else the last frame of theirs."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"It is in {error.filename}:{error.lineno}."
    trace = traceback.extract_tb(error.__traceback__)
    frames = [frame for frame in trace if not frame.filename.startswith("<frozen")]
    libraries = (_PACKAGE, *map(sysconfig.get_path, _LIBRARIES))
    authors = [frame for frame in frames if not frame.filename.startswith(libraries)]
    frame = (authors or frames)[-1]
    return f"It is in {frame.filename}:{frame.lineno}. {DEBUG_HINT}"


def _form(target: str) -> str:
    name = target.removesuffix(".py").replace("/", ".").strip(".:")
    remedy = f"Write {name or 'module'}:bridge, or the name of a YAML file."
    return f"{target!r} is not of the form module:variable.\n{remedy}"


def _nothing(module: Any, variable: str, kind: type | None) -> str:
    near = get_close_matches(variable, [n for n in vars(module) if not n.startswith("_")], 1)
    meant = f"\nDid you mean {module.__name__}:{near[0]}?" if near else ""
    hint = _suggestion(module, kind) if kind is not None else ""
    return f"The module {module.__name__!r} has no {variable!r}.{hint or meant}"


def _suggestion(module: Any, kind: type) -> str:
    """The module's variables of a kind, as a line of its own."""
    names = [name for name, value in vars(module).items() if isinstance(value, kind)]
    if not names:
        return f"\nIt has no {kind.__name__} at all: make one, such as bridge = {kind.__name__}()."
    return "\nIt has " + ", ".join(f"{module.__name__}:{name}" for name in names) + "."
