// SPDX-License-Identifier: GPL-2.0
/*
 * What tun needs for the multicast filter of Ethernet devices, which packetdrill does not use.
 *
 * The kernel's own declarations are not included: they differ between releases.
 */
#include <linux/module.h>

u32 crc32_le(u32 crc, const void *data, size_t bytes);
u32 crc32_le(u32 crc, const void *data, size_t bytes)
{
	WARN_ON(1);
	return 0;
}
EXPORT_SYMBOL_GPL(crc32_le);

extern const u8 byte_rev_table[256];
const u8 byte_rev_table[256];
EXPORT_SYMBOL_GPL(byte_rev_table);

MODULE_DESCRIPTION("Symbols that tun refers to");
MODULE_LICENSE("GPL");
