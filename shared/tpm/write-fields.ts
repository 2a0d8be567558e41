/** Fields of TPM structures (TCG TPM 2.0 Library, part 2): numbers are big endian, `TPM2B_…` are bytes after their length. */

/** Writes numbers of a given size in bytes, one after the other. */
export function numbers(...fields: readonly (readonly [value: number, size: 1 | 2 | 4])[]): Buffer {
  return Buffer.concat(
    fields.map(([value, size]) => {
      const bytes = Buffer.alloc(size);
      bytes.writeUIntBE(value, 0, size);
      return bytes;
    }),
  );
}

/** Writes a `TPM2B`. */
export function sized(bytes: Uint8Array = Buffer.alloc(0)): Buffer {
  return Buffer.concat([numbers([bytes.length, 2]), bytes]);
}
