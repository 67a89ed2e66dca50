// SPDX-License-Identifier: GPL-2.0
/*
 * NimbusCC (Goyal et al., "Elasticity Detection: A Building Block for Internet Congestion
 * Control", SIGCOMM 2022).
 *
 * A flow pulses its rate at a known frequency, and measures whether the rate of the cross
 * traffic follows. If it does, part of the cross traffic is elastic: it takes the capacity
 * that a delay-controlled flow leaves, and would starve it.
 *
 *	                 eta >= 2 for the last 5 s
 *	   delay-control -------------------------> TCP-competitive
 *	   BasicDelay    <-------------------------  CUBIC or NewReno
 *	   Vegas, Copa           eta < 2             (initial mode of a lone flow)
 *
 * This file processes ACKs and calls the others:
 *
 *	rates.c		S and R of the same packets (2), rate of the cross traffic z (1)
 *	delay.c		rate or window of the delay mode: BasicDelay (4), Vegas, Copa
 *	competitive.c	window of the TCP-competitive mode: CUBIC, NewReno
 *	base.c		sending rate of the mode without pulses
 *	sample.c	every 10 ms: adds the rates to the spectra and evaluates them
 *	  dft.c		spectrum of the last 5 s of z, and eta (3)
 *	  role.c	election of a pulser among several flows (5), and the mode
 *	  mode.c	changes of mode
 *	send.c		pacing rate, base + pulse, and congestion window
 *	  pulse.c	pulses (figure 6), from the table of wave.c
 *
 * In addition, loss.c handles losses, flow.c creates and frees flows, settings.c has the
 * sysctls, info.c reports state, and register.c has the interface to the kernel.
 *
 * Decisions where the paper is silent (measurements in docs/nimbus.md):
 *
 * 1. mu is the maximum of min(S, R) over whole windows since the start of the flow, because
 *    the method assumes a link with a stable rate. Compressed ACKs raise R, but not S.
 * 2. Pulses begin after the first slow start. Decisions require pulses at one frequency for
 *    the length of the FFT.
 * 3. The TCP-competitive mode lasts at least as long as the FFT (hold_ms), also at the start
 *    of a flow: earlier samples say nothing about it, and a loss hides the reaction of the
 *    cross traffic for a moment.
 * 4. Cross traffic is inelastic if eta is below 2, or if the peak is less than a packet in the
 *    window of S and R.
 * 5. A flow is below mu/12 if the mean of R over the length of the FFT is. BasicDelay's rate
 *    has this minimum, so that a queue that must drain does not end the pulses.
 * 6. A flow with a base below a third of the pulses' height has lower pulses.
 * 7. The rate 5 s ago is a mean over a pulse, because BasicDelay's rate swings with it. If the
 *    current rate is higher, the flow has lost nothing in between and keeps the current rate.
 * 8. BasicDelay ignores losses; after a timeout it follows the low sending rate.
 * 9. Packets leave in pairs, as those of ACK-clocked flows. Single packets enter a full
 *    drop-tail queue where pairs do not, which would be unfair.
 * 10. The window of S and R is the mean RTT over some pulses, as TCP's RTT swings with them.
 * 11. Vegas and Copa keep a queue that pulses do not empty, which (1) requires.
 * 12. A watcher sends at a mean over pulses of both modes, which cancels them: the mean of the
 *     receive rate plus the room in the window. Means of window / RTT lag so much that the
 *     queue swings.
 * 13. A watcher's peak exceeds the spectrum on both sides.
 * 14. In recovery, packets are conserved in each mode (RFC 9937, recovery.h). The burst of a
 *     pulse is spare in BasicDelay, which has no other reaction to losses: otherwise the crests
 *     were cut and the troughs not, and the mean rate fell below the minimum.
 * 15. BasicDelay's window, and that at a change to the competitive mode, is at most that of the
 *     whole link at the target delay, with half as much again. If the link slows down, rate * RTT
 *     grows with the RTT and would limit nothing: the ACKs that lower the rate wait in the queue.
 */
#include <net/tcp.h>

#include "nimbus.h"
#include "packet_bytes.h"
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
	nimbus->packet_bytes = packet_bytes(tp);
	if (!packets)
		return;
	nimbus->delivered = tp->delivered;
	nimbus_rates_ack(&nimbus->rates, packets * nimbus->packet_bytes, tp->first_tx_mstamp,
			 tp->tcp_mstamp, nimbus->window_us);
	learn_link(nimbus);
	nimbus->cross = nimbus_rates_cross(&nimbus->rates, nimbus->link);
}

/*
 * (1) requires a queue that is not empty. A pulse adds a burst to the mean queue and takes
 * the same amount away, half of it above the mean and half below.
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
	/* A window that the application does not fill stops growing. */
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
	 * At most twice the maximum in flight of the last window, not the present number: ACKs
	 * of a burst arrive faster than paced packets leave.
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
	/* The mode may have changed. */
	nimbus_set_base(nimbus);
	nimbus_pace(sk, nimbus);
	nimbus_set_cwnd(sk, nimbus, rs);
}
