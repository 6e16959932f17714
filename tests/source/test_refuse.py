from __future__ import annotations

import base64
import random
import stat
import time

import pytest

from helpers.errors import UNREAD_CODES
from helpers.source import refuse

KEY_BODY = base64.encodebytes(bytes(range(256)) * 5)
SECRET = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzzzzzzzzz"
MEBIBYTE = 1024 * 1024


def words(text: str) -> list[str]:
    return text.split()


SECRETS = words("""
    id_rsa ID_RSA id_ed25519 id_rsa.bak server.pem SERVER.PEM tls.key my.kdbx a.p12 a.pfx
    keystore.jks putty.ppk .env .env.local .ENV prod.env credentials credentials.json
    credentials.csv .netrc _netrc netrc .pgpass .npmrc .git-credentials .htpasswd wallet.dat
    wallet.json secrets.yaml secrets.toml passwords.csv logins.json key4.db service-account.json
    client_secret_123.apps.json krb5.keytab login.keychain-db
""")
DOCUMENTS = words("""
    keyboard.md monkey.txt key.md keys.docx environment.md env.txt credentials.md secrets.md
    wallet.md wallets.pdf passwords.md password-policy.docx id_rsa.md pem.txt netrc.md id_card.pdf
    service-account.md client_secret.pdf turkey 열쇠.md กุญแจ.txt 암호.hwp ~draft.md thumbs.md
    desktop.md the_secret_garden.txt
""")
QUIET = words("""
    ~$report.docx .~lock.plan.odt# Thumbs.db THUMBS.DB desktop.ini .DS_Store ._photo.jpg .#draft.md
    ~WRL0005.tmp .ragdocignore .~budget.xlsx ehthumbs.db
""")


def pem(kind: str = "RSA ", body: bytes = KEY_BODY) -> bytes:
    line = f"{kind}PRIVATE KEY-----\n".encode()
    return b"-----BEGIN " + line + body + b"-----END " + line


@pytest.mark.parametrize("name", SECRETS)
def test_names_of_secrets_are_refused_as_sensitive(name: str) -> None:
    verdict = refuse.by_name(name)
    assert verdict is not None and verdict.code == "sensitive"
    assert verdict.reason and verdict.remedy


@pytest.mark.parametrize("name", DOCUMENTS)
def test_documents_about_keys_are_documents(name: str) -> None:
    assert refuse.by_name(name) is None


@pytest.mark.parametrize("name", [*QUIET, "Icon\r"])
def test_lock_and_system_files_are_skipped_quietly(name: str) -> None:
    assert refuse.by_name(name) == refuse.QUIET


@pytest.mark.parametrize(
    ("name", "code", "word"),
    [
        (".notes.md", "hidden", "hidden"),
        ("budget.gsheet", "unsupported", "Google Drive"),
        ("plan.GDOC", "unsupported", "Google Drive"),
        (".scan.pdf.icloud", "unreadable", "cloud"),
    ],
)
def test_other_refusals_name_their_reason(name: str, code: str, word: str) -> None:
    verdict = refuse.by_name(name)
    assert verdict is not None and verdict.code == code and word in verdict.reason


def test_secret_folders_are_told_from_hidden_ones() -> None:
    codes = [refuse.folder_by_name(name) for name in (".ssh", ".notes", "notes")]
    assert [verdict and verdict.code for verdict in codes] == ["sensitive", "hidden", None]


@pytest.mark.parametrize(
    ("attributes", "tag", "flags", "code"),
    [
        (stat.FILE_ATTRIBUTE_ARCHIVE, 0, 0, None),
        (stat.FILE_ATTRIBUTE_OFFLINE, 0, 0, "unreadable"),
        (0x0040_0000, 0, 0, "unreadable"),  # RECALL_ON_DATA_ACCESS
        (0x0004_0000, 0, 0, "unreadable"),  # RECALL_ON_OPEN
        (stat.FILE_ATTRIBUTE_HIDDEN, 0, 0, "hidden"),
        (stat.FILE_ATTRIBUTE_REPARSE_POINT, 0xA000_0003, 0, "symlink"),
        (stat.FILE_ATTRIBUTE_REPARSE_POINT, 0xA000_000C, 0, "symlink"),
        (stat.FILE_ATTRIBUTE_REPARSE_POINT, 0x9000_001A, 0, None),  # a cloud file that is here
        (0, 0, 0x4000_0000, "unreadable"),  # macOS SF_DATALESS
        (0, 0, 0x8000, "hidden"),  # macOS UF_HIDDEN
    ],
)
def test_attributes_tell_placeholders_and_links(
    attributes: int, tag: int, flags: int, code: str | None
) -> None:
    verdict = refuse.by_attributes(attributes, tag, flags)
    assert (verdict and verdict.code) == code


@pytest.mark.parametrize(
    ("mode", "code"),
    [
        (stat.S_IFREG, None),
        (stat.S_IFLNK, "symlink"),
        (stat.S_IFIFO, "not_regular"),
        (stat.S_IFSOCK, "not_regular"),
        (stat.S_IFBLK, "not_regular"),
        (stat.S_IFCHR, "not_regular"),
        (stat.S_IFDIR, "not_regular"),
    ],
)
def test_only_regular_files_pass(mode: int, code: str | None) -> None:
    verdict = refuse.by_mode(mode | 0o644)
    assert (verdict and verdict.code) == code
    assert code is None or code in UNREAD_CODES


@pytest.mark.parametrize(
    "content",
    [
        pem(),
        pem(""),
        pem("OPENSSH "),
        pem("EC "),
        pem("ENCRYPTED "),
        b"\xef\xbb\xbf\n" + pem(),
        b"-----BEGIN PRIVATE KEY-----\nshort\n",
        b"# my notes\n\n" + pem() + b"\nmore notes\n",
        pem().replace(b"\n", b"\r\n"),
        b"Proc-Type" + pem("RSA ", b"Proc-Type: 4,ENCRYPTED\n\n" + KEY_BODY),
        b"-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: 1\n\n" + KEY_BODY,
        b'{"type": "service_account", "private_key": "-----BEGIN PRIVATE KEY-----\\n'
        + KEY_BODY.replace(b"\n", b"\\n")
        + b'-----END PRIVATE KEY-----\\n"}',
        ("\ufeff" + pem().decode()).encode("utf-16-le"),
        b"PuTTY-User-Key-File-3: ssh-ed25519\n",
        f"[default]\naws_secret_access_key = {SECRET}\n".encode(),
        f"export AWS_SECRET_ACCESS_KEY={SECRET}\n".encode(),
        f'{{"SecretAccessKey": "{SECRET}"}}'.encode(),
        b"token: ghp_" + b"a1B2" * 9,
        b"xoxb-123456789012-1234567890123-" + b"aB3" * 8,
        b"key=sk_live_" + b"a1B2" * 6,
        b"AGE-SECRET-KEY-1" + b"Q" * 58,
    ],
)
def test_secret_content_is_found(content: bytes) -> None:
    scan = refuse.SecretScan()
    scan.feed(content)
    assert scan.found


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"-----BEGIN CERTIFICATE-----\n" + KEY_BODY,
        b"-----BEGIN PUBLIC KEY-----\n" + KEY_BODY,
        b"A key file starts with -----BEGIN RSA PRIVATE KEY----- and ends with END.",
        b"Example:\n-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKC...\n-----END",
        b"-----BEGIN RSA PRIVATE KEY----- is the first line of such a file"[1:],
        b"Set aws_secret_access_key to the value you were given.",
        b"aws_secret_access_key = YOUR_SECRET_KEY",
        b"sha1 da39a3ee5e6b4b0d3255bfef95601890afd80709",
        "개인 키(PRIVATE KEY)는 공유하지 마십시오".encode(),
        b"ghp_ is the prefix of a token",
    ],
)
def test_documents_that_speak_of_secrets_are_read(content: bytes) -> None:
    scan = refuse.SecretScan()
    scan.feed(content)
    assert scan.found is None


@pytest.mark.parametrize("before", [0, 1000, MEBIBYTE - 20, MEBIBYTE + 5, 3 * MEBIBYTE])
def test_key_is_found_wherever_it_stands_among_blocks(before: int) -> None:
    content = b"x" * before + b"\n" + pem() + b"y" * 5000
    scan = refuse.SecretScan()
    for start in range(0, len(content), MEBIBYTE):
        scan.feed(content[start : start + MEBIBYTE])
    assert scan.found == "a private key"


@pytest.mark.parametrize(
    "unit",
    [
        b"-----BEGIN RSA PRIVATE KEY-----\n",
        b"-----BEGIN ",
        b"-----BEGIN PRIVATE KEY-----" + b"\\n" * 8,
        b"aws_secret_access_key" + b" " * 8,
        b"secret_access_key=" + b"A" * 39,
        b"xoxb-" + b"1" * 16 + b"-",
        b"PRIVATE KEY" + b"A" * 76,
        b"ghp_github_pat_" + b"_" * 59,
    ],
)
def test_scan_of_adversarial_text_takes_linear_time(unit: bytes) -> None:
    content = (unit * (50_000 // len(unit) + 1))[:50_000]
    start = time.perf_counter()
    refuse.find_secret(content)
    assert time.perf_counter() - start < 1.0


def test_random_bytes_hold_no_secret() -> None:
    generator = random.Random(20)
    assert not any(refuse.find_secret(generator.randbytes(65536)) for _ in range(50))
