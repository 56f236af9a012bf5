//! Answers that are larger than their content.

/// Appends `count` base64 characters, rounded up to whole groups of four; the text still decodes, with zero
/// bytes behind its content.
pub fn pad_base64(text: &mut String, count: usize) {
    if count == 0 {
        return;
    }
    // The fill characters of the last group turn into zero bits of content.
    let content = text.trim_end_matches('=').len();
    let padded = text.len() + count.next_multiple_of(4);
    text.truncate(content);
    text.extend(std::iter::repeat_n('A', padded - content));
}

/// Pads base64 text until it stands for at least `raw_bytes` bytes.
pub fn pad_base64_to(text: &mut String, raw_bytes: usize) {
    let wanted = raw_bytes.div_ceil(3) * 4;
    pad_base64(text, wanted.saturating_sub(text.len()));
}

/// Adds a member `padding` of `count` characters to a JSON object.
pub fn pad_object(json: &mut Vec<u8>, count: usize) {
    if count == 0 || json.pop_if(|last| *last == b'}').is_none() {
        return;
    }
    let separator: &[u8] = if json.ends_with(b"{") { b"" } else { b"," };
    json.reserve(count + 16);
    json.extend_from_slice(separator);
    json.extend_from_slice(br#""padding":""#);
    json.resize(json.len() + count, b'A');
    json.extend_from_slice(br#""}"#);
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;

    use super::*;

    #[test]
    fn padded_base64_decodes_to_its_content_and_zeros() {
        for content in [&b"a"[..], b"ab", b"abc", b""] {
            let mut text = STANDARD.encode(content);
            let before = text.len();
            pad_base64(&mut text, 7);
            assert_eq!(text.len(), before + 8);
            let raw = STANDARD.decode(&text).unwrap();
            assert!(raw.starts_with(content) && raw[content.len()..].iter().all(|byte| *byte == 0));
        }
    }

    #[test]
    fn base64_is_padded_up_to_a_size_and_never_cut() {
        for (raw_bytes, expected) in [(0, 3), (3, 3), (4, 6), (1_000, 1_002)] {
            let mut text = STANDARD.encode(b"abc");
            pad_base64_to(&mut text, raw_bytes);
            assert_eq!(STANDARD.decode(&text).unwrap().len(), expected, "{raw_bytes}");
        }
    }

    #[test]
    fn an_object_gets_one_more_member() {
        let mut json = br#"{"a":1}"#.to_vec();
        pad_object(&mut json, 3);
        assert_eq!(json, br#"{"a":1,"padding":"AAA"}"#);
        let mut empty = b"{}".to_vec();
        pad_object(&mut empty, 1);
        assert_eq!(empty, br#"{"padding":"A"}"#);
        let mut number = b"5".to_vec();
        pad_object(&mut number, 9);
        assert_eq!(number, b"5");
    }
}
