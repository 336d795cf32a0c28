"""compose.yaml: two linters, its variables and secrets, and its networks."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from junto.settings import Settings
from tests.deploy.dockerfile import ROOT, SETTINGS_VARIABLES
from tests.providers.compat_servers import NODE

COMPOSE_LINT = Path(sys.executable).parent / "compose-lint"
DCLINT = NODE / "dclint"
# No digests, since tags get security fixes; no CPU limits, which the operator has to choose.
IGNORED_RULES = {"CL-0019", "CL-0026"}


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())
    return document


def test_compose_lint_accepts_it() -> None:
    command = [str(COMPOSE_LINT), "check", "--format", "json", "compose.yaml"]

    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout + done.stderr
    findings = json.loads(done.stdout)["findings"]
    assert {each["rule_id"] for each in findings} <= IGNORED_RULES


@pytest.mark.skipif(not DCLINT.exists(), reason="npm has not been there")
def test_dclint_accepts_it() -> None:
    # The disabled rule does not understand variables with a default.
    words = ("compose.yaml", "--quiet", "--disable-rule", "no-unbound-port-interfaces")

    done = subprocess.run(
        [str(DCLINT), *words], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stdout + done.stderr


def test_its_variables_are_settings(compose: dict[str, Any]) -> None:
    libpq_variables = {"PGPASSWORD"}

    assert set(compose["services"]["junto"]["environment"]) <= SETTINGS_VARIABLES | libpq_variables


def test_the_example_lists_every_variable_for_the_operator(compose: dict[str, Any]) -> None:
    listed = set(re.findall(r"(?m)^#?([A-Z_]+)=", (ROOT / "deploy" / "env.example").read_text()))
    used = set(re.findall(r"\$\{([A-Z_]+)", json.dumps(compose)))
    passed_on = compose["services"]["junto"]["environment"]
    used |= {name for name, value in passed_on.items() if value is None}

    assert listed == used


def test_it_contains_no_secret(compose: dict[str, Any]) -> None:
    secrets = re.compile(r"PASSWORD|TOKEN|KEY")
    found = {
        name: value
        for service in compose["services"].values()
        for name, value in service.get("environment", {}).items()
        if secrets.search(name)
    }

    assert {"ACCESS_TOKEN", "PGPASSWORD", "POSTGRES_PASSWORD"} <= set(found)
    # Passed through from the environment, or an error if it is unset or empty.
    assert all(value is None or re.fullmatch(r"\$\{\w+:\?.+\}", value) for value in found.values())
    # Compose copies secrets into the container, which fails on a read-only file system.
    assert "secrets" not in compose


def test_services_are_reachable_only_through_the_proxy(compose: dict[str, Any]) -> None:
    services = compose["services"]

    assert services["proxy"]["network_mode"] == "service:junto"
    assert [name for name, service in services.items() if "ports" in service] == ["junto"]
    assert services["postgres"]["networks"] == services["redis"]["networks"] == ["inside"]
    assert compose["networks"]["inside"] == {"internal": True}
    targets = {port.rpartition(":")[2] for port in services["junto"]["ports"]}
    assert targets == set(re.findall(r":(\d+)\}", _read_proxy_ports()))
    # Junto's own port is not published, and it listens on loopback anyway.
    assert str(Settings().http.port) not in targets


def _read_proxy_ports() -> str:
    lines = (ROOT / "deploy" / "Caddyfile").read_text().splitlines()
    return "\n".join(line for line in lines if "_port " in line)


def test_the_grace_period_is_longer_than_draining(compose: dict[str, Any]) -> None:
    grace = int(compose["services"]["junto"]["stop_grace_period"].removesuffix("s"))

    assert grace > Settings().http.drain + Settings().jobs.drain
