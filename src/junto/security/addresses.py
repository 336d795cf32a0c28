"""Which addresses on the network are public, however they are spelled."""

import ipaddress

_NAT64 = (ipaddress.ip_network("64:ff9b::/96"), ipaddress.ip_network("64:ff9b:1::/48"))
_SHARED = ipaddress.ip_network("100.64.0.0/10")

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def is_public(address: str) -> bool:
    """Return whether an address is anybody's to reach: not ours, not our neighbours', no trick."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    return all(_plain(each) for each in _meant(found))


def _meant(address: Address) -> list[Address]:
    """Return an address and those that are hidden inside it."""
    if isinstance(address, ipaddress.IPv4Address):
        return [address]
    hidden: list[Address | None] = [address.ipv4_mapped, address.sixtofour]
    hidden += list(address.teredo or ())
    if any(address in network for network in _NAT64) or int(address) >> 32 == 0:
        hidden.append(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
    return [address, *(each for each in hidden if each is not None)]


def _plain(address: Address) -> bool:
    if address.version == 4 and address in _SHARED:  # noqa: PLR2004 - the protocol's own number
        return False
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        return True  # judged by what is inside
    nat64 = any(address in network for network in _NAT64 if network.version == address.version)
    return (address.is_global or nat64) and not (address.is_multicast or address.is_reserved)
