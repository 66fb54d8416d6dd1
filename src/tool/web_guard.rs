//! Limits fetches to public addresses, checked at the moment of connecting.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::{Host, Url};

/// Resolves names to the addresses that may be connected to. The checked address is the one
/// connected to, so an answer that changes between check and use gains nothing.
#[derive(Clone, Copy, Debug)]
pub struct AddressGuard {
    /// Lets tests reach a server of their own.
    pub allow_loopback: bool,
}

/// An address that must not be connected to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedAddress {
    host: String,
    kind: &'static str,
}

impl fmt::Display for RefusedAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, kind } = self;
        write!(f, "{host} is a {kind} address; only public web addresses can be fetched")
    }
}

impl std::error::Error for RefusedAddress {}

impl AddressGuard {
    /// Refuses an address in the URL itself; names are judged when they are resolved.
    pub fn check_url(self, url: &Url) -> Result<(), RefusedAddress> {
        let address = match url.host() {
            Some(Host::Ipv4(address)) => IpAddr::V4(address),
            Some(Host::Ipv6(address)) => IpAddr::V6(address),
            Some(Host::Domain(_)) | None => return Ok(()),
        };
        self.check(address, &address.to_string())
    }

    fn check(self, address: IpAddr, host: &str) -> Result<(), RefusedAddress> {
        if self.allow_loopback && address.is_loopback() {
            return Ok(());
        }
        match not_public(address) {
            None => Ok(()),
            Some(kind) => Err(RefusedAddress { host: host.to_owned(), kind }),
        }
    }
}

impl Resolve for AddressGuard {
    fn resolve(&self, name: Name) -> Resolving {
        let guard = *self;
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let (mut allowed, mut refused): (Vec<SocketAddr>, _) = (Vec::new(), None);
            for address in found {
                match guard.check(address.ip(), name.as_str()) {
                    Ok(()) => allowed.push(address),
                    Err(reason) => refused = Some(reason),
                }
            }
            match refused {
                Some(reason) if allowed.is_empty() => Err(reason.into()),
                _ => Ok(Box::new(allowed.into_iter()) as Addrs),
            }
        })
    }
}

/// Returns the kind of an address that is not on the public internet.
fn not_public(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => not_public_v4(address),
        IpAddr::V6(address) => not_public_v6(address),
    }
}

fn not_public_v4(address: Ipv4Addr) -> Option<&'static str> {
    match address.octets() {
        [0, ..] => Some("unspecified"),
        [127, ..] => Some("loopback"),
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] => Some("private"),
        [100, 64..=127, ..] => Some("carrier-private"),
        [169, 254, ..] => Some("link-local"),
        // Azure's services of a machine's own host.
        [168, 63, 129, 16] => Some("host-local"),
        [192, 0, 0 | 2, _] | [198, 18 | 19, ..] | [198, 51, 100, _] | [203, 0, 113, _] => {
            Some("reserved")
        }
        [192, 88, 99, _] | [240..=255, ..] => Some("reserved"),
        [224..=239, ..] => Some("multicast"),
        _ => None,
    }
}

fn not_public_v6(address: Ipv6Addr) -> Option<&'static str> {
    match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 1] => Some("loopback"),
        [0, 0, 0, 0, 0, 0, 0, 0] => Some("unspecified"),
        [0, 0, 0, 0, 0, 0xffff, ..] => Some("IPv4-mapped"),
        // A gateway to IPv4: the address inside counts.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            not_public_v4(Ipv4Addr::from((u32::from(high) << 16) | u32::from(low)))
        }
        [0xfc00..=0xfdff, ..] => Some("unique-local"),
        [0xfe80..=0xfebf, ..] => Some("link-local"),
        [0xfec0..=0xfeff, ..] => Some("site-local"),
        [0xff00..=0xffff, ..] => Some("multicast"),
        // Tunnels, which can hide any IPv4 address, benchmarks and documentation.
        [0x2001, 0..=0x1ff, ..] | [0x2002, ..] | [0x2001, 0xdb8, ..] | [0x3fff, ..] => {
            Some("reserved")
        }
        [0x2000..=0x3fff, ..] => None,
        _ => Some("reserved"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_public_addresses_pass() {
        for (address, kind) in [
            ("0.1.2.3", Some("unspecified")),
            ("127.0.0.1", Some("loopback")),
            ("127.9.9.9", Some("loopback")),
            ("10.0.0.1", Some("private")),
            ("172.16.0.1", Some("private")),
            ("172.32.0.1", None),
            ("192.168.1.1", Some("private")),
            ("100.64.0.1", Some("carrier-private")),
            ("100.128.0.1", None),
            ("169.254.169.254", Some("link-local")),
            ("224.0.0.1", Some("multicast")),
            ("255.255.255.255", Some("reserved")),
            ("8.8.8.8", None),
            ("::", Some("unspecified")),
            ("::1", Some("loopback")),
            ("::ffff:8.8.8.8", Some("IPv4-mapped")),
            ("::127.0.0.1", Some("reserved")),
            ("64:ff9b::a00:1", Some("private")),
            ("64:ff9b::808:808", None),
            ("2002:7f00:1::", Some("reserved")),
            ("2001::1", Some("reserved")),
            ("fd00:ec2::254", Some("unique-local")),
            ("fe80::1", Some("link-local")),
            ("ff02::1", Some("multicast")),
            ("2606:4700::1111", None),
        ] {
            assert_eq!(not_public(address.parse().unwrap()), kind, "{address}");
        }
    }

    #[test]
    fn an_address_in_disguise_is_seen_in_the_url() {
        let guard = AddressGuard { allow_loopback: false };
        for url in [
            "http://127.0.0.1/",
            "http://2130706433/",
            "http://0x7f.1/",
            "http://[::1]:80/",
            "http://[::ffff:7f00:1]/",
            "http://169.254.169.254/latest/meta-data/",
        ] {
            assert!(guard.check_url(&url.parse().unwrap()).is_err(), "{url}");
        }
    }

    #[tokio::test]
    async fn a_name_of_a_refused_address_is_refused() {
        let guard = AddressGuard { allow_loopback: false };
        let error = guard.resolve("localhost".parse().unwrap()).await.err().unwrap();
        assert_eq!(
            error.to_string(),
            "localhost is a loopback address; only public web addresses can be fetched"
        );
    }
}
