"""The tools of the group kit: the clock and the environment."""

from pydantic import Field
from typing_extensions import override

from junto.kit.clock import now_in
from junto.kit.environment import Environment
from junto.tools.tool import HARMLESS, Arguments, Call, Group, Result, Tool


class CurrentTimeArguments(Arguments):
    """Arguments of `current_time`."""

    timezone: str | None = Field(None, description="As Asia/Taipei")


class CurrentTime(Result):
    """Result of `current_time`."""

    iso8601: str
    timestamp: int
    timezone: str

    @override
    def text(self) -> str:
        """Return the time first."""
        return f"{self.iso8601} ({self.timezone}, timestamp {self.timestamp})"


def current_time(default_zone: str) -> Tool[CurrentTimeArguments]:
    """Return the tool that tells the time, in `default_zone` unless asked otherwise."""

    async def run(arguments: CurrentTimeArguments, _call: Call) -> CurrentTime:
        zone = arguments.timezone or default_zone
        moment = now_in(zone)
        return CurrentTime(
            iso8601=moment.isoformat(), timestamp=int(moment.timestamp()), timezone=zone
        )

    return Tool(
        name="current_time",
        title="Current time",
        description=f"The date and time now. Default timezone: {default_zone}.",
        group=Group.KIT,
        arguments=CurrentTimeArguments,
        result=CurrentTime,
        run=run,
        hints=HARMLESS,
    )


class GetEnvArguments(Arguments):
    """Arguments of `get_env`."""

    key: str = Field(min_length=1, max_length=1000)


class EnvironmentValue(Result):
    """Result of `get_env`."""

    key: str
    is_set: bool
    value: str | None = None

    @override
    def text(self) -> str:
        """Return the value, or why there is none."""
        if not self.is_set:
            return f"{self.key} is not set."
        if self.value is None:
            return f"{self.key} is set. It looks like a secret, so its value is not shown."
        return f"{self.key}={self.value}"


def get_env(environment: Environment) -> Tool[GetEnvArguments]:
    """Return the tool that reads one variable of `environment`."""

    async def run(arguments: GetEnvArguments, _call: Call) -> EnvironmentValue:
        variable = environment.get(arguments.key)
        return EnvironmentValue(key=variable.key, is_set=variable.is_set, value=variable.value)

    return Tool(
        name="get_env",
        title="Environment variable",
        description="An environment variable of the server; of a secret, only whether it is set.",
        group=Group.KIT,
        arguments=GetEnvArguments,
        result=EnvironmentValue,
        run=run,
        hints=HARMLESS,
    )
