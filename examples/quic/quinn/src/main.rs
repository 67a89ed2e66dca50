// SPDX-License-Identifier: Apache-2.0

//! A server that sends without end on each stream, and its client, with quinn.
//!
//!     quinn-bulk serve ADDRESS PORT CCA
//!     quinn-bulk fetch ADDRESS PORT

use std::error::Error;
use std::fs::File;
use std::io::{BufReader, LineWriter};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use quinn::congestion::{BbrConfig, ControllerFactory, CubicConfig, NewRenoConfig};
use quinn::{ClientConfig, Connecting, Endpoint, QlogConfig, ServerConfig, TransportConfig, VarInt};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// A large window, so that the congestion control limits the sender.
const WINDOW_BYTES: u32 = 100_000_000;

/// Returns the settings of both ends.
fn transport() -> Result<TransportConfig> {
    let mut transport = TransportConfig::default();
    transport
        .max_idle_timeout(Some(Duration::from_secs(1000).try_into()?))
        .stream_receive_window(VarInt::from_u32(WINDOW_BYTES))
        .receive_window(VarInt::from_u32(WINDOW_BYTES))
        .send_window(u64::from(WINDOW_BYTES));
    Ok(transport)
}

fn controller(cca: &str) -> Result<Arc<dyn ControllerFactory + Send + Sync>> {
    Ok(match cca {
        "bbr" => Arc::new(BbrConfig::default()),
        "cubic" => Arc::new(CubicConfig::default()),
        "reno" => Arc::new(NewRenoConfig::default()),
        _ => return Err(format!("{cca} is not bbr, cubic or reno").into()),
    })
}

fn certificates(file: &str) -> Result<Vec<CertificateDer<'static>>> {
    let mut reader = BufReader::new(File::open(file)?);
    Ok(rustls_pemfile::certs(&mut reader).collect::<std::io::Result<_>>()?)
}

fn key(file: &str) -> Result<PrivateKeyDer<'static>> {
    let mut reader = BufReader::new(File::open(file)?);
    rustls_pemfile::private_key(&mut reader)?.ok_or_else(|| format!("{file} has no key").into())
}

async fn serve(address: SocketAddr, cca: &str) -> Result<()> {
    let config = ServerConfig::with_single_cert(certificates("cert.pem")?, key("key.pem")?)?;
    let endpoint = Endpoint::server(config.clone(), address)?;
    let mut connections = 0;
    while let Some(incoming) = endpoint.accept().await {
        // Times in a qlog count from its creation.
        let mut qlog = QlogConfig::default();
        let file = File::create(format!("{connections}.sqlog"))?;
        qlog.writer(Box::new(LineWriter::new(file))); // not a system call for each word
        let mut transport = transport()?;
        transport.congestion_controller_factory(controller(cca)?);
        transport.qlog_stream(qlog.into_stream());
        let mut config = config.clone();
        config.transport_config(Arc::new(transport));
        tokio::spawn(answer(incoming.accept_with(Arc::new(config))?));
        connections += 1;
    }
    Ok(())
}

async fn answer(connecting: Connecting) -> Result<()> {
    let connection = connecting.await?;
    loop {
        let (mut stream, _) = connection.accept_bi().await?;
        tokio::spawn(async move { while stream.write_all(&[0; 65536]).await.is_ok() {} });
    }
}

async fn fetch(address: SocketAddr) -> Result<()> {
    let mut roots = rustls::RootCertStore::empty();
    for certificate in certificates("ca.pem")? {
        roots.add(certificate)?;
    }
    let mut config = ClientConfig::with_root_certificates(Arc::new(roots))?;
    config.transport_config(Arc::new(transport()?));
    let any: IpAddr = if address.is_ipv4() { "0.0.0.0" } else { "::" }.parse()?;
    let mut endpoint = Endpoint::client((any, 0).into())?;
    endpoint.set_default_client_config(config);
    let connection = endpoint.connect(address, "sender")?.await?;
    let (mut sender, mut receiver) = connection.open_bi().await?;
    sender.write_all(&[0]).await?;
    let mut chunk = vec![0; 65536];
    while receiver.read(&mut chunk).await?.is_some() {}
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    rustls::crypto::ring::default_provider()
        .install_default()
        .expect("it is the first");
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["serve", address, port, cca] => {
            serve(SocketAddr::new(address.parse()?, port.parse()?), cca).await
        }
        ["fetch", address, port] => {
            fetch(SocketAddr::new(address.parse()?, port.parse()?)).await
        }
        _ => Err("usage: quinn-bulk serve ADDRESS PORT CCA, or fetch ADDRESS PORT".into()),
    }
}
