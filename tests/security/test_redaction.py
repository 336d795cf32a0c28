import base64
import hashlib
import html
import json
import re
import shlex
import string
import time
import xml.sax.saxutils
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from junto.security.redaction import REDACTED, Redactor, is_secret_name
from junto.security.secret_spellings import list_spellings

SECRET_NAMES = [
    "ANTHROPIC_API_KEY", "api_key", "apiKey", "GITHUB_TOKEN", "githubToken", "PGPASSWORD",
    "DB_PWD", "MYSQL_PWD", "CLIENT_SECRET", "CLIENT_SECRETS", "AWS_SECRET_ACCESS_KEY",
    "SSH_PRIVATE_KEY", "privateKey", "x-api-key", "Authorization-Header", "SESSION_COOKIE",
    "KEY_PASSPHRASE", "SENTRY_DSN", "DOCKER_AUTH", "AZURE_CREDENTIALS", "SMTP_PASS", "SECRET",
    "TOKEN", "PASSWORD", "PASS", "KEY", "AUTH", "DSN", "DBPASS", "OPENAIKEY", "SSHKEY", "MASTERKEY",
    "JWT", "CREDS", "pAsSwOrD", "GH_PAT", "Authorization", "Cookie", "SMTPPASS", "SECRETKEY",
]  # fmt: skip
ORDINARY_NAMES = [
    "PWD", "OLDPWD", "AUTHOR", "GIT_AUTHOR_NAME", "HOME", "PATH", "KEYBOARD", "MONKEY", "LANG",
    "TOKENIZERS_PARALLELISM", "PASSAGE", "COMPASS", "XAUTHORITY", "HOSTNAME", "EDITOR",
    "SSH_AUTH_SOCK", "SECRETS_DIR", "TOKEN_ENDPOINT", "PATTERN", "BYPASS", "COOKIEJAR",
]  # fmt: skip


@pytest.mark.feature("F168")
@pytest.mark.parametrize("name", SECRET_NAMES)
def test_a_secret_name_is_recognised(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize("name", ORDINARY_NAMES)
def test_an_ordinary_name_is_not_a_secret_name(name: str) -> None:
    assert not is_secret_name(name)


def test_a_number_or_a_boolean_is_a_secret_only_if_named_a_password() -> None:
    redactor = Redactor()

    assert not redactor.is_secret("MAX_TOKENS", "4096")
    assert not redactor.is_secret("MAX_TOKENS", "4,096")
    assert not redactor.is_secret("TOKEN_BUDGET", "1.5")
    assert not redactor.is_secret("USE_AUTH", "true")
    assert redactor.is_secret("DB_PASSWORD", "12345678")


KEY_EXAMPLES = [
    "sk-ant-api03-AbCdEfGhIjKlMnOpQrSt",
    "sk-proj-AbCdEfGhIjKlMnOpQrSt",
    "sk-or-v1-0123456789abcdef0123",
    "sk_live_0123456789abcdef",
    "AIzaSyA0123456789abcdefghijklmnopqrstuv",
    "ghp_0123456789abcdefghijABCDEFGHIJ",
    "github_pat_11AAAAAAA0123456789_abcdefghij",
    "glpat-0123456789abcdefghij",
    "xoxb-0123456789-abcdefghij",
    "AKIAIOSFODNN7EXAMPLE",
    "hf_0123456789abcdefghijABCD",
    "npm_0123456789abcdefghijABCDEFGHIJ0123",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\n-----END RSA PRIVATE KEY-----",
]


@pytest.mark.feature("F172", "F177")
@pytest.mark.parametrize("secret", KEY_EXAMPLES)
def test_a_key_is_recognised_by_its_format(secret: str) -> None:
    text = Redactor().redact_text(f"before {secret} after")

    assert text == f"before {REDACTED} after"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Authorization: Bearer abcdef123456", "Authorization: Bearer [redacted]"),
        ("postgresql://me:hunter2@db/x", "postgresql://[redacted]@db/x"),
        ("redis://:hunter2@cache", "redis://[redacted]@cache"),
        ("POSTGRES://me:p@ss@db", "POSTGRES://[redacted]@db"),
        ("https://0123456789abcdef@github.com/x", "https://[redacted]@github.com/x"),
        ("AccountKey=abcdefgh==;x", "AccountKey=[redacted];x"),
        ("Server=x;Pwd=hunter22;", "Server=x;Pwd=[redacted];"),
        ("Authorization: Token abc123def456", "Authorization: Token [redacted]"),
        (
            "https://hooks.slack.com/services/T0/B0/xyz",
            "https://hooks.slack.com/services/[redacted]",
        ),
        (
            "https://discord.com/api/webhooks/123/abc-DEF_456",
            "https://discord.com/api/webhooks/[redacted]",
        ),
        (
            "https://x.blob.core.windows.net/a?sv=1&sig=abcdefgh%2Fijklmnop%3D",
            "https://x.blob.core.windows.net/a?sv=1&sig=[redacted]",
        ),
        ('{"api_key": "abcdefgh"}', '{"api_key": "[redacted]"}'),
        ("password=hunter22&x=1", "password=[redacted]&x=1"),
    ],
)
def test_a_secret_is_recognised_by_its_context(text: str, expected: str) -> None:
    assert Redactor().redact_text(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "https://example.org/a:b@c",
        "see http://localhost:8080/x",
        "a token of thanks",
        "task-1",
        "basic introduction",
        "ssh://git@github.com/x",
    ],
)
def test_ordinary_text_is_not_changed(text: str) -> None:
    assert Redactor().redact_text(text) == text


KNOWN_SECRETS = st.text(st.characters(codec="utf-8"), min_size=6, max_size=60).filter(
    lambda secret: secret.strip() and REDACTED not in secret and secret not in REDACTED
)


# Each returns a secret as a provider, a library, a page or a shell may repeat it.
ENCODERS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "percent": lambda text: quote(text, safe=""),
    "percent in a path": quote,
    "form": quote_plus,
    "percent in small letters": lambda text: re.sub(
        "%[0-9A-F]{2}", lambda match: match[0].lower(), quote(text, safe="")
    ),
    "every byte": lambda text: "".join(f"%{byte:02X}" for byte in text.encode()),
    "twice": lambda text: quote(quote(text, safe=""), safe=""),
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base64 for addresses": lambda text: base64.urlsafe_b64encode(text.encode()).decode(),
    "basic": lambda text: base64.b64encode(f"user:{text}".encode()).decode(),
    "basic without a user": lambda text: base64.b64encode(f":{text}".encode()).decode(),
    "basic with a long user": lambda text: base64.b64encode(f"me@x.org:{text}".encode()).decode(),
    "as a user": lambda text: base64.b64encode(f"{text}:".encode()).decode(),
    "hex": lambda text: text.encode().hex(),
    "hex in capitals": lambda text: text.encode().hex().upper(),
    "python": lambda text: repr(text)[1:-1],
    "ascii": lambda text: ascii(text)[1:-1],
    "json": lambda text: json.dumps(text)[1:-1],
    "json in letters": lambda text: json.dumps(text, ensure_ascii=False)[1:-1],
    "json twice": lambda text: json.dumps(json.dumps(text)[1:-1])[1:-1],
    "orjson": lambda text: orjson.dumps(text).decode()[1:-1],
    "php": lambda text: json.dumps(text)[1:-1].replace("/", "\\/"),
    "html": html.escape,
    "html without quotes": lambda text: html.escape(text, quote=False),
    "markup": lambda text: str(xml.sax.saxutils.escape(text)),
    "numbers": lambda text: "".join(f"&#{ord(char)};" for char in text),
    "yaml": lambda text: text.replace("'", "''"),
    "shell": lambda text: shlex.quote(text).strip("'"),
}


def contains_core(text: str, spelling: str, name: str) -> bool:
    """Return whether what identifies the secret is still there.

    The ends of base64 depend on what stands beside the secret, so they may stay.
    """
    core = spelling.rstrip("=")
    if "bas" in name or name == "as a user":
        core = core[12:-4] if len(core) > 24 else core
    return core in text


@pytest.mark.parametrize("name", ENCODERS)
@given(secret=KNOWN_SECRETS, before=st.text(max_size=20), after=st.text(max_size=20))
def test_a_known_secret_is_redacted_in_every_encoding(
    name: str, secret: str, before: str, after: str
) -> None:
    spelling = ENCODERS[name](secret)

    redacted = Redactor([secret]).redact_text(f"{before} {spelling} {after}")

    assert not contains_core(redacted, spelling, name) or spelling in f"{before} {after}"


@pytest.mark.parametrize("name", ENCODERS)
def test_a_key_is_redacted_in_every_encoding(name: str) -> None:
    key = "k3y/with+\"odd'<chars>&%\\é\n0123456789"

    spelling = ENCODERS[name](key)
    redacted = Redactor([key]).redact_text(f"The key {spelling} is not valid")

    assert REDACTED in redacted
    assert "0123456789" not in redacted
    assert len(redacted) < len("The key  is not valid") + len(REDACTED) + 20


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("GET https://x.org/v1?key=abcdef123", "GET https://x.org/v1?key=[redacted]"),
        ("https://x.org/?a=1&api_key=abcdef&b=2", "https://x.org/?a=1&api_key=[redacted]&b=2"),
        (
            "https://x.org/?a=1&amp;access_token=abcdef",
            "https://x.org/?a=1&amp;access_token=[redacted]",
        ),
        ("postgres://me:pa/ss@host/db", "postgres://[redacted]@host/db"),
        ("http://localhost:8080/@vite/client", "http://localhost:8080/@vite/client"),
        ("https://x.org/?page=abcdef&monkey=abcdef", "https://x.org/?page=abcdef&monkey=abcdef"),
    ],
)
def test_secrets_in_addresses_are_recognised(text: str, expected: str) -> None:
    assert Redactor().redact_text(text) == expected


@given(secret=st.text(string.ascii_letters + string.digits, min_size=8, max_size=40))
def test_a_known_secret_is_redacted_in_nested_fields(secret: str) -> None:
    redactor = Redactor([secret])

    fields = redactor.redact_fields(
        {
            "a": secret,
            "list": [secret, {secret: 1}],
            "deep": {"x": (secret,)},
            "o": ValueError(secret),
        }
    )

    assert secret not in repr(fields)


@pytest.mark.parametrize(
    "hostile",
    [
        "a.",
        "eyJ-",
        "a://",
        "a://b:",
        "bearer ",
        "token = ",
        "sk-",
        "-----BEGIN PRIVATE KEY-----",
        "=",
    ],
)
def test_hostile_text_is_redacted_in_linear_time(hostile: str) -> None:
    # A pattern that backtracks would take minutes for half a megabyte of these.
    Redactor(["a-known-secret"]).redact_text(hostile * (500_000 // len(hostile)))


def test_fields_with_secret_names_are_redacted_at_any_depth() -> None:
    fields = Redactor().redact_fields(
        {"user": "me", "n": 1, "password": "hunter22", "deep": {"db_pwd": "hunter22", "ok": True}}
    )

    assert fields == {
        "user": "me",
        "n": 1,
        "password": REDACTED,
        "deep": {"db_pwd": REDACTED, "ok": True},
    }


def test_short_known_values_are_not_redacted_inside_words() -> None:
    assert Redactor(["a", "key"]).redact_text("a monkey") == "a monkey"


def test_the_working_directory_is_not_a_password() -> None:
    assert Redactor().redact_text("PWD=/home/x/work") == "PWD=/home/x/work"
    assert Redactor().redact_text("pwd=hunter22") == "pwd=[redacted]"


@given(st.lists(st.text("ab\\.*", min_size=6, max_size=9), max_size=8), st.text("ab\\.*x"))
def test_many_secrets_are_found_as_if_each_were_searched_for(secrets: list[str], text: str) -> None:
    text = "x".join([text, *secrets, text])
    spellings = {each for secret in secrets for each in list_spellings(secret)}
    longest_first = sorted(spellings, key=len, reverse=True)
    expected = re.sub("|".join(map(re.escape, longest_first)) or "(?!)", REDACTED, text)

    assert Redactor(secrets).redact_text(text) == Redactor().redact_text(expected)


def test_a_hundred_secrets_take_little_longer_than_one() -> None:
    text = "".join(f"line {number * 7919:x} of some log, with words\n" for number in range(5000))

    def measure(count: int) -> float:
        hashes = (hashlib.sha256(bytes([number])).digest() for number in range(count))
        redactor = Redactor(base64.urlsafe_b64encode(each).decode() for each in hashes)
        times = []
        for _ in range(3):
            start = time.process_time()
            redactor.redact_text(text)
            times.append(time.process_time() - start)
        return min(times)

    assert measure(100) < 40 * measure(1)
