<?php

const TOLERANCE_SECONDS = 300;

/**
 * Whether a delivery is genuine and fresh. Never throws, for any input.
 *
 * @param string $secret the whole secret from the response to the registration: svc_whsec_…
 * @param mixed $timestamp the header X-Service-Timestamp
 * @param mixed $signature the header X-Service-Signature
 * @param string $body the bytes exactly as received
 */
function verify(string $secret, mixed $timestamp, mixed $signature, string $body): bool
{
    // Everybody knows the empty secret.
    if ($secret === '') {
        return false;
    }
    if (!is_string($timestamp) || !is_string($signature)) {
        return false;
    }
    if (!preg_match('/^[0-9]{1,12}$/D', $timestamp)) {
        return false;
    }
    if (time() - (int) $timestamp > TOLERANCE_SECONDS) {
        return false;
    }

    $expected = hash_hmac('sha256', $timestamp . '.' . $body, $secret);
    return hash_equals($expected, $signature);
}

// A whole receiver around it, for any web server with PHP 8.
// To try it: WEBHOOK_SECRET=svc_whsec_… php -S 127.0.0.1:3001 verify_webhook.php

const MAX_BYTES = 256 * 1024;

/** The status of the response. */
function receive(string $secret): int
{
    if ($secret === '') {
        error_log('Set WEBHOOK_SECRET to the secret of the endpoint.');
        return 500;
    }
    if ($_SERVER['REQUEST_METHOD'] !== 'POST') {
        return 405;
    }
    $body = (string) file_get_contents('php://input', false, null, 0, MAX_BYTES + 1);
    if (strlen($body) > MAX_BYTES) {
        return 413;
    }

    $timestamp = $_SERVER['HTTP_X_SERVICE_TIMESTAMP'] ?? null;
    $signature = $_SERVER['HTTP_X_SERVICE_SIGNATURE'] ?? null;
    // For a day after a rotation, the former secret signs the second header.
    $previous = $_SERVER['HTTP_X_SERVICE_SIGNATURE_PREVIOUS'] ?? null;
    if (!verify($secret, $timestamp, $signature, $body) && !verify($secret, $timestamp, $previous, $body)) {
        return 401;
    }

    $delivery = json_decode($body, true, 512, JSON_THROW_ON_ERROR);
    // Here: save the delivery by its delivery_id unless it exists already. Do slow work after the response.
    error_log("{$delivery['event']} {$delivery['delivery_id']}");
    return 204;
}

// The status until the delivery is stored. PHP would respond to an uncaught exception with 200 if it displays errors.
http_response_code(500);
http_response_code(receive((string) getenv('WEBHOOK_SECRET')));
