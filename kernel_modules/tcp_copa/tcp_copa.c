// SPDX-License-Identifier: GPL-2.0
/*
 * Copa (Arun and Balakrishnan, NSDI 2018): a target rate from the queueing delay.
 *
 *	target rate	1 / (delta * dq) packets per second
 *	current rate	cwnd / RTTstanding
 *	dq		RTTstanding - RTTmin
 *
 * Each ACK moves the window by v / (delta * cwnd) packets towards the target, which
 * is v / delta per round trip. At the target, a flow has 1/delta packets in the
 * queue. Its information about the queue is one round trip old when it decreases and
 * about half a round trip older when it increases, so that the queue oscillates
 * between 0 and 2.5/delta packets with a period of five round trips (section 3).
 *
 *	slow start	the window doubles per round trip until the current rate
 *			exceeds the target
 *	default		delta is fixed, 1/2
 *	competitive	1/delta increases by 1 per round trip without loss, and is
 *			halved by a loss: Reno's window, but for the packets in the
 *			queue. Used when the queue has not been nearly empty for five
 *			round trips, because other flows keep it full (section 2.2)
 *
 * "copa" has both modes, "copa_default" only the default mode.
 *
 * The filters of RTTs are those of win_minmax, which keep three samples per window,
 * so that the standing RTT may cover half of its window.
 *
 * Decisions where the paper is silent or ambiguous:
 *
 * 1. v belongs to a direction. A step in the other direction has v = 1 and ends it:
 *    the target has been crossed, and a velocity for a distant target is too high
 *    near it. If v were kept until the end of the round trip, as the paper can be
 *    read, the window would overshoot by the same amount again: a lone flow of
 *    24 Mbit/s and 50 ms then uses 3/5 of its link.
 * 2. A direction has been the same "for three RTTs" if three whole windows had it
 *    before the one in which v is doubled: the steady oscillation takes 2.5 round
 *    trips each way, which can look like three windows.
 * 3. v / delta is at most cwnd: the window at most doubles per round trip, and never
 *    drops to zero.
 * 4. A window that the application does not fill does not grow.
 * 5. Losses do not change the window in either mode, so that random loss has no
 *    effect and the delay alone signals congestion. If more than a tenth of a window
 *    is lost, as by a policer or a queue of one or two packets, the delay signals
 *    nothing: slow start ends, and the window is cut to 7/10. The authors' program
 *    does this; the paper does not mention it.
 * 6. A retransmission timeout restarts slow start.
 * 7. A loss is a loss event of TCP: 1/delta is halved once per recovery, and does
 *    not grow during it. CE marks count as loss.
 * 8. The five round trips begin at the end of slow start, whose own queue needs some
 *    to drain, and after an idle time, which has drained the flow's own packets.
 * 9. The queue is nearly empty if the queueing delay is below a tenth of the range
 *    between RTTmin and RTTmax of four round trips. For a lone flow, this is half a
 *    packet, which a queue of whole packets can miss. The flow would turn competitive
 *    and might stay so: with 1/delta near the BDP, its queue no longer empties. A
 *    queue with one packet of the flow is therefore nearly empty, too, but never
 *    above a third of the range: after a loss CUBIC leaves 2/5 of a queue of 1 BDP.
 *
 * The limits are those of the paper: flows whose RTTs differ by several times, and
 * cross traffic that leaves less than a fifth of the link, look like flows that keep
 * the queue full. Above about 50 Mbit/s, Linux sends segments for a millisecond at
 * once, which queue behind each other.
 */
#include <linux/inet_diag.h>
#include <linux/module.h>
#include <linux/win_minmax.h>
#include <net/tcp.h>

#include "bounded_param.h"
#include "cca_compat.h"
#include "ccbench_describe.h"

#define COPA_MIN_CWND		2
#define COPA_FRACTION_BITS	16	/* of the window */
#define COPA_RTT_MIN_WINDOW	(10 * HZ)
#define COPA_RTT_MAX_ROUNDS	4
#define COPA_EMPTY_ROUNDS	5
#define COPA_EMPTY_DIVISOR	10	/* nearly empty: dq below a tenth of the range */
#define COPA_EMPTY_PACKET_DIVISOR 3
#define COPA_STEADY_WINDOWS	3
#define COPA_PACING_GAIN	2
#define COPA_HEAVY_LOSS_DIVISOR	10	/* a tenth of a window */
#define COPA_MAX_INVERSE_DELTA	1000

static unsigned int inverse_delta = 2;

BOUNDED_PARAM(inverse_delta, inverse_delta, 1, COPA_MAX_INVERSE_DELTA, 0644,
	      "1/delta in the default mode: packets of a flow in the queue");

struct copa {
	struct minmax rtt_min;		/* us, complemented for the filter of maxima */
	struct minmax rtt_standing;	/* likewise */
	struct minmax rtt_max;		/* us */
	u32	window_delivered;	/* tp->delivered at the start of the window */
	u32	window_lost;		/* tp->lost at the start of the window */
	u32	window_cwnd;		/* packets at the start of the window */
	u32	empty_us;		/* last time of a nearly empty queue */
	u32	inverse_delta;		/* packets */
	u32	velocity;
	u16	cwnd_fraction;		/* of a packet, in units of 2^-16 */
	u8	same_windows;		/* windows with this direction, up to 255 */
	u8	up : 1,			/* the direction */
		slow_start : 1,
		switches : 1,		/* between the modes */
		competitive : 1;
};

static u32 copa_rtt_min(const struct copa *copa)
{
	return ~minmax_get(&copa->rtt_min);
}

static u32 copa_rtt_standing(const struct copa *copa)
{
	return ~minmax_get(&copa->rtt_standing);
}

static u32 copa_srtt_us(const struct tcp_sock *tp)
{
	return max(tp->srtt_us >> 3, 1U);
}

/* Twice the current rate, so that pacing does not limit the flow. */
static void copa_pace(struct sock *sk, u32 rtt_us)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u64 rate = (u64)tp->mss_cache * tcp_snd_cwnd(tp) * COPA_PACING_GAIN * USEC_PER_SEC;

	rate = min_t(u64, div_u64(rate, max(rtt_us, 1U)), READ_ONCE(sk->sk_max_pacing_rate));
	WRITE_ONCE(sk->sk_pacing_rate, rate);
}

static void copa_reset_velocity(struct copa *copa)
{
	copa->velocity = 1;
	copa->same_windows = 0;
}

static void copa_start_window(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct copa *copa = inet_csk_ca(sk);

	copa->window_delivered = tp->delivered;
	copa->window_lost = tp->lost;
	copa->window_cwnd = tcp_snd_cwnd(tp);
}

/* Returns true if this RTT implies a nearly empty queue; see 9 above. */
static bool copa_nearly_empty(const struct tcp_sock *tp, const struct copa *copa, u32 rtt_us)
{
	u32 queueing_us = rtt_us - copa_rtt_min(copa);
	u32 range_us = minmax_get(&copa->rtt_max) - copa_rtt_min(copa);

	if (queueing_us <= range_us / COPA_EMPTY_DIVISOR)
		return true;
	/* The flow had queueing / rtt * cwnd packets in the queue, at most one when rounded. */
	return queueing_us <= range_us / COPA_EMPTY_PACKET_DIVISOR &&
	       2ULL * tcp_snd_cwnd(tp) * queueing_us <= 3ULL * rtt_us;
}

static void copa_sample_rtt(struct sock *sk, u32 rtt_us)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct copa *copa = inet_csk_ca(sk);
	u32 srtt_us = copa_srtt_us(tp);
	u32 now_us = tp->tcp_mstamp;

	minmax_running_max(&copa->rtt_min, COPA_RTT_MIN_WINDOW, tcp_jiffies32, ~rtt_us);
	minmax_running_max(&copa->rtt_standing, srtt_us / 2, now_us, ~rtt_us);
	minmax_running_max(&copa->rtt_max, COPA_RTT_MAX_ROUNDS * srtt_us, now_us, rtt_us);

	/* A single RTT is sufficient: only an empty queue makes it this short. */
	if (copa->slow_start || copa_nearly_empty(tp, copa, rtt_us))
		copa->empty_us = now_us;
}

static void copa_choose_mode(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct copa *copa = inet_csk_ca(sk);
	u32 since_us = (u32)tp->tcp_mstamp - copa->empty_us;
	bool competitive = since_us > COPA_EMPTY_ROUNDS * copa_srtt_us(tp);

	if (!copa->switches || competitive == copa->competitive)
		return;
	copa->competitive = competitive;
	copa->inverse_delta = READ_ONCE(inverse_delta);
}

static void copa_leave_slow_start(struct sock *sk)
{
	struct copa *copa = inet_csk_ca(sk);

	copa->slow_start = 0;
	tcp_sk(sk)->snd_ssthresh = tcp_snd_cwnd(tcp_sk(sk));
	copa_reset_velocity(copa);
	copa_start_window(sk);
}

static void copa_update_velocity(struct sock *sk)
{
	struct copa *copa = inet_csk_ca(sk);
	u32 cwnd = tcp_snd_cwnd(tcp_sk(sk));
	bool up = cwnd > copa->window_cwnd;

	if (cwnd == copa->window_cwnd) {
		copa_reset_velocity(copa);
		return;
	}
	if (up != copa->up) {
		copa_reset_velocity(copa);
		copa->up = up;
	}
	if (copa->same_windows >= COPA_STEADY_WINDOWS &&
	    2ULL * copa->velocity * copa->inverse_delta <= cwnd)
		copa->velocity *= 2;
	if (copa->same_windows < U8_MAX)
		copa->same_windows++;
}

static void copa_cut_on_heavy_loss(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct copa *copa = inet_csk_ca(sk);
	u32 lost = tp->lost - copa->window_lost;
	u32 delivered = tp->delivered - copa->window_delivered;

	/* A timeout marks all packets lost and has already cut the window. */
	if (inet_csk(sk)->icsk_ca_state == TCP_CA_Loss ||
	    (u64)lost * COPA_HEAVY_LOSS_DIVISOR <= (u64)lost + delivered)
		return;
	tcp_snd_cwnd_set(tp, max_t(u32, tcp_snd_cwnd(tp) * 7ULL / 10, COPA_MIN_CWND));
	copa_leave_slow_start(sk);
}

/* Called once per round trip. */
static void copa_end_window(struct sock *sk)
{
	struct copa *copa = inet_csk_ca(sk);

	if (!copa->slow_start)
		copa_update_velocity(sk);
	if (copa->competitive && inet_csk(sk)->icsk_ca_state < TCP_CA_CWR)
		copa->inverse_delta++;
	copa_cut_on_heavy_loss(sk);
	copa_start_window(sk);
}

static void copa_step(struct sock *sk, u32 acked, bool up)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct copa *copa = inet_csk_ca(sk);
	u32 cwnd = tcp_snd_cwnd(tp);
	u64 window = (u64)cwnd << COPA_FRACTION_BITS | copa->cwnd_fraction;
	u64 least = (u64)COPA_MIN_CWND << COPA_FRACTION_BITS;
	u64 step;

	if (copa->velocity > 1 && up != copa->up)
		copa_reset_velocity(copa);
	step = min_t(u64, (u64)copa->velocity * copa->inverse_delta, cwnd);
	step = div_u64(acked * step << COPA_FRACTION_BITS, cwnd);
	if (up)
		window += step;
	else
		window = window > least + step ? window - step : least;

	copa->cwnd_fraction = window & (BIT(COPA_FRACTION_BITS) - 1);
	tcp_snd_cwnd_set(tp, min_t(u64, window >> COPA_FRACTION_BITS, tp->snd_cwnd_clamp));
}

static void copa_update_cwnd(struct sock *sk, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct copa *copa = inet_csk_ca(sk);
	u32 standing_us = copa_rtt_standing(copa);
	/* 0 if the minimum RTT is newer than the samples of the standing filter. */
	u32 queueing_us = standing_us - min(standing_us, copa_rtt_min(copa));
	/* cwnd / RTTstanding <= 1 / (delta * dq), without a division. */
	bool up = (u64)tcp_snd_cwnd(tp) * queueing_us <= (u64)copa->inverse_delta * standing_us;

	if (copa->slow_start && !up)
		copa_leave_slow_start(sk);
	if (up && !tcp_is_cwnd_limited(sk))
		return;
	if (copa->slow_start)
		tcp_snd_cwnd_set(tp, min(tcp_snd_cwnd(tp) + acked, tp->snd_cwnd_clamp));
	else
		copa_step(sk, acked, up);
}

static CONG_CONTROL(copa_cong_control, sk, rs)
{
	struct copa *copa = inet_csk_ca(sk);

	if (rs->rtt_us >= 0)
		copa_sample_rtt(sk, rs->rtt_us);
	if (!minmax_get(&copa->rtt_min))
		return;		/* no RTT yet */

	copa_choose_mode(sk);
	/* The window ends with the delivery of a packet that was sent in it. */
	if (rs->delivered >= 0 && !before(rs->prior_delivered, copa->window_delivered))
		copa_end_window(sk);
	if (rs->acked_sacked)
		copa_update_cwnd(sk, rs->acked_sacked);
	copa_pace(sk, copa_rtt_standing(copa));
}

/* Called once per loss event. */
static u32 copa_ssthresh(struct sock *sk)
{
	struct copa *copa = inet_csk_ca(sk);

	if (copa->competitive)
		copa->inverse_delta = max(copa->inverse_delta / 2, READ_ONCE(inverse_delta));
	return tcp_sk(sk)->snd_ssthresh;
}

static void copa_set_state(struct sock *sk, u8 state)
{
	struct copa *copa = inet_csk_ca(sk);

	if (state != TCP_CA_Loss || inet_csk(sk)->icsk_ca_state == TCP_CA_Loss)
		return;
	copa->slow_start = 1;
	copa_reset_velocity(copa);
	copa_start_window(sk);
}

/* A spurious timeout must not leave the flow in slow start. */
static u32 copa_undo_cwnd(struct sock *sk)
{
	struct copa *copa = inet_csk_ca(sk);

	if (!tcp_in_initial_slowstart(tcp_sk(sk)))
		copa->slow_start = 0;
	return tcp_reno_undo_cwnd(sk);
}

static void copa_event(struct sock *sk, enum tcp_ca_event event)
{
	struct copa *copa = inet_csk_ca(sk);

	if (event != CA_EVENT_TX_START)
		return;
	copa->empty_us = tcp_sk(sk)->tcp_mstamp;
	copa_reset_velocity(copa);
}
CCA_TX_START(copa_event)

/* Single packets, unless the rate is above one packet per ms. */
static u32 copa_min_tso_segs(struct sock *sk)
{
	return 1;
}

/* Copa reports its state in the structure of Vegas. */
static size_t copa_get_info(struct sock *sk, u32 ext, int *attr, union tcp_cc_info *info)
{
	const struct copa *copa = inet_csk_ca(sk);

	if (!(ext & (1 << (INET_DIAG_VEGASINFO - 1))))
		return 0;
	info->vegas = (struct tcpvegas_info) {
		.tcpv_enabled = !copa->competitive,
		.tcpv_rttcnt = copa->inverse_delta,
		.tcpv_rtt = copa_rtt_standing(copa),
		.tcpv_minrtt = copa_rtt_min(copa),
	};
	*attr = INET_DIAG_VEGASINFO;
	return sizeof(info->vegas);
}

static void copa_default_init(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct copa *copa = inet_csk_ca(sk);

	*copa = (struct copa) {
		.inverse_delta = READ_ONCE(inverse_delta),
		.velocity = 1,
		.slow_start = 1,
		.empty_us = tp->tcp_mstamp,
	};
	copa_start_window(sk);
	if (tp->srtt_us)
		copa_pace(sk, copa_srtt_us(tp));
	cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE, SK_PACING_NEEDED);
}

static void copa_init(struct sock *sk)
{
	struct copa *copa = inet_csk_ca(sk);

	copa_default_init(sk);
	copa->switches = 1;
}

static struct tcp_congestion_ops copa __read_mostly = {
	.name		= "copa",
	.owner		= THIS_MODULE,
	.init		= copa_init,
	.cong_control	= copa_cong_control,
	.ssthresh	= copa_ssthresh,
	.set_state	= copa_set_state,
	.undo_cwnd	= copa_undo_cwnd,
	CCA_EVENTS(copa_event),
	.min_tso_segs	= copa_min_tso_segs,
	.get_info	= copa_get_info,
};

static struct tcp_congestion_ops copa_default __read_mostly = {
	.name		= "copa_default",
	.owner		= THIS_MODULE,
	.init		= copa_default_init,
	.cong_control	= copa_cong_control,
	.ssthresh	= copa_ssthresh,
	.set_state	= copa_set_state,
	.undo_cwnd	= copa_undo_cwnd,
	CCA_EVENTS(copa_event),
	.min_tso_segs	= copa_min_tso_segs,
	.get_info	= copa_get_info,
};

static int __init copa_register(void)
{
	int error;

	BUILD_BUG_ON(sizeof(struct copa) > ICSK_CA_PRIV_SIZE);
	error = tcp_register_congestion_control(&copa);
	if (error)
		return error;
	error = tcp_register_congestion_control(&copa_default);
	if (error)
		tcp_unregister_congestion_control(&copa);
	return error;
}

static void __exit copa_unregister(void)
{
	tcp_unregister_congestion_control(&copa_default);
	tcp_unregister_congestion_control(&copa);
}

module_init(copa_register);
module_exit(copa_unregister);

MODULE_DESCRIPTION("Copa: congestion control by a target rate from the queueing delay");
MODULE_LICENSE("GPL");

/* Default or competitive mode, 1/delta in packets, RTTstanding and RTTmin. */
#define INFO	CCA_INFO("default_mode|inverse_delta|standing_us|min_us")

CCBENCH_CCA(copa, INFO, "Copa with mode switching");
CCBENCH_CCA(copa_default, INFO, "Copa in the default mode only");
