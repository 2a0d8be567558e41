import { readAnswer } from '#agent/tpm/read-answer.ts';
import { hasRefusedWith, type Tpm } from '#agent/tpm/tpm.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { algorithms, nistP256 } from '#shared/tpm/algorithms.ts';
import type { ByteReader } from '#shared/tpm/byte-reader.ts';
import { readSelections } from '#shared/tpm/read-selections.ts';
import { numbers } from '#shared/tpm/write-fields.ts';

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
  const banks = readBanks(await readCapability(tpm, capabilities.pcrs));
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
  let data: ByteReader;
  try {
    data = await readCapability(tpm, capabilities.eccCurves);
  } catch (error) {
    if (hasRefusedWith(error, 0x084)) return false; // one without elliptic curves does not have the list either
    throw error;
  }
  const count = data.u32();
  return Array.from({ length: count }, () => data.u16()).includes(nistP256);
}

async function readCapability(tpm: Tpm, capability: number): Promise<ByteReader> {
  const { parameters } = await tpm.execute({
    name: 'TPM2_GetCapability',
    parameters: [numbers([capability, 4], [0, 4], [64, 4])],
  });
  const source = readAnswer('the answer to TPM2_GetCapability', parameters);
  source.u8(); // more data: none of these lists has 64 entries
  source.u32(); // the capability itself
  return source;
}

/** Reads PCRs by their bank. */
export function readBanks(source: ByteReader): ReadonlyMap<number, ReadonlySet<number>> {
  return new Map(readSelections(source).map(([bank, pcrs]) => [bank, new Set(pcrs)]));
}

/** Writes a `TPML_PCR_SELECTION` of the SHA-256 bank. */
export function selectSha256(pcrs: readonly number[]): Buffer {
  const bits = Buffer.alloc(3);
  for (const pcr of pcrs) bits.writeUInt8(bits.readUInt8(pcr >> 3) | (1 << (pcr & 7)), pcr >> 3);
  return Buffer.concat([numbers([1, 4], [algorithms.sha256, 2], [bits.length, 1]), bits]);
}
