// SPDX-License-Identifier: GPL-2.0-only
//
// One BBR and one CUBIC bulk flow through a drop-tail bottleneck in ns-3, for the comparison in
// benchmarks/engine.py. (GPL because it is compiled against ns-3, which is GPL.)
//
//   bbr sender ---+
//                 +--- router ===bottleneck=== receiver
//   cubic sender -+
//
// Where ns-3 has a choice, its settings follow Linux and ccbench's counting, so that both
// simulate the same network:
//
// - The bottleneck queue is the device's own drop-tail queue of exactly N waiting packets (the one
//   in transmission is not counted). Without DisableFlowControl() ns-3 puts an FqCoDel queue disc
//   in front of it, which shares the link between the flows and thus reverses the result.
// - The rate counts IP bytes (1500 for a full packet); ns-3's PPP header goes on top of it.
// - All delay is on the bottleneck; access links and the reverse path are too fast to matter.
// - Segments of 1448 bytes with timestamps and SACK, an ACK for every second segment or after
//   40 ms, RTO from 200 ms, 15 retries, socket buffers that never limit the window.
//
// The cost in ns-3 is minimal: the fewest hops, writes of whole segments, and no records except
// the queue's greatest length (ccbench records every event of every packet).
//
// Prints one line of JSON. Bad options end it with status 1.

#include "ns3/boolean.h"
#include "ns3/bulk-send-helper.h"
#include "ns3/command-line.h"
#include "ns3/config.h"
#include "ns3/data-rate.h"
#include "ns3/internet-stack-helper.h"
#include "ns3/ipv4-address-helper.h"
#include "ns3/ipv4-global-routing-helper.h"
#include "ns3/node-container.h"
#include "ns3/packet-sink-helper.h"
#include "ns3/packet-sink.h"
#include "ns3/point-to-point-helper.h"
#include "ns3/point-to-point-net-device.h"
#include "ns3/queue-disc.h"
#include "ns3/queue-size.h"
#include "ns3/queue.h"
#include "ns3/simulator.h"
#include "ns3/string.h"
#include "ns3/tcp-bbr.h"
#include "ns3/tcp-cubic.h"
#include "ns3/tcp-l4-protocol.h"
#include "ns3/traffic-control-layer.h"
#include "ns3/type-id.h"
#include "ns3/uinteger.h"

#if __has_include("ns3/version-defines.h") // only some builds of ns-3 say which they are
#include "ns3/version-defines.h"
#define NAME_OF(number) #number
#define TEXT_OF(macro) NAME_OF(macro)
#define NS3_BUILD                                                                                  \
    TEXT_OF(NS3_VERSION_MAJOR) "." TEXT_OF(NS3_VERSION_MINOR) " " NS3_VERSION_BUILD_PROFILE
#else
#define NS3_BUILD "of unknown version"
#endif

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

using namespace ns3;

namespace {

constexpr uint32_t kMssBytes = 1448;
constexpr uint32_t kPacketBytes = 1500;
constexpr uint32_t kPppHeaderBytes = 2;
constexpr uint16_t kFirstPort = 5001;
const DataRate kFast("100Gbps");

uint32_t queue_max_packets = 0;

void
NoteQueueLength(uint32_t, uint32_t packets)
{
    queue_max_packets = std::max(queue_max_packets, packets);
}

void
SetLinuxDefaults(double bandwidth_mbps, double rtt_ms, uint32_t queue_packets)
{
    // The largest window is a full pipe plus a full queue, twice that while slow start overshoots;
    // the factor 4 is headroom. More would only cost memory: a bulk sender fills its buffer.
    const double pipe_bytes =
        bandwidth_mbps * 1e6 / 8 * rtt_ms / 1e3 + 1.0 * queue_packets * kPacketBytes;
    const auto buffer_bytes = static_cast<uint32_t>(std::clamp(4 * pipe_bytes, 1e6, 1e9));

    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(kMssBytes));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(buffer_bytes));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(buffer_bytes));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(2));
    Config::SetDefault("ns3::TcpSocket::DelAckTimeout", StringValue("40ms"));
    Config::SetDefault("ns3::TcpSocket::DataRetries", UintegerValue(15));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", StringValue("200ms"));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(true));
}

} // namespace

int
main(int argc, char** argv)
{
    double bandwidth_mbps = 100;
    double rtt_ms = 40;
    double duration_s = 20;
    uint32_t queue_packets = 333;
    CommandLine options;
    options.AddValue("bandwidth_mbps", "bottleneck rate in Mbit/s of IP bytes", bandwidth_mbps);
    options.AddValue("rtt_ms", "base round trip in ms", rtt_ms);
    options.AddValue("queue_packets", "waiting packets that the queue holds", queue_packets);
    options.AddValue("duration_s", "virtual seconds to simulate", duration_s);
    options.Parse(argc, argv);
    if (!(bandwidth_mbps > 0 && rtt_ms > 0 && duration_s > 0 && queue_packets > 0)) {
        std::fprintf(stderr, "ns3_dumbbell: every option must be above 0; see --help\n");
        return EXIT_FAILURE;
    }

    SetLinuxDefaults(bandwidth_mbps, rtt_ms, queue_packets);

    const std::array<TypeId, 2> ccas{TcpBbr::GetTypeId(), TcpCubic::GetTypeId()};
    NodeContainer senders(ccas.size());
    NodeContainer path(2);
    const Ptr<Node> router = path.Get(0);
    const Ptr<Node> receiver = path.Get(1);
    InternetStackHelper stack;
    stack.Install(senders);
    stack.Install(path);

    const double wire_bytes_per_ip_byte = 1.0 * (kPacketBytes + kPppHeaderBytes) / kPacketBytes;
    const DataRate wire_rate(static_cast<uint64_t>(bandwidth_mbps * 1e6 * wire_bytes_per_ip_byte));
    PointToPointHelper link;
    link.DisableFlowControl();
    link.SetDeviceAttribute("Mtu", UintegerValue(kPacketBytes));
    link.SetDeviceAttribute("DataRate", DataRateValue(wire_rate));
    link.SetChannelAttribute("Delay", TimeValue(Seconds(rtt_ms / 2e3)));
    link.SetQueue("ns3::DropTailQueue",
                  "MaxSize",
                  QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, queue_packets)));
    const NetDeviceContainer bottleneck = link.Install(router, receiver);
    bottleneck.Get(1)->SetAttribute("DataRate", DataRateValue(kFast));

    PointToPointHelper access;
    access.DisableFlowControl();
    access.SetDeviceAttribute("Mtu", UintegerValue(kPacketBytes));
    access.SetDeviceAttribute("DataRate", DataRateValue(kFast));
    access.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("1000000p"));

    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
    const Ipv4InterfaceContainer bottleneck_interfaces = addresses.Assign(bottleneck);
    const Ipv4Address receiver_address = bottleneck_interfaces.GetAddress(1);
    for (uint32_t i = 0; i < senders.GetN(); i++) {
        addresses.NewNetwork();
        addresses.Assign(access.Install(senders.Get(i), router));
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    if (router->GetObject<TrafficControlLayer>()->GetRootQueueDiscOnDevice(bottleneck.Get(0))) {
        std::fprintf(stderr, "ns3_dumbbell: ns-3 put a queue disc before the bottleneck queue\n");
        return EXIT_FAILURE;
    }

    std::array<Ptr<PacketSink>, 2> sinks;
    for (uint32_t i = 0; i < senders.GetN(); i++) {
        const Ptr<TcpL4Protocol> tcp = senders.Get(i)->GetObject<TcpL4Protocol>();
        tcp->SetAttribute("SocketType", TypeIdValue(ccas[i]));
        const InetSocketAddress address(receiver_address, kFirstPort + i);
        BulkSendHelper source("ns3::TcpSocketFactory", address);
        source.SetAttribute("MaxBytes", UintegerValue(0));
        // One segment at a time: ns-3 then never has to cut packets up.
        source.SetAttribute("SendSize", UintegerValue(kMssBytes));
        source.Install(senders.Get(i));
        PacketSinkHelper sink("ns3::TcpSocketFactory", address);
        sinks[i] = DynamicCast<PacketSink>(sink.Install(receiver).Get(0));
    }

    const auto bottleneck_device = DynamicCast<PointToPointNetDevice>(bottleneck.Get(0));
    const Ptr<Queue<Packet>> queue = bottleneck_device->GetQueue();
    queue->TraceConnectWithoutContext("PacketsInQueue", MakeCallback(&NoteQueueLength));

    Simulator::Stop(Seconds(duration_s));
    Simulator::Run();

    const auto goodput_mbps = [&](uint32_t flow) {
        return static_cast<double>(sinks[flow]->GetTotalRx()) * 8 / duration_s / 1e6;
    };
    std::printf("{\"build\": \"" NS3_BUILD "\", "
                "\"packets\": %u, \"dropped\": %u, \"queue_max_packets\": %u, "
                "\"bbr_goodput_mbps\": %.3f, \"cubic_goodput_mbps\": %.3f}\n",
                queue->GetTotalReceivedPackets() - queue->GetNPackets(),
                queue->GetTotalDroppedPackets(),
                queue_max_packets,
                goodput_mbps(0),
                goodput_mbps(1));
    Simulator::Destroy();
    return EXIT_SUCCESS;
}
