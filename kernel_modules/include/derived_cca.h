/* SPDX-License-Identifier: GPL-2.0 */
/* Variants of algorithms of the running kernel. */
#ifndef _DERIVED_CCA_H
#define _DERIVED_CCA_H

#include <linux/err.h>
#include <linux/module.h>
#include <linux/string.h>
#include <net/tcp.h>

#include "current_cca.h"

/*
 * Completes the operations of a variant, of which its name and some operations are set, by those
 * of an algorithm, and returns these with a reference to their module.
 */
static inline const struct tcp_congestion_ops *
derived_cca_complete(struct tcp_congestion_ops *variant, const char *name)
{
	const struct tcp_congestion_ops *current_ops = current_cca_get(name);
	struct tcp_congestion_ops ops;

	if (IS_ERR(current_ops))
		return current_ops;
	ops = *current_ops;
	strscpy(ops.name, variant->name, sizeof(ops.name));
	ops.owner = THIS_MODULE;
	if (variant->cong_control)
		ops.cong_control = variant->cong_control;
	if (variant->cong_avoid)
		ops.cong_avoid = variant->cong_avoid;
	*variant = ops;
	return current_ops;
}

#endif /* _DERIVED_CCA_H */
