/** Algorithms by TCG's registry. */
export const algorithms = {
  rsa: 0x0001,
  sha1: 0x0004,
  aes: 0x0006,
  sha256: 0x000b,
  sha384: 0x000c,
  sha512: 0x000d,
  none: 0x0010,
  sm3: 0x0012,
  rsassa: 0x0014,
  rsapss: 0x0016,
  ecdsa: 0x0018,
  ecc: 0x0023,
  cfb: 0x0043,
} as const;

/** Curve NIST P-256, by the same registry. */
export const nistP256 = 0x0003;
