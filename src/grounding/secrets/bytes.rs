//! Credentials in bytes whose encoding is not known (`controller.md` W-6).

use super::{Hit, likely_credential};

/// Whether `bytes`, read as UTF-8 or as UTF-16 in either order, hold a likely credential.
///
/// The line of a hit counts the lines of the decoding it was found in.
#[must_use]
pub fn likely_credential_in_bytes(bytes: &[u8]) -> Option<Hit> {
    if let Some(hit) = likely_credential(&String::from_utf8_lossy(bytes)) {
        return Some(hit);
    }
    // A credential is ASCII, and ASCII in UTF-16 has zero bytes.
    if !bytes.contains(&0) {
        return None;
    }
    // Text inside another format may begin at an odd byte.
    [0, 1].into_iter().filter_map(|skip| bytes.get(skip..)).find_map(|bytes| {
        likely_credential(&utf16(bytes, u16::from_le_bytes))
            .or_else(|| likely_credential(&utf16(bytes, u16::from_be_bytes)))
    })
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> String {
    let units = bytes.as_chunks::<2>().0.iter().map(|pair| unit(*pair));
    char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}

#[cfg(test)]
mod tests {
    use super::likely_credential_in_bytes;

    #[test]
    fn both_orders_of_utf_16_are_read_at_even_and_odd_bytes() {
        let text = "a\ntoken = xxxxxxxx";
        let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        for bytes in [text.as_bytes(), &little, &big, &[b"!", &*little].concat(), &[b"!", &*big].concat()] {
            assert_eq!(likely_credential_in_bytes(bytes).map(|hit| hit.line), Some(2), "{bytes:?}");
        }
        let harmless: Vec<u8> = "token = short".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(likely_credential_in_bytes(&harmless), None);
    }
}
