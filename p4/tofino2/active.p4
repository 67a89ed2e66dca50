// SPDX-License-Identifier: Apache-2.0
// Number of non-empty queues that are not paused (N_active), counted per byte of the bitmap.

#ifndef BFC_ACTIVE_P4
#define BFC_ACTIVE_P4

control CountActive(inout ingress_metadata_t meta) {
    bit<32> running;
    bit<8> second = 0;
    bit<8> third = 0;
    bit<8> fourth = 0;

    // Number of set bits of the key, in 256 entries filled by the driver.
#define BITS_OF(NAME, RESULT, HIGH, LOW) \
    action NAME##_bits(bit<8> count) { RESULT = count; } \
    table NAME { \
        key = { running[HIGH:LOW] : exact; } \
        actions = { NAME##_bits; } \
        default_action = NAME##_bits(0); \
        size = 256; \
    }
    BITS_OF(byte0, meta.active, 7, 0)
    BITS_OF(byte1, second, 15, 8)
    BITS_OF(byte2, third, 23, 16)
    BITS_OF(byte3, fourth, 31, 24)
#undef BITS_OF

    apply {
        running = meta.busy & ~meta.held;
        byte0.apply();
        byte1.apply();
        byte2.apply();
        byte3.apply();
        meta.active = meta.active + second;
        third = third + fourth;
        meta.active = meta.active + third;
    }
}

#endif
