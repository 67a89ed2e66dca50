// SPDX-License-Identifier: Apache-2.0

//! A server that sends without end to one client, and this client, with quiche.
//!
//!     quiche-bulk serve ADDRESS PORT CCA
//!     quiche-bulk fetch ADDRESS PORT

use std::error::Error;
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use quiche::{Config, Connection, ConnectionId, RecvInfo, SendInfo};
use rustix::event::{poll, PollFd, PollFlags, Timespec};

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// A large window, so that the congestion control limits the sender. It limits also the data that
/// wait for it.
const WINDOW_BYTES: u64 = 16_000_000;

/// Data that a stream takes, relative to those that the congestion window allows. With 1, the
/// default, no data wait, and the window is not always full.
const CAPACITY: f64 = 2.0;

/// Largest UDP payload over IPv6 on a path with packets of 1500 bytes.
const DATAGRAM_BYTES: usize = 1452;

/// The client's stream.
const STREAM: u64 = 0;

/// Returns the settings of both ends.
fn config() -> Result<Config> {
    let mut config = Config::new(quiche::PROTOCOL_VERSION)?;
    config.set_application_protos(&[b"bulk"])?;
    config.set_max_idle_timeout(1_000_000);
    config.set_max_recv_udp_payload_size(DATAGRAM_BYTES);
    config.set_max_send_udp_payload_size(DATAGRAM_BYTES);
    config.set_initial_max_data(WINDOW_BYTES);
    config.set_initial_max_stream_data_bidi_local(WINDOW_BYTES);
    config.set_initial_max_stream_data_bidi_remote(WINDOW_BYTES);
    config.set_initial_max_streams_bidi(1);
    config.set_max_connection_window(WINDOW_BYTES);
    config.set_max_stream_window(WINDOW_BYTES);
    config.set_send_capacity_factor(CAPACITY);
    Ok(config)
}

/// Returns a new connection ID.
fn id() -> Result<ConnectionId<'static>> {
    let mut bytes = [0; quiche::MAX_CONN_ID_LEN];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(ConnectionId::from_vec(bytes.to_vec()))
}

/// Writes the events of a qlog that samples come from.
struct Qlog {
    file: File,
    line: Vec<u8>,
}

impl Write for Qlog {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        for part in bytes.split_inclusive(|&byte| byte == b'\n') {
            self.line.extend_from_slice(part);
            if part.ends_with(b"\n") {
                let line = String::from_utf8_lossy(&self.line);
                if ["reference_time", "metrics_updated", "packet_sent"]
                    .iter()
                    .any(|it| line.contains(it))
                {
                    self.file.write_all(line.as_bytes())?;
                }
                self.line.clear();
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Sends and receives the packets of a connection until it closes.
///
/// `exchange` reads and writes its streams. Each packet leaves at the time that quiche's pacing
/// gives it.
fn run(
    socket: &UdpSocket,
    connection: &mut Connection,
    mut exchange: impl FnMut(&mut Connection) -> Result<()>,
) -> Result<()> {
    let local = socket.local_addr()?;
    let mut packet = [0; 65535];
    let mut next = [0; DATAGRAM_BYTES];
    let mut held: Option<(usize, SendInfo)> = None;
    while !connection.is_closed() {
        loop {
            match socket.recv_from(&mut packet) {
                // A packet that is not valid is not an error of this end.
                Ok((length, from)) => {
                    let _ = connection.recv(&mut packet[..length], RecvInfo { from, to: local });
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error.into()),
            }
        }
        connection.on_timeout();
        exchange(connection)?;
        let wait = loop {
            let (length, info) = match held.take() {
                Some(waiting) => waiting,
                None => match connection.send(&mut next) {
                    Ok(packet) => packet,
                    Err(quiche::Error::Done) => break connection.timeout(),
                    Err(error) => return Err(error.into()),
                },
            };
            let early = info.at.saturating_duration_since(Instant::now());
            if !early.is_zero() {
                held = Some((length, info));
                break Some(connection.timeout().map_or(early, |wait| wait.min(early)));
            }
            socket.send_to(&next[..length], info.to)?;
        };
        wait_for(socket, wait)?;
    }
    Ok(())
}

/// Waits for a packet, or at most a time.
fn wait_for(socket: &UdpSocket, time: Option<Duration>) -> Result<()> {
    let limit = time.map(Timespec::try_from).transpose()?;
    poll(&mut [PollFd::new(socket, PollFlags::IN)], limit.as_ref())?;
    Ok(())
}

fn serve(address: SocketAddr, cca: &str) -> Result<()> {
    let mut config = config()?;
    config.load_cert_chain_from_pem_file("cert.pem")?;
    config.load_priv_key_from_pem_file("key.pem")?;
    config.set_cc_algorithm_name(cca)?;
    let socket = UdpSocket::bind(address)?;
    let mut first = [0; 65535];
    let (_, peer) = socket.peek_from(&mut first)?;
    socket.set_nonblocking(true)?;
    let mut connection = quiche::accept(&id()?, None, address, peer, &mut config)?;
    let qlog = Qlog {
        file: File::create("quiche.sqlog")?,
        line: Vec::new(),
    };
    connection.set_qlog(Box::new(qlog), String::new(), String::new());
    run(&socket, &mut connection, |connection| {
        while connection.is_established()
            && connection.stream_capacity(STREAM).is_ok_and(|it| it > 0)
        {
            connection.stream_send(STREAM, &[0; 65536], false)?;
        }
        Ok(())
    })
}

fn fetch(address: SocketAddr) -> Result<()> {
    let mut config = config()?;
    config.verify_peer(true);
    config.load_verify_locations_from_file("ca.pem")?;
    let any: IpAddr = if address.is_ipv4() { "0.0.0.0" } else { "::" }.parse()?;
    let socket = UdpSocket::bind((any, 0))?;
    socket.connect(address)?;
    socket.set_nonblocking(true)?;
    let local = socket.local_addr()?;
    let mut connection = quiche::connect(Some("sender"), &id()?, local, address, &mut config)?;
    let mut is_asked = false;
    let mut chunk = [0; 65535];
    run(&socket, &mut connection, |connection| {
        if connection.is_established() && !is_asked {
            connection.stream_send(STREAM, &[0], false)?;
            is_asked = true;
        }
        while connection.stream_readable(STREAM) {
            connection.stream_recv(STREAM, &mut chunk)?;
        }
        Ok(())
    })
}

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["serve", address, port, cca] => {
            serve(SocketAddr::new(address.parse()?, port.parse()?), cca)
        }
        ["fetch", address, port] => fetch(SocketAddr::new(address.parse()?, port.parse()?)),
        _ => Err("usage: quiche-bulk serve ADDRESS PORT CCA, or fetch ADDRESS PORT".into()),
    }
}
