import base64
import hashlib
import hmac
import time


def verify_webhook(raw_body: bytes, headers, secret: str) -> bool:
    """Whether the request came from Posthorn within five minutes."""
    message_id = headers.get("webhook-id") or ""
    timestamp = headers.get("webhook-timestamp") or ""
    is_number = timestamp.isascii() and timestamp.isdecimal() and len(timestamp) <= 12
    if not message_id or not is_number or abs(time.time() - int(timestamp)) > 300:
        return False

    key = base64.b64decode(secret[len("whsec_"):])
    content = f"{message_id}.{timestamp}.".encode() + raw_body
    digest = hmac.new(key, content, hashlib.sha256).digest()
    expected = b"v1," + base64.b64encode(digest)
    # Two signatures while the secret is being rotated; one that matches is enough.
    given = (headers.get("webhook-signature") or "").split(" ")
    return any(hmac.compare_digest(each.encode(), expected) for each in given)


def verify_body(raw_body: bytes, signature, secret: str) -> bool:
    """The short way: X-SMS-Signature covers the body alone, so an old request passes, too.

    Try X-SMS-Signature-Previous where it does not match: while the secret is being
    rotated, the old one made that.
    """
    expected = hmac.new(secret.encode(), raw_body, hashlib.sha256).hexdigest()
    return hmac.compare_digest((signature or "").encode(), expected.encode())
