// SPDX-License-Identifier: GPL-2.0
/*
 * Reactions to loss. Losses reduce the window of the competitive mode. In the delay mode, Vegas
 * and Copa react to timeouts; BasicDelay follows the low sending rate.
 */
#include <net/tcp.h>

#include "nimbus.h"

void nimbus_on_reduction(struct nimbus *nimbus)
{
	if (nimbus->mode == NIMBUS_COMPETITIVE)
		nimbus_competitive_reduce(&nimbus->competitive);
}

void nimbus_on_timeout(struct nimbus *nimbus)
{
	if (nimbus->mode == NIMBUS_COMPETITIVE)
		nimbus_competitive_timeout(&nimbus->competitive);
	else
		nimbus_delay_timeout(&nimbus->delay);
}

void nimbus_on_undo(struct nimbus *nimbus)
{
	if (nimbus->mode == NIMBUS_COMPETITIVE)
		nimbus_competitive_undo(&nimbus->competitive);
}
