//! Programs most of whose options name files, programs or modules: a rule covers only the options
//! known to do none of that.

use super::{Danger, Spelling};

/// Such programs, and the words that a rule covers.
struct KnownProgram {
    names: &'static str,
    /// The sub-commands; empty for a program without any.
    sub_commands: &'static str,
    /// The options without dashes, each with any value; `start*` is every option with that prefix.
    options: &'static str,
    /// The letters allowed after one dash; empty for a program that has no letter clusters.
    letters: &'static str,
    /// The letters that take the rest of such a word, or the next word.
    letters_with_value: &'static str,
}

const PROGRAMS: &[KnownProgram] = &[
    KnownProgram {
        names: "gpg gpg2",
        sub_commands: "",
        options: "always-trust armor ascii auto-key-locate batch card-status check-sigs check-signatures cipher-algo \
            clear-sign clearsign compress-algo dearmor decrypt default-key delete-key delete-keys detach-sign \
            digest-algo dry-run encrypt enarmor export export-options export-ownertrust expert fast-import \
            fingerprint full-gen-key full-generate-key gen-key gen-random generate-key help hidden-recipient import \
            import-options import-ownertrust keyid-format keyserver list-config list-key list-keys list-only \
            list-options list-packets list-public-keys list-secret-keys list-signatures list-sigs local-user \
            locate-keys lsign-key no no-* passphrase passphrase-fd personal-* pinentry-mode print-md quick-* quiet \
            receive-keys recipient recv-keys refresh-keys s2k-* search-keys send-keys show-keys sign sign-key \
            skip-verify status-fd logger-fd symmetric textmode trust-model use-agent utf8-strings verbose verify \
            verify-files verify-options version warranty with-* yes",
        letters: "abcdehkKnqstv",
        letters_with_value: "ruz",
    },
    KnownProgram {
        names: "openssl",
        sub_commands: "asn1parse ciphers cms crl crl2pkcs7 dgst dhparam dsa dsaparam ec ecparam enc errstr gendsa genpkey \
            genrsa help list md5 nseq ocsp passwd pkcs12 pkcs7 pkcs8 pkey pkeyparam pkeyutl prime rand req rsa rsautl \
            s_client sess_id sha1 sha224 sha256 sha384 sha512 smime speed spkac verify version x509",
        options: "1 4 5 6 A CAfile CApath K P S a addext aes* algorithm alias all* alpn apr1 base64 binary blake2* brief bytes c \
            cacerts camellia* cert certopt certs chacha20 check check_ss_sig checkend checkhost checkip checkemail \
            cipher* ciphersuites clcerts commands connect conv_form crl_check crl_check_all crlf crlnumber curves d \
            dates days decrypt derive des3 digest* disabled dump e elapsed email enc* enddate evp ext extensions \
            fingerprint generate genkey groups hash help hex hmac host i ign_eof in info inform inkey insecure \
            issuer issuer_hash iter iv k key keyopt lastupdate length list_curves mac macopt md md5 md_gost* modulus \
            multi name nameopt new newhdr newkey nextupdate nocerts nocrypt nodes noenc nokeys nomacver noout nosalt \
            no_* noverify offset oneline out_trusted outform p param_enc paramfile params partial_chain pass passin \
            pbkdf2 pkeyopt policy* port prexit print print_certs providers proxy prverify pubin pubkey pubout \
            public-key* purpose quiet r raw resp_text reconnect ripemd* rmd160 rsa* salt seconds serial servername \
            sess_in sha* showcerts sigalgs sign signature sigopt sm3 startdate starttls status stdin strparse subj \
            subject subject_hash text tls1* topk8 trusted untrusted url utf8 v v2 v2prf verbose verify* x509 x509_strict",
        letters: "",
        letters_with_value: "",
    },
];

/// Whether the table has the program.
pub fn has(name: &str) -> bool {
    program(name).is_some()
}

fn program(name: &str) -> Option<&'static KnownProgram> {
    PROGRAMS.iter().find(|program| program.names.split_whitespace().any(|own| own == name))
}

/// Finds unknown options and an unknown sub-command.
pub fn find(name: &str, words: &[Spelling<'_>], end: usize) -> Vec<Danger> {
    let Some(program) = program(name) else { return Vec::new() };
    let mut dangers = Vec::new();
    for (place, word) in words.iter().enumerate().take(end).skip(1) {
        let text = word.beginning();
        let is_sub_command = place == 1 && !program.sub_commands.is_empty();
        let found = match word.exact() {
            // An option's name must be certain, its value need not be.
            None if !text.starts_with('-') || text.contains('=') && program.covers(&text) => None,
            None => Some(text.as_str()),
            Some("-" | "--") => None,
            Some(word) if word.starts_with('-') => (!program.covers(word)).then_some(word),
            Some(word) => (is_sub_command && !program.has_sub_command(word)).then_some(word),
        };
        dangers.extend(found.map(|found| {
            let option = found.split('=').next().unwrap_or_default().to_owned();
            Danger::new(option.clone(), option, place)
        }));
    }
    dangers
}

impl KnownProgram {
    fn has_sub_command(&self, word: &str) -> bool {
        self.sub_commands.split_whitespace().any(|known| known == word)
    }

    /// Whether the rule covers this word, which begins with a dash.
    fn covers(&self, word: &str) -> bool {
        let name = word.split('=').next().unwrap_or_default();
        let reads_letters = !self.letters.is_empty();
        let long = match (name.strip_prefix("--"), reads_letters) {
            (Some(long), _) => long,
            (None, false) => &name[1..],
            (None, true) => return self.covers_letters(&word[1..]),
        };
        self.options.split_whitespace().any(|known| match known.strip_suffix('*') {
            Some(start) => long.starts_with(start),
            None => long == known,
        })
    }

    fn covers_letters(&self, cluster: &str) -> bool {
        let value = cluster.find(|letter| self.letters_with_value.contains(letter));
        cluster[..value.unwrap_or(cluster.len())]
            .chars()
            .all(|letter| self.letters.contains(letter))
    }
}
