// SPDX-License-Identifier: Apache-2.0
// The time, and how long ago something was.

#ifndef BFC_CLOCK_P4
#define BFC_CLOCK_P4

// BMv2's clock cannot be set, so a driver that replays test vectors sets the time in this table.
control Clock(in clock_t time_of_switch, out clock_t now) {
    action running() {
        now = time_of_switch;
    }
    action stopped(clock_t at) {
        now = at;
    }
    table clock {
        actions = {
            running;
            stopped;
        }
        default_action = running();
    }

    apply {
        clock.apply();
    }
}

// How long ago `before` was, and the later of the two times. `before` may be after `now`: a header
// that comes back carries the time at which its packet left, and a packet that arrived earlier may
// have waited for ingress until then. The difference wraps, and the age is 0.
control Age(in clock_t now, in clock_t before, out clock_t age, out clock_t later) {
    apply {
        age = now - before;
        later = now;
        if (age > MAX_AGE) {
            age = 0;
            later = before;
        }
    }
}

#endif
