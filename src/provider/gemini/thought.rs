//! Signatures of parts, kept as thinking blocks beside what they sign.
//!
//! This wire signs calls and texts rather than thoughts, and wants each signature back where it was. A call's
//! signature is the thinking block before it, a text's the one behind it.

/// What a signature stands on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Signed<'a> {
    /// The call that follows.
    Call(&'a str),
    /// A text.
    Text(&'a str),
}

const CALL: &str = "call:";
const TEXT: &str = "text:";

impl<'a> Signed<'a> {
    /// As the signature of a thinking block.
    pub fn seal(self) -> String {
        match self {
            Self::Call(signature) => format!("{CALL}{signature}"),
            Self::Text(signature) => format!("{TEXT}{signature}"),
        }
    }

    /// What the signature of a thinking block stands for; `None` for what other wires signed.
    pub fn open(sealed: &'a str) -> Option<Self> {
        let call = sealed.strip_prefix(CALL).map(Self::Call);
        call.or_else(|| sealed.strip_prefix(TEXT).map(Self::Text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_comes_back_with_its_place() {
        for signed in [Signed::Call("Ab+/="), Signed::Text("text:x")] {
            assert_eq!(Signed::open(&signed.seal()), Some(signed));
        }
        for other in ["", "EqoB", r#"{"type":"reasoning"}"#] {
            assert_eq!(Signed::open(other), None);
        }
    }
}
