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

# Where the machine's TPM has proved the boot: its quote over the receipt's beginning, by the key that the receipt names.
field() { sed -nE "s/.*\"$1\":\"?([^\",}]*).*/\1/p" payload.json; }
bytes=$(field quoted_bytes)
if [ -n "$bytes" ]; then
  printf '%b' "$(field attestation_key)" > ak.pem
  field quote | openssl base64 -d -A > quote.bin
  field signature | openssl base64 -d -A > quote.sig
  field tpm_signature | openssl base64 -d -A > quote.tpm
  nonce=$(head -c "$bytes" payload.json | openssl dgst -sha256 -r | cut -c 1-64)
  openssl dgst -sha256 -verify ak.pem -signature quote.sig quote.bin
  # TPMS_ATTEST: magic, kind, the key's name, and the nonce
  od -An -v -tx1 quote.bin | tr -d ' \n' | grep -qE "^ff54434780180022.{68}0020$nonce" || {
    echo "the TPM's quote is over something else than this receipt" >&2
    exit 1
  }
  echo "quoted by the TPM: the receipt's first $bytes bytes; verdict on its boot: $(field verdict)"
  # by tpm2-tools: tpm2_checkquote -u ak.pem -m quote.bin -s quote.tpm -g sha256 -q "$nonce"
fi
