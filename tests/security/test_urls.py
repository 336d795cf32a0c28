"""Only public addresses are fetched, however they are spelled."""

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from junto.domain.errors import JuntoError, SecurityError
from junto.local_tools.web import fetch
from junto.security.urls import is_public_address

PRIVATE_ADDRESSES = """
127.0.0.1 127.1.2.3 0.0.0.0 10.1.2.3 172.16.0.1 192.168.1.1 169.254.169.254 100.64.0.1
100.127.255.255 224.0.0.1 240.0.0.1 255.255.255.255 192.0.2.1 198.18.0.1 ::1 :: fe80::1 fe80::1%eth0
fc00::1 ff02::1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:1.1.1.1 ::127.0.0.1 64:ff9b::127.0.0.1
64:ff9b::a9fe:a9fe 2002:7f00:1:: 2001:db8::1 2001:0:1::1 nonsense
"""


@pytest.mark.parametrize("address", PRIVATE_ADDRESSES.split())
def test_a_private_address_is_not_public(address: str) -> None:
    assert not is_public_address(address)


@pytest.mark.parametrize("address", ["1.1.1.1", "8.8.8.8", "2606:4700::1111"])
def test_a_public_address_is_public(address: str) -> None:
    assert is_public_address(address)


@given(st.ip_addresses(v=4), st.sampled_from(["::ffff:{}", "::{}", "64:ff9b::{}"]))
def test_an_ipv4_address_embedded_in_ipv6_is_not_public(
    address: ipaddress.IPv4Address, form: str
) -> None:
    assert not is_public_address(form.format(address))


@pytest.mark.feature("F167")
@pytest.mark.parametrize(
    "url",
    [
        "https://127.0.0.1/", "https://127.1/", "https://0x7f000001/", "https://0177.0.0.1/",
        "https://2130706433/", "https://[::1]/", "https://[::ffff:127.0.0.1]/", "https://localhost/",
        "https://localhost./", "https://169.254.169.254/latest", "https://user:pass@example.org/",
        "ftp://example.org/", "file:///etc/passwd", "https://", "https://[::1", "gopher://x",
        "https://0/", "http://[fe80::1%25lo]/", "http://127\u30020\u30020\u30021/",
        "http://127\uff0e0\uff0e0\uff0e1/", "http://\u2460\u2461\u2466.0.0.1/",
    ],
)  # fmt: skip
async def test_a_url_that_is_not_public_is_not_fetched(url: str) -> None:
    with pytest.raises(JuntoError) as refused:
        await fetch(url, 1000)

    assert isinstance(refused.value, SecurityError) or "could not be reached" in str(refused.value)
