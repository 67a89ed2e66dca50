// SPDX-License-Identifier: GPL-2.0
/*
 * Captures of the headers of all packets, as blocks of a pcapng file.
 *
 * Hosts leave the checksums of transport headers to their device, which is the path. The capture
 * has the checksums that a network card would have sent; packets keep theirs.
 */
#include <linux/bitmap.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sizes.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <net/checksum.h>

#include "link.h"

#define LOG_BUFFER_BYTES	SZ_1M
#define FIRSTS_BUFFER_BYTES	SZ_16K

static bool capture;
module_param(capture, bool, 0);
MODULE_PARM_DESC(capture, "capture the headers of all packets");

struct ccbench_log *capture_log;
static struct ccbench_log *firsts_log;
static unsigned long *seen;		/* flows with a captured packet, for each point */
static u32 flows;
static u64 position;			/* of the next block */

/* Returns the length of the transport header at an offset in a packet. */
static u32 transport_bytes(const struct sk_buff *skb, u32 offset, u8 protocol)
{
	struct tcphdr buffer;
	const struct tcphdr *tcp;

	if (protocol != IPPROTO_TCP)
		return sizeof(struct udphdr);
	tcp = skb_header_pointer(skb, offset, sizeof(buffer), &buffer);
	return tcp ? tcp->doff * 4 : sizeof(buffer);
}

/* Returns the length of the IP and transport headers of a packet. */
static u32 headers_bytes(const struct sk_buff *skb)
{
	struct iphdr ipv4_buffer;
	struct ipv6hdr ipv6_buffer;
	const struct iphdr *ipv4;
	const struct ipv6hdr *ipv6;
	u32 bytes = CCBENCH_CAPTURE_MAX;

	ipv4 = skb_header_pointer(skb, 0, sizeof(ipv4_buffer), &ipv4_buffer);
	ipv6 = skb_header_pointer(skb, 0, sizeof(ipv6_buffer), &ipv6_buffer);
	if (ipv4 && ipv4->version == 4)
		bytes = ipv4->ihl * 4 + transport_bytes(skb, ipv4->ihl * 4, ipv4->protocol);
	else if (ipv6)
		bytes = sizeof(*ipv6) + transport_bytes(skb, sizeof(*ipv6), ipv6->nexthdr);
	return min3(bytes, skb->len, (u32)CCBENCH_CAPTURE_MAX);
}

/* Completes a checksum that the host has left to its device. */
static void complete_checksum(const struct sk_buff *skb, u8 *headers, u32 bytes)
{
	const u32 start = skb_checksum_start_offset(skb);
	const u32 at = start + skb->csum_offset;
	__sum16 sum;

	if (at + sizeof(sum) > bytes)
		return;
	sum = csum_fold(skb_checksum(skb, start, skb->len - start, 0)) ?: CSUM_MANGLED_0;
	memcpy(headers + at, &sum, sizeof(sum));
}

/* Records where the first packet of a flow at a point is. */
static void note_first(u32 point, u32 flow)
{
	struct ccbench_first_record *r;

	if (__test_and_set_bit((size_t)point * flows + flow, seen))
		return;
	r = ccbench_log_append(firsts_log, sizeof(*r));
	*r = (struct ccbench_first_record) { .position = position, .flow = flow };
}

void capture_packet(u32 point, const struct sk_buff *skb)
{
	const u32 bytes = headers_bytes(skb);
	const u32 padded = ALIGN(bytes, sizeof(u32));
	const u64 now_ns = ccbench_now_ns();
	struct ccbench_capture_block *block;
	const u32 block_bytes = sizeof(*block) + padded + sizeof(u32);

	if (ccbench_has_flow(skb->mark))
		note_first(point, ccbench_flow(skb->mark));
	block = ccbench_log_append(capture_log, block_bytes);
	*block = (struct ccbench_capture_block) {
		.type = CCBENCH_CAPTURE_BLOCK,
		.block_bytes = block_bytes,
		.point = point,
		.time_high = upper_32_bits(now_ns),
		.time_low = lower_32_bits(now_ns),
		.captured_bytes = bytes,
		.packet_bytes = skb->len,
	};
	memset(block->headers + bytes, 0, padded - bytes);
	skb_copy_bits(skb, 0, block->headers, bytes);
	if (skb->ip_summed == CHECKSUM_PARTIAL)
		complete_checksum(skb, block->headers, bytes);
	memcpy(block->headers + padded, &block_bytes, sizeof(block_bytes));
	position += block_bytes;
}

int capture_create(const struct ccbench_link_header *header)
{
	const size_t points = CAPTURE_BEFORE(header->bottlenecks);

	if (!capture)
		return 0;
	flows = header->flows;
	seen = kvcalloc(BITS_TO_LONGS(points * flows), sizeof(*seen), GFP_KERNEL);
	if (!seen)
		return -ENOMEM;
	firsts_log = ccbench_log_open("capture_firsts.bin", FIRSTS_BUFFER_BYTES);
	capture_log = ccbench_log_open("capture.bin", LOG_BUFFER_BYTES);
	return PTR_ERR_OR_ZERO(firsts_log) ?: PTR_ERR_OR_ZERO(capture_log);
}
