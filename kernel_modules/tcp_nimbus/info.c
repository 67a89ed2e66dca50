// SPDX-License-Identifier: GPL-2.0
/* State of a flow for inet_diag. */
#include <linux/inet_diag.h>
#include <net/tcp.h>

#include "nimbus.h"
#include "tcp_nimbus_info.h"

static u32 kbps(s64 bytes_per_s)
{
	return div_s64(bytes_per_s, 125);
}

size_t nimbus_info(const struct nimbus *nimbus, u32 ext, int *attr, union tcp_cc_info *info)
{
	struct tcp_nimbus_info *state = (struct tcp_nimbus_info *)info;

	BUILD_BUG_ON(sizeof(*state) > sizeof(*info));
	if (!(ext & (1 << (INET_DIAG_VEGASINFO - 1))))
		return 0;
	*state = (struct tcp_nimbus_info) {
		.mode = nimbus->mode,
		.role = nimbus->role,
		.eta_percent = nimbus->eta_percent,
		.link_kbps = kbps(nimbus->link),
		.cross_kbps = kbps(nimbus->cross),
		.send_kbps = kbps(nimbus->rates.send),
		.receive_kbps = kbps(nimbus->rates.receive),
	};
	*attr = INET_DIAG_NIMBUSINFO;
	return sizeof(*state);
}
