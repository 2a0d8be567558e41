#!/bin/sh
# Verifies a wipe's receipt with OpenSSL 3 instead of Baton: verify.sh receipt.json key.pem
# The file is a DSSE envelope (github.com/secure-systems-lab/dsse) on one line; payload.json is what it says.
set -eu
type=$(sed -E 's/.*"payloadType":"([^"]*)".*/\1/' "$1")
sed -E 's/.*"payload":"([^"]*)".*/\1/' "$1" | openssl base64 -d -A > payload.json
sed -E 's/.*"sig":"([^"]*)".*/\1/' "$1" | openssl base64 -d -A > signature.bin
{ printf 'DSSEv1 %d %s %d ' "${#type}" "$type" "$(wc -c < payload.json)"; cat payload.json; } > signed.bin
openssl pkeyutl -verify -pubin -inkey "$2" -rawin -in signed.bin -sigfile signature.bin
openssl pkey -pubin -in "$2" -outform DER | openssl sha256    # = keyid in the receipt
