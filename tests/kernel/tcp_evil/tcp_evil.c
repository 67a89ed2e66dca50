// SPDX-License-Identifier: GPL-2.0
/*
 * A congestion control that is Reno until its window has grown to 20 packets,
 * and then does what no module should. For tests of what becomes of the guest.
 */
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <linux/workqueue.h>
#include <net/tcp.h>

static char *deed = "none";
module_param(deed, charp, 0444);
MODULE_PARM_DESC(deed, "what it does");

static DEFINE_MUTEX(lock);

static void evil_wait(struct work_struct *work)
{
	mutex_lock(&lock);
	mutex_lock(&lock);
}
static DECLARE_WORK(waiting, evil_wait);

static void evil_eat_all(void)
{
	for (;;) {
		char *food = kmalloc(1 << 20, GFP_ATOMIC | __GFP_NOWARN);

		if (!food)
			food = kmalloc(1 << 9, GFP_ATOMIC | __GFP_NOWARN);
		if (!food)
			return;
	}
}

static void evil_do(void)
{
	if (!strcmp(deed, "oops"))
		*(volatile int *)8 = 1;
	else if (!strcmp(deed, "bug"))
		BUG();
	else if (!strcmp(deed, "loop"))
		for (;;)
			cpu_relax();
	else if (!strcmp(deed, "eat"))
		evil_eat_all();
	else if (!strcmp(deed, "sleep"))
		mutex_lock(&lock), mutex_lock(&lock);
	else if (!strcmp(deed, "block"))
		for (int i = 0; i < 512; i++)
			schedule_work(&waiting);
	else if (!strcmp(deed, "stack"))
		evil_do();
	deed = "none";
}

static void evil_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	if (tcp_snd_cwnd(tcp_sk(sk)) > 20)
		evil_do();
	tcp_reno_cong_avoid(sk, ack, acked);
}

static struct tcp_congestion_ops evil = {
	.name = "evil",
	.owner = THIS_MODULE,
	.cong_avoid = evil_cong_avoid,
	.ssthresh = tcp_reno_ssthresh,
	.undo_cwnd = tcp_reno_undo_cwnd,
};

static int __init evil_init(void)
{
	if (!strcmp(deed, "init-oops"))
		*(volatile int *)8 = 1;
	if (!strcmp(deed, "init-deadlock"))
		evil_wait(NULL);
	if (!strcmp(deed, "init-loop"))
		for (;;)
			cpu_relax();
	if (!strcmp(deed, "init-eat"))
		for (;;)
			if (!vmalloc(1 << 20))
				return -ENOMEM;
	return tcp_register_congestion_control(&evil);
}
module_init(evil_init);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("What no module should do");
