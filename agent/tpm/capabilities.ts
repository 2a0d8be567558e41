import { hasRefusedWith, type Tpm } from '#agent/tpm/tpm.ts';
import { numbers, readTpmBytes, type TpmReader } from '#agent/tpm/tpm-bytes.ts';
import { AppError } from '#shared/errors/app-error.ts';

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
  ecdsa: 0x0018,
  ecc: 0x0023,
  cfb: 0x0043,
} as const;

/** NIST P-256. */
export const nistP256 = 0x0003;

const capabilities = { pcrs: 5, eccCurves: 8 } as const;

const bankNames: Readonly<Record<number, string>> = {
  [algorithms.sha1]: 'SHA-1',
  [algorithms.sha256]: 'SHA-256',
  [algorithms.sha384]: 'SHA-384',
  [algorithms.sha512]: 'SHA-512',
  [algorithms.sm3]: 'SM3',
};

/** @throws AppError `not_supported`: the SHA-256 bank lacks some of these PCRs */
export async function requireSha256Bank(tpm: Tpm, pcrs: readonly number[]): Promise<void> {
  const banks = readSelections(await readCapability(tpm, capabilities.pcrs));
  const has = banks.get(algorithms.sha256) ?? new Set();
  if (pcrs.every((pcr) => has.has(pcr))) return;
  const active = [...banks].flatMap(([bank, { size }]) =>
    size > 0 ? [bankNames[bank] ?? `0x${bank.toString(16)}`] : [],
  );
  throw new AppError(
    'not_supported',
    `the TPM measures with ${active.join(', ') || 'nothing'}, not with SHA-256; switch that bank on in the firmware setup`,
  );
}

/** Reads whether the TPM can make keys of NIST P-256. */
export async function hasP256(tpm: Tpm): Promise<boolean> {
  let data: TpmReader;
  try {
    data = await readCapability(tpm, capabilities.eccCurves);
  } catch (error) {
    if (hasRefusedWith(error, 0x084)) return false; // one without elliptic curves does not have the list either
    throw error;
  }
  const count = data.number(4);
  return Array.from({ length: count }, () => data.number(2)).includes(nistP256);
}

async function readCapability(tpm: Tpm, capability: number): Promise<TpmReader> {
  const { parameters } = await tpm.execute({
    name: 'TPM2_GetCapability',
    parameters: [numbers([capability, 4], [0, 4], [64, 4])],
  });
  const source = readTpmBytes('the answer to TPM2_GetCapability', parameters);
  source.number(1); // more data: none of these lists has 64 entries
  source.number(4); // the capability itself
  return source;
}

/** Reads a `TPML_PCR_SELECTION`: PCRs by bank. */
export function readSelections(source: TpmReader): ReadonlyMap<number, ReadonlySet<number>> {
  const count = source.number(4);
  return new Map(
    Array.from({ length: count }, () => {
      const bank = source.number(2);
      const bits = source.bytes(source.number(1));
      const pcrs = [...bits].flatMap((byte, index) =>
        [0, 1, 2, 3, 4, 5, 6, 7].flatMap((bit) => ((byte >> bit) & 1 ? [index * 8 + bit] : [])),
      );
      return [bank, new Set(pcrs)] as const;
    }),
  );
}

/** Writes a `TPML_PCR_SELECTION` of the SHA-256 bank. */
export function selectSha256(pcrs: readonly number[]): Buffer {
  const bits = Buffer.alloc(3);
  for (const pcr of pcrs) bits.writeUInt8(bits.readUInt8(pcr >> 3) | (1 << (pcr & 7)), pcr >> 3);
  return Buffer.concat([numbers([1, 4], [algorithms.sha256, 2], [bits.length, 1]), bits]);
}
