//! Signatures of parts, kept as thinking blocks beside the parts they sign.
//!
//! This wire signs calls and texts instead of thoughts, and wants each signature back in its place.
//! A call's signature is the thinking block before it, a text's the one after it.

/// The kind of part that a signature belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SignedContent<'a> {
    /// The call that follows.
    Call(&'a str),
    /// A text.
    Text(&'a str),
}

const CALL_PREFIX: &str = "call:";
const TEXT_PREFIX: &str = "text:";

impl<'a> SignedContent<'a> {
    /// Encodes it as the signature of a thinking block.
    pub fn encode(self) -> String {
        match self {
            Self::Call(signature) => format!("{CALL_PREFIX}{signature}"),
            Self::Text(signature) => format!("{TEXT_PREFIX}{signature}"),
        }
    }

    /// Decodes the signature of a thinking block; `None` if another wire signed it.
    pub fn decode(sealed: &'a str) -> Option<Self> {
        let call = sealed.strip_prefix(CALL_PREFIX).map(Self::Call);
        call.or_else(|| sealed.strip_prefix(TEXT_PREFIX).map(Self::Text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_comes_back_with_its_place() {
        for signed in [SignedContent::Call("Ab+/="), SignedContent::Text("text:x")] {
            assert_eq!(SignedContent::decode(&signed.encode()), Some(signed));
        }
        for other in ["", "EqoB", r#"{"type":"reasoning"}"#] {
            assert_eq!(SignedContent::decode(other), None);
        }
    }
}
