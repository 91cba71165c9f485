<?php

/** Whether the request came from Posthorn within five minutes. */
function verify_webhook(string $rawBody, array $headers, string $secret): bool
{
    $headers = array_change_key_case($headers);
    $id = $headers['webhook-id'] ?? '';
    $timestamp = $headers['webhook-timestamp'] ?? '';
    $isNumber = preg_match('/^\d{1,12}$/D', $timestamp) === 1;
    if ($id === '' || !$isNumber || abs(time() - (int) $timestamp) > 300) {
        return false;
    }

    $key = base64_decode(substr($secret, strlen('whsec_')));
    $digest = hash_hmac('sha256', "$id.$timestamp.$rawBody", $key, true);
    $expected = 'v1,' . base64_encode($digest);
    // Two signatures while the secret is being rotated; one that matches is enough.
    foreach (explode(' ', $headers['webhook-signature'] ?? '') as $given) {
        if (hash_equals($expected, $given)) {
            return true;
        }
    }
    return false;
}

/**
 * The short way: X-SMS-Signature covers the body alone, so an old request passes, too. Try
 * X-SMS-Signature-Previous where it does not match: while the secret is being rotated, the old one made that.
 */
function verify_body(string $rawBody, ?string $signature, string $secret): bool
{
    return hash_equals(hash_hmac('sha256', $rawBody, $secret), $signature ?? '');
}
