/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _TCP_LINUX_5_6_H
#define _TCP_LINUX_5_6_H

#include <net/tcp.h>

extern struct tcp_congestion_ops yeah_5_6;

#endif /* _TCP_LINUX_5_6_H */
