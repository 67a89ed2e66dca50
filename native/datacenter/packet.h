// SPDX-License-Identifier: Apache-2.0
//
// Packets, all of which live in one pool and are named by their place in it.

#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "time.h"

namespace ccbench::datacenter {

using PacketId = std::uint32_t;
constexpr std::uint32_t None = 0xffffffff;
// Links on the way from a host to another.
constexpr int MaxHops = 8;

enum class Kind : std::uint8_t { data, ack, nack, pfc_pause, pfc_resume, bfc_pause, bfc_resume };

struct alignas(64) Packet {
  Time time;                 // on a link: when it arrives; in a queue: when it came
  Time sent;                 // when its data left the sender; an ACK carries it back
  PacketId next;             // in the list that it is in
  std::uint32_t flow;        // None for frames that switches exchange
  std::uint32_t number;      // data: which packet of its flow; ACK: the next one that is missing;
                             // pause and resume of BFC: the queue
  std::uint32_t remaining;   // packets of the flow still to come, this one included
  std::uint32_t ingress;     // the port that sent it to the switch where it is now
  std::uint16_t bytes;       // on the wire
  std::uint16_t queue;       // where it is queued, or was last
  std::uint16_t upstream_queue;  // where it was queued one hop before
  Kind kind;
  std::uint8_t hop;
  bool marked;    // congestion experienced; an ACK carries it back
  bool notifies;  // an ACK that stands for a congestion notification of DCQCN
  bool counted;   // in the pause counter of the switch where it is
  bool sampled;   // in the flow table of the switch where it is
};

// What a switch writes into a packet for HPCC when it leaves.
struct Telemetry {
  Time time;
  std::uint64_t sent_bytes;
  std::uint32_t queued_bytes;
  std::uint32_t rate_mbps;
};
using Telemetries = std::array<Telemetry, MaxHops>;

class PacketPool {
 public:
  // With `telemetry`, every packet has room for it.
  explicit PacketPool(bool telemetry) : telemetry_(telemetry) {}

  Packet& operator[](PacketId id) { return packets_[id]; }
  Telemetries& telemetry(PacketId id) { return telemetries_[id]; }

  PacketId take() {
    ++live_;
    if (free_ == None) {
      packets_.emplace_back();
      if (telemetry_) telemetries_.emplace_back();
      return static_cast<PacketId>(packets_.size() - 1);
    }
    const PacketId id = free_;
    free_ = packets_[id].next;
    return id;
  }

  void give_back(PacketId id) {
    --live_;
    packets_[id].next = free_;
    free_ = id;
  }

  std::uint64_t live() const { return live_; }
  std::size_t capacity() const { return packets_.size(); }

 private:
  std::vector<Packet> packets_;
  std::vector<Telemetries> telemetries_;
  PacketId free_ = None;
  std::uint64_t live_ = 0;
  bool telemetry_;
};

// Packets in order of arrival.
struct PacketList {
  PacketId head = None;
  PacketId tail = None;

  bool empty() const { return head == None; }

  void push(PacketPool& pool, PacketId id) {
    pool[id].next = None;
    (head == None ? head : pool[tail].next) = id;
    tail = id;
  }

  PacketId pop(PacketPool& pool) {
    const PacketId id = head;
    head = pool[id].next;
    return id;
  }
};

}  // namespace ccbench::datacenter
