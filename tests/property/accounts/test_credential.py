"""Any headers are read; only a whole token makes a session or an API key."""

from hypothesis import given
from hypothesis import strategies as st

from farebox.accounts.credential import Credential, CredentialFault, CredentialType, read_credential
from farebox.accounts.token import TokenType, digest_of, new_token

TOKENS = [new_token(form).value.reveal().encode() for form in TokenType]
OPERATOR = b"operator-key-of-sixteen"
names = st.sampled_from(
    [
        *(b"authorization", b"x-api-key", b"cookie", b"origin", b"host", b"accept"),
        *(b"x-farebox-csrf", b"x-farebox-account"),
    ]
)
tokens = st.sampled_from([*TOKENS, OPERATOR])
cookies = st.sampled_from([b"__Host-fbx_sess=", b"a=b; __Host-fbx_sess="])
values = st.one_of(
    st.binary(max_size=80),
    st.builds(bytes.__add__, st.sampled_from([b"Bearer ", b"bearer ", b"Basic ", b""]), tokens),
    st.builds(
        bytes.__add__, st.sampled_from([b"__Host-fbx_sess=", b"a=b; __Host-fbx_sess="]), tokens
    ),
    st.builds(bytes.__add__, tokens, st.binary(max_size=3)),
    st.sampled_from([b"https://farebox.example", b"farebox.example", b"1"]),
)
headers = st.lists(st.tuples(names, values), max_size=6)
methods = st.sampled_from(["GET", "POST", "DELETE", "get", ""])
origins = st.sampled_from([None, "https://farebox.example"])


@given(methods, headers, origins)
def test_find_credential_accepts_only_whole_tokens_in_any_headers(
    method: str, sent: list[tuple[bytes, bytes]], origin: str | None
) -> None:
    read = read_credential(method, sent, origin=origin)
    assert read is None or isinstance(read, CredentialFault | Credential)
    if not isinstance(read, Credential):
        return
    whole = b"\n".join(value for _, value in sent)
    if read.type is not CredentialType.OPERATOR:
        assert read.digest in {digest_of(token) for token in TOKENS if token in whole}
    names_sent = [name for name, _ in sent]
    in_headers = {b"authorization", b"x-api-key"} & set(names_sent)
    assert read.accounts == () or not in_headers
    if not in_headers:
        assert len(read.accounts) == names_sent.count(b"x-farebox-account")
        assert read.type is CredentialType.SESSION
        if method not in ("GET", "HEAD", "OPTIONS"):
            assert {b"origin", b"x-farebox-csrf"} <= set(names_sent)
    assert all(names_sent.count(name) == 1 for name in in_headers)
