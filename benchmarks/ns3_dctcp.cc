// SPDX-License-Identifier: GPL-2.0-only
//
// Long DCTCP flows from several senders to one receiver over a switch in ns-3, for the
// comparison in benchmarks/datacenter.py. (GPL because it is compiled against ns-3, which is GPL.)
//
//   sender ---+
//   sender ---+--- switch ===bottleneck=== receiver
//   ...    ---+
//
// Where ns-3 has a choice, its settings follow the simulator's:
//
// - All links have the same rate and delay. A full packet takes 1048 bytes on them, ns-3's PPP header
//   included, of which 1006 are payload.
// - The switch marks every packet that arrives at a queue of K or more (RED with both thresholds at K,
//   without averaging) and never drops. Below the queue disc the device holds one more packet, which is
//   counted, as in the simulator.
// - An ACK for every packet, alpha 1 at first, gain 1/16.
// - The window is cut at once ("classic recovery"). By default ns-3 lowers it over a round trip (PRR):
//   then marks still arrive afterwards, and it cuts a second time.
//
// Only the second half of the time is measured: ns-3 starts with slow start, the simulator does not.
//
// Prints one line of JSON; `cpu_s` is the CPU time of the simulation without set-up. Bad options exit with status 1.

#include "ns3/boolean.h"
#include "ns3/bulk-send-helper.h"
#include "ns3/command-line.h"
#include "ns3/config.h"
#include "ns3/data-rate.h"
#include "ns3/double.h"
#include "ns3/internet-stack-helper.h"
#include "ns3/ipv4-address-helper.h"
#include "ns3/ipv4-global-routing-helper.h"
#include "ns3/node-container.h"
#include "ns3/packet-sink-helper.h"
#include "ns3/packet-sink.h"
#include "ns3/point-to-point-helper.h"
#include "ns3/point-to-point-net-device.h"
#include "ns3/queue-disc.h"
#include "ns3/queue.h"
#include "ns3/simulator.h"
#include "ns3/string.h"
#include "ns3/tcp-dctcp.h"
#include "ns3/tcp-recovery-ops.h"
#include "ns3/traffic-control-helper.h"
#include "ns3/uinteger.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

using namespace ns3;

namespace {

constexpr uint32_t kSegmentBytes = 1006;
constexpr uint16_t kFirstPort = 5001;

struct Watched
{
    Ptr<QueueDisc> disc;
    Ptr<Queue<Packet>> queue;
    Time interval;
    double packets = 0;
    uint32_t samples = 0;
};

void
Sample(Watched* watched)
{
    watched->packets += watched->disc->GetNPackets() + watched->queue->GetNPackets();
    ++watched->samples;
    Simulator::Schedule(watched->interval, &Sample, watched);
}

} // namespace

int
main(int argc, char** argv)
{
    double gbps = 10;
    double delay_us = 10;
    double duration_s = 0.1;
    uint32_t senders = 2;
    uint32_t threshold_packets = 40;
    CommandLine options;
    options.AddValue("gbps", "rate of every link in Gbit/s", gbps);
    options.AddValue("delay_us", "delay of every link in microseconds", delay_us);
    options.AddValue("duration_s", "virtual seconds to simulate", duration_s);
    options.AddValue("senders", "how many", senders);
    options.AddValue("threshold_packets", "K", threshold_packets);
    options.Parse(argc, argv);
    if (!(gbps > 0 && delay_us > 0 && duration_s > 0 && senders > 0 && threshold_packets > 1)) {
        std::fprintf(stderr, "ns3_dctcp: every option must be above 0; see --help\n");
        return EXIT_FAILURE;
    }

    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpDctcp::GetTypeId()));
    Config::SetDefault("ns3::TcpL4Protocol::RecoveryType",
                       TypeIdValue(TcpClassicRecovery::GetTypeId()));
    Config::SetDefault("ns3::TcpDctcp::DctcpShiftG", DoubleValue(1.0 / 16));
    Config::SetDefault("ns3::TcpSocketBase::UseEcn", StringValue("On"));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", StringValue("200ms"));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(kSegmentBytes));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(4000000));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(4000000));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));

    NodeContainer sources(senders);
    NodeContainer path(2);
    InternetStackHelper stack;
    stack.Install(sources);
    stack.Install(path);

    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", DataRateValue(DataRate(static_cast<uint64_t>(gbps * 1e9))));
    link.SetChannelAttribute("Delay", TimeValue(MicroSeconds(delay_us)));
    link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("1p"));

    TrafficControlHelper marking;
    // The device holds one of the waiting packets.
    const double at_disc = threshold_packets - 1;
    marking.SetRootQueueDisc("ns3::RedQueueDisc",
                             "MinTh", DoubleValue(at_disc),
                             "MaxTh", DoubleValue(at_disc),
                             "QW", DoubleValue(1),
                             "Gentle", BooleanValue(false),
                             "UseEcn", BooleanValue(true),
                             "UseHardDrop", BooleanValue(false),
                             "MeanPktSize", UintegerValue(kSegmentBytes),
                             "LinkBandwidth", DataRateValue(DataRate(static_cast<uint64_t>(gbps * 1e9))),
                             "MaxSize", StringValue("20000p"));
    TrafficControlHelper plain;
    plain.SetRootQueueDisc("ns3::FifoQueueDisc", "MaxSize", StringValue("20000p"));

    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
    const NetDeviceContainer bottleneck = link.Install(path.Get(0), path.Get(1));
    const QueueDiscContainer discs = marking.Install(bottleneck.Get(0));
    const Ipv4Address receiver = addresses.Assign(bottleneck).GetAddress(1);
    for (uint32_t i = 0; i < senders; i++) {
        const NetDeviceContainer access = link.Install(sources.Get(i), path.Get(0));
        plain.Install(access);
        addresses.NewNetwork();
        addresses.Assign(access);
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    std::vector<Ptr<PacketSink>> sinks;
    for (uint32_t i = 0; i < senders; i++) {
        const InetSocketAddress address(receiver, kFirstPort + i);
        BulkSendHelper source("ns3::TcpSocketFactory", address);
        source.SetAttribute("MaxBytes", UintegerValue(0));
        source.SetAttribute("SendSize", UintegerValue(kSegmentBytes));
        source.Install(sources.Get(i));
        PacketSinkHelper sink("ns3::TcpSocketFactory", address);
        sinks.push_back(DynamicCast<PacketSink>(sink.Install(path.Get(1)).Get(0)));
    }

    Watched watched;
    watched.disc = discs.Get(0);
    watched.queue = DynamicCast<PointToPointNetDevice>(bottleneck.Get(0))->GetQueue();
    watched.interval = MicroSeconds(1);
    const auto received = [&sinks]() {
        uint64_t bytes = 0;
        for (const auto& sink : sinks) {
            bytes += sink->GetTotalRx();
        }
        return bytes;
    };
    Simulator::Schedule(Seconds(duration_s / 2), &Sample, &watched);
    const std::clock_t begun = std::clock();
    Simulator::Stop(Seconds(duration_s / 2));
    Simulator::Run();
    const uint64_t half = received();
    Simulator::Stop(Seconds(duration_s / 2));
    Simulator::Run();
    const double cpu_s = static_cast<double>(std::clock() - begun) / CLOCKS_PER_SEC;
    // Our own samples are events too.
    const uint64_t events = Simulator::GetEventCount() - watched.samples;
    std::printf("{\"events\": %lu, \"cpu_s\": %.6f, \"queue_packets\": %.3f, \"utilisation\": %.5f}\n",
                static_cast<unsigned long>(events),
                cpu_s,
                watched.packets / watched.samples,
                static_cast<double>(received() - half) * 1048 / kSegmentBytes * 8 /
                    (duration_s / 2) / (gbps * 1e9));
    Simulator::Destroy();
    return EXIT_SUCCESS;
}
