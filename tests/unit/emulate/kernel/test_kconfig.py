# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from ccbench.emulate.kernel.source import home, kconfig


class TestKconfig:
    def test_in_effect(self) -> None:
        """An option is in effect if it has its value, or is off and absent."""
        fragment = 'CONFIG_NET=y\nCONFIG_IPV6=n\nCONFIG_BLOCK=n\nCONFIG_NAME=""\n'
        config = 'CONFIG_NET=y\n# CONFIG_IPV6 is not set\nCONFIG_NAME=""\nCONFIG_MORE=y\n'
        assert [] == kconfig.not_in_effect(fragment, config)

    def test_not_in_effect(self) -> None:
        """Options with another value, switched off or unknown are named; comments are not."""
        fragment = "# CONFIG_X=y\nCONFIG_HZ=1000\nCONFIG_NET=y\nCONFIG_WIRELESS=n\nCONFIG_NEW=y\n"
        config = "CONFIG_HZ=100\n# CONFIG_NET is not set\nCONFIG_WIRELESS=y\n"
        assert kconfig.not_in_effect(fragment, config) == [
            "CONFIG_HZ",
            "CONFIG_NET",
            "CONFIG_WIRELESS",
            "CONFIG_NEW",
        ]

    def test_optional(self) -> None:
        """An optional option may be unknown, but may not have another value."""
        name = min(kconfig.OPTIONAL)
        assert [] == kconfig.not_in_effect(f"{name}=y\n", "")
        assert [name] == kconfig.not_in_effect(f"{name}=y\n", f"# {name} is not set\n")

    def test_fragment(self) -> None:
        """The real fragment names no option twice, and every optional one."""
        fragment = (home.sources_dir() / "um.config").read_text()
        options = [line for line in fragment.splitlines() if line.startswith("CONFIG_")]
        parsed = kconfig.parse_config(fragment)
        assert len(parsed) == len(options)
        assert parsed.keys() >= kconfig.OPTIONAL
