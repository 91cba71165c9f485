require "openssl"

# Whether the request came from Posthorn within five minutes.
def verify_webhook(raw_body, headers, secret)
  id = headers["webhook-id"].to_s
  timestamp = headers["webhook-timestamp"].to_s
  return false if id.empty? || !timestamp.match?(/\A\d{1,12}\z/)
  return false if (Time.now.to_i - timestamp.to_i).abs > 300

  key = secret.delete_prefix("whsec_").unpack1("m")
  digest = OpenSSL::HMAC.digest("SHA256", key, "#{id}.#{timestamp}.".b + raw_body.b)
  expected = "v1," + [digest].pack("m0")
  # Two signatures while the secret is being rotated; one that matches is enough.
  given = headers["webhook-signature"].to_s.split(" ")
  given.any? { |signature| OpenSSL.secure_compare(signature, expected) }
end

# The short way: X-SMS-Signature covers the body alone, so an old request passes, too. Try
# X-SMS-Signature-Previous where it does not match: while the secret is being rotated, the old one made that.
def verify_body(raw_body, signature, secret)
  OpenSSL.secure_compare(signature.to_s, OpenSSL::HMAC.hexdigest("SHA256", secret, raw_body))
end
