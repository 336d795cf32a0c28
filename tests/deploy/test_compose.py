"""The services that belong together, as two linters and their schema see them."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from junto.settings import Settings
from tests.deploy.recipe import ROOT, VARIABLES
from tests.providers.strangers import NODE

COMPOSE_LINT = Path(sys.executable).parent / "compose-lint"
DCLINT = NODE / "dclint"
# Tags get repairs that a digest would keep out; how many cores there are is not ours to say.
LEFT_TO_THE_OPERATOR = {"CL-0019", "CL-0026"}


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    composed: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())
    return composed


def test_a_linter_finds_it_safe() -> None:
    command = [str(COMPOSE_LINT), "check", "--format", "json", "compose.yaml"]

    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout + done.stderr
    findings = json.loads(done.stdout)["findings"]
    assert {each["rule_id"] for each in findings} <= LEFT_TO_THE_OPERATOR


@pytest.mark.skipif(not DCLINT.exists(), reason="npm has not been there")
def test_it_follows_the_schema() -> None:
    # The rule that is left out does not understand that a variable has a default.
    words = ("compose.yaml", "--quiet", "--disable-rule", "no-unbound-port-interfaces")

    done = subprocess.run(
        [str(DCLINT), *words], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stdout + done.stderr


def test_its_variables_are_settings(compose: dict[str, Any]) -> None:
    of_libpq = {"PGPASSWORD"}

    assert set(compose["services"]["junto"]["environment"]) <= VARIABLES | of_libpq


def test_what_it_asks_of_the_operator_is_in_the_example(compose: dict[str, Any]) -> None:
    told = set(re.findall(r"(?m)^#?([A-Z_]+)=", (ROOT / "deploy" / "env.example").read_text()))
    asked = set(re.findall(r"\$\{([A-Z_]+)", json.dumps(compose)))
    passed_on = compose["services"]["junto"]["environment"]
    asked |= {name for name, value in passed_on.items() if value is None}

    assert told == asked


def test_no_secret_stands_in_it(compose: dict[str, Any]) -> None:
    secrets = re.compile(r"PASSWORD|TOKEN|KEY")
    found = {
        name: value
        for service in compose["services"].values()
        for name, value in service.get("environment", {}).items()
        if secrets.search(name)
    }

    assert {"ACCESS_TOKEN", "PGPASSWORD", "POSTGRES_PASSWORD"} <= set(found)
    # Passed on, or taken from the operator and missed if it is not there: never empty.
    assert all(value is None or re.fullmatch(r"\$\{\w+:\?.+\}", value) for value in found.values())
    # Compose copies these into the container, which cannot be where nothing can be written.
    assert "secrets" not in compose


def test_nothing_is_reached_past_the_proxy(compose: dict[str, Any]) -> None:
    services = compose["services"]

    assert services["proxy"]["network_mode"] == "service:junto"
    assert [name for name, service in services.items() if "ports" in service] == ["junto"]
    assert services["postgres"]["networks"] == services["redis"]["networks"] == ["inside"]
    assert compose["networks"]["inside"] == {"internal": True}
    targets = {port.rpartition(":")[2] for port in services["junto"]["ports"]}
    assert targets == set(re.findall(r":(\d+)\}", _ports_of_the_proxy()))
    # Junto's own port is none of them, and it listens on loopback anyway.
    assert str(Settings().http.port) not in targets


def _ports_of_the_proxy() -> str:
    lines = (ROOT / "deploy" / "Caddyfile").read_text().splitlines()
    return "\n".join(line for line in lines if "_port " in line)


def test_it_waits_for_calls_that_end(compose: dict[str, Any]) -> None:
    grace = int(compose["services"]["junto"]["stop_grace_period"].removesuffix("s"))

    assert grace > Settings().http.drain + Settings().jobs.drain
