// SPDX-License-Identifier: GPL-2.0
/* Samples of the state of every flow, at multiples of the sampling interval. */
#include <linux/inet_diag.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "compat.h"
#include "flows.h"

#define BUFFER_BYTES	(256 * 1024)

static struct ccbench_log *log;
static struct hrtimer timer;
static u64 interval_ns;
static LIST_HEAD(sampled);

/* A patch of Linux may make the structures of its congestion controls longer than a record's. */
static void sample_cca(struct ccbench_flow_record *r, const struct sock *sk)
{
	const struct tcp_congestion_ops *ops = inet_csk(sk)->icsk_ca_ops;
	union tcp_cc_info info;
	int attribute = 0;

	if (!ops->get_info)
		return;
	memset(&info, 0, sizeof(info));
	if (!ops->get_info((struct sock *)sk, U32_MAX, &attribute, &info))
		return;
	memcpy(r->cca_info, &info, min(sizeof(info), sizeof(r->cca_info)));
	r->cca_attribute = attribute;
}

static void sample_tcp(struct ccbench_flow_record *r, const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	unsigned long pacing_rate = READ_ONCE(sk->sk_pacing_rate);

	/* 0 represents the socket's "no limit". */
	r->pacing_rate_bps = pacing_rate == ~0UL ? 0 : pacing_rate * BITS_PER_BYTE;
	r->cwnd_packets = tcp_snd_cwnd(tp);
	r->ssthresh_packets = tp->snd_ssthresh;
	r->inflight_packets = tcp_packets_in_flight(tp);
	r->srtt_us = tp->srtt_us >> 3;
	r->min_rtt_us = tcp_min_rtt(tp);
	r->retransmits = tp->total_retrans;
	r->lost = tp->lost_out;
	r->state = inet_csk(sk)->icsk_ca_state;
	sample_cca(r, sk);
}

static void sample(struct flow *flow, u64 time_ns)
{
	const struct ccbench_path_counters *path = ccbench_path_counters(flow->id);
	struct ccbench_flow_record *r = ccbench_log_append(log, sizeof(*r));
	const struct sock *sender = flow->ops->is_udp ? NULL : flow_sender(flow);

	program_collect(flow);
	multipath_collect(flow);
	multipath_sample(flow, time_ns);
	ecn_collect(flow);
	*r = (struct ccbench_flow_record) {
		.time_ns = time_ns,
		.delivered_bytes = flow->delivered_bytes,
		.throughput_bytes = path->departed_bytes,
		.flow = flow->id,
		.drops = path->drops,
	};
	if (sender)
		sample_tcp(r, sender);
	/* Of programs, those of all connections. */
	if (!sender || flow->ops == &program_ops)
		r->retransmits = flow->retransmits;
}

static void sample_all(u64 time_ns)
{
	struct flow *flow, *next;

	ccbench_sample_qdiscs(time_ns);
	list_for_each_entry_safe(flow, next, &sampled, sampled) {
		sample(flow, time_ns);
		/* A closed flow is sampled until its last packets have left the path. */
		if (flow->closed && !ccbench_path_counters(flow->id)->packets)
			list_del(&flow->sampled);
	}
}

static enum hrtimer_restart sample_timer(struct hrtimer *t)
{
	/* The clock may be slightly behind the due time of the timer. */
	sample_all((ccbench_now_ns() + interval_ns / 2) / interval_ns * interval_ns);
	hrtimer_add_expires_ns(t, interval_ns);
	return HRTIMER_RESTART;
}

void sample_add(struct flow *flow)
{
	local_irq_disable();
	list_add_tail(&flow->sampled, &sampled);
	local_irq_enable();
}

/* Samples the end of the experiment if it is not a multiple of the interval. */
void sample_last(u64 duration_ns)
{
	hrtimer_cancel(&timer);
	if (duration_ns % interval_ns)
		sample_all(duration_ns);
}

void sample_start(void)
{
	hrtimer_start(&timer, ns_to_ktime(ktime_get_ns() - ccbench_now_ns() + interval_ns),
		      OBSERVER_MODE);
}

int sample_init(u64 interval)
{
	interval_ns = interval;
	hrtimer_setup(&timer, sample_timer, CLOCK_MONOTONIC, OBSERVER_MODE);
	log = ccbench_log_open("samples.bin", BUFFER_BYTES);
	return PTR_ERR_OR_ZERO(log);
}
