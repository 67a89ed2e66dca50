// SPDX-License-Identifier: Apache-2.0
//
// The simulation: hosts, switches, and the packets between them. A packet whose transmission has
// begun is on the link until it has arrived completely (store and forward). Of a link's packets
// only the first has an event; a transmitter has an event only if something waits for it.

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "event_queue.h"
#include "flow.h"
#include "nic.h"
#include "packet.h"
#include "port.h"
#include "results.h"
#include "settings.h"
#include "topology.h"

namespace ccbench::datacenter {

// Sources of events of a port: the arrival of its first packet at the other end, the end of its
// transmission, and the time of the next credit. A power of two, as each event is divided by it.
constexpr std::uint32_t SourcesPerPort = 4;

struct Switch {
  std::int64_t used = 0;        // bytes of data
  std::int64_t pfc_buffer = 0;  // available besides the headroom
  std::uint64_t peak = 0;
};

class Network {
 public:
  // Flows are ordered by start. Throws std::invalid_argument if a host cannot be reached.
  Network(const Settings& settings, std::uint32_t hosts, std::uint32_t nodes,
          const std::vector<PortSpec>& ports, std::vector<FlowSpec> flows);

  // `poll` is called occasionally with the time; an exception of it ends the simulation. Throws
  // std::logic_error if a packet or a byte was lost.
  Results run(const std::function<void(Time)>& poll);

 private:
  friend class Probe;

  // network.cpp: events.
  void dispatch(std::uint32_t source);
  void fire(std::uint32_t slot, Timer timer);
  void arrive(std::uint32_t port);
  void sample();
  bool finished() const;
  void finish();
  void check_conservation();

  // link.cpp: ports.
  void kick(std::uint32_t port);
  void send_next(std::uint32_t port);
  void transmit(std::uint32_t port, PacketId id);
  void send_frame(std::uint32_t port, Kind kind, std::uint32_t number);
  void stop(std::uint32_t port);
  void go_on(std::uint32_t port);
  void free_packet(PacketId id);
  void add_credit(std::uint32_t port, PacketId id);
  bool credit_due(const Port& port) const { return now_ >= port.credit_at - port.credit_interval; }
  void wake_for_credit(std::uint32_t port);

  // host.cpp: hosts.
  void start_flow(std::uint32_t id);
  void make_ready(std::uint32_t slot);
  PacketId next_packet(std::uint32_t host);
  void host_receive(PacketId id);
  void receive_data(PacketId id);
  void receive_ack(PacketId id);
  void control(Flow& flow, PacketId id, std::uint32_t newly_acked);
  void go_back(Flow& flow);
  void time_out(std::uint32_t slot);
  void release_if_over(std::uint32_t slot);
  void set_timer(std::uint32_t slot, Timer timer, Time time);
  bool is_set(const Flow& flow, Timer timer) const {
    return flow.timers & 1U << static_cast<unsigned>(timer);
  }
  PacketId control_packet(std::uint32_t slot, Kind kind, std::uint32_t bytes);
  void resend(PacketId id);

  // express_pass.cpp: ExpressPass.
  void request_credits(std::uint32_t slot);
  void stop_credits(std::uint32_t slot);
  void receive_request(PacketId id);
  void receive_credit(PacketId id);
  void count_credit(Flow& flow, const Packet& data);
  void send_credit(std::uint32_t slot);

  // homa.cpp: Homa.
  void divide_classes();
  void start_homa(Flow& flow);
  std::uint8_t homa_class(const Flow& flow, std::uint32_t number) const;
  void receive_message(std::uint32_t slot);
  void grant(std::uint32_t host);
  void receive_grant(PacketId id);

  // switch.cpp: switches.
  void switch_receive(PacketId id, std::uint32_t from_port);
  void enqueue(PacketId id, std::uint32_t from_port);
  void dequeued(std::uint32_t port, PacketId id);
  std::uint32_t choose_queue(Port& port, Flow& flow, Packet& packet);
  void note_empty(Port& port, std::uint32_t queue);
  void backpressure(Port& port, Packet& packet);
  bool mark(Port& port, std::uint32_t queue);
  void check_ingress(Switch& at, std::uint32_t from_port);
  void drop(PacketId id, Port& port);
  void send_notice(PacketId id, Port& port);
  std::int64_t pfc_limit(const Switch& at) const;

  bool is_host(std::uint32_t node) const { return node < hosts_; }
  // Whether packets of a flow may overtake each other; each then arrives exactly once.
  bool reorders() const {
    return settings_.drop_notices || settings_.spray || settings_.control == Control::homa;
  }
  std::uint32_t class_queues() const { return settings_.queues / settings_.classes; }
  Switch& switch_at(std::uint32_t node) { return switches_[node - hosts_]; }
  std::uint32_t packet_bytes() const {
    return settings_.payload_bytes + settings_.header_bytes + settings_.telemetry_bytes;
  }

  Settings settings_;
  std::uint32_t hosts_;
  std::vector<PortSpec> port_specs_;
  std::vector<FlowSpec> specs_;
  Topology topology_;
  Time base_rtt_;
  EventQueue events_;
  PacketPool packets_;
  FlowPool flows_;
  std::vector<Port> ports_;
  std::vector<Nic> nics_;
  std::vector<Switch> switches_;
  // Homa: the classes of packets that need no grant are the first ones, and of all but the last of
  // these, the packets of its longest message.
  std::uint32_t homa_unscheduled_ = 0;
  std::vector<std::uint32_t> homa_cutoffs_;
  // Of each host, the arriving messages with packets to grant.
  std::vector<std::vector<std::uint32_t>> inbound_;
  Time now_ = 0;
  std::uint32_t started_ = 0;
  // Number of flows per source and destination that start now.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> starting_;
  std::uint64_t unacknowledged_ = 0;  // limited flows whose sender awaits ACKs
  std::uint64_t delivered_ = 0;
  std::uint64_t delivered_long_ = 0;
  Results results_;
};

}  // namespace ccbench::datacenter
