"""IP address ranges that are not part of the public internet.

From the IANA registries of special-purpose addresses (IPv4 and IPv6, as of 2025-10-09), multicast,
deprecated ranges, and addresses that clouds use for their own metadata. Ranges that embed IPv4
addresses are listed even if they are globally reachable: what they lead to cannot be checked.
"""

import ipaddress

# Everything else in IPv6 is reserved, local, or not assigned yet.
GLOBAL_UNICAST_V6 = ipaddress.IPv6Network("2000::/3")

SPECIAL_V4 = tuple(
    map(
        ipaddress.IPv4Network,
        (
            "0.0.0.0/8",  # this network
            "10.0.0.0/8",  # private
            "100.64.0.0/10",  # shared, carrier-grade NAT
            "127.0.0.0/8",  # loopback
            "168.63.129.16/32",  # Azure's host
            "169.254.0.0/16",  # link-local, metadata
            "172.16.0.0/12",  # private
            "192.0.0.0/24",  # protocol assignments
            "192.0.2.0/24",  # documentation
            "192.31.196.0/24",  # AS112
            "192.52.193.0/24",  # multicast tunnelling
            "192.88.99.0/24",  # 6to4 relays, deprecated
            "192.168.0.0/16",  # private
            "192.175.48.0/24",  # AS112
            "198.18.0.0/15",  # benchmarks
            "198.51.100.0/24",  # documentation
            "203.0.113.0/24",  # documentation
            "224.0.0.0/4",  # multicast
            "240.0.0.0/4",  # reserved, broadcast
        ),
    )
)
# Only those within GLOBAL_UNICAST_V6.
SPECIAL_V6 = tuple(
    map(
        ipaddress.IPv6Network,
        (
            "2001::/23",  # protocol assignments, Teredo, benchmarks, ORCHID
            "2001:db8::/32",  # documentation
            "2002::/16",  # 6to4
            "2620:4f:8000::/48",  # AS112
            "3fff::/20",  # documentation
        ),
    )
)
