// SPDX-License-Identifier: GPL-2.0
/*
 * NimbusCC (Goyal et al., "Elasticity Detection: A Building Block for Internet Congestion
 * Control", SIGCOMM 2022).
 *
 * A flow pulses: its rate goes up and down by a known frequency, and it looks whether the
 * rate of the others follows. If it does, some of them are elastic, take what they are
 * left, and would starve a flow that gives way to a queue.
 *
 *	                 eta >= 2 for the last 5 s
 *	   delay-control -------------------------> TCP-competitive
 *	   BasicDelay    <-------------------------  CUBIC or NewReno
 *	   Vegas, Copa           eta < 2             (where a flow begins that is alone)
 *
 *	rates.c		S and R of the same packets (2), the others' rate z (1)
 *	dft.c		the spectrum of the last 5 s of z, and eta (3)
 *	pulse.c		the pulses (figure 6)
 *	role.c		modes, and who pulses where several flows elect a pulser (5)
 *	delay.c		BasicDelay (4), Vegas, Copa
 *	competitive.c	CUBIC, NewReno
 *
 * Sends are paced at base + pulse, where base is BasicDelay's rate, or window / RTT. The
 * congestion window is only there to stop a flow whose ACKs fail to come: it has room for
 * what a pulse adds.
 *
 * Where the paper leaves room (docs/nimbus.md has the measurements):
 *
 * 1. mu is the highest of min(S, R) over whole windows since the flow began, as the link's
 *    rate is stable in the method's regime; an ACK compressed raises R, but not S.
 * 2. Pulses begin after the first slow start. Decisions are made when there have been
 *    pulses, at one frequency, for the FFT's length.
 * 3. The TCP-competitive mode lasts for the FFT's length at least (hold_ms), as it does where
 *    a flow begins: what was before it tells nothing of it, and a loss of the others hides
 *    their reaction for a moment.
 * 4. Below 2, or where the peak is less than a packet in the window of S and R, is inelastic.
 * 5. A flow is below mu/12 if the mean of R over the FFT's length is. BasicDelay's rate is
 *    never lower, so that a queue that has to drain does not end the pulses.
 * 6. A flow whose base is below a third of the pulses' height has lower pulses.
 * 7. The rate 5 s ago is the one without pulses; if the present one is higher, nobody has
 *    taken anything from the flow meanwhile, and it goes on with that.
 * 8. BasicDelay does not heed losses, except for a timeout, which halves the rate.
 * 9. Packets leave in pairs, as those of ACK-clocked flows do: single ones get through a
 *    full drop-tail queue where pairs do not, which is no fair competition.
 * 10. S and R are measured over the mean RTT of some pulses, as TCP's swings with them.
 * 11. Vegas and Copa keep a queue that pulses do not empty: (1) needs one.
 * 12. A watcher sends at the mean over a pulse, of which nothing is left in it.
 */
#include <linux/inet_diag.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <net/tcp.h>

#include "cca_compat.h"
#include "nimbus.h"
#include "pulse.h"
#include "tcp_nimbus_info.h"

#define NIMBUS_MIN_CWND		4
/* The gap before a packet is decided when the one before leaves: none is too long. */
#define NIMBUS_TROUGH		4
/* Packets that leave at once: as many as a delayed ACK makes others send. */
#define NIMBUS_BURST		2
/* Of an RTT's change goes into the mean in 10 ms: it lags by 1.3 s, several pulses. */
#define NIMBUS_WINDOW_SHARE	128
#define NIMBUS_WINDOW_NS	(5ULL * NSEC_PER_SEC)

/* NULL until the connection is established: the ACK of the SYN comes before. */
static struct nimbus *nimbus_of(const struct sock *sk)
{
	return *(struct nimbus **)inet_csk_ca(sk);
}

static bool nimbus_has_rate(const struct nimbus *nimbus)
{
	return nimbus->mode == NIMBUS_DELAY && nimbus->delay.kind == NIMBUS_BASIC;
}

static u64 nimbus_window(const struct nimbus *nimbus)
{
	return nimbus->mode == NIMBUS_DELAY ? nimbus->delay.window : nimbus->competitive.w.window;
}

static bool nimbus_in_slow_start(const struct nimbus *nimbus)
{
	return nimbus->mode == NIMBUS_COMPETITIVE &&
	       nimbus_competitive_in_slow_start(&nimbus->competitive);
}

static bool nimbus_in_first_slow_start(const struct nimbus *nimbus)
{
	return nimbus_in_slow_start(nimbus) && nimbus->competitive.w.ssthresh == CUBIC_LARGEST;
}

static u32 nimbus_rate_of(const struct nimbus *nimbus, u64 window)
{
	u64 bytes = mul_u64_u32_shr(window, nimbus->packet_bytes, CUBIC_SHIFT);

	return min_t(u64, div_u64(bytes * USEC_PER_SEC, nimbus->srtt_us), U32_MAX);
}

/* The window that has this rate in flight if the RTT is so long. */
static u64 nimbus_window_in(const struct nimbus *nimbus, u32 rate, u32 rtt_us)
{
	u64 bytes = div_u64((u64)rate * rtt_us, (u32)USEC_PER_SEC);

	return div_u64(bytes << CUBIC_SHIFT, nimbus->packet_bytes);
}

static u64 nimbus_window_of(const struct nimbus *nimbus, u32 rate)
{
	return nimbus_window_in(nimbus, rate, nimbus->srtt_us);
}

/* ---- sending ----------------------------------------------------------- */

static s64 nimbus_pulse_now(const struct nimbus *nimbus, u64 now_ns)
{
	u64 phase_ns;

	if (!nimbus->height || now_ns < nimbus->pulse_epoch_ns)
		return 0;
	div64_u64_rem(now_ns - nimbus->pulse_epoch_ns, nimbus->period_ns, &phase_ns);
	return nimbus_pulse(phase_ns, nimbus->period_ns, nimbus->height);
}

static void nimbus_pace(struct sock *sk, const struct nimbus *nimbus)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	s64 rate = nimbus->role == NIMBUS_WATCHER ? nimbus->smooth : nimbus->base;
	s64 least = max(nimbus->base / NIMBUS_TROUGH, nimbus->packet_bytes);

	if (nimbus_in_slow_start(nimbus))
		rate = 2ULL * nimbus->base;
	rate = max(rate + nimbus_pulse_now(nimbus, tp->tcp_clock_cache), least);
	/* TCP paces by payload. */
	rate = div_u64((u64)rate * tp->mss_cache, nimbus->packet_bytes);
	WRITE_ONCE(sk->sk_pacing_rate, min_t(u64, rate, READ_ONCE(sk->sk_max_pacing_rate)));
}

static void nimbus_set_cwnd(struct sock *sk, const struct nimbus *nimbus)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u64 window;

	if (nimbus_has_rate(nimbus) || nimbus->role == NIMBUS_WATCHER)
		window = nimbus_window_of(nimbus, nimbus->base) * 3 / 2;
	else
		window = nimbus_window(nimbus);
	window >>= CUBIC_SHIFT;
	window += nimbus_pulse_burst(nimbus->period_ns, nimbus->height) / nimbus->packet_bytes;
	/* The first retransmission does not wait for room. */
	if (inet_csk(sk)->icsk_ca_state == TCP_CA_Recovery && tp->lost_out && !tp->retrans_out)
		window = max_t(u64, window, tcp_packets_in_flight(tp) + 1);
	tcp_snd_cwnd_set(tp, clamp_t(u64, window, NIMBUS_MIN_CWND, tp->snd_cwnd_clamp));
	tp->snd_ssthresh = min_t(u64, nimbus->competitive.w.ssthresh >> CUBIC_SHIFT,
				 TCP_INFINITE_SSTHRESH);
}

/* TCP is about to send: between ACKs, too, the pulse goes on. */
static u32 nimbus_min_tso_segs(struct sock *sk)
{
	const struct nimbus *nimbus = nimbus_of(sk);

	if (!nimbus)
		return 1;
	nimbus_pace(sk, nimbus);
	/* A new route may have changed it. */
	if (sk->sk_gso_max_segs != NIMBUS_BURST)
		sk->sk_gso_max_segs = NIMBUS_BURST;
	return 1;
}

/* ---- samples ----------------------------------------------------------- */

static void nimbus_learn_link(struct nimbus *nimbus)
{
	if (!nimbus->settings.link_kbps && nimbus->rates.whole)
		nimbus->link = max(nimbus->link, min(nimbus->rates.send, nimbus->rates.receive));
}

static void nimbus_set_pulses(struct nimbus *nimbus, u64 now_ns)
{
	u32 bin = nimbus_bin(nimbus, nimbus->mode);
	u32 period_ns = div_u64(NIMBUS_WINDOW_NS, bin);
	u64 height = 0;

	if (nimbus->role != NIMBUS_WATCHER) {
		height = div_u64((u64)nimbus->link * nimbus->settings.pulse_permille, 1000);
		height = min_t(u64, height, 3ULL * nimbus->base);
		if (nimbus_in_first_slow_start(nimbus) || nimbus->slow)
			height = 0;
		nimbus->role = height ? NIMBUS_PULSER : NIMBUS_SILENT;
	}
	if (period_ns != nimbus->period_ns || !height != !nimbus->height) {
		nimbus->steady_since = nimbus->samples;
		nimbus->pulse_epoch_ns = now_ns;
		nimbus->period_ns = period_ns;
	}
	nimbus->height = min_t(u64, height, U32_MAX);
}

static void nimbus_set_mode(struct sock *sk, struct nimbus *nimbus, enum nimbus_mode mode)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 oldest = nimbus->history[nimbus->samples % NIMBUS_SAMPLES];

	if (mode == nimbus->mode)
		return;
	if (mode == NIMBUS_COMPETITIVE)
		nimbus_competitive_resume(&nimbus->competitive,
					  nimbus_window_of(nimbus, max(oldest, nimbus->base)));
	else
		nimbus_delay_resume(&nimbus->delay, nimbus->base,
				    nimbus_window_in(nimbus, nimbus->base, tcp_min_rtt(tp) +
						     nimbus->settings.target_us),
				    tp->tcp_mstamp);
	nimbus->mode = mode;
	nimbus->mode_since = nimbus->samples;
}

/* Not the RTT itself, which the pulses change. */
static void nimbus_set_window(struct nimbus *nimbus)
{
	s64 longer = (s64)nimbus->srtt_us - nimbus->window_us;

	nimbus->window_us = nimbus->settings.window_us ?:
			    nimbus->window_us + div_s64(longer, NIMBUS_WINDOW_SHARE);
}

/*
 * Where flows elect a pulser, the others are likely to control delay, too: a flow begins
 * with the delay mode, and slow start is over when a queue is as long as that wants it.
 */
static bool nimbus_begins(const struct sock *sk, const struct nimbus *nimbus)
{
	return nimbus->settings.elect && nimbus_in_first_slow_start(nimbus) &&
	       nimbus->srtt_us > tcp_min_rtt(tcp_sk(sk)) + nimbus->settings.target_us;
}

/* Every 10 ms: between two ACKs, the last rates hold. */
static void nimbus_sample(struct sock *sk, struct nimbus *nimbus)
{
	u32 slot = nimbus->samples % NIMBUS_SAMPLES;

	nimbus_dft_push(&nimbus->cross_dft, nimbus->cross >> NIMBUS_SAMPLE_SHIFT);
	nimbus_dft_push(&nimbus->receive_dft, nimbus->rates.receive >> NIMBUS_SAMPLE_SHIFT);
	nimbus->history[slot] = nimbus->base;
	nimbus->samples++;
	nimbus->smooth = nimbus_smoothed(nimbus);
	nimbus_set_window(nimbus);
	nimbus_set_mode(sk, nimbus, nimbus_begins(sk, nimbus) ? NIMBUS_DELAY :
				    nimbus_choose(nimbus));
	nimbus_set_pulses(nimbus, tcp_sk(sk)->tcp_clock_cache);
}

static void nimbus_sample_due(struct sock *sk, struct nimbus *nimbus)
{
	u64 now_us = tcp_sk(sk)->tcp_mstamp;

	if (!nimbus->rates.known || !nimbus->link) {
		nimbus->sample_us = now_us;
		return;
	}
	/* After a long pause, the whole window is the last rate. */
	if (now_us > nimbus->sample_us + NIMBUS_SAMPLES * NIMBUS_SAMPLE_US)
		nimbus->sample_us = now_us - NIMBUS_SAMPLES * NIMBUS_SAMPLE_US;
	for (; nimbus->sample_us <= now_us; nimbus->sample_us += NIMBUS_SAMPLE_US)
		nimbus_sample(sk, nimbus);
}

/* ---- ACKs -------------------------------------------------------------- */

static void nimbus_measure(struct sock *sk, struct nimbus *nimbus, const struct rate_sample *rs)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 packets = tp->delivered - nimbus->delivered;

	if (rs->rtt_us > 0)
		nimbus->rtt_us = rs->rtt_us;
	nimbus->srtt_us = max(tp->srtt_us >> 3, 1U);
	nimbus->packet_bytes = tp->mss_cache + tp->tcp_header_len + sizeof(struct iphdr);
	if (!packets)
		return;
	nimbus->delivered = tp->delivered;
	nimbus_rates_ack(&nimbus->rates, packets * nimbus->packet_bytes, tp->first_tx_mstamp,
			 tp->tcp_mstamp, nimbus->window_us);
	nimbus_learn_link(nimbus);
	nimbus->cross = nimbus_rates_cross(&nimbus->rates, nimbus->link);
}

/*
 * (1) holds for a queue that is not empty. A pulse adds a burst to what waits on average
 * and takes as much away: half of it is above the mean, and half below.
 */
static u64 nimbus_trough(const struct nimbus *nimbus)
{
	u32 height = div_u64((u64)nimbus->link * nimbus->settings.pulse_permille, 1000);
	u64 burst = nimbus_pulse_burst(nimbus->period_ns, height);

	return div_u64((burst / 2) << CUBIC_SHIFT, nimbus->packet_bytes);
}

static void nimbus_follow(struct sock *sk, struct nimbus *nimbus, const struct rate_sample *rs)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u64 delivered = rs->acked_sacked * CUBIC_PACKET;
	u32 in_flight = max_t(u32, rs->prior_in_flight, tcp_packets_in_flight(tp) +
			      rs->acked_sacked);
	struct nimbus_ack ack = {
		.delivered = delivered,
		.trough = nimbus_trough(nimbus),
		.now_us = tp->tcp_mstamp,
		.rtt_us = max(nimbus->rtt_us, 1U),
		.srtt_us = nimbus->srtt_us,
		.min_rtt_us = tcp_min_rtt(tp),
		.send = nimbus->rates.send,
		.link = nimbus->link,
		.least = max(nimbus_least_rate(nimbus), nimbus->packet_bytes),
		.cross = nimbus->cross,
		.target_us = nimbus->settings.target_us,
		.alpha_permille = nimbus->settings.alpha_permille,
		.beta_permille = nimbus->settings.beta_permille,
	};

	if (!rs->acked_sacked)
		return;
	if (nimbus->mode == NIMBUS_DELAY)
		nimbus_delay_ack(&nimbus->delay, &ack);
	else if (inet_csk(sk)->icsk_ca_state != TCP_CA_Recovery)
		nimbus_competitive_grow(&nimbus->competitive, delivered,
					max(2 * in_flight * CUBIC_PACKET, CUBIC_MIN_WINDOW),
					div_u64(tp->tcp_mstamp, USEC_PER_MSEC),
					nimbus->srtt_us / USEC_PER_MSEC);
}

static void nimbus_set_base(struct nimbus *nimbus)
{
	nimbus->base = nimbus_has_rate(nimbus) ? nimbus->delay.rate :
		       nimbus_rate_of(nimbus, nimbus_window(nimbus));
}

static CONG_CONTROL(nimbus_cong_control, sk, rs)
{
	struct nimbus *nimbus = nimbus_of(sk);

	if (!nimbus)
		return;
	nimbus_measure(sk, nimbus, rs);
	nimbus_follow(sk, nimbus, rs);
	nimbus_set_base(nimbus);
	nimbus_sample_due(sk, nimbus);
	nimbus_set_base(nimbus);
	nimbus_pace(sk, nimbus);
	nimbus_set_cwnd(sk, nimbus);
}

/* ---- losses ------------------------------------------------------------ */

static void nimbus_set_state(struct sock *sk, u8 new_state)
{
	const u8 old_state = inet_csk(sk)->icsk_ca_state;
	struct nimbus *nimbus = nimbus_of(sk);

	if (!nimbus || new_state == old_state)
		return;
	if (nimbus->mode == NIMBUS_DELAY) {
		if (new_state == TCP_CA_Loss)
			nimbus_delay_timeout(&nimbus->delay);
	} else if (new_state == TCP_CA_Recovery || new_state == TCP_CA_CWR) {
		nimbus_competitive_reduce(&nimbus->competitive);
	} else if (new_state == TCP_CA_Loss) {
		nimbus_competitive_timeout(&nimbus->competitive, old_state != TCP_CA_Recovery);
	}
}

static u32 nimbus_undo_cwnd(struct sock *sk)
{
	struct nimbus *nimbus = nimbus_of(sk);

	if (nimbus && nimbus->mode == NIMBUS_COMPETITIVE)
		nimbus_competitive_undo(&nimbus->competitive);
	return max(tcp_snd_cwnd(tcp_sk(sk)), tcp_sk(sk)->prior_cwnd);
}

/* Windows follow their own rules, not this. */
static u32 nimbus_ssthresh(struct sock *sk)
{
	return tcp_sk(sk)->snd_ssthresh;
}

/* ---- what others may see ----------------------------------------------- */

static u32 nimbus_kbps(s64 bytes_per_s)
{
	return div_s64(bytes_per_s, 125);
}

static size_t nimbus_get_info(struct sock *sk, u32 ext, int *attr, union tcp_cc_info *info)
{
	const struct nimbus *nimbus = nimbus_of(sk);
	struct tcp_nimbus_info *known = (struct tcp_nimbus_info *)info;

	BUILD_BUG_ON(sizeof(*known) > sizeof(*info));
	if (!nimbus || !(ext & (1 << (INET_DIAG_VEGASINFO - 1))))
		return 0;
	*known = (struct tcp_nimbus_info) {
		.mode = nimbus->mode,
		.role = nimbus->role,
		.eta_percent = nimbus->eta_percent,
		.link_kbps = nimbus_kbps(nimbus->link),
		.cross_kbps = nimbus_kbps(nimbus->cross),
		.send_kbps = nimbus_kbps(nimbus->rates.send),
		.receive_kbps = nimbus_kbps(nimbus->rates.receive),
	};
	*attr = INET_DIAG_NIMBUSINFO;
	return sizeof(*known);
}

/* ---- registration ------------------------------------------------------ */

static struct tcp_congestion_ops nimbus_without_memory __read_mostly = {
	.name		= "nimbus",
	.owner		= THIS_MODULE,
	.ssthresh	= tcp_reno_ssthresh,
	.cong_avoid	= tcp_reno_cong_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
};

static void nimbus_init_with(struct sock *sk, enum nimbus_competitive_kind competitive,
			     enum nimbus_delay_kind delay)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct nimbus *nimbus = kzalloc(sizeof(*nimbus), GFP_ATOMIC | __GFP_NOWARN);
	u32 low, high;

	if (!nimbus) {
		WRITE_ONCE(inet_csk(sk)->icsk_ca_ops, &nimbus_without_memory);
		return;
	}
	nimbus->settings = *nimbus_settings_of(sock_net(sk));
	low = nimbus->settings.pulses;
	high = nimbus->settings.pulses;
	if (nimbus->settings.elect) {
		low = min(low, nimbus->settings.delay_pulses);
		high = max(high, nimbus->settings.delay_pulses);
	}
	nimbus_dft_init(&nimbus->cross_dft, low, 2 * high - NIMBUS_MARGIN_BINS);
	nimbus_dft_init(&nimbus->receive_dft, low, 2 * high - NIMBUS_MARGIN_BINS);
	nimbus->role = nimbus->settings.elect ? NIMBUS_WATCHER : NIMBUS_SILENT;
	nimbus->link = min_t(u64, nimbus->settings.link_kbps * 125ULL, U32_MAX);
	nimbus->srtt_us = max(tp->srtt_us >> 3, 1U);
	nimbus->window_us = nimbus->settings.window_us ?: nimbus->srtt_us;
	nimbus->packet_bytes = tp->mss_cache + tp->tcp_header_len + sizeof(struct iphdr);
	nimbus->delivered = tp->delivered;
	nimbus->gso_max_segs = sk->sk_gso_max_segs;
	nimbus->delay.kind = delay;
	nimbus_competitive_init(&nimbus->competitive, competitive, tcp_snd_cwnd(tp));
	nimbus_set_base(nimbus);
	nimbus->smooth = nimbus->base;
	*(struct nimbus **)inet_csk_ca(sk) = nimbus;

	nimbus_pace(sk, nimbus);
	cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE, SK_PACING_NEEDED);
}

static void nimbus_release(struct sock *sk)
{
	struct nimbus *nimbus = nimbus_of(sk);

	if (nimbus)
		sk->sk_gso_max_segs = nimbus->gso_max_segs;

	/* Who asks for its state must not find what is no more. */
	*(struct nimbus **)inet_csk_ca(sk) = NULL;
	kfree(nimbus);
}

static void nimbus_init(struct sock *sk)
{
	nimbus_init_with(sk, NIMBUS_CUBIC, NIMBUS_BASIC);
}

static void nimbus_reno_init(struct sock *sk)
{
	nimbus_init_with(sk, NIMBUS_RENO, NIMBUS_BASIC);
}

static void nimbus_vegas_init(struct sock *sk)
{
	nimbus_init_with(sk, NIMBUS_CUBIC, NIMBUS_VEGAS);
}

static void nimbus_copa_init(struct sock *sk)
{
	nimbus_init_with(sk, NIMBUS_CUBIC, NIMBUS_COPA);
}

static struct tcp_congestion_ops nimbus_ops __read_mostly = {
	.name		= "nimbus",
	.owner		= THIS_MODULE,
	.init		= nimbus_init,
	.release	= nimbus_release,
	.cong_control	= nimbus_cong_control,
	.min_tso_segs	= nimbus_min_tso_segs,
	.ssthresh	= nimbus_ssthresh,
	.set_state	= nimbus_set_state,
	.undo_cwnd	= nimbus_undo_cwnd,
	.get_info	= nimbus_get_info,
};

static struct tcp_congestion_ops nimbus_reno_ops __read_mostly = {
	.name		= "nimbus_reno",
	.owner		= THIS_MODULE,
	.init		= nimbus_reno_init,
	.release	= nimbus_release,
	.cong_control	= nimbus_cong_control,
	.min_tso_segs	= nimbus_min_tso_segs,
	.ssthresh	= nimbus_ssthresh,
	.set_state	= nimbus_set_state,
	.undo_cwnd	= nimbus_undo_cwnd,
	.get_info	= nimbus_get_info,
};

static struct tcp_congestion_ops nimbus_vegas_ops __read_mostly = {
	.name		= "nimbus_vegas",
	.owner		= THIS_MODULE,
	.init		= nimbus_vegas_init,
	.release	= nimbus_release,
	.cong_control	= nimbus_cong_control,
	.min_tso_segs	= nimbus_min_tso_segs,
	.ssthresh	= nimbus_ssthresh,
	.set_state	= nimbus_set_state,
	.undo_cwnd	= nimbus_undo_cwnd,
	.get_info	= nimbus_get_info,
};

static struct tcp_congestion_ops nimbus_copa_ops __read_mostly = {
	.name		= "nimbus_copa",
	.owner		= THIS_MODULE,
	.init		= nimbus_copa_init,
	.release	= nimbus_release,
	.cong_control	= nimbus_cong_control,
	.min_tso_segs	= nimbus_min_tso_segs,
	.ssthresh	= nimbus_ssthresh,
	.set_state	= nimbus_set_state,
	.undo_cwnd	= nimbus_undo_cwnd,
	.get_info	= nimbus_get_info,
};

static void nimbus_unregister_variants(void)
{
	tcp_unregister_congestion_control(&nimbus_ops);
	tcp_unregister_congestion_control(&nimbus_reno_ops);
	tcp_unregister_congestion_control(&nimbus_vegas_ops);
	tcp_unregister_congestion_control(&nimbus_copa_ops);
}

static int __init nimbus_register(void)
{
	int error;

	BUILD_BUG_ON(sizeof(struct nimbus *) > ICSK_CA_PRIV_SIZE);
	nimbus_wave_init();
	error = nimbus_settings_register();
	if (error)
		return error;
	error = tcp_register_congestion_control(&nimbus_ops);
	error = error ?: tcp_register_congestion_control(&nimbus_reno_ops);
	error = error ?: tcp_register_congestion_control(&nimbus_vegas_ops);
	error = error ?: tcp_register_congestion_control(&nimbus_copa_ops);
	if (error) {
		nimbus_unregister_variants();
		nimbus_settings_unregister();
	}
	return error;
}

static void __exit nimbus_unregister(void)
{
	nimbus_unregister_variants();
	nimbus_settings_unregister();
}

module_init(nimbus_register);
module_exit(nimbus_unregister);

MODULE_DESCRIPTION("NimbusCC: congestion control by the elasticity of the cross traffic");
MODULE_LICENSE("GPL");
