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
 * This file is what happens on an ACK, and calls the others:
 *
 *	rates.c		S and R of the same packets (2), the others' rate z (1)
 *	delay.c		the delay mode's rate or window: BasicDelay (4), Vegas, Copa
 *	competitive.c	the TCP-competitive mode's window: CUBIC, NewReno
 *	base.c		what the mode sends at without pulses
 *	sample.c	every 10 ms: rates go into the spectra, from which follow
 *	  dft.c		the spectrum of the last 5 s of z, and eta (3)
 *	  role.c	who pulses where several flows elect a pulser (5), and the mode
 *	  mode.c	from one mode to the other
 *	send.c		the pacing rate, base + pulse, and the congestion window
 *	  pulse.c	the pulses (figure 6), by the table of wave.c
 *
 * Besides: loss.c has what losses change, flow.c how a flow begins, settings.c with which
 * settings, info.c what others may see of it, register.c what the kernel calls.
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
 * 7. The rate 5 s ago is a mean over a pulse, with which BasicDelay's swings; if the present
 *    one is higher, nobody has taken anything from the flow meanwhile, and it goes on with that.
 * 8. BasicDelay does not heed losses; after a timeout it follows the little that is sent.
 * 9. Packets leave in pairs, as those of ACK-clocked flows do: single ones get through a
 *    full drop-tail queue where pairs do not, which is no fair competition.
 * 10. S and R are measured over the mean RTT of some pulses, as TCP's swings with them.
 * 11. Vegas and Copa keep a queue that pulses do not empty: (1) needs one.
 * 12. A watcher sends at a mean over pulses of either mode, of which nothing is left in it:
 *     the mean of what comes back and what its window has room for. Means of window / RTT
 *     lag so much that the queue swings.
 * 13. A watcher's peak is higher than what is on both sides of it.
 */
#include <net/tcp.h>

#include "nimbus.h"
#include "pulse.h"

static void learn_link(struct nimbus *nimbus)
{
	if (!nimbus->settings.link_kbps && nimbus->rates.whole)
		nimbus->link = max(nimbus->link, min(nimbus->rates.send, nimbus->rates.receive));
}

static void measure(const struct sock *sk, struct nimbus *nimbus, const struct rate_sample *rs)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 packets = tp->delivered - nimbus->delivered;

	if (rs->rtt_us > 0)
		nimbus->rtt_us = rs->rtt_us;
	nimbus->srtt_us = max(tp->srtt_us >> 3, 1U);
	nimbus->min_rtt_us = min(nimbus->min_rtt_us, tcp_min_rtt(tp));
	nimbus->in_flight = tcp_packets_in_flight(tp);
	nimbus->packet_bytes = tp->mss_cache + tp->tcp_header_len + sizeof(struct iphdr);
	if (!packets)
		return;
	nimbus->delivered = tp->delivered;
	nimbus_rates_ack(&nimbus->rates, packets * nimbus->packet_bytes, tp->first_tx_mstamp,
			 tp->tcp_mstamp, nimbus->window_us);
	learn_link(nimbus);
	nimbus->cross = nimbus_rates_cross(&nimbus->rates, nimbus->link);
}

/*
 * (1) holds for a queue that is not empty. A pulse adds a burst to what waits on average
 * and takes as much away: half of it is above the mean, and half below.
 */
static u64 trough(const struct nimbus *nimbus)
{
	u32 height = div_u64((u64)nimbus->link * nimbus->settings.pulse_permille, 1000);
	u64 burst = nimbus_pulse_burst(nimbus->period_ns, height);

	return div_u64((burst / 2) << CUBIC_SHIFT, nimbus->packet_bytes);
}

static void control_delay(const struct sock *sk, struct nimbus *nimbus,
			  const struct rate_sample *rs)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u64 window = nimbus->delay.window;
	struct nimbus_ack ack = {
		.delivered = rs->acked_sacked * CUBIC_PACKET,
		.trough = trough(nimbus),
		.now_us = tp->tcp_mstamp,
		.rtt_us = max(nimbus->rtt_us, 1U),
		.srtt_us = nimbus->srtt_us,
		.min_rtt_us = nimbus->min_rtt_us,
		.send = nimbus->rates.send,
		.link = nimbus->link,
		.least = max(nimbus_least_rate(nimbus), nimbus->packet_bytes),
		.cross = nimbus->cross,
		.target_us = nimbus->settings.target_us,
		.alpha_permille = nimbus->settings.alpha_permille,
		.beta_permille = nimbus->settings.beta_permille,
	};

	nimbus_delay_ack(&nimbus->delay, &ack);
	/* A window that an application does not fill grows no further. */
	nimbus->delay.window = min(nimbus->delay.window,
				   max(2 * tp->max_packets_out * CUBIC_PACKET, window));
}

static void compete(const struct sock *sk, struct nimbus *nimbus, const struct rate_sample *rs)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u64 window = nimbus->competitive.w.window;

	if (tcp_in_cwnd_reduction(sk))
		return;
	/*
	 * No more than twice what was in flight within the last window, not now: ACKs of a
	 * burst come faster than paced packets leave.
	 */
	nimbus_competitive_grow(&nimbus->competitive, rs->acked_sacked * CUBIC_PACKET,
				max(2 * tp->max_packets_out * CUBIC_PACKET, window),
				div_u64(tp->tcp_mstamp, USEC_PER_MSEC),
				nimbus->srtt_us / USEC_PER_MSEC);
}

static void follow(const struct sock *sk, struct nimbus *nimbus, const struct rate_sample *rs)
{
	if (!rs->acked_sacked)
		return;
	if (nimbus->mode == NIMBUS_DELAY)
		control_delay(sk, nimbus, rs);
	else
		compete(sk, nimbus, rs);
}

void nimbus_on_ack(struct sock *sk, struct nimbus *nimbus, const struct rate_sample *rs)
{
	measure(sk, nimbus, rs);
	follow(sk, nimbus, rs);
	nimbus_set_base(nimbus);
	nimbus_sample_due(sk, nimbus);
	/* Another mode may have another base. */
	nimbus_set_base(nimbus);
	nimbus_pace(sk, nimbus);
	nimbus_set_cwnd(sk, nimbus);
}
