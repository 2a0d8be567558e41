import { AppError } from '#shared/errors/app-error.ts';

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

/** Reads one field after the other; each throws AppError `agent_error` where the bytes end too soon. */
export interface TpmReader {
  number(size: 1 | 2 | 4): number;
  bytes(length: number): Buffer;
  /** Reads a `TPM2B`'s bytes. */
  sized(): Buffer;
  /** Takes all that is left. */
  rest(): Buffer;
}

/** @param name for errors: "the answer to TPM2_Quote" */
export function readTpmBytes(name: string, source: Buffer): TpmReader {
  let at = 0;
  const take = (length: number): Buffer => {
    if (at + length > source.length) {
      throw new AppError('agent_error', `${name} ends after ${source.length} bytes, amid a field`);
    }
    at += length;
    return source.subarray(at - length, at);
  };
  const number: TpmReader['number'] = (size) => take(size).readUIntBE(0, size);
  return { number, bytes: take, sized: () => take(number(2)), rest: () => take(source.length - at) };
}
