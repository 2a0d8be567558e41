import { readAnswer } from '#agent/tpm/read-answer.ts';
import { hasRefusedWith, type Tpm } from '#agent/tpm/tpm.ts';
import { handles } from '#agent/tpm/tpm-command.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { numbers } from '#shared/tpm/write-fields.ts';

/** Bits of `TPMA_NV` (TCG TPM 2.0 Library, part 2, 13.4); the first: by the owner's password, the index's own or a policy. */
const othersMayWrite = (1 << 1) | (1 << 2) | (1 << 3);
const ownerMayRead = 1 << 17;
const anybodyMayRead = 1 << 18;
const isWritten = 1 << 29;
const madeByPlatform = 1 << 30;
/** Bytes that every TPM reads at once. */
const readSize = 512;

interface Place {
  readonly attributes: number;
  /** In bytes. */
  readonly size: number;
}

/**
 * Reads a place of the TPM's memory whole, if the TPM's or the machine's maker has made it: TCG's EK Credential Profile asks
 * TPMA_NV_PLATFORMCREATE of a certificate's place, and an operating system can make none that has it. Others don't count.
 * @returns `undefined`: there is none, or it is empty and only its maker can fill it. An empty one that an operating system
 *   may fill counts already, without content: filling it must change nothing
 * @throws AppError `not_supported` (it may not be read without a password), and as `execute` does
 */
export async function readMakersIndex(
  tpm: Tpm,
  index: number,
): Promise<{ readonly content: Buffer | undefined } | undefined> {
  const place = await readPublic(tpm, index);
  if (place === undefined || !(place.attributes & madeByPlatform)) return undefined;
  if (place.attributes & isWritten) return { content: await readContent(tpm, index, place) };
  return place.attributes & othersMayWrite ? { content: undefined } : undefined;
}

async function readContent(tpm: Tpm, index: number, place: Place): Promise<Buffer> {
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
    parts.push(readAnswer('the answer to TPM2_NV_Read', parameters).sized());
  }
  return Buffer.concat(parts);
}

async function readPublic(tpm: Tpm, index: number): Promise<Place | undefined> {
  try {
    const { parameters } = await tpm.execute({ name: 'TPM2_NV_ReadPublic', handles: [index] });
    const answer = readAnswer('the answer to TPM2_NV_ReadPublic', parameters);
    const area = readAnswer(`the description of index ${hex(index)}`, answer.sized());
    area.u32(); // the index
    area.u16(); // the algorithm of its name
    const attributes = area.u32();
    area.sized(); // policy
    return { attributes, size: area.u16() };
  } catch (error) {
    if (hasRefusedWith(error, 0x08b)) return undefined;
    throw error;
  }
}

function hex(index: number): string {
  return `0x${index.toString(16).padStart(8, '0')}`;
}
