//! Says what is wrong with a connection over TLS, and what to do.

use std::io;

use tokio_rustls::rustls::{AlertDescription, CertificateError, Error, InvalidMessage};

/// Puts an error of TLS in words; leaves any other error as it is.
pub(super) fn in_words(error: io::Error) -> io::Error {
    match error.get_ref().and_then(|inner| inner.downcast_ref()) {
        Some(tls) => io::Error::new(error.kind(), text(tls)),
        None => error,
    }
}

fn text(error: &Error) -> String {
    let text = match error {
        Error::NoCertificatesPresented => {
            "it shows no certificate; give it one that the CA of --tls-ca has signed"
        }
        Error::InvalidCertificate(error) => return of_certificate(error),
        Error::InvalidMessage(InvalidMessage::InvalidContentType) => {
            "it does not speak TLS; give it TLS, or use an address without tls: on both sides"
        }
        Error::AlertReceived(alert) => return of_alert(*alert),
        Error::PeerIncompatible(_) => "it speaks no version of TLS that is safe; use 1.2 or 1.3",
        _ => return format!("TLS: {error}"),
    };
    text.to_owned()
}

fn of_certificate(error: &CertificateError) -> String {
    use CertificateError::{
        ApplicationVerificationFailure, BadSignature, Expired, ExpiredContext, InvalidPurpose,
        InvalidPurposeContext, NotValidForName, NotValidForNameContext, NotValidYet,
        NotValidYetContext, UnknownIssuer,
    };
    let text = match error {
        Expired | ExpiredContext { .. } => "its certificate has expired; make a new one",
        NotValidYet | NotValidYetContext { .. } => {
            "its certificate is not valid yet; look at the clocks of both machines"
        }
        UnknownIssuer | BadSignature => {
            "its certificate is of another CA; give it one that the CA of --tls-ca has signed"
        }
        NotValidForName => "its certificate is for another name",
        NotValidForNameContext {
            expected,
            presented,
        } => {
            // DnsName("rrd1") or IpAddress(10.0.0.1)
            let name = |text: &String| {
                let inner = text
                    .split_once('(')
                    .and_then(|(_, rest)| rest.strip_suffix(')'));
                inner.unwrap_or(text).trim_matches('"').to_owned()
            };
            let presented: Vec<String> = presented.iter().map(name).collect();
            let (presented, expected) = (presented.join(", "), expected.to_str());
            return format!(
                "its certificate is for {presented}, not for {expected}: make one with this name \
                or address in its subjectAltName, or correct the address"
            );
        }
        InvalidPurpose | InvalidPurposeContext { .. } => {
            "its certificate is not made for this side; servers need serverAuth and clients \
            clientAuth in its extendedKeyUsage"
        }
        ApplicationVerificationFailure => {
            "its certificate is for no name of --tls-clients; add the name, or use another \
            certificate"
        }
        other => return format!("its certificate is refused: {other}"),
    };
    text.to_owned()
}

fn of_alert(alert: AlertDescription) -> String {
    let text = match alert {
        AlertDescription::CertificateExpired => "our certificate (--tls-cert) has expired",
        AlertDescription::UnknownCA | AlertDescription::DecryptError => {
            "it does not know the CA of our certificate (--tls-cert); both sides need the same CA"
        }
        AlertDescription::CertificateRequired => "it wants a certificate of us; see --tls-cert",
        AlertDescription::BadCertificate
        | AlertDescription::UnsupportedCertificate
        | AlertDescription::CertificateUnknown
        | AlertDescription::CertificateRevoked
        | AlertDescription::AccessDenied => {
            "it refuses our certificate (--tls-cert); its messages say why"
        }
        other => return format!("it ends TLS with {other:?}; its messages say why"),
    };
    text.to_owned()
}
