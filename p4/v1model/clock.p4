// SPDX-License-Identifier: Apache-2.0
// Time and ages.

#ifndef BFC_CLOCK_P4
#define BFC_CLOCK_P4

// Returns the current time. BMv2's clock cannot be set, so a driver that replays test vectors sets
// the time in the table.
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

// Returns the age of `before` and the later of the two times. If `before` is after `now`, the
// difference wraps and the age is 0: a recirculated header carries the departure time of its packet,
// while ingress may process a packet that arrived earlier only after that header.
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
