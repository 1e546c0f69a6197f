"""The schema of a configuration file agrees with the code."""

import dataclasses
from typing import Any

import pytest

from agui_bridge import Settings
from agui_bridge.config import configuration_schema
from agui_bridge.errors import ConfigurationError


def test_the_schema_knows_the_keys_and_refuses_others() -> None:
    import jsonschema

    check = jsonschema.Draft202012Validator(configuration_schema())
    check.check_schema(configuration_schema())
    good = {"store": "memory:", "agents": {"a": {"function": "m:f", "settings": {"keep_alive": 1}}}}
    assert check.is_valid(good)
    wrong: list[object] = [{**good, "stroe": "x"}, {}, {"agents": {}}]
    assert not any(check.is_valid(bad) for bad in (*wrong, {**good, "server": {"port": -1}}))


def test_the_schema_has_every_setting_and_its_bounds_are_those_of_the_code() -> None:
    settings = configuration_schema()["$defs"]["Settings"]["properties"]
    assert set(settings) == {field.name for field in dataclasses.fields(Settings)}
    for name, schema in settings.items():
        assert schema["description"]
        numbers = schema.get("anyOf", [schema])[0]
        for bound, off in (("exclusiveMinimum", 0), ("minimum", -1), ("maximum", 1)):
            if bound in numbers:
                value: dict[str, Any] = {name: int(numbers[bound]) + off}
                with pytest.raises(ConfigurationError, match=name):
                    Settings(**value)
