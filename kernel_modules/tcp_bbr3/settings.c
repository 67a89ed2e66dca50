// SPDX-License-Identifier: GPL-2.0
/* The constants of the draft ("Terminology", and where they are used), as module parameters. */
#include "bbr3.h"
#include "bounded_param.h"

#define SETTING(name, value, low, high, text) \
unsigned int bbr3_##name = value; \
BOUNDED_PARAM(name, bbr3_##name, low, high, 0644, text)

SETTING(startup_pacing_gain_percent, 277, 101, 1000, "pacing gain of Startup");
SETTING(drain_pacing_gain_percent, 50, 1, 100, "pacing gain of Drain");
SETTING(down_pacing_gain_percent, 90, 1, 100, "pacing gain of ProbeBW_DOWN");
SETTING(up_pacing_gain_percent, 125, 101, 1000, "pacing gain of ProbeBW_UP");
SETTING(cwnd_gain_percent, 200, 101, 1000, "gain of the congestion window");
SETTING(up_cwnd_gain_percent, 225, 101, 1000, "gain of the congestion window in ProbeBW_UP");
SETTING(probe_rtt_cwnd_gain_percent, 50, 1, 100, "gain of the congestion window in ProbeRTT");
SETTING(pacing_margin_percent, 1, 0, 50, "pacing below the estimated bandwidth");
SETTING(loss_thresh_permille, 20, 1, 500, "tolerated loss per round while probing");
SETTING(beta_percent, 70, 1, 99, "least reduction of bounds after a round with loss");
SETTING(headroom_percent, 15, 0, 90, "part of inflight_longterm left free");
SETTING(full_loss_count, 6, 1, 1000, "lost ranges in a round that end Startup");
SETTING(min_rtt_filter_ms, 10000, 100, 600000, "window of the minimum RTT");
SETTING(probe_rtt_interval_ms, 5000, 100, 600000, "time between probes of the RTT");
SETTING(probe_rtt_duration_ms, 200, 0, 10000, "least duration of ProbeRTT");
SETTING(bw_probe_wait_ms, 2000, 0, 600000, "least time between probes of the bandwidth");
SETTING(bw_probe_wait_random_ms, 1000, 0, 600000, "random addition to it");
SETTING(bw_probe_max_rounds, 63, 1, 10000, "most rounds between probes of the bandwidth");
