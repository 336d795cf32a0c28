"""Which addresses on the network are public, however they are spelled."""

import ipaddress

# Shared by providers, those at which clouds tell machines their secrets, and those that hide
# another address inside, which nobody needs to write.
_REFUSED = tuple(
    ipaddress.ip_network(network)
    for network in (
        "100.64.0.0/10",
        "168.63.129.16/32",
        "192.0.0.0/24",
        "192.88.99.0/24",
        "64:ff9b::/96",
        "64:ff9b:1::/48",
        "::ffff:0:0/96",
        "::/96",
        "2001::/32",
        "2002::/16",
    )
)


def is_public(address: str) -> bool:
    """Return whether an address is anybody's to reach: not ours, not our neighbours', no trick."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if any(found in network for network in _REFUSED if network.version == found.version):
        return False
    return found.is_global and not (found.is_multicast or found.is_reserved)
