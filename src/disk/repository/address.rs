//! Addresses of repositories, and the machines that they name.

/// The schemes of addresses that git talks to over a network.
const SCHEMES: [&str; 4] = ["https", "http", "ssh", "git"];

/// Last parts of names that stand for this machine or for one beside it.
const LOCAL: [&str; 3] = ["local", "localdomain", "localhost"];

/// The machine that an address names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressHost {
    /// A name in a domain, as that of another machine usually is.
    Domain,
    /// A single name: of a machine nearby, of an entry in the settings of ssh, or of this machine.
    Name,
    /// The address leaves the name to the text that follows it.
    Missing,
    /// `localhost`, a number, or anything else.
    Other,
}

impl AddressHost {
    /// Reads the machine from an address; `None` for a path, and for the name of a remote.
    pub fn parse(address: &str) -> Option<Self> {
        if let Some((scheme, rest)) = address.split_once("://") {
            let authority = rest.split('/').next().unwrap_or_default();
            let host = if SCHEMES.contains(&scheme) { host(authority) } else { None };
            return Some(host.map_or(Self::Other, Self::of_name));
        }
        // As in scp. A slash before the colon makes it a path, and a second colon names a program.
        let (authority, path) = address.split_once(':')?;
        if authority.contains('/') {
            return None;
        }
        let host = without_user(authority).filter(|_| !path.starts_with(':'));
        Some(host.map_or(Self::Other, Self::of_name))
    }

    fn of_name(name: &str) -> Self {
        if name.is_empty() {
            return Self::Missing;
        }
        let name = name.to_ascii_lowercase();
        let is_plain = |part: &str| {
            let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
            part.starts_with(|c: char| c.is_ascii_alphanumeric()) && part.chars().all(plain)
        };
        let last = name.rsplit('.').next().unwrap_or_default();
        let is_local =
            LOCAL.contains(&last) || ["localhost", "loopback"].iter().any(|it| name.contains(it));
        if !name.split('.').all(is_plain) || is_local {
            return Self::Other;
        }
        // What ends in a number is one, in one of several spellings.
        let is_domain = last.chars().all(|c| c.is_ascii_alphabetic()) || last.starts_with("xn--");
        match name.contains('.') {
            true if is_domain => Self::Domain,
            false if name.starts_with(|c: char| c.is_ascii_alphabetic()) => Self::Name,
            _ => Self::Other,
        }
    }
}

/// The name between the user and the port, if the form is a plain one.
fn host(authority: &str) -> Option<&str> {
    let name = without_user(authority)?;
    let Some((name, port)) = name.split_once(':') else { return Some(name) };
    port.chars().all(|c| c.is_ascii_digit()).then_some(name)
}

fn without_user(authority: &str) -> Option<&str> {
    let Some((user, name)) = authority.split_once('@') else { return Some(authority) };
    // Some programs end the name of the machine at one of these.
    let is_plain = |c: char| !c.is_whitespace() && !c.is_control() && !"?#\\[]".contains(c);
    user.chars().all(is_plain).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_another_machine_only_in_a_plain_form() {
        for (address, expected) in [
            ("https://example.org/a", Some(AddressHost::Domain)),
            ("https://user:p%40ss!@example.org:8443/a", Some(AddressHost::Domain)),
            ("ssh://git@xn--bcher-kva.xn--p1ai/a", Some(AddressHost::Domain)),
            ("git@example.org:a/b.git", Some(AddressHost::Domain)),
            ("git@work:a/b.git", Some(AddressHost::Name)),
            ("https://h/a", Some(AddressHost::Name)),
            ("https://", Some(AddressHost::Missing)),
            ("ssh://git@", Some(AddressHost::Missing)),
            ("origin", None),
            ("./a:b", None),
            ("/srv/a", None),
        ] {
            assert_eq!(AddressHost::parse(address), expected, "{address}");
        }
        for address in [
            "ssh://localhost/a",
            "ssh://example.org@localhost/a",
            "https://localhost?@example.org/a",
            "https://a@b@localhost/",
            "https://LOCALHOST:3000/a",
            "https://localhost./a",
            "https://x.localhost/a",
            "ssh://ip6-localhost/a",
            "ssh://laptop.local/a",
            "localhost:a",
            "git@127.0.0.1:a",
            "127.1:a",
            "0:a",
            "0x7f000001:a",
            "0x7f.0x1:a",
            "[::1]:a",
            "ssh://[::1]/a",
            "ssh://local%68ost/a",
            "ext::sh -c x",
            "foo::https://example.org/a",
            "file:///a",
            "HTTPS://example.org/a",
            "-x:a",
        ] {
            assert_eq!(AddressHost::parse(address), Some(AddressHost::Other), "{address}");
        }
    }
}
