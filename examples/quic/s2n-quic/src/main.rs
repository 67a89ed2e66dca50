// SPDX-License-Identifier: Apache-2.0

//! A server that sends without end on each stream, and its client, with s2n-quic.
//!
//!     s2n-quic-bulk serve ADDRESS PORT CCA
//!     s2n-quic-bulk fetch ADDRESS PORT

use std::error::Error;
use std::fs::File;
use std::io::Write;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use s2n_quic::client::Connect;
use s2n_quic::provider::congestion_controller::{Bbr, Cubic};
use s2n_quic::provider::event::{events, ConnectionInfo, ConnectionMeta, Subscriber};
use s2n_quic::provider::limits::Limits;
use s2n_quic::{Client, Connection, Server};

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// A large window, so that the congestion control limits the sender.
const WINDOW_BYTES: u64 = 100_000_000;

/// Returns the settings of both ends.
fn limits() -> Result<Limits> {
    Ok(Limits::new()
        .with_max_idle_timeout(Duration::from_secs(1000))?
        .with_data_window(WINDOW_BYTES)?
        .with_bidirectional_local_data_window(WINDOW_BYTES)?
        .with_bidirectional_remote_data_window(WINDOW_BYTES)?
        .with_max_send_buffer_size(4_000_000)?)
}

/// Writes the state of the congestion control of each connection as a qlog.
struct Qlog;

/// The file of a connection, and the largest datagram so far.
struct Trace {
    file: File,
    datagram_bytes: u16,
}

impl Trace {
    fn write(&mut self, name: &str, data: &str) {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let time_ms = now.unwrap_or_default().as_secs_f64() * 1e3;
        let line = format!("{{\"time\":{time_ms:.3},\"name\":\"{name}\",\"data\":{data}}}\n");
        let _ = self.file.write_all(line.as_bytes());
    }
}

impl Subscriber for Qlog {
    type ConnectionContext = Option<Trace>;

    fn create_connection_context(
        &mut self,
        meta: &ConnectionMeta,
        _: &ConnectionInfo,
    ) -> Option<Trace> {
        let mut file = File::create(format!("{}.sqlog", meta.id)).ok()?;
        let header = r#"{"qlog_format":"JSON-SEQ","qlog_version":"0.3","trace":{"common_fields":{"reference_time":0}}}"#;
        writeln!(file, "{header}").ok()?;
        Some(Trace {
            file,
            datagram_bytes: 0,
        })
    }

    fn on_datagram_sent(
        &mut self,
        trace: &mut Option<Trace>,
        _: &ConnectionMeta,
        event: &events::DatagramSent,
    ) {
        if let Some(trace) = trace
            .as_mut()
            .filter(|trace| event.len > trace.datagram_bytes)
        {
            trace.datagram_bytes = event.len;
            let data = format!("{{\"raw\":{{\"length\":{}}}}}", event.len);
            trace.write("transport:packet_sent", &data);
        }
    }

    fn on_recovery_metrics(
        &mut self,
        trace: &mut Option<Trace>,
        _: &ConnectionMeta,
        event: &events::RecoveryMetrics,
    ) {
        let Some(trace) = trace else { return };
        let data = format!(
            "{{\"congestion_window\":{},\"bytes_in_flight\":{},\"smoothed_rtt\":{},\"min_rtt\":{}}}",
            event.congestion_window,
            event.bytes_in_flight,
            event.smoothed_rtt.as_secs_f64() * 1e3,
            event.min_rtt.as_secs_f64() * 1e3,
        );
        trace.write("recovery:metrics_updated", &data);
    }
}

/// Starts a server. Each congestion control is a type of its own.
macro_rules! server {
    ($address:expr, $cca:expr) => {
        Server::builder()
            .with_tls((Path::new("cert.pem"), Path::new("key.pem")))?
            .with_io($address)?
            .with_limits(limits()?)?
            .with_event(Qlog)?
            .with_congestion_controller($cca)?
            .start()?
    };
}

async fn serve(address: SocketAddr, cca: &str) -> Result<()> {
    let mut server = match cca {
        "bbr" => server!(address, Bbr::default()),
        "cubic" => server!(address, Cubic::default()),
        _ => return Err(format!("{cca} is not bbr or cubic").into()),
    };
    while let Some(connection) = server.accept().await {
        tokio::spawn(answer(connection));
    }
    Ok(())
}

async fn answer(mut connection: Connection) -> Result<()> {
    while let Some(mut stream) = connection.accept_bidirectional_stream().await? {
        let chunk = Bytes::from_static(&[0; 65536]);
        tokio::spawn(async move { while stream.send(chunk.clone()).await.is_ok() {} });
    }
    Ok(())
}

async fn fetch(address: SocketAddr) -> Result<()> {
    let any: IpAddr = if address.is_ipv4() { "0.0.0.0" } else { "::" }.parse()?;
    let client = Client::builder()
        .with_tls(Path::new("ca.pem"))?
        .with_io((any, 0))?
        .with_limits(limits()?)?
        .start()?;
    let connect = Connect::new(address).with_server_name("sender");
    let mut connection = client.connect(connect).await?;
    let mut stream = connection.open_bidirectional_stream().await?;
    stream.send(Bytes::from_static(&[0])).await?;
    while stream.receive().await?.is_some() {}
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["serve", address, port, cca] => {
            serve(SocketAddr::new(address.parse()?, port.parse()?), cca).await
        }
        ["fetch", address, port] => fetch(SocketAddr::new(address.parse()?, port.parse()?)).await,
        _ => Err("usage: s2n-quic-bulk serve ADDRESS PORT CCA, or fetch ADDRESS PORT".into()),
    }
}
