// SPDX-License-Identifier: GPL-2.0
/*
 * A congestion control that is Reno until its window has grown to 20 packets,
 * and then does what no module should, in one of its hooks or while it is loaded.
 * For tests of what becomes of the guest.
 */
#include <linux/delay.h>
#include <linux/inet_diag.h>
#include <linux/mutex.h>
#include <linux/netfilter_ipv4.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <linux/workqueue.h>
#include <net/tcp.h>

static char *deed = "none";
module_param(deed, charp, 0444);
MODULE_PARM_DESC(deed, "what it does");

static char *hook = "cong_avoid";
module_param(hook, charp, 0444);
MODULE_PARM_DESC(hook, "where: a member of tcp_congestion_ops, or load");

static DEFINE_MUTEX(lock);
static DEFINE_SPINLOCK(spinlock);
static struct sock *newest;
static struct tcp_congestion_ops other;
static struct work_struct without_function;
static void (*nowhere)(void);
static int *wild = (int *)0x123456789abcdef0;
static int zero;
static ktime_t pause = 1000 * NSEC_PER_SEC;
static int depth;

static void evil_wait(struct work_struct *work)
{
	mutex_lock(&lock);
	mutex_lock(&lock);
}
static DECLARE_WORK(waiting, evil_wait);

/* A function that is interrupted is not compared. */
static void evil_move(struct work_struct *work)
{
	msleep(100);
	inet_sk(newest)->cork.fl.u.ip4.daddr ^= htonl(4);
	set_current_state(TASK_UNINTERRUPTIBLE);
	schedule_hrtimeout_range(&pause, 0, HRTIMER_MODE_REL);
}
static DECLARE_WORK(moving, evil_move);

static unsigned int evil_drop(void *priv, struct sk_buff *skb, const struct nf_hook_state *state)
{
	return ++depth % 100 ? NF_ACCEPT : NF_DROP;
}

static const struct nf_hook_ops dropping = {
	.hook = evil_drop,
	.pf = NFPROTO_IPV4,
	.hooknum = NF_INET_PRE_ROUTING,
};

static void evil_vanish(struct work_struct *work)
{
	nf_register_net_hook(sock_net(newest), &dropping);
}
static DECLARE_WORK(vanishing, evil_vanish);

static void evil_schedule(void)
{
	INIT_WORK(&without_function, NULL);
	schedule_work(&without_function);
}

static void evil_eat(void)
{
	for (;;) {
		char *food = kmalloc(1 << 20, GFP_ATOMIC | __GFP_NOWARN);

		if (!food)
			food = kmalloc(1 << 9, GFP_ATOMIC | __GFP_NOWARN);
		if (!food)
			return;
	}
}

static noinline void evil_recurse(void)
{
	char local[64];

	OPTIMIZER_HIDE_VAR(depth);
	memset(local, depth, sizeof(local));
	evil_recurse();
	barrier_data(local);
}

static void evil_late(struct timer_list *timer)
{
}

/* Deeds of a timer, of which TCP knows nothing. */
static void evil_tick(struct timer_list *timer)
{
	if (!newest)
		return;
	if (!strcmp(deed, "ticking"))
		tcp_sk(newest)->srtt_us++;
	else if (!strcmp(deed, "closing"))
		tcp_sk(newest)->snd_cwnd = 0;
	else if (!strcmp(deed, "holding"))
		spin_lock(&spinlock);
	mod_timer(timer, jiffies + 1);
}
static DEFINE_TIMER(ticking, evil_tick);

/* Deeds to a socket, and to memory. */
static noinline void evil_touch(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct timer_list *late = inet_csk_ca(sk);
	struct sk_buff *skb = tcp_rtx_queue_head(sk);
	char *food;

	if (!strcmp(deed, "nxt"))
		tp->snd_nxt++;
	else if (!strcmp(deed, "packets"))
		tp->packets_out++;
	else if (!strcmp(deed, "srtt"))
		tp->srtt_us /= 2;
	else if (!strcmp(deed, "huge"))
		tp->snd_cwnd = U32_MAX;
	else if (!strcmp(deed, "threshold"))
		tp->snd_ssthresh = 0;
	else if (!strcmp(deed, "area"))
		memset(inet_csk_ca(sk), 1, ICSK_CA_PRIV_SIZE + 2);
	else if (!strcmp(deed, "timer"))
		timer_setup(late, evil_late, 0), mod_timer(late, jiffies + 1000 * HZ);
	else if (!strcmp(deed, "family"))
		inet_sk(sk)->cork.fl.u.ip4.daddr ^= htonl(4);
	else if (!strcmp(deed, "rto"))
		inet_csk(sk)->icsk_rto = 1;
	else if (!strcmp(deed, "recovery"))
		inet_csk(sk)->icsk_ca_state = TCP_CA_Recovery;
	else if (!strcmp(deed, "state"))
		sk->sk_state = TCP_CLOSE_WAIT;
	else if (!strcmp(deed, "pace"))
		sk->sk_pacing_rate = 0;
	else if (!strcmp(deed, "buffer"))
		sk->sk_sndbuf = 6000;
	else if (!strcmp(deed, "high"))
		tp->high_seq = tp->snd_una;
	else if (!strcmp(deed, "forge"))
		skb->skb_mstamp_ns -= 10 * NSEC_PER_MSEC;
	else if (!strcmp(deed, "middle") && skb && (skb = skb_rb_next(skb)) && skb_rb_next(skb))
		skb->skb_mstamp_ns -= 10 * NSEC_PER_MSEC;
	else if (!strcmp(deed, "peer") && newest && newest != sk)
		tcp_snd_cwnd_set(tcp_sk(newest), 7);
	else if (!strcmp(deed, "rtt") && newest && newest != sk)
		tcp_sk(newest)->srtt_us++;
	else if (!strcmp(deed, "nagle") && newest && newest != sk)
		tcp_sk(newest)->nonagle ^= TCP_NAGLE_OFF;
	else if (!strcmp(deed, "priority"))
		sk->sk_priority++;
	else if (!strcmp(deed, "device"))
		__sk_dst_get(sk)->dev->mtu = 576;
	else if (!strcmp(deed, "sysctl"))
		sock_net(sk)->ipv4.sysctl_tcp_recovery = 0;
	else if (!strcmp(deed, "reduce"))
		tcp_enter_cwr(sk);
	else if (!strcmp(deed, "switch"))
		other = *inet_csk(sk)->icsk_ca_ops, inet_csk(sk)->icsk_ca_ops = &other;

	food = kmalloc(40, strcmp(deed, "atomic") ? GFP_ATOMIC : GFP_KERNEL);
	OPTIMIZER_HIDE_VAR(food);
	kfree(food); /* once */
	if (!strcmp(deed, "twice"))
		kfree(food); /* again */
	else if (!strcmp(deed, "later") && food)
		food[16] = 1;
}

static noinline void evil_do(void)
{
	if (!strcmp(deed, "null"))
		*(volatile int *)8 = 1;
	else if (!strcmp(deed, "wild"))
		depth = READ_ONCE(*wild);
	else if (!strcmp(deed, "call"))
		nowhere();
	else if (!strcmp(deed, "free"))
		kfree(READ_ONCE(wild));
	else if (!strcmp(deed, "bug"))
		BUG();
	else if (!strcmp(deed, "panic"))
		panic("evil");
	else if (!strcmp(deed, "divide"))
		depth = 100 / READ_ONCE(zero);
	else if (!strcmp(deed, "trap"))
		__builtin_trap();
	else if (!strcmp(deed, "loop"))
		for (;;)
			cpu_relax();
	else if (!strcmp(deed, "spin"))
		for (;;)
			barrier();
	else if (!strcmp(deed, "eat"))
		evil_eat();
	else if (!strcmp(deed, "vmalloc"))
		while (vmalloc(1 << 20))
			;
	else if (!strcmp(deed, "sleep")) {
		set_current_state(TASK_UNINTERRUPTIBLE);
		schedule_hrtimeout(&pause, HRTIMER_MODE_REL);
	} else if (!strcmp(deed, "deadlock"))
		mutex_lock(&lock), mutex_lock(&lock);
	else if (!strcmp(deed, "mutex"))
		mutex_lock(&lock);
	else if (!strcmp(deed, "grace"))
		synchronize_rcu();
	else if (!strcmp(deed, "lock"))
		spin_lock(&spinlock);
	else if (!strcmp(deed, "softirq"))
		local_bh_disable();
	else if (!strcmp(deed, "interrupt"))
		local_irq_disable();
	else if (!strcmp(deed, "block"))
		for (int i = 0; i < 512; i++)
			schedule_work(&waiting);
	else if (!strcmp(deed, "work"))
		evil_schedule();
	else if (!strcmp(deed, "stack"))
		evil_recurse();
	else if (!strcmp(deed, "warn"))
		WARN_ON(1);
	else if (!strcmp(deed, "print"))
		pr_info("evil prints\n");
	if (strcmp(deed, "print") && strcmp(deed, "middle"))
		deed = "none";
}

static void evil_in(const char *name, struct sock *sk)
{
	if (strcmp(hook, name) || (sk && tcp_snd_cwnd(tcp_sk(sk)) <= 20))
		return;
	if (sk)
		evil_touch(sk);
	evil_do();
}

static void evil_start(struct sock *sk)
{
	struct timer_list **late = inet_csk_ca(sk);

	if (sk->sk_state == TCP_ESTABLISHED)	/* the sender */
		newest = sk;
	if (strstr(deed, "ing"))
		mod_timer(&ticking, jiffies + 1);
	if (!strcmp(deed, "address") && newest == sk)
		schedule_work(&moving);
	if (!strcmp(deed, "vanish") && newest == sk)
		schedule_work(&vanishing);
	if (!strcmp(deed, "abandon")) {
		*late = kmalloc(sizeof(**late), GFP_ATOMIC);
		timer_setup(*late, evil_late, 0);
		mod_timer(*late, jiffies + 1000 * HZ);
	}
	evil_in("init", NULL);
}

static void evil_release(struct sock *sk)
{
	if (newest == sk && strcmp(deed, "stale"))
		newest = NULL;
	if (!strcmp(deed, "stale") && newest && newest != sk)
		tcp_snd_cwnd_set(tcp_sk(newest), 7);
	evil_in("release", NULL);
}

static u32 evil_ssthresh(struct sock *sk)
{
	if (!strcmp(deed, "zero"))
		return 0;
	evil_in("ssthresh", sk);
	return tcp_reno_ssthresh(sk);
}

static void evil_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	evil_in("cong_avoid", sk);
	tcp_reno_cong_avoid(sk, ack, acked);
}

static void evil_set_state(struct sock *sk, u8 state)
{
	evil_in("set_state", sk);
}

static void evil_cwnd_event(struct sock *sk, enum tcp_ca_event event)
{
	evil_in("cwnd_event", NULL);
}

static void evil_in_ack_event(struct sock *sk, u32 flags)
{
	evil_in("in_ack_event", sk);
}

static void evil_pkts_acked(struct sock *sk, const struct ack_sample *sample)
{
	evil_in("pkts_acked", sk);
}

static u32 evil_undo_cwnd(struct sock *sk)
{
	if (!strcmp(deed, "undo"))
		return 0;
	evil_in("undo_cwnd", NULL);
	return tcp_reno_undo_cwnd(sk);
}

static size_t evil_get_info(struct sock *sk, u32 ext, int *attr, union tcp_cc_info *info)
{
	evil_in("get_info", sk);
	if (!strcmp(deed, "observe"))
		tcp_sk(sk)->snd_cwnd++;
	else if (!strcmp(deed, "count"))
		++*(u32 *)inet_csk_ca(sk);
	if (strcmp(deed, "info"))
		return 0;
	memset(info, 0, sizeof(*info) + 4);
	return sizeof(*info);
}

static struct tcp_congestion_ops evil = {
	.name = "evil",
	.owner = THIS_MODULE,
	.init = evil_start,
	.release = evil_release,
	.ssthresh = evil_ssthresh,
	.cong_avoid = evil_cong_avoid,
	.set_state = evil_set_state,
	.cwnd_event = evil_cwnd_event,
	.in_ack_event = evil_in_ack_event,
	.pkts_acked = evil_pkts_acked,
	.undo_cwnd = evil_undo_cwnd,
	.get_info = evil_get_info,
};

static int __init evil_load(void)
{
	evil_in("load", NULL);
	if (!strcmp(hook, "refuse"))
		return -EIO;
	return tcp_register_congestion_control(&evil);
}
module_init(evil_load);

static void __exit evil_unload(void)
{
	tcp_unregister_congestion_control(&evil);
}
module_exit(evil_unload);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("What no module should do");
