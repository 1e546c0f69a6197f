"""A configuration file becomes a bridge; what is wrong is told with line, key and remedy."""

import dataclasses
import textwrap
from pathlib import Path
from typing import Any

import pytest

from agui_bridge import Principal, Settings
from agui_bridge.config import (
    LoadedConfig,
    bridge_from,
    configuration_schema,
    load_config,
    load_launch,
)
from agui_bridge.config_environment import VARIABLES
from agui_bridge.config_yaml import LARGEST_FILE
from agui_bridge.engine.telemetry import NO_TELEMETRY
from agui_bridge.errors import ConfigurationError
from tests.docs.pages import Conversation
from tests.support.installed import install

MODULE = '''
from agui_bridge import FunctionAdapter, Principal

async def orders(run):
    """Looks after orders."""
    yield "hi"

async def echo(run):
    yield run.text

adapter = FunctionAdapter(orders)
number = 7

def who(request):
    return Principal("team", "ann")

def judge(call):
    return "allow"
'''
AGENTS = "agents: {orders: {function: shop_for_config:orders}}\n"
SECRET = "correct-horse-battery-staple"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "shop_for_config.py").write_text(MODULE)
    return tmp_path


def written(folder: Path, text: str, *, agents: str = AGENTS) -> Path:
    path = folder / "bridge.yaml"
    path.write_text(textwrap.dedent(text) + agents)
    return path


def loaded(folder: Path, text: str, *, agents: str = AGENTS, **environment: str) -> LoadedConfig:
    return load_config(written(folder, text, agents=agents), environment=environment)


def refused(folder: Path, text: str, *, agents: str = AGENTS, **environment: str) -> str:
    """What is said of a file, without the folder's name."""
    with pytest.raises(ConfigurationError) as error:
        loaded(folder, text, agents=agents, **environment).bridge()
    return str(error.value).replace(f"{folder}/", "")


# --- what a file can say ---


def test_a_file_becomes_a_bridge_with_its_store_settings_and_agents(folder: Path) -> None:
    text = """
        store: sqlite:///agents.db
        settings: {stop_timeout: 5, expires_in: null, history: client}
        policy: shop_for_config:judge
        agents:
          orders:
            function: shop_for_config:orders
            settings: {keep_alive: 3}
          made:
            object: shop_for_config:adapter
            description: Made elsewhere.
    """
    bridge = bridge_from(written(folder, text, agents=""))

    assert bridge.store == "sqlite:///agents.db"
    assert (bridge.settings.stop_timeout, bridge.settings.history) == (5, "client")
    assert [agent.description for agent in bridge.agents.values()] == [
        "Looks after orders.",
        "Made elsewhere.",
    ]
    assert [agent.settings.keep_alive for agent in bridge.agents.values()] == [3, 15]
    assert all(agent.policy is not None for agent in bridge.agents.values())


async def test_an_agent_that_asks_in_words_is_paused_and_told_what_was_answered(
    folder: Path,
) -> None:
    text = """
        agents:
          echo:
            function: shop_for_config:echo
            keyword:
              phrases: ["[y/n]"]
              fields:
                - {name: confirm, type: confirm, label: Sure, required: true}
                - {name: why, label: Why}
              replies: {"yes": "Do it.", values: [sure, never]}
    """
    bridge = bridge_from(written(folder, text, agents=""))
    async with bridge.lifespan():
        talk = Conversation(bridge, "echo")
        await talk.say("Deploy? [y/n]")
        (ask,) = talk.asks
        said = await talk.answer({"confirm": True, "why": "late"})

    assert (ask["reason"], ask["message"]) == ("confirmation", "Deploy? [y/n]")
    assert list(ask["responseSchema"]["properties"]) == ["confirm", "why"]
    assert "Do it." in said
    assert "Why: late" in said


def test_tokens_say_who_asks(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANNS_TOKEN", SECRET)
    text = "authentication: {bearer: [{token_env: ANNS_TOKEN, scope: team, actor: ann}]}\n"
    bridge = loaded(folder, text).bridge()

    from starlette.requests import Request

    headers = [(b"authorization", f"Bearer {SECRET}".encode())]
    assert bridge.authenticate is not None
    assert bridge.authenticate(Request({"type": "http", "headers": headers})) == Principal(
        "team", "ann"
    )


def test_a_hook_says_who_asks(folder: Path) -> None:
    bridge = loaded(folder, "authentication: {hook: shop_for_config:who}\n").bridge()
    assert bridge.authenticate is not None and bridge.authenticate.__name__ == "who"


def test_hosts_and_origins_reach_the_bridge(folder: Path) -> None:
    text = """
        allowed_hosts: [agents.example]
        cors_origins: [https://app.example]
        cors_origin_regex: https://.*\\.example
    """
    assert loaded(folder, text).bridge().allowed_hosts == ("agents.example",)


@pytest.mark.parametrize(
    ("text", "base"),
    [("", "/copilotkit"), ("copilotkit: /kit\n", "/kit"), ("copilotkit: null\n", None)],
)
def test_a_file_says_where_copilotkits_routes_stand(
    folder: Path, text: str, base: str | None
) -> None:
    assert loaded(folder, text).bridge().copilotkit == base


@pytest.mark.parametrize("wanted", [False, True])
def test_a_file_says_whether_there_is_a_playground(folder: Path, wanted: bool) -> None:
    text = f"playground: {str(wanted).lower()}\n" if wanted else ""
    assert loaded(folder, text).bridge().playground is wanted


@pytest.mark.parametrize(("text", "told"), [("", True), ("telemetry: false\n", False)])
def test_opentelemetry_is_told_unless_the_file_says_otherwise(
    folder: Path, text: str, told: bool
) -> None:
    assert (loaded(folder, text).bridge().telemetry is not NO_TELEMETRY) is told


# --- the environment ---


def test_variables_are_filled_in_and_read_as_what_is_expected(folder: Path) -> None:
    text = """
        store: sqlite:///${NAME}-$${NAME}.db
        server: {port: "${PORT}", anonymous: "${ANON:-true}"}
        settings: {expires_in: "${NONE:-null}", pipe_events: "${COUNT:-7}"}
    """
    values = loaded(folder, text, NAME="12", PORT="9000", COUNT="").values

    assert values.store == "sqlite:///12-${NAME}.db"
    assert (values.server.port, values.server.anonymous) == (9000, True)
    assert values.settings.model_dump(exclude_unset=True) == {"expires_in": None, "pipe_events": 7}


def test_every_variable_that_is_not_set_is_told_at_once(folder: Path) -> None:
    said = refused(folder, "store: ${A}\ncors_origins: [x, '${B}']\n")
    assert said.splitlines() == [
        "bridge.yaml has 2 faults:",
        "  bridge.yaml:1: store: the environment variable A is not set. "
        "Set it, or give a default: ${A:-value}.",
        "  bridge.yaml:2: cors_origins.1: the environment variable B is not set. "
        "Set it, or give a default: ${B:-value}.",
    ]


@pytest.mark.parametrize("text", ["${", "${1}", "${A", "${A:x}", "${a b}"])
def test_a_reference_that_names_no_variable_is_refused(folder: Path, text: str) -> None:
    assert "write `$${`" in refused(folder, f"store: '{text}'\n", A="x")


def test_flags_go_before_the_environment_and_that_before_the_file(folder: Path) -> None:
    path = written(folder, 'server: {host: file, port: 1}\nstore: "memory:"\n')
    environment = {"AGUI_BRIDGE_HOST": "variable", "AGUI_BRIDGE_PORT": "2"}
    values = load_config(path, environment=environment, flags={("server", "port"): 3}).values

    assert (values.server.host, values.server.port, values.store) == ("variable", 3, "memory:")
    assert values.logging.format == "text"


@pytest.mark.parametrize("variable", VARIABLES, ids=lambda variable: variable.name)
def test_each_variable_replaces_the_value_that_it_is_for(folder: Path, variable: Any) -> None:
    sent, expected = {
        "port": ("81", 81),
        "anonymous": ("true", True),
        "format": ("json", "json"),
        "level": ("debug", "debug"),
        "allowed_hosts": ("a.example, b.example,", ["a.example", "b.example"]),
        "cors_origins": ("https://a.example", ["https://a.example"]),
    }.get(str(variable.path[-1]), ("text", "text"))
    found: Any = loaded(folder, "", **{variable.name: sent}).values
    for part in variable.path:
        found = getattr(found, part)
    assert found == expected


def test_a_variable_with_an_unfit_value_is_named_and_the_value_is_not(folder: Path) -> None:
    said = refused(folder, "", AGUI_BRIDGE_PORT=SECRET)
    assert said == "AGUI_BRIDGE_PORT: must be a whole number."
    with pytest.raises(ConfigurationError, match="AGUI_BRIDGE_LOG_LEVEL: must be one of 'debug'"):
        load_launch(environment={"AGUI_BRIDGE_LOG_LEVEL": "loud"})


def test_without_a_file_the_environment_says_where_to_listen() -> None:
    launch = load_launch(environment={"AGUI_BRIDGE_PORT": "0", "AGUI_BRIDGE_CORS_ORIGINS": "x"})
    assert (launch.server.port, launch.store) == (0, None)


# --- what is refused, and how it is told ---


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("stroe: x\n", "bridge.yaml:1: stroe: unknown key; did you mean 'store'?"),
        ("zzz: x\n", "bridge.yaml:1: zzz: unknown key. Allowed are store, server, logging"),
        ("server: {prot: 1}\n", "server.prot: unknown key; did you mean 'port'?"),
        ("server:\n  host: a\n  port: 'x'\n", "bridge.yaml:3: server.port: must be a whole"),
        ("server: {port: 65536}\n", "server.port: must be at most 65535."),
        ("server: {anonymous: 'yes'}\n", "server.anonymous: must be true or false."),
        ("server: {host: 1}\n", "server.host: must be text; write it in quotes."),
        ("server: 5\n", "server: must be a mapping of keys to values."),
        ("cors_origins: x\n", "cors_origins: must be a list."),
        ("logging: {format: xml}\n", "logging.format: must be one of 'text', 'json'."),
        ("settings: {lease_seconds: 0}\n", "settings.lease_seconds: must be above 0."),
        ("settings: {max_depth: 101}\n", "settings.max_depth: must be at most 100."),
        ("settings: {stop_timeout: -1}\n", "settings.stop_timeout: must be at least 0."),
        ("settings: {keep_alive: .inf}\n", "settings.keep_alive: must be a finite number."),
        ("settings: {on_disconnect: x}\n", "must be one of 'stop', 'continue'."),
        ("policy: judge\n", "policy: must be of the form module:variable."),
        ("authentication: {}\n", "give exactly one of bearer and hook; none is given."),
        ("authentication: {bearer: []}\n", "authentication.bearer: must not be empty."),
        (
            "authentication: {bearer: [{token: a, token_env: B, actor: c}]}\n",
            "authentication.bearer.0: give exactly one of token_env, token_sha256 and token; "
            "token_env and token are given.",
        ),
        ("authentication: {bearer: [{token: a}]}\n", "authentication.bearer.0.actor: is missing."),
        (
            "authentication: {bearer: [{token_sha256: a, actor: c}]}\n",
            "bearer.0.token_sha256: must be of the form 64 hexadecimal digits.",
        ),
        ("policy: shop_for_config:nothing\n", "policy: The module 'shop_for_config' has no 'noth"),
        ("policy: shop_for_config:number\n", "should be a function, but is of type int"),
        ("cors_origins: ['https://x/y']\n", "bridge.yaml: the bridge: "),
    ],
)
def test_a_fault_names_its_line_its_key_and_what_is_allowed(
    folder: Path, text: str, said: str
) -> None:
    assert said in refused(folder, text)


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("{}", "a: give exactly one of function, adapter, object and file; none is given."),
        ("{function: 'x:y', object: 'x:y'}", "a: give exactly one of function, adapter,"),
        ("{function: 'x:y', options: {a: 1}}", "`options` are those of an `adapter`"),
        ("{fuction: 'x:y'}", "a.fuction: unknown key; did you mean 'function'?"),
        ("{function: 'no_such:y'}", "agents.a: There is no module 'no_such' in "),
        ("{function: 'shop_for_config:oders'}", "Did you mean shop_for_config:orders?"),
        ("{function: 'shop_for_config:judge'}", "judge is not async"),
        ("{object: 'shop_for_config:number'}", "Agent 'a': 7 is no Adapter"),
        ("{adapter: functoin}", "There is no adapter 'functoin'; installed are:"),
        ("{adapter: function, options: {x: 1}}", "Its options are: function."),
        ("{function: 'x:y', settings: {lease_seconds: 9}}", "settings.lease_seconds: unknown key."),
    ],
)
def test_a_fault_of_an_agent_names_the_agent_and_its_line(
    folder: Path, entry: str, said: str
) -> None:
    told = refused(folder, "", agents=f"agents:\n  a: {entry}\n")
    assert told.startswith("bridge.yaml:2: agents.a")
    assert said in told


@pytest.mark.parametrize("agents", ["", "agents: {}\n"])
def test_a_file_without_agents_is_refused(folder: Path, agents: str) -> None:
    assert "agents: " in refused(folder, "store: 'memory:'\n", agents=agents)


def test_a_name_that_fits_no_address_is_refused_at_its_line(folder: Path) -> None:
    told = refused(folder, "", agents="agents:\n  a b: {function: 'shop_for_config:orders'}\n")
    assert told.startswith("bridge.yaml:2: agents.a b: 'a b' can't be an agent's name")


def test_no_fault_repeats_a_value_that_may_be_a_secret(folder: Path) -> None:
    text = f"""
        store: [{SECRET}]
        logging: {{level: {SECRET}}}
        authentication: {{bearer: [{{token: {SECRET}, token_sha256: {SECRET}, actor: 1}}]}}
    """
    told = refused(folder, text, agents=f"agents: {{a: {{function: {SECRET}}}}}\n")
    assert "faults" in told and SECRET not in told


FUSSY = """
class Fussy:
    def __init__(self, value):
        raise ValueError(f"not {value}")
"""


@pytest.mark.parametrize("options", [{"value": SECRET}, {"wrong": SECRET}, {}])
def test_options_that_an_adapter_refuses_are_not_repeated(
    folder: Path, options: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "fussy.py").write_text(FUSSY)
    monkeypatch.syspath_prepend(folder)
    install(folder, "fussy", {"fussy": "fussy:Fussy"})
    told = refused(folder, "", agents=f"agents: {{a: {{adapter: fussy, options: {options}}}}}\n")
    assert SECRET not in told and "'fussy'" in told


# --- YAML ---


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("store: a\nstore: b\n", "bridge.yaml:2: the key 'store' stands here a second time."),
        ("server:\n  port: 1\n  port: 1\n", "bridge.yaml:3: the key 'port' stands here a second"),
        ("on: 1\n", "bridge.yaml:1: on: unknown key"),
        ("[a, b]: 1\n", "bridge.yaml:1: a key must be text."),
        ("a: [\n", "this is not valid YAML"),
        (
            "store: memory:\n",
            "Write text that has a colon at its end, or before a space, in quotes",
        ),
        ("a: !!python/object/apply:os.system [ls]\n", "bridge.yaml:1: "),
        ("a: !!python/name:os.system\n", "could not determine a constructor"),
        ("a: \x07\n", "not valid YAML"),
        ("a: 1\n---\nb: 1\n", "not valid YAML"),
        ("a: &x {<<: *x}\n", "nests"),
        ("a: &x [*x]\n", "nests deeper"),
        ("a: " + "[" * 40 + "]" * 40 + "\n", "nests deeper than 30"),
        ("a: " + "[" * 5000 + "\n", "nests too deep"),
        ("a: {<<: 1}\n", "takes a mapping"),
    ],
)
def test_yaml_that_could_surprise_is_refused_with_its_line(
    folder: Path, text: str, said: str
) -> None:
    assert said in refused(folder, text, agents="")


def test_aliases_that_stand_for_too_much_are_refused(folder: Path) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    assert "more than 20000 values" in refused(folder, "\n".join(lines) + "\n", agents="")


def test_merged_keys_that_stand_for_too_much_are_refused(folder: Path) -> None:
    lines = ["a0: &a0 {x: 1, y: 1}"]
    lines += [f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 10)}]}}" for n in range(1, 12)]
    assert "more than 20000 values" in refused(folder, "\n".join(lines) + "\n", agents="")


def test_an_anchor_can_be_shared_and_what_is_written_goes_before_what_is_merged(
    folder: Path,
) -> None:
    agents = """
agents:
  a: &shared {function: 'shop_for_config:orders', description: one, settings: {keep_alive: 1}}
  b: {description: two, <<: *shared}
"""
    bridge = loaded(folder, "", agents=agents).bridge()
    assert [(a.description, a.settings.keep_alive) for a in bridge.agents.values()] == [
        ("one", 1),
        ("two", 1),
    ]


def test_a_file_that_is_too_large_or_no_text_or_not_there_is_refused(folder: Path) -> None:
    path = folder / "bridge.yaml"
    path.write_bytes(b"#" * (LARGEST_FILE + 1))
    with pytest.raises(ConfigurationError, match="larger than"):
        load_config(path)
    path.write_bytes(b"store: \xff\n")
    with pytest.raises(ConfigurationError, match="not UTF-8"):
        load_config(path)
    with pytest.raises(ConfigurationError, match="There is no file"):
        load_config(folder / "other.yaml")
    with pytest.raises(ConfigurationError, match="can't be read"):
        load_config(folder)


# --- its schema ---


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
