"""How a failed call becomes a result."""

from junto.domain.errors import ExecutionError
from junto.security.redaction import REDACTED, Redactor
from junto.tools.errors import build_error_result


def test_no_secret_is_in_the_message_or_the_details_of_an_error() -> None:
    details = {"stdout": "key is s3cret-value", "toolCalls": [{"arguments": {"k": "s3cret-value"}}]}
    error = ExecutionError("s3cret-value failed", details=details)

    result = build_error_result(error, Redactor(["s3cret-value"]))

    assert "s3cret-value" not in repr(result)
    assert result["structuredContent"]["stdout"] == f"key is {REDACTED}"
