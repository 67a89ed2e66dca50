// SPDX-License-Identifier: Apache-2.0

// A server that sends without end on each stream, and its client, with quic-go.
//
//	quic-go-bulk serve ADDRESS PORT
//	quic-go-bulk fetch ADDRESS PORT
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/qlog"
)

const protocol = "bulk"

// Both ends; a large window, so that the congestion control limits the sender.
var config = &quic.Config{
	MaxIdleTimeout:             1000 * time.Second,
	MaxStreamReceiveWindow:     100_000_000,
	MaxConnectionReceiveWindow: 100_000_000,
	Tracer:                     qlog.DefaultConnectionTracer, // writes to $QLOGDIR, if it is set
}

func serve(address string) error {
	certificate, err := tls.LoadX509KeyPair("cert.pem", "key.pem")
	if err != nil {
		return err
	}
	settings := &tls.Config{Certificates: []tls.Certificate{certificate}, NextProtos: []string{protocol}}
	listener, err := quic.ListenAddr(address, settings, config)
	if err != nil {
		return err
	}
	for {
		connection, err := listener.Accept(context.Background())
		if err != nil {
			return err
		}
		go answer(connection)
	}
}

func answer(connection *quic.Conn) {
	for {
		stream, err := connection.AcceptStream(context.Background())
		if err != nil {
			return
		}
		go func() {
			for chunk := make([]byte, 65536); err == nil; {
				_, err = stream.Write(chunk)
			}
		}()
	}
}

func fetch(address string) error {
	authority, err := os.ReadFile("ca.pem")
	if err != nil {
		return err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authority)
	settings := &tls.Config{RootCAs: pool, ServerName: "sender", NextProtos: []string{protocol}}
	connection, err := quic.DialAddr(context.Background(), address, settings, config)
	if err != nil {
		return err
	}
	stream, err := connection.OpenStreamSync(context.Background())
	if err != nil {
		return err
	}
	if _, err := stream.Write([]byte{0}); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, stream)
	return err
}

func main() {
	ends := map[string]func(string) error{"serve": serve, "fetch": fetch}
	if len(os.Args) != 4 || ends[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: quic-go-bulk serve|fetch ADDRESS PORT")
		os.Exit(2)
	}
	if err := ends[os.Args[1]](net.JoinHostPort(os.Args[2], os.Args[3])); err != nil {
		fmt.Fprintln(os.Stderr, "quic-go-bulk:", err)
		os.Exit(1)
	}
}
