// SPDX-License-Identifier: GPL-2.0
/* What losses change: the competitive mode's window; of the delay mode, only a timeout. */
#include <net/tcp.h>

#include "nimbus.h"

void nimbus_on_state(struct nimbus *nimbus, u8 old_state, u8 new_state)
{
	if (new_state == old_state)
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

void nimbus_on_undo(struct nimbus *nimbus)
{
	if (nimbus->mode == NIMBUS_COMPETITIVE)
		nimbus_competitive_undo(&nimbus->competitive);
}
