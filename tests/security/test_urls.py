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


# The IANA registries of special-purpose addresses, as of 2025-10-09: each block, and whether it is
# globally reachable. We refuse some that are, since nothing that serves pages is there.
REGISTRY_V4 = """
0.0.0.0/8 no, 0.0.0.0/32 no, 10.0.0.0/8 no, 100.64.0.0/10 no, 127.0.0.0/8 no, 169.254.0.0/16 no,
172.16.0.0/12 no, 192.0.0.0/24 no, 192.0.0.0/29 no, 192.0.0.8/32 no, 192.0.0.9/32 yes,
192.0.0.10/32 yes, 192.0.0.170/32 no, 192.0.0.171/32 no, 192.0.2.0/24 no, 192.31.196.0/24 yes,
192.52.193.0/24 yes, 192.88.99.0/24 n/a, 192.88.99.2/32 no, 192.168.0.0/16 no, 192.175.48.0/24 yes,
198.18.0.0/15 no, 198.51.100.0/24 no, 203.0.113.0/24 no, 240.0.0.0/4 no, 255.255.255.255/32 no
"""
REGISTRY_V6 = """
::1/128 no, ::/128 no, ::ffff:0:0/96 no, 64:ff9b::/96 yes, 64:ff9b:1::/48 no, 100::/64 no,
100:0:0:1::/64 no, 2001::/23 no, 2001::/32 n/a, 2001:1::1/128 yes, 2001:1::2/128 yes,
2001:1::3/128 yes, 2001:2::/48 no, 2001:3::/32 yes, 2001:4:112::/48 yes, 2001:10::/28 n/a,
2001:20::/28 yes, 2001:30::/28 yes, 2001:db8::/32 no, 2002::/16 n/a, 2620:4f:8000::/48 yes,
3fff::/20 no, 5f00::/16 no, fc00::/7 no, fe80::/10 no
"""
REGISTERED = [
    entry.split()[0] for registry in (REGISTRY_V4, REGISTRY_V6) for entry in registry.split(",")
]
UNREGISTERED = ["224.0.0.0/4", "fec0::/10", "ff00::/8", "4000::/3", "::/96", "8000::/1"]


@pytest.mark.parametrize("block", [*REGISTERED, *UNREGISTERED])
@given(data=st.data())
def test_no_address_of_a_special_block_is_public(block: str, data: st.DataObject) -> None:
    network = ipaddress.ip_network(block)
    offset = data.draw(st.integers(0, network.num_addresses - 1))

    for address in (network[0], network[-1], network[offset]):
        assert not is_public_address(str(address))


@given(st.ip_addresses())
def test_what_python_takes_for_private_is_not_public(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address,
) -> None:
    if is_public_address(str(address)):
        assert address.is_global


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
