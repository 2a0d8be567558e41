import type { ByteReader } from '#shared/tpm/byte-reader.ts';

/** Reads a `TPML_PCR_SELECTION` (TCG TPM 2.0 Library, part 2, 10.9.7): the PCRs of each bank, in the order written. */
export function readSelections(reader: ByteReader): (readonly [bank: number, pcrs: readonly number[]])[] {
  const count = reader.u32();
  return Array.from({ length: count }, () => {
    const bank = reader.u16();
    const bits = reader.take(reader.u8());
    const pcrs = [...bits].flatMap((byte, index) =>
      [0, 1, 2, 3, 4, 5, 6, 7].filter((bit) => (byte & (1 << bit)) !== 0).map((bit) => index * 8 + bit),
    );
    return [bank, pcrs] as const;
  });
}
