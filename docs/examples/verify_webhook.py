import hashlib
import hmac
import re
import time

TOLERANCE_SECONDS = 300


def verify(secret: str, timestamp, signature, body: bytes) -> bool:
    """Whether a delivery is genuine and fresh. Never raises, for any input.

    secret: the whole secret from the response to the registration: svc_whsec_…
    timestamp: the header X-Service-Timestamp, or None
    signature: the header X-Service-Signature, or None
    body: the bytes exactly as received
    """
    # Everybody knows the empty secret.
    if not secret:
        return False
    if not isinstance(timestamp, str) or not re.fullmatch("[0-9]{1,12}", timestamp):
        return False
    if not isinstance(signature, str) or not re.fullmatch("[0-9a-f]{64}", signature):
        return False
    if time.time() - int(timestamp) > TOLERANCE_SECONDS:
        return False

    signed = timestamp.encode() + b"." + body
    expected = hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()
    return hmac.compare_digest(expected, signature)


# A whole receiver around it: WEBHOOK_SECRET=svc_whsec_… python3 verify_webhook.py (Python 3.8 or later)

import json
import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PORT = int(os.environ.get("PORT", "3001"))
SECRET = os.environ.get("WEBHOOK_SECRET", "")
MAX_BYTES = 256 * 1024


class Receiver(BaseHTTPRequestHandler):
    # Seconds: a client that sends nothing must not block us.
    timeout = 10

    def do_POST(self):
        length = self.headers.get("Content-Length", "")
        if not re.fullmatch("[0-9]{1,12}", length):
            return self.answer(411)
        if int(length) > MAX_BYTES:
            return self.answer(413)
        body = self.rfile.read(int(length))

        timestamp = self.headers.get("X-Service-Timestamp")
        # For a day after a rotation, the former secret signs the second header.
        names = ("X-Service-Signature", "X-Service-Signature-Previous")
        if not any(verify(SECRET, timestamp, self.headers.get(name), body) for name in names):
            return self.answer(401)

        delivery = json.loads(body)
        # Here: save the delivery by its delivery_id unless it exists already. Do slow work after the response.
        print(delivery["event"], delivery["delivery_id"], flush=True)
        self.answer(204)

    def do_GET(self):
        self.answer(405)

    def answer(self, status):
        self.send_response(status)
        self.end_headers()


if __name__ == "__main__":
    if not SECRET:
        raise SystemExit("Set WEBHOOK_SECRET to the secret of the endpoint.")
    print(f"Receiving at http://localhost:{PORT}/", flush=True)
    ThreadingHTTPServer(("127.0.0.1", PORT), Receiver).serve_forever()
