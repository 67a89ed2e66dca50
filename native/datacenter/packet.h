// SPDX-License-Identifier: Apache-2.0
//
// Packets, which live in one pool and are identified by their index in it.

#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "time.h"

namespace ccbench::datacenter {

using PacketId = std::uint32_t;
constexpr std::uint32_t None = 0xffffffff;
// Maximum number of links between two hosts.
constexpr int MaxHops = 8;

enum class Kind : std::uint8_t {
  data,
  ack,
  nack,
  pfc_pause,
  pfc_resume,
  bfc_pause,
  bfc_resume,
  drop_notice,     // to the sender of a dropped packet, back over the links of that packet
  credit_request,  // ExpressPass: to the receiver,
  credit_stop,     // likewise,
  credit,          // and back over the links of the data
  grant,           // Homa: to the sender
};

struct alignas(64) Packet {
  Time time;                 // on a link: arrival; in a queue: time of joining it
  Time sent;                 // departure of its data from the sender; returned by an ACK
  PacketId next;             // in its list
  std::uint32_t flow;        // None for frames between switches
  std::uint32_t number;      // data: which packet of its flow; ACK: the next one that is missing;
                             // pause and resume of BFC: the queue; grant: packets that may be sent
  std::uint32_t remaining;   // packets of the flow to be sent, including this one
  std::uint32_t ingress;     // the port that sent it to its current switch
  std::uint32_t credit;      // ExpressPass: number of the credit, also of the data that it permits
  std::uint32_t spray;       // selects the path of this packet
  std::uint16_t bytes;       // on the wire
  std::uint16_t queue;       // current or last queue
  std::uint16_t upstream_queue;  // queue at the previous hop
  Kind kind;
  std::uint8_t hop;
  std::uint8_t priority;  // class
  bool marked;    // congestion experienced; returned by an ACK
  bool notifies;  // an ACK that is also a congestion notification of DCQCN
  bool counted;   // in the pause counter of its current switch
  bool sampled;   // in the flow table of its current switch
};

// Telemetry that a switch writes into a departing packet for HPCC.
struct Telemetry {
  Time time;
  std::uint64_t sent_bytes;
  std::uint32_t queued_bytes;
  std::uint32_t rate_mbps;
};
using Telemetries = std::array<Telemetry, MaxHops>;

class PacketPool {
 public:
  // With `telemetry`, every packet has space for it.
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
