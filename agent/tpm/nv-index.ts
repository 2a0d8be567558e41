import { hasRefusedWith, type Tpm } from '#agent/tpm/tpm.ts';
import { numbers, readTpmBytes } from '#agent/tpm/tpm-bytes.ts';
import { handles } from '#agent/tpm/tpm-command.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Bits of `TPMA_NV`. */
const ownerMayRead = 1 << 17;
const anybodyMayRead = 1 << 18;
const isWritten = 1 << 29;
/** Bytes that every TPM reads at once. */
const readSize = 512;

/**
 * Reads a place of the TPM's memory whole; `undefined`: there is none of that index, or nothing was written there.
 * @throws AppError `not_supported` (it may not be read without a password), and as `execute` does
 */
export async function readNvIndex(tpm: Tpm, index: number): Promise<Buffer | undefined> {
  const place = await readPublic(tpm, index);
  if (place === undefined || !(place.attributes & isWritten)) return undefined;
  const reader = place.attributes & anybodyMayRead ? index : handles.owner;
  if (reader === handles.owner && !(place.attributes & ownerMayRead)) {
    throw new AppError('not_supported', `index ${hex(index)} of the TPM can be read with a password only`);
  }
  const parts: Buffer[] = [];
  for (let offset = 0; offset < place.size; offset += readSize) {
    const { parameters } = await tpm.execute({
      name: 'TPM2_NV_Read',
      handles: [reader, index],
      sessions: [handles.password],
      parameters: [numbers([Math.min(readSize, place.size - offset), 2], [offset, 2])],
    });
    parts.push(readTpmBytes('the answer to TPM2_NV_Read', parameters).sized());
  }
  return Buffer.concat(parts);
}

async function readPublic(tpm: Tpm, index: number): Promise<{ attributes: number; size: number } | undefined> {
  try {
    const { parameters } = await tpm.execute({ name: 'TPM2_NV_ReadPublic', handles: [index] });
    const answer = readTpmBytes('the answer to TPM2_NV_ReadPublic', parameters);
    const area = readTpmBytes(`the description of index ${hex(index)}`, answer.sized());
    area.number(4); // the index
    area.number(2); // the algorithm of its name
    const attributes = area.number(4);
    area.sized(); // policy
    return { attributes, size: area.number(2) };
  } catch (error) {
    if (hasRefusedWith(error, 0x08b)) return undefined;
    throw error;
  }
}

function hex(index: number): string {
  return `0x${index.toString(16).padStart(8, '0')}`;
}
