// SPDX-License-Identifier: Apache-2.0
// What time it is. BMv2 cannot be told, so a driver that replays test vectors says it in this table.

#ifndef BFC_CLOCK_P4
#define BFC_CLOCK_P4

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

#endif
