// SPDX-License-Identifier: GPL-2.0
/* Start and end of a flow, with the settings of its network namespace. */
#include <linux/slab.h>
#include <net/tcp.h>

#include "nimbus.h"
#include "packet_bytes.h"

/* Selects the bins of the pulses and of the frequencies that they are compared with. */
static void make_spectra(struct nimbus *nimbus)
{
	const struct nimbus_settings *settings = &nimbus->settings;
	u32 low = settings->pulses;
	u32 high = settings->pulses;

	if (settings->elect) {
		low = min(low, settings->delay_pulses);
		high = max(high, settings->delay_pulses);
	}
	nimbus_dft_init(&nimbus->cross_dft, low, 2 * high - NIMBUS_MARGIN_BINS);
	nimbus_dft_init(&nimbus->receive_dft, nimbus_lowest_bin(low),
			2 * high - NIMBUS_MARGIN_BINS);
}

struct nimbus *nimbus_begin(struct sock *sk, enum nimbus_competitive_kind competitive,
			    enum nimbus_delay_kind delay)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct nimbus *nimbus = kzalloc(sizeof(*nimbus), GFP_ATOMIC | __GFP_NOWARN);

	if (!nimbus)
		return NULL;
	nimbus->settings = *nimbus_settings_of(sock_net(sk));
	make_spectra(nimbus);
	nimbus->role = nimbus->settings.elect ? NIMBUS_WATCHER : NIMBUS_SILENT;
	nimbus->link = min_t(u64, nimbus->settings.link_kbps * 125ULL, U32_MAX);
	nimbus->srtt_us = max(tp->srtt_us >> 3, 1U);
	nimbus->window_us = nimbus->settings.window_us ?: nimbus->srtt_us;
	nimbus->packet_bytes = packet_bytes(tp);
	nimbus->min_rtt_us = U32_MAX;
	nimbus->delivered = tp->delivered;
	nimbus->gso_max_segs = sk->sk_gso_max_segs;
	nimbus->delay.kind = delay;
	nimbus_competitive_init(&nimbus->competitive, competitive, tcp_snd_cwnd(tp));
	nimbus_set_base(nimbus);
	nimbus->smooth = nimbus->base;
	nimbus_pace(sk, nimbus);
	cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE, SK_PACING_NEEDED);
	return nimbus;
}

void nimbus_after_pause(const struct sock *sk, struct nimbus *nimbus)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	nimbus_competitive_pause(&nimbus->competitive,
				 jiffies_to_msecs(tcp_jiffies32 - tp->lsndtime),
				 div_u64(tp->tcp_mstamp, USEC_PER_MSEC));
}

void nimbus_end(struct sock *sk, struct nimbus *nimbus)
{
	sk->sk_gso_max_segs = nimbus->gso_max_segs;
	/* Readers of the state hold no lock. */
	kfree_rcu(nimbus, rcu);
}
