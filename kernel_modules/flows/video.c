// SPDX-License-Identifier: GPL-2.0
/*
 * A video that is watched over TCP: segment by segment, each at one of several
 * bitrates, as in DASH.
 *
 * The player, at the receiver, asks for a segment with a packet of its own; the
 * server, at the sender, answers with all its bytes. Playing goes on meanwhile.
 * With room for another segment in its buffer the player asks at once, so that
 * the flow takes what the network has; with none it waits until it has played
 * one, and the flow is silent. It picks the highest bitrate within 90 % of the
 * mean of what the last three segments came at, or else the lowest.
 */
#include <linux/math64.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "compat.h"
#include "flows.h"

/* A request for a segment, as long as an ordinary HTTP request. */
#define REQUEST_BYTES	400
#define SAFE_PERCENT	90

/* The highest bitrate that is safe at what segments have come at, in kbit/s. */
static u32 bitrate_kbps(const struct flow *flow)
{
	const struct ccbench_flow_spec *spec = flow->spec;
	const struct video *video = &flow->video;
	u32 known = min_t(u32, video->segments, ARRAY_SIZE(video->rate_bps));
	u32 chosen = spec->ladder_kbps[0];
	u64 sum = 0;
	u32 i;

	for (i = 0; i < known; i++)
		sum += video->rate_bps[i];
	for (i = 1; i < CCBENCH_LADDER_MAX && spec->ladder_kbps[i]; i++)
		if (known * spec->ladder_kbps[i] * 1000ULL * 100 <= sum * SAFE_PERCENT)
			chosen = spec->ladder_kbps[i];
	return chosen;
}

/* The player asks for a segment. May sleep. */
static void ask(struct flow *flow)
{
	const struct ccbench_flow_spec *spec = flow->spec;
	struct video *video = &flow->video;

	video->segment_bytes = max_t(u64, 1, mul_u64_u32_div(spec->segment_ns, bitrate_kbps(flow),
							     8 * USEC_PER_SEC));
	video->asked_bytes += video->segment_bytes;
	video->asked_ns = ccbench_now_ns();
	if (ccbench_send_zeroes(flow->rx, zeroes, REQUEST_BYTES) != REQUEST_BYTES)
		flow_fail(flow, -ENOBUFS);
}

/* Due again: work of the player. */
void video_rx_work(struct flow *flow)
{
	if (!flow->video.is_due)
		return;
	flow->video.is_due = false;
	ask(flow);
}

void video_due(struct flow *flow)
{
	flow->video.is_due = true;
	queue_work(flow_queue, &flow->rx_work);
}

/* The player has read something; its socket is locked. */
void video_delivered(struct flow *flow)
{
	const struct ccbench_flow_spec *spec = flow->spec;
	struct video *video = &flow->video;
	u64 now, took_ns, room_ns;

	if (flow->delivered_bytes != video->asked_bytes)
		return;
	now = ccbench_now_ns();
	took_ns = max_t(u64, 1, now - video->asked_ns);
	video->rate_bps[video->segments++ % ARRAY_SIZE(video->rate_bps)] =
		mul_u64_u64_div_u64(8 * video->segment_bytes, NSEC_PER_SEC, took_ns);
	video->played_out_ns = max(video->played_out_ns, now) + spec->segment_ns;
	/* When it has played so much that another segment fits. */
	room_ns = video->played_out_ns + spec->segment_ns;
	room_ns -= min(room_ns, spec->buffer_ns);
	if (room_ns <= now)
		video_due(flow);
	else
		flow_timer_start(flow, room_ns);
}

static int discard(read_descriptor_t *desc, struct sk_buff *skb,
		   unsigned int offset, size_t bytes)
{
	return bytes;
}

/* The server reads a request. */
void video_asked(struct sock *sk)
{
	struct flow *flow = sk->sk_user_data;
	read_descriptor_t desc = { .count = 1 };
	int bytes;

	if (!flow)
		return;
	bytes = tcp_read_sock(sk, &desc, discard);
	if (bytes <= 0)
		return;
	flow->video.request_bytes += bytes;
	if (flow->video.request_bytes < REQUEST_BYTES)
		return;
	flow->video.request_bytes -= REQUEST_BYTES;
	flow->produced += flow->video.segment_bytes;
	queue_work(flow_queue, &flow->work);
}
