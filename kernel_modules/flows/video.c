// SPDX-License-Identifier: GPL-2.0
/*
 * A video stream over TCP in segments, each at one of several bitrates, as in DASH.
 *
 * The player, at the receiver, requests a segment with one packet; the server, at the sender,
 * responds with all its bytes. Playback continues meanwhile. With room for another segment in
 * its buffer the player requests it immediately, so that the flow uses the available
 * bandwidth; without room it waits until it has played a segment, and the flow is idle. The
 * player selects the highest bitrate within 90 % of the mean throughput of the last three
 * segments, or else the lowest bitrate.
 */
#include <linux/math64.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "compat.h"
#include "flows.h"

/* Size of a request, as of a typical HTTP request. */
#define REQUEST_BYTES	400
#define SAFE_PERCENT	90

static struct ccbench_log *log;

static bool is_impossible(const struct ccbench_flow_spec *spec)
{
	return !spec->segment_ns || !spec->ladder_kbps[0];
}

static int init(void)
{
	if (log)
		return 0;
	log = ccbench_log_open("segments.bin", PAGE_SIZE);
	return PTR_ERR_OR_ZERO(log);
}

/* Highest bitrate within the throughput of the last segments, in kbit/s. */
static u32 bitrate_kbps(const struct flow *flow)
{
	const struct ccbench_flow_spec *spec = flow->spec;
	const struct video *video = &flow->video;
	u32 measured = min_t(u32, video->segments, ARRAY_SIZE(video->rate_bps));
	u32 chosen = spec->ladder_kbps[0];
	u64 sum = 0;
	u32 i;

	for (i = 0; i < measured; i++)
		sum += video->rate_bps[i];
	for (i = 1; i < CCBENCH_LADDER_MAX && spec->ladder_kbps[i]; i++)
		if (max(measured, 1U) * spec->ladder_kbps[i] * 1000ULL * 100 <= sum * SAFE_PERCENT)
			chosen = spec->ladder_kbps[i];
	return chosen;
}

/* Requests a segment. May sleep. */
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

/* Work of the player. */
static void rx_work(struct flow *flow)
{
	if (!flow->video.is_due)
		return;
	flow->video.is_due = false;
	ask(flow);
}

static void request_due(struct flow *flow)
{
	flow->video.is_due = true;
	queue_work(flow_queue, &flow->rx_work);
}

static u64 tick(struct flow *flow)
{
	request_due(flow);
	return NO_TICK;
}

/* The server has nothing to send before the first request. */
static void produce(struct flow *flow)
{
}

/* Called when the player has read, with its socket locked. */
static void delivered(struct flow *flow)
{
	const struct ccbench_flow_spec *spec = flow->spec;
	struct video *video = &flow->video;
	struct ccbench_segment_record *r;
	u64 now, took_ns, room_ns;

	if (flow->delivered_bytes != video->asked_bytes)
		return;
	now = ccbench_now_ns();
	r = ccbench_log_append(log, sizeof(*r));
	*r = (struct ccbench_segment_record) {
		.start_ns = video->asked_ns,
		.end_ns = now,
		.bytes = video->segment_bytes,
		.flow = flow->id,
	};
	took_ns = max_t(u64, 1, now - video->asked_ns);
	video->rate_bps[video->segments++ % ARRAY_SIZE(video->rate_bps)] =
		mul_u64_u64_div_u64(8 * video->segment_bytes, NSEC_PER_SEC, took_ns);
	video->played_out_ns = max(video->played_out_ns, now) + spec->segment_ns;
	/* Time at which the buffer has room for another segment. */
	room_ns = video->played_out_ns + spec->segment_ns;
	room_ns -= min(room_ns, spec->buffer_ns);
	if (room_ns <= now)
		request_due(flow);
	else
		flow_timer_start(flow, room_ns);
}

static int discard(read_descriptor_t *desc, struct sk_buff *skb,
		   unsigned int offset, size_t bytes)
{
	return bytes;
}

/* Reads a request at the server. */
static void asked(struct sock *sk)
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

const struct flow_ops video_ops = {
	.is_impossible = is_impossible,
	.init = init,
	.listen = tcp_listen_for,
	.work = tcp_work,
	.produce = produce,
	.tick = tick,
	.accepted = request_due,
	.asked = asked,
	.rx_work = rx_work,
	.delivered = delivered,
};
